"""What a letter says, as plain texts for its template: there is nothing in them to compute with."""

from typing import Any

from copa._core.words import visible
from copa.analysis.reasons import Reason
from copa.letters.chance import LEAST_TOLD, chance, out_of, tenths
from copa.letters.letter import LetterSettings
from copa.plans import Change, Plan
from copa.plans.units import amount_text, name_and_unit
from copa.schema import Feature
from copa.tables.cells import alone, as_text, is_missing, plain

Facts = dict[str, Any]
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
    """Collect what a letter says.

    Parameters
    ----------
    plan : Plan
    offered : list of int
        Numbers of the options that may be offered.
    told : list of Reason
    left_out : bool
        Whether there are further reasons that the letter keeps to itself.
    settings : LetterSettings
    neighbours : bool
        Whether the applicant is compared with similar applications, and not with all that the model accepts.
    """
    features = {feature.name: feature for feature in plan.basis.schema.features}
    chances = {number: chance(plan, number) for number in offered}
    told_once = len({None if p is None else tenths(p) for p in chances.values()}) == 1
    lowest = min((p for p in chances.values() if p is not None), default=None)
    average = plan.request.aim == "expected"
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
    """A chance as a letter says it, "" where it is not known: a bound from below, or an average."""
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
    """What people call a column, as a line begins; without the unit that its amounts are told with."""
    title = visible(column if feature is None else feature.heading, lines=False)
    name, unit = name_and_unit(title)
    name = name if unit and feature is not None and feature.is_numeric else title
    return f"{name[:1].upper()}{name[1:]}"


def cell_words(feature: Feature | None, value: Any) -> str:
    """A cell as a letter says it: an amount with its unit, "yes" or "no", "not stated" for nothing."""
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
    """What a change asks for: its range where that is known, else its value."""
    least, most = change.at_least, change.at_most
    if least == most:
        return cell_words(change.feature, change.after)
    low, high = cell_words(change.feature, least), cell_words(change.feature, most)
    unit = name_and_unit(change.title)[1]
    return f"between {low.removesuffix(f' {unit}') if unit else low} and {high}"
