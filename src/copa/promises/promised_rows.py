"""The rows that were promised, beside the facts of each promise: one table for the ledger, the gate and `keep`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.words import shown
from copa.exceptions import InvalidInputError
from copa.plans import PlanBatch
from copa.plans.frames import labels, option_numbers
from copa.promises.days import days_of, read_day
from copa.tables.cells import alone
from copa.tables.frames import as_pandas, is_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    import numpy.typing as npt
    import pandas as pd

PROMISE = "promise"  # name of the index of every table of promises
PREFIX = "promise_"  # of a fact whose name a column of the rows has
FACTS = (
    "applicant",
    "option",
    "status",
    "option_guarantee",
    "confidence",
    "model_version",
    "model_fingerprint",
    "schema_digest",
    "certificate_digest",
    "made",
    "valid_until",
    "recorded_by",
)
NUMBERS = ("option_guarantee", "confidence")
OPEN = "open"
ENDED = ("kept", "broken", "expired", "waived")  # statuses of promises that no longer bind


@dataclass(frozen=True, eq=False)
class PromisedRows:
    """Promised rows, and the facts of their promises.

    Parameters
    ----------
    facts : DataFrame
        One row per promise, in the columns `FACTS`; its index "promise" holds the ids of the promises. None or NaN
        where a fact is not known.
    rows : DataFrame
        The promised rows as the model is given them, with the same index.
    favourable : object, optional
        Label that was promised, where it is known.

    Examples
    --------
    >>> import pandas as pd
    >>> from copa.promises import promised_rows
    >>> promised = promised_rows(pd.DataFrame({"income": [30, 42]}, index=["ann", "bob"]))
    >>> len(promised), int(promised.rows.loc["bob", "income"])
    (2, 42)
    """

    facts: "pd.DataFrame"
    rows: "pd.DataFrame"
    favourable: Any = None

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"PromisedRows({len(self):,} promises of {len(self.rows.columns)} columns)"

    def select(self, flags: "npt.NDArray[np.bool_]") -> "PromisedRows":
        """Return some of the promises.

        Parameters
        ----------
        flags : ndarray of bool of shape (n_promises,)
            Which ones.
        """
        return PromisedRows(self.facts.loc[flags], self.rows.loc[flags], self.favourable)

    def outstanding(self, as_of: Any = None) -> "PromisedRows":
        """Return the promises that bind: open, made by a date, and valid at it. What is unknown binds as well.

        Parameters
        ----------
        as_of : date or str, optional
            The date, in UTC as those of the promises; None for today.
        """
        return self.select(self.binds(read_day(as_of)))

    def binds(self, day: "date") -> "npt.NDArray[np.bool_]":
        """Return which promises bind on a day: all but those that have ended, or were made later.

        Parameters
        ----------
        day : date
        """
        begun = [made is None or made <= day for made in days_of(self.facts["made"])]
        valid = [end is None or end >= day for end in days_of(self.facts["valid_until"])]
        ended = self.facts["status"].isin(ENDED).to_numpy()
        flags: npt.NDArray[np.bool_] = np.array(begun, dtype=bool) & np.array(valid, dtype=bool) & ~ended
        return flags


def fact_names(columns: Any) -> dict[str, str]:
    """Return the name of each fact in a table whose rows have the columns given: with a prefix where that is taken.

    It has more prefixes than any column of the rows that ends like it, so that `split_facts` tells them apart.

    Parameters
    ----------
    columns : sequence of str
        Columns of the promised rows.

    Returns
    -------
    dict
        From each of `FACTS` to its name.
    """
    taken = set(columns)
    names = {}
    for fact in FACTS:
        alike = [name for name in taken if isinstance(name, str) and _without_prefixes(name, fact)]
        names[fact] = PREFIX + max(alike, key=len) if alike else fact
    return names


def _without_prefixes(name: str, fact: str) -> bool:
    """Whether a name is that of a fact, with any number of prefixes."""
    return name.endswith(fact) and name.removesuffix(fact).replace(PREFIX, "") == ""


def join_facts(facts: "pd.DataFrame", rows: "pd.DataFrame") -> "pd.DataFrame":
    """Return facts and rows as one table: the facts first, all of them, then the columns of the rows.

    Parameters
    ----------
    facts : DataFrame
        Some of the columns `FACTS`; those it lacks are filled with None. Its index holds the ids of the promises.
    rows : DataFrame
        As many promised rows, in the same order; its index is not looked at.

    Returns
    -------
    DataFrame
        Its index is called "promise". A fact whose name is a column of the rows is called `promise_...`.

    Examples
    --------
    >>> import pandas as pd
    >>> from copa.promises.promised_rows import join_facts, split_facts
    >>> facts = pd.DataFrame({"applicant": ["ann"], "status": ["open"]}, index=["p1"])
    >>> table = join_facts(facts, pd.DataFrame({"job": ["clerk"], "status": ["married"]}))
    >>> table[["applicant", "promise_status", "job", "status"]].loc["p1"].tolist()
    ['ann', 'open', 'clerk', 'married']
    >>> split_facts(table)[1].columns.tolist()
    ['job', 'status']
    """
    import pandas as pd

    if len(facts) != len(rows):
        raise InvalidInputError(f"there are {len(facts)} promises and {len(rows)} rows; each promise has one")
    index = _named(facts.index)
    known = {fact: facts[fact] if fact in facts.columns else _unknown(len(rows)) for fact in FACTS}
    names = fact_names(rows.columns)
    left = pd.DataFrame({names[fact]: pd.Series(known[fact]).set_axis(index) for fact in FACTS}, index=index)
    return pd.concat([left, rows.set_axis(index)], axis=1)


def split_facts(table: "pd.DataFrame") -> "tuple[pd.DataFrame, pd.DataFrame]":
    """Return the facts and the rows of a table that `join_facts` made; of a table of rows alone, empty facts.

    A table has facts if its index, or its first column (as in a CSV file), is called "promise", or if it has them all.

    Parameters
    ----------
    table : DataFrame
        Of facts and rows, or of rows alone.

    Returns
    -------
    tuple of two DataFrame
        Facts in the columns `FACTS`, and rows, with the same index of ids.
    """
    import pandas as pd

    if table.index.name != PROMISE and len(table.columns) and table.columns[0] == PROMISE:
        table = table.set_index(PROMISE)
    there = set(table.columns)
    names = {fact: _longest(fact, there) for fact in FACTS}
    if table.index.name != PROMISE and not all(name in there for name in names.values()):
        names = {}
    index = _named(table.index)
    table = table.set_axis(index)
    known = {
        fact: table[names[fact]] if names.get(fact) in there else pd.Series(_unknown(len(table)), index=index)
        for fact in FACTS
    }
    rows = table.drop(columns=[name for name in names.values() if name in there])
    return pd.DataFrame(known, index=index), rows


def text_facts(columns: "Sequence[str]") -> list[str]:
    """Return the columns of a file of promises that hold ids and other facts in text; none of a file of rows alone.

    Parameters
    ----------
    columns : sequence of str
        All columns of the file.
    """
    if not columns or columns[0] != PROMISE:
        return []
    return [PROMISE, *(_longest(fact, set(columns)) for fact in FACTS if fact not in (*NUMBERS, "option"))]


def concat_facts(tables: "Iterable[pd.DataFrame]") -> "pd.DataFrame":
    """Return tables of `join_facts` as one: each fact once, whatever the columns of the rows are called.

    Parameters
    ----------
    tables : iterable of DataFrame
        Their rows may have different columns; those that a row lacks are missing.
    """
    import pandas as pd

    parts = [split_facts(table) for table in tables]
    if not parts:
        return join_facts(pd.DataFrame(index=pd.Index([], dtype=object)), pd.DataFrame())
    facts, rows = (pd.concat(some) if len(parts) > 1 else some[0] for some in zip(*parts, strict=True))
    return join_facts(facts, rows)


def promised_rows(promises: Any) -> PromisedRows:
    """Return the promised rows of a ledger, of a batch of plans (each option is a promise), or of a table.

    Parameters
    ----------
    promises : Ledger, PlanBatch or DataFrame
        A ledger stands for its open promises. A table holds the rows alone, or facts and rows as `Ledger.promises`
        returns them.

    Returns
    -------
    PromisedRows

    Raises
    ------
    InvalidInputError
        If it is none of these.

    Examples
    --------
    >>> import pandas as pd
    >>> from copa.promises import promised_rows
    >>> promised_rows(pd.DataFrame({"income": [30, 42]}))
    PromisedRows(2 promises of 1 columns)
    """
    if isinstance(promises, PromisedRows):
        return promises
    if isinstance(promises, PlanBatch):
        return _of_batch(promises)
    if is_table(promises):
        facts, rows = split_facts(as_pandas(promises, "promises"))
        return PromisedRows(facts.assign(**{name: _numbers(facts[name]) for name in NUMBERS}), rows)
    listed = getattr(promises, "promises", None)  # of a ledger, which is not imported here
    if callable(listed):
        return PromisedRows(*split_facts(listed()), getattr(promises, "favourable", None))
    raise InvalidInputError(
        f"promises must be a Ledger, a PlanBatch or a DataFrame of promised rows, got {type(promises).__name__}"
    )


def _of_batch(batch: PlanBatch) -> PromisedRows:
    """Each option of a batch as a promise; its id is the applicant's label and the option's number."""
    import pandas as pd

    numbers = option_numbers(batch)
    people = [alone(label) for label in labels(batch.applicants.index, batch.owner)]
    ids = [f"{person}/{number}" for person, number in zip(people, numbers.tolist(), strict=True)]
    confidence = np.nan if batch.basis.confidence is None else batch.basis.confidence
    facts = pd.DataFrame(
        {
            "applicant": pd.Series(people, dtype=object),
            "option": numbers,
            "status": pd.Series([OPEN] * len(ids), dtype=object),
            "option_guarantee": batch.option_lower,
            "confidence": np.full(len(ids), confidence),
        }
    ).set_axis(pd.Index(ids, dtype=object))
    return PromisedRows(*split_facts(join_facts(facts, batch.options)), batch.basis.favourable)


def _longest(fact: str, there: set[Any]) -> str:
    """Name of a fact in a table: that with the most prefixes."""
    alike = [name for name in there if isinstance(name, str) and _without_prefixes(name, fact)]
    return max(alike, key=len, default=fact)


def _named(index: "pd.Index[Any]") -> "pd.Index[Any]":
    """Ids of promises as text; their numbers from 1 where labels occur twice."""
    import pandas as pd

    names = [alone(label) for label in labels(index, np.arange(len(index)))]
    if index.name != PROMISE and len(set(names)) < len(names):
        names = [str(number) for number in range(1, len(names) + 1)]
    return pd.Index(names, name=PROMISE, dtype=object)


def _numbers(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """A fact that is a probability, also from the text of a file; None where it is not known."""
    import pandas as pd

    numbers = pd.to_numeric(column, errors="coerce")
    bad = numbers.isna() & column.notna() & (column.astype(str).str.strip() != "")
    if bad.any():
        raise InvalidInputError(f"{column.name} must hold numbers, got {shown(column[bad].iloc[0])}")
    outside = (numbers < 0.0) | (numbers > 1.0)
    if outside.any():
        raise InvalidInputError(
            f"{column.name} must hold probabilities, from 0 to 1, got {shown(numbers[outside].iloc[0])}"
        )
    return column if column.isna().all() else numbers


def _unknown(size: int) -> "npt.NDArray[np.object_]":
    return np.full(size, None, dtype=object)
