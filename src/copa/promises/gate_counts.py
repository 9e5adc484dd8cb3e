"""Promises counted by model version, guarantee, age and group; and rows by what two models say of them."""

from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.representation import short_repr
from copa._core.words import counted
from copa.analysis.groups import bands, quarters
from copa.data.tables.cells import alone
from copa.promises.days import days_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from copa._core.arrays import Flags

NOT_KNOWN, OTHERS = "not known", "all others"
VERSION, GUARANTEE, AGE = "model version", "guarantee", "age of the promise"
GUARANTEES = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)  # ends of the bands that guarantees are counted by
AGES = {  # from how many months on
    0: "under 1 month",
    1: "1 to 2 months",
    3: "3 to 5 months",
    6: "6 to 11 months",
    12: "12 to 23 months",
    24: "24 months and more",
}
MOST_VALUES = 20  # of a column of numbers whose values are groups of their own
MOST_PARTS = 200  # groups of a column; rarer values are counted together


@dataclass(frozen=True)
class Part:
    """Promises that have something in common.

    Attributes
    ----------
    name : str
        What they have in common, such as "0.90 to 0.95".
    n_promises, n_broken : int
        How many there are, and how many of them the candidate would break.
    guaranteed : float or None
        Mean of their guarantees; None where they have none.

    Examples
    --------
    >>> from copa.promises.gate_counts import Part
    >>> Part("2026-Q1", 200, 10, 0.93).broken_share
    0.05
    """

    __repr__ = short_repr

    name: str
    n_promises: int
    n_broken: int
    guaranteed: float | None = None

    @property
    def broken_share(self) -> float:
        """Share that the candidate would break."""
        return self.n_broken / self.n_promises

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {**vars(self), "broken_share": self.broken_share}


