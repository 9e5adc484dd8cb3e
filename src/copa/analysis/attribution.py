"""What breaks a plan first: how the score of an option falls, column by column, in the worst case."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa.plans import Plan
from copa.plans.units import heading, value_text
from copa.tables.cells import cells_of

if TYPE_CHECKING:
    from copa.planner.strategies.base import Strategy

Flags = npt.NDArray[np.bool_]

GENERAL = "the model's general level"
SHARED = "several columns together"
OTHERS = "other columns"
WHOLE = "the row as a whole"
NOISE = 1e-9  # an answer of the pipeline that is smaller than this, relative to its largest, is rounding
NEGLIGIBLE = 5e-4  # probability that nobody would call a risk
TOLD = 4  # parts of a score, those that lose most


@dataclass(frozen=True, eq=False)
class Attribution:
    """Shares of the score of the option that breaks first, on average and where the worst case breaks it.

    Every part of the row has a share, not only what the option changes: the worst distribution moves all parameters,
    and an option is refused because its whole score falls, often through a column that stays as it is. The shares add
    up to the score on either side.

    Attributes
    ----------
    option : int
        Number of the option.
    probability : float
        Mass that the worst distribution puts on models that refuse it.
    parts : tuple of str
        C parts of the score in words: columns with the option's value, and what belongs to no single column.
    columns : tuple of str or None
        Raw column of each part, None where it is none.
    is_changed : ndarray of bool, shape (C,)
        Whether the option changes the column.
    expected, broken : ndarray of shape (C,)
        Share of each part in the option's score: on average over the estimated next models, and over those that the
        worst distribution turns against the option. The shares `broken` sum to 0 or less.
    """

    option: int
    probability: float
    parts: tuple[str, ...]
    columns: tuple[str | None, ...]
    is_changed: Flags
    expected: Array
    broken: Array

    @property
    def change(self) -> Array:
        """What the worst case takes from each share (negative) or adds to it, (C,)."""
        return self.broken - self.expected

    @property
    def is_column(self) -> Flags:
        """Whether each part is a column, (C,)."""
        return np.array([column is not None for column in self.columns])

    def in_words(self) -> str:
        """Say it in one paragraph."""
        total = f"{self.broken.sum():+.2f} and not {self.expected.sum():+.2f}"
        case = f"Option {self.option} breaks first. At worst, with probability {self.probability:.3f}, the next model"
        if len(self.parts) == 1:
            return f"{case} is one that gives it, on average, the score {total}; below 0 it is refused."
        losing = [k for k in np.argsort(self.change, kind="stable")[:TOLD].tolist() if self.change[k] < 0.0]
        told = [
            f"{self.parts[k]}{' (changed)' if self.is_changed[k] else ''} counts {self.broken[k]:+.2f} and not "
            f"{self.expected[k]:+.2f}"
            for k in losing
        ] or ["every part counts as expected"]
        return (
            f"{case} is one in which, on average, {'; '.join(told)}. Its score is then {total}; below 0 it is refused."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        names = ("part", "column", "changed", "expected", "broken")
        numbers = (values.tolist() for values in (self.is_changed, self.expected, self.broken))
        shares = [dict(zip(names, row, strict=True)) for row in zip(self.parts, self.columns, *numbers, strict=True)]
        return {"option": self.option, "probability": self.probability, "shares": shares, "in_words": self.in_words()}


def attribute(plan: Plan, fitted: "Strategy") -> Attribution | None:
    """Split the worst case of a plan by raw columns.

    Parameters
    ----------
    plan : Plan
    fitted : Strategy
        What the planner that made or audited the plan has fitted. Where its model is no sum over columns, or not in the
        coordinates of the plan, the row as a whole is the only part.

    Returns
    -------
    Attribution or None
        None where there are no options, where all of several are equally sure, where nothing to speak of breaks them,
        or where the set does not know its worst case.
    """
    first = 1 if plan.n_options == 1 else plan.breaks_first
    if plan.certificate is None or first is None or not plan.ambiguity.has_worst_case:
        return None
    worst, j = plan.certificate.worst_case(), first - 1
    if not worst.mass[j] > NEGLIGIBLE:
        return None
    columns, names, members = zip(*_parts(fitted, plan.ambiguity.mean), strict=True)
    changed = {change.column for change in plan.changes(j + 1)}
    sums = np.array(members, dtype=np.float64)
    return Attribution(
        option=j + 1,
        probability=float(worst.mass[j]),
        parts=tuple(_worded(plan, j, column) if column else name for column, name in zip(columns, names, strict=True)),
        columns=columns,
        is_changed=np.array([column in changed for column in columns]),
        expected=sums @ (plan.points[j] * plan.ambiguity.mean),
        broken=sums @ (plan.points[j] * worst.location[j]),
    )


def _worded(plan: Plan, j: int, column: str) -> str:
    """Return a column in people's words, with the value that the option has there."""
    schema = plan.basis.schema
    return f"{heading(schema, column)}: {value_text(schema, column, cells_of(plan.options[column])[j])}"


def _parts(fitted: "Strategy", mean: Array) -> list[tuple[str | None, str, Flags]]:
    """Parts of a score: column (None where it is no single one's), name, and which coordinates belong to it, (D,)."""
    space = fitted.space
    if not fitted.additive or space.directions.shape[1] != len(mean):
        return [(None, WHOLE, np.ones(len(mean), dtype=bool))]
    sizes = np.array([np.abs(space.directions[space.levels(k)]).max(axis=0) for k in range(len(space.columns))])
    answers = sizes > NOISE * sizes.max(axis=1, keepdims=True)
    n_columns, general = answers.sum(axis=0), np.arange(len(mean)) == 0
    parts = [(f.name, f.name, row & (n_columns == 1)) for f, row in zip(space.columns, answers, strict=True)]
    others = {GENERAL: general, SHARED: n_columns > 1, OTHERS: (n_columns == 0) & ~general}
    return [part for part in (*parts, *((None, name, own) for name, own in others.items())) if part[2].any()]
