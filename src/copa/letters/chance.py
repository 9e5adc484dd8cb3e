"""How likely an option is to outlast an update of the model, as far as the plan lets that be said to an applicant."""

from decimal import ROUND_FLOOR, Decimal

import numpy as np

from copa.plans import Plan
from copa.uncertainty.reliability import LEAST_RELIABILITY

LEAST_TOLD = 0.1  # a bound below it says nothing, an expected rate below it is said to be less
ABOUT_THE_MODEL = ("parameters", "scores")  # the other subjects are a surrogate, or a covariance that is assumed


def chance(plan: Plan, option: int) -> float | None:
    """Probability that the next model accepts an option, anywhere in the ranges that are told.

    Parameters
    ----------
    plan : Plan
    option : int
        Number of the option, from 1.

    Returns
    -------
    float or None
        A lower bound where a guarantee was asked for, else the expected rate. None where none can be told: the data are
        too few, the number is about a surrogate or rests on an assumed covariance, or it is a bound that says next to
        nothing. An expected rate is told however small it is.
    """
    reliability = plan.basis.reliability
    if plan.basis.subject not in ABOUT_THE_MODEL or (reliability is not None and reliability < LEAST_RELIABILITY):
        return None
    j = plan.position(option)
    ranged = not np.isnan(plan.at_least[j]).all()
    if plan.request.aim == "expected":
        asked = plan.request.guarantee if plan.status == "ok" and plan.request.guarantee_for == "each" else None
        return float(plan.interval_level[j]) if ranged else asked
    own = float(plan.option_lower[j])
    found = min(own, float(plan.interval_level[j])) if ranged else own
    return found if found >= LEAST_TOLD else None


def out_of(probability: float) -> tuple[int, int]:
    """A probability as so many of 10, or of 100 where that says more; never more than it is."""
    hundredths = min(_rounded_down(probability, 100), 99)
    return (hundredths // 10, 10) if hundredths % 10 == 0 else (hundredths, 100)


def tenths(probability: float) -> int:
    """How many of 10 a probability is, rounded down."""
    return _rounded_down(probability, 10)


def _rounded_down(probability: float, parts: int) -> int:
    return int((parts * Decimal(repr(probability))).to_integral_value(ROUND_FLOOR))
