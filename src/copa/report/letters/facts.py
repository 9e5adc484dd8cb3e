"""Facts of a letter, as plain texts for its template, which computes nothing."""

from decimal import ROUND_FLOOR, Decimal
from typing import Any

import numpy as np

from copa._core.words import visible
from copa.analysis.reasons import Reason
from copa.data.schema import Feature
from copa.data.tables.cells import alone, as_text, is_missing, plain
from copa.models.refits.reliability import LEAST_RELIABILITY
from copa.plans import Change, Plan
from copa.plans.units import amount_text, name_and_unit
from copa.report.letters.letter import LetterSettings

Facts = dict[str, Any]
LEAST_TOLD = 0.1  # a bound below it says nothing, an expected rate below it is said to be less
ABOUT_THE_MODEL = ("parameters", "scores")  # the other subjects are a surrogate, or a covariance that is assumed
NOT_STATED, NO_AMOUNT = "not stated", "no amount"


def letter_facts(
    plan: Plan,
    offered: list[int],
    told: list[Reason],
    *,
    left_out: bool,
    settings: LetterSettings,
    neighbours: bool = False,
) -> Facts:
    """Collect what a letter says: of the options `offered`, by their numbers, and of the reasons `told`.

    `left_out` says that there are further reasons, `neighbours` that the applicant is compared with similar
    applications, and not with all that the model accepts.
    """
    features = {feature.name: feature for feature in plan.basis.schema.features}
    chances = {number: chance(plan, number) for number in offered}
    told_once = len({None if p is None else tenths(p) for p in chances.values()}) == 1
    lowest = min((p for p in chances.values() if p is not None), default=None)
    average = plan.request.expected
    options: list[Facts] = [
        {
            "number": str(number),
            "changes": [_change(change) for change in plan.changes(number)],
            "chance": "" if told_once else _chance_words(chances[number], average=average),
        }
        for number in offered
    ]
    return {
        "applicant": alone(plan.label) if plan.label != "" else "",
        "sender": settings.sender,
        "contact": settings.contact,
        "date": settings.day("date"),
        "valid_until": settings.day("valid_until"),
        "fields": dict(settings.fields),
        "reasons": [_reason(features.get(r.column), r) for r in told],
        "reasons_left_out": left_out,
        "reasons_from_similar": neighbours,
        "options": options,
        "chance": _chance_words(lowest, average=average) if told_once else "",
        "chances_known": lowest is not None,
        "chances_missing": None in chances.values(),
        "chance_is_average": average,
    }


def _chance_words(probability: float | None, *, average: bool) -> str:
    """Return a chance as a letter says it, "" where it is not known: a bound from below, or an average."""
    if probability is None:
        return ""
    if probability < LEAST_TOLD:
        return "fewer than 1 of 10"
    return "{} {} of {}".format("about" if average else "at least", *out_of(probability))


def _reason(feature: Feature | None, reason: Reason) -> Facts:
    return {
        "title": _title(feature, reason.column),
        "value": cell_words(feature, reason.value),
        "reference": cell_words(feature, reason.reference),
        "is_number": feature is not None and feature.is_numeric,
    }


def _change(change: Change) -> Facts:
    return {
        "title": _title(change.feature, change.column),
        "today": cell_words(change.feature, change.before),
        "target": target_words(change),
    }


def _title(feature: Feature | None, column: str) -> str:
    """Title of a column, as a line begins; without the unit that its amounts have."""
    title = visible(column if feature is None else feature.heading, lines=False)
    name, unit = name_and_unit(title)
    name = name if unit and feature is not None and feature.is_numeric else title
    return f"{name[:1].upper()}{name[1:]}"


def cell_words(feature: Feature | None, value: Any) -> str:
    """Return a cell as a letter says it: an amount with its unit, "yes" or "no", "not stated" for nothing."""
    value = plain(value)
    if feature is not None and feature.label_of(value) is not None:
        return amount_text(feature, value)
    if is_missing(value):
        return NOT_STATED
    if isinstance(value, bool):
        return "yes" if value else "no"
    if feature is not None and feature.is_special(value):
        return f"{NO_AMOUNT} ({as_text(value)})"
    return amount_text(feature, value)


def target_words(change: Change) -> str:
    """Return what a change asks for: its range where that is known, else its value."""
    least, most = change.at_least, change.at_most
    if least == most:
        return cell_words(change.feature, change.after)
    low, high = cell_words(change.feature, least), cell_words(change.feature, most)
    unit = name_and_unit(change.title)[1]
    return f"between {low.removesuffix(f' {unit}') if unit else low} and {high}"


def chance(plan: Plan, option: int) -> float | None:
    """Return the probability that the next model accepts an option, anywhere in the ranges that are told.

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
    reliability = plan.basis.reliability if np.isnan(plan.reliability) else plan.reliability
    if plan.basis.subject not in ABOUT_THE_MODEL or (reliability is not None and reliability < LEAST_RELIABILITY):
        return None
    j = plan.position(option)
    ranged = not np.isnan(plan.at_least[j]).all()
    if plan.request.expected:
        asked = plan.request.guarantee if plan.status == "ok" and plan.request.guarantee_for == "each" else None
        return float(plan.interval_level[j]) if ranged else asked
    lower = float(plan.option_lower[j])
    least = min(lower, float(plan.interval_level[j])) if ranged else lower
    return least if least >= LEAST_TOLD else None


def out_of(probability: float) -> tuple[int, int]:
    """Return a probability as so many of 10, or of 100 where that says more; never more than it is."""
    hundredths = min(_rounded_down(probability, 100), 99)
    return (hundredths // 10, 10) if hundredths % 10 == 0 else (hundredths, 100)


def tenths(probability: float) -> int:
    """Return a probability in tenths, rounded down."""
    return _rounded_down(probability, 10)


def _rounded_down(probability: float, parts: int) -> int:
    return int((parts * Decimal(repr(probability))).to_integral_value(ROUND_FLOOR))
