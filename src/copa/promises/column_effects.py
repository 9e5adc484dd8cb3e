"""Effects of the columns on a score: each is replaced by a typical value, and the models score the rows again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array
from copa._core.representation import short_repr
from copa.data.tables.cells import as_json
from copa.data.tables.frames import with_columns
from copa.promises.deciding_model import DecidingModel

if TYPE_CHECKING:
    import pandas as pd

EVERYONE = "for everyone"  # the part of a change that does not depend on a person's row
TOGETHER = "columns together"  # what is more than the sum of the columns
ROUNDING = 1e-9


@dataclass(frozen=True)
class Cause:
    """The columns by which a promise would be broken.

    Attributes
    ----------
    promise, applicant : str
    score : float
        Of the promised row by the candidate, below 0.
    score_in_force : float or None
        The same by the model in force, where there is one.
    changes : tuple of tuple of str and float
        Parts of the difference between the two scores, the largest loss first: columns by name, what is the same for
        everyone, and what columns do together (nothing, in a linear model). They add up to the difference. Without a
        model in force, parts of the difference between the score and that of the typical promised row.

    Examples
    --------
    >>> from copa.promises.column_effects import Cause
    >>> Cause("p1", "ann", -0.4, 0.6, (("amount", -0.8), ("for everyone", -0.2))).in_words()
    'p1 (ann): score -0.40, was 0.60; amount -0.80, for everyone -0.20'
    """

    __repr__ = short_repr

    promise: str
    applicant: str
    score: float
    score_in_force: float | None
    changes: tuple[tuple[str, float], ...]

    def in_words(self, most: int = 3) -> str:
        """Return one line: the scores, and the largest losses."""
        was = "" if self.score_in_force is None else f", was {self.score_in_force:.2f}"
        losses = [f"{name} {change:+.2f}" for name, change in self.changes[:most] if change < 0.0]
        return f"{self.promise} ({self.applicant}): score {self.score:.2f}{was}; {', '.join(losses) or 'no loss'}"

    def to_dict(self) -> dict[str, Any]:
        """Return the cause as JSON has it."""
        return {
            "promise": self.promise,
            "applicant": self.applicant,
            "score": self.score,
            "score_in_force": self.score_in_force,
            "changes": [{"part": name, "change": change} for name, change in self.changes],
        }


def typical_row(rows: "pd.DataFrame") -> "pd.DataFrame":
    """Return the middle value of each numeric column and the most frequent of others, one row in the same dtypes."""
    import pandas as pd
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    cells = {}
    for name, column in rows.items():
        column = column.reset_index(drop=True)  # noqa: PLW2901 - labels may occur twice
        present = column.dropna()
        if present.empty:
            place = column.index[:1]
        elif is_numeric_dtype(column.dtype) and not is_bool_dtype(column.dtype):
            place = present.index[[np.argsort(present.to_numpy(), kind="stable")[(len(present) - 1) // 2]]]
        else:
            place = present.index[present == present.value_counts(sort=True).index[0]][:1]
        cells[name] = column.loc[place].set_axis(["typical"])
    return pd.DataFrame(cells)


def varied_rows(rows: "pd.DataFrame", typical: "pd.DataFrame", columns: Sequence[str]) -> "pd.DataFrame":
    """Return n rows, again n for each column with its cells replaced by the typical one, and the typical row."""
    import pandas as pd

    same = np.zeros(len(rows), dtype=np.intp)
    parts = [rows] + [with_columns(rows, {name: typical[name].iloc[same].set_axis(rows.index)}) for name in columns]
    return pd.concat([*parts, typical[list(rows.columns)]], ignore_index=True)


def column_effects(
    scores: Callable[["pd.DataFrame"], Array], rows: "pd.DataFrame", typical: "pd.DataFrame", columns: Sequence[str]
) -> tuple[Array, Array, Array]:
    """Return the effect of each column on the scores of rows, against its typical value.

    For scores that are sums over the columns this is exact: the parts of a row add up to its score. For others the last
    part is the effect of the columns together.

    Parameters
    ----------
    scores : callable
        From a table of M rows to an array of shape (..., M).
    rows : DataFrame
        n rows, their labels distinct.
    typical : DataFrame
        One row.
    columns : sequence of str
        C columns.

    Returns
    -------
    of_rows : ndarray of shape (..., n)
        Scores of the rows.
    base : ndarray of shape (..., 1)
        Score of the typical row.
    effects : ndarray of shape (..., n, C + 1)
        Of each column, and together; of_rows = base + their sum.
    """
    n, C = len(rows), len(columns)
    all_scores = np.asarray(scores(varied_rows(rows, typical, columns)))
    of_rows, base = all_scores[..., :n], all_scores[..., -1:]
    varied = np.moveaxis(all_scores[..., n : n * (C + 1)].reshape(*all_scores.shape[:-1], C, n), -2, -1)
    effects = of_rows[..., None] - varied
    together = of_rows - base - effects.sum(axis=-1)
    return of_rows, base, np.concatenate([effects, together[..., None]], axis=-1)


def find_causes(
    candidate: DecidingModel,
    in_force: DecidingModel | None,
    rows: "pd.DataFrame",
    applicants: Sequence[Any],
    typical: "pd.DataFrame",
) -> tuple[tuple[Cause, ...], str]:
    """Explain by columns why the candidate refuses promised rows; without causes, return the reason for that.

    The index of the rows names the promises, `applicants` their holders, and `typical` is one row.
    """
    if not candidate.has_scores:
        return (), "the candidate has neither parameters nor probabilities, so that nothing says how clearly it refuses"
    other = in_force if in_force is not None and in_force.has_scores else None
    if other is not None and other.unit != candidate.unit:
        return (), f"the candidate's scores are {candidate.unit}, those of the model in force {other.unit}"
    if rows.empty:
        return (), ""
    used = dict.fromkeys([*candidate.columns, *(() if other is None else other.columns)])
    columns = [name for name in rows.columns if name in used]
    plain = rows.reset_index(drop=True)
    of_rows, base, effects = column_effects(candidate.scores, plain, typical, columns)
    before: Array | None = None
    if other is not None:
        before, base_before, effects_before = column_effects(other.scores, plain, typical, columns)
        base, effects = base - base_before, effects - effects_before
    parts = np.concatenate([effects, np.broadcast_to(base if other is not None else 0.0, (len(rows), 1))], axis=1)
    names = [*columns, TOGETHER, EVERYONE]
    causes = []
    for i, promise in enumerate(rows.index):
        order = np.argsort(parts[i], kind="stable")
        changes = tuple((names[k], float(parts[i, k])) for k in order.tolist() if abs(parts[i, k]) > ROUNDING)
        was = None if before is None else float(before[i])
        causes.append(Cause(str(promise), str(as_json(applicants[i])), float(of_rows[i]), was, changes))
    return tuple(causes), ""
