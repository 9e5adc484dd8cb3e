"""Words that the sections of a report share."""

import math
from typing import Any

from copa.bounds.ambiguity import AmbiguityBall
from copa.plans import PlanTerms
from copa.plans.cells import alone, as_text
from copa.schema import FeatureSchema

WHOM = {"each": "each option", "any": "at least one option", "all": "all options together"}

MEANINGS = {
    "ok": "a menu of options at the guarantee asked for",
    "already_valid": "today's model accepts the applicant as is; nothing needs to change",
    "fragile": "accepted today, but the guarantee asked for is out of reach; the menu shows the best that was found",
    "infeasible": "no allowed option is accepted today, or a given option asks for what is not allowed",
    "time_limit": "the time limit ended before this applicant's turn",
    "error": "the row could not be used; the message names column and value",
}


def heading(schema: FeatureSchema, column: Any) -> str:
    """What people call a column."""
    return schema[column].heading if column in schema else str(column)


def value_text(schema: FeatureSchema, column: Any, value: Any) -> str:
    """What people call a value of a column."""
    label = schema[column].label_of(value) if column in schema else None
    return alone(value if label is None else label)


def counted(number: int, what: str) -> str:
    """A number and what it counts: "1 option", "2 options"."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def shortened(text: str, length: int) -> str:
    """Text of at most some length, with an ellipsis where it was cut."""
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"


def percent(share: float) -> str:
    """A share as a percentage; a small or large one never as 0 or 100."""
    if 0.0 < share < 0.001:
        return "under 0.1 %"
    if 0.999 < share < 1.0:
        return "over 99.9 %"
    return f"{100.0 * share:.1f} %"


def moments_of(terms: PlanTerms) -> str:
    """Whose mean and covariance the ball is about: those of the next models, or of what these say of the rows."""
    if terms.basis == "parameters":
        return "the next models' mean and covariance"
    if terms.basis == "stand-in":
        return "the local stand-in is true, and the mean and covariance of its parameters"
    return "the mean and covariance of the scores that the next models give these rows"


def condition(ball: AmbiguityBall, terms: PlanTerms) -> str:
    """The condition under which every probability of a report holds, as half of a sentence."""
    if ball.radius == 0.0:
        return f"if {moments_of(terms)} are exactly the estimated ones"
    return f"if {moments_of(terms)} stay within radius {rounded_radius(ball.radius)} {units(ball)}"


def units(ball: AmbiguityBall) -> str:
    """What a radius is measured from, and in which units."""
    unit = "" if ball.drift is None else ", measured in units of the drift between models"
    return f"of the estimated ones{unit}"


def asked_for(terms: PlanTerms) -> tuple[str, str]:
    """The guarantee asked for, and for whom."""
    if terms.objective == "paper":
        return "none", "the options minimise the paper's weighted sum"
    return f"at least {terms.guarantee:g}", f"for {WHOM[terms.guarantee_for]}"


def favourable(terms: PlanTerms) -> tuple[str, str]:
    """The answer that a person wants, and what decides."""
    rule = "as the model itself predicts" if terms.threshold is None else f"at the threshold {terms.threshold:g}"
    return as_text(terms.favourable, quoted=True), rule


def rounded_radius(radius: float) -> str:
    """A radius with three digits, never a larger one."""
    if radius == 0.0 or not math.isfinite(radius):
        return "0"
    unit = 10.0 ** (math.floor(math.log10(radius)) - 2)
    return f"{math.floor(radius / unit * (1.0 + 1e-12)) * unit:.3g}"
