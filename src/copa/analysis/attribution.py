"""What a plan leans on: how the score of an option falls, column by column, in the case that breaks it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa.plans import Plan
from copa.search.region import read_regions

if TYPE_CHECKING:
    from copa.planner.strategies.base import Strategy
    from copa.plans import PlanBatch
    from copa.search.problem import ActionSpace


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
    for k in range(len(columns)):
        size = np.abs(space.directions[space.levels(k)]).max(axis=0)
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


NEGLIGIBLE = 5e-4  # probability that nobody would call a risk
TOLD = 4  # columns, those that lose most


@dataclass(frozen=True)
class Share:
    """What a part of a row adds to the option's score: in the estimated mean, and in the models that refuse it."""

    part: str
    expected: float
    broken: float


@dataclass(frozen=True)
class Break:
    """The option that breaks first.

    Attributes
    ----------
    option : its number
    probability : mass that the worst distribution puts on models that refuse it
    shares : of its score, those of the changed columns first, then that of the rest of the row
    """

    option: int
    probability: float
    shares: tuple[Share, ...]

    def in_words(self) -> str:
        """Say it in one paragraph."""
        total = f"{sum(s.broken for s in self.shares):+.2f} and not {sum(s.expected for s in self.shares):+.2f}"
        first = (
            f"Option {self.option} breaks first. At worst, with probability {self.probability:.3f}, the next model is"
        )
        if len(self.shares) == 1:
            return f"{first} one that gives it, on average, the score {total}; below 0 it is refused."
        losses = sorted(self.shares, key=lambda share: share.broken - share.expected)[:TOLD]
        parts = [f"{s.part} counts {s.broken:+.2f} and not {s.expected:+.2f}" for s in losses if s.broken < s.expected]
        told = "; ".join(parts) or "every part counts as expected"
        return f"{first} one in which, on average, {told}. Its score is then {total}; below 0 it is refused."

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        shares = [{"part": s.part, "expected": s.expected, "broken": s.broken} for s in self.shares]
        return {"option": self.option, "probability": self.probability, "shares": shares, "in_words": self.in_words()}


def first_break(fitted: "Strategy", batch: "PlanBatch", i: int) -> Break | None:
    """Say how the plan of applicant i breaks; None where it has no options, or nothing to speak of breaks them."""
    plan = batch[i]
    if plan.n_options == 0 or plan.certificate is None:
        return None
    worst = plan.certificate.worst_case()
    j = int(np.argmax(worst.mass))
    if not worst.mass[j] > NEGLIGIBLE:
        return None
    moves = _moves(fitted, plan.factual, plan.options.iloc[[j]])
    mean, broken = batch.ball.mean, worst.location[j]
    shares = []
    for change in plan.changes(j + 1):
        move = moves.pop(change.column, None)
        if move is not None:
            part = f"{change.title} {change.before_text} -> {change.after_text}"
            shares.append(Share(part, float(move @ mean), float(move @ broken)))
    told = [sum(share.expected for share in shares), sum(share.broken for share in shares)]
    point = plan.points[j]
    rest = "the rest of the row" if shares else "the row as a whole"
    shares.append(Share(rest, float(point @ mean) - told[0], float(point @ broken) - told[1]))
    return Break(j + 1, float(worst.mass[j]), tuple(shares))


def _moves(fitted: "Strategy", factual: Any, option: Any) -> dict[str, Any]:
    """What each column's change adds to the encoded row, (D,); nothing where the row is no sum over columns."""
    if not fitted.additive:
        return {}
    space = fitted.space
    own, new = read_regions(space, factual).own[0], read_regions(space, option).own[0]
    moves = {}
    for f, feature in enumerate(space.columns):
        if feature.is_numeric:
            moves[feature.name] = (new[f] - own[f]) * space.directions[f]
        else:
            moves[feature.name] = space.directions[int(new[f])] - space.directions[int(own[f])]
    return moves
