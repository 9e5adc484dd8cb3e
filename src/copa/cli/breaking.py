"""Which option of a plan breaks first, and by what change of the model: the worst case, column by column.

In the worst distribution inside the ball (`Certificate.worst_case`) some mass sits on models that refuse an option. The
mean of those models gives another score to the option than the estimated mean does. The score is a sum over
the columns that the option changes and the rest of the row, so that the loss can be told column by column. A model
that is not linear in the columns has no such sum: then the loss is that of the whole row.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from copa.planning.actions import Places

if TYPE_CHECKING:
    from copa.planner.fitted import Fitted
    from copa.plans import PlanBatch

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


def first_break(fitted: "Fitted", batch: "PlanBatch", i: int) -> Break | None:
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


def _moves(fitted: "Fitted", factual: Any, option: Any) -> dict[str, Any]:
    """What each column's change adds to the encoded row, (D,); nothing where the row is no sum over columns."""
    from copa.planner.fitted import FittedPlanner

    if not isinstance(fitted, FittedPlanner) or fitted.curved:
        return {}
    space = fitted.space
    own, new = Places.read(space, factual), Places.read(space, option)
    moves = {}
    for k, feature in enumerate(space.lines):
        moves[feature.name] = (new.values[0, k] - own.values[0, k]) * space.directions[k]
    for k, feature in enumerate(space.choices):
        moves[feature.name] = space.directions[new.atoms[0, k]] - space.directions[own.atoms[0, k]]
    return moves
