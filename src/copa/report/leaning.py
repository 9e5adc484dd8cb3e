"""What a plan leans on: how the score of an option falls, column by column, in the case that breaks it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from copa.arrays import Array
from copa.plans import Plan

if TYPE_CHECKING:
    from copa.planning.actions import ActionSpace

GENERAL = "the model's general level"
SHARED = "several columns together"
OTHERS = "other columns"
NOISE = 1e-9  # an answer of the pipeline that is smaller than this, relative to its largest, is rounding


@dataclass(frozen=True, eq=False)
class Leaning:
    """Shares of the score of the option that breaks first, today on average and where the worst case breaks it.

    Attributes
    ----------
    option : its number
    columns : C raw columns, and the parts of the score that belong to no single column
    is_column : (C,) whether an entry of `columns` is one
    before, after : (C,) share of each in the option's score: on average over the estimated next models, and over those
        that the worst distribution turns against the option. The shares `after` sum to 0 or less.
    """

    option: int
    columns: tuple[str, ...]
    is_column: npt.NDArray[np.bool_]
    before: Array
    after: Array

    @property
    def change(self) -> Array:
        """What the worst case takes from each share (negative) or adds to it, (C,)."""
        return self.after - self.before


def leaning(plan: Plan, space: "ActionSpace") -> Leaning | None:
    """Split the worst case of a plan by raw columns.

    None where there is no certificate or nothing to break, or where the parameters are not those of the columns (a
    model that is not linear in them).
    """
    if plan.certificate is None or not (plan.points @ plan.ball.mean > 0.0).all():
        return None
    if not np.array_equal(space.mean, plan.ball.mean):
        return None
    worst = plan.certificate.worst_case()
    j = int(np.argmax(plan.weights))
    if not worst.mass[j] > 0.0:
        return None
    names, is_column, members = _parts(space)
    point = plan.points[j]
    before = members @ (point * plan.ball.mean)
    after = members @ (point * worst.location[j])
    return Leaning(j + 1, names, is_column, before, after)


def _parts(space: "ActionSpace") -> tuple[tuple[str, ...], npt.NDArray[np.bool_], Array]:
    """Names of the parts of a score, which of them are columns, and which coordinates belong to each, (C, D)."""
    columns = space.columns
    answers = np.zeros((len(columns), space.mean.size), dtype=bool)
    starts = [*range(len(space.lines)), *space.ends[:-1].tolist()]
    ends = [*range(1, len(space.lines) + 1), *space.ends[1:].tolist()]
    for k, (start, end) in enumerate(zip(starts, ends, strict=True)):
        size = np.abs(space.directions[start:end]).max(axis=0)
        answers[k] = size > NOISE * size.max()
    alone = answers.sum(axis=0) == 1
    general = np.zeros(space.mean.size, dtype=bool)
    general[0] = True
    shared, others = answers.sum(axis=0) > 1, (answers.sum(axis=0) == 0) & ~general
    parts = [(feature.name, True, answers[k] & alone) for k, feature in enumerate(columns)]
    parts += [(GENERAL, False, general), (SHARED, False, shared), (OTHERS, False, others)]
    parts = [part for part in parts if part[2].any()]
    names, is_column, members = zip(*parts, strict=True)
    return tuple(names), np.array(is_column), np.array(members, dtype=np.float64)