@dataclass(frozen=True)
class SwapSet:
    """Rows by what two models say of them.

    Attributes
    ----------
    n_rows : int
    n_accepted : int
        Rows that the candidate accepts.
    both, gained, lost, neither : int or None
        Rows that both accept, the candidate only, the model in force only, and neither; None without a model in force.
    groups : dict of str to list of dict
        By column, the rows of each group, how many of them gain and how many lose.

    Examples
    --------
    >>> from copa.promises.gate_counts import SwapSet
    >>> SwapSet(100, 60, both=55, gained=5, lost=8, neither=32).in_words()
    'of 100 rows 5 gain and 8 lose; 60 are accepted, 63 were'
    """

    __repr__ = short_repr

    n_rows: int
    n_accepted: int
    both: int | None = None
    gained: int | None = None
    lost: int | None = None
    neither: int | None = None
    groups: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def in_words(self) -> str:
        """Return it in one line."""
        rows = counted(self.n_rows, "row")
        if self.both is None or self.lost is None:
            return f"of {rows} {self.n_accepted:,} are accepted"
        return (
            f"of {rows} {self.gained:,} gain and {self.lost:,} lose; {self.n_accepted:,} are accepted, "
            f"{self.both + self.lost:,} were"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return dict(vars(self))


def parts_of(
    facts: "pd.DataFrame", groups: "pd.DataFrame", broken: "Flags", as_of: date
) -> dict[str, tuple[Part, ...]]:
    """Count promises by model version, guarantee, age and the columns given.

    Parameters
    ----------
    facts : DataFrame
        Of n promises: model_version, option_guarantee and made.
    groups : DataFrame
        Columns of the promised rows, n rows.
    broken : ndarray of bool of shape (n,)
    as_of : date
        On which ages are counted.

    Returns
    -------
    dict of str to tuple of Part
        By what the promises are divided by; without facts that are known of no promise.
    """
    import pandas as pd

    guarantees = facts["option_guarantee"].to_numpy(dtype=np.float64, na_value=np.nan)
    ages = [np.nan if day is None else _months(day, as_of) for day in days_of(facts["made"])]
    ranges = [f"{low:.2f} to {high:.2f}" for low, high in pairwise(GUARANTEES)]
    labels = {
        VERSION: _values(facts["model_version"]),
        GUARANTEE: bands(guarantees, [*GUARANTEES[:-1], np.inf], ranges, NOT_KNOWN, right=False),
        AGE: bands(np.array(ages), [*AGES, np.inf], [*AGES.values()], NOT_KNOWN, right=False),
    }
    of_facts = {name for name, label in labels.items() if (label != NOT_KNOWN).any()}
    columns = {f"column {name}" if name in labels else str(name): groups[name] for name in groups}
    labels = {name: label for name, label in labels.items() if name in of_facts}
    labels |= {name: _groups_of(cells) for name, cells in columns.items()}
    counts = pd.DataFrame({"broken": broken, "guarantee": guarantees})
    return {
        name: tuple(
            Part(str(label), int(n), int(n_broken), None if np.isnan(mean) else float(mean))
            for label, n, n_broken, mean in counts.groupby(label, observed=True)
            .agg(n=("broken", "size"), n_broken=("broken", "sum"), mean=("guarantee", "mean"))
            .itertuples()
        )
        for name, label in labels.items()
    }


def swap_set(now: "Flags", before: "Flags | None", groups: "Mapping[str, pd.Series[Any]]") -> SwapSet:
    """Count rows by what two models say of them.

    Parameters
    ----------
    now : ndarray of bool of shape (n,)
        Whether the candidate accepts each row.
    before : ndarray of bool of shape (n,) or None
        Whether the model in force does.
    groups : Mapping of str to Series
        Columns by which gains and losses are counted as well.
    """
    import pandas as pd

    if before is None:
        return SwapSet(now.size, int(now.sum()))
    gains = pd.DataFrame({"gained": now & ~before, "lost": before & ~now})
    n_gained, n_lost, n_both = int(gains["gained"].sum()), int(gains["lost"].sum()), int((now & before).sum())
    by_group = {}
    for name, cells in groups.items():
        parts = gains.groupby(_groups_of(cells), observed=True)
        table = parts.sum().assign(n_rows=parts.size())
        by_group[name] = [
            {"name": str(label), "n_rows": int(row["n_rows"]), "gained": int(row["gained"]), "lost": int(row["lost"])}
            for label, row in table.iterrows()
        ]
    return SwapSet(
        n_rows=now.size,
        n_accepted=int(now.sum()),
        both=n_both,
        gained=n_gained,
        lost=n_lost,
        neither=now.size - n_both - n_gained - n_lost,
        groups=by_group,
    )


def _groups_of(cells: "pd.Series[Any]") -> "pd.Categorical":
    """Name the group of each row: its value in a column, or the quarter of a column with many numbers."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if not is_numeric_dtype(cells.dtype) or is_bool_dtype(cells.dtype) or cells.nunique() <= MOST_VALUES:
        return _values(cells)
    return quarters(cells.to_numpy(dtype=np.float64, na_value=np.nan), NOT_KNOWN)


def _values(cells: "pd.Series[Any]") -> "pd.Categorical":
    """Return cells by their text, in the order of their spelling; rare and missing ones come last."""
    import pandas as pd

    codes, distinct = pd.factorize(cells)
    texts = pd.Series(np.array([*(alone(value) for value in distinct.tolist()), NOT_KNOWN], dtype=object)[codes])
    frequent = texts[texts != NOT_KNOWN].value_counts().index[:MOST_PARTS]
    texts = texts.where(texts.isin(frequent) | (texts == NOT_KNOWN), OTHERS)
    return pd.Categorical(texts, categories=[*sorted(set(frequent) - {OTHERS}), OTHERS, NOT_KNOWN])


def _months(day: date, as_of: date) -> float:
    """Return the whole months from a day to another."""
    return 12.0 * (as_of.year - day.year) + (as_of.month - day.month) - (day.day > as_of.day)
