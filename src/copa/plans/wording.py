"""A plan in plain words: its changes, its probabilities, and the assumption behind them."""

import math
import re
from typing import TYPE_CHECKING

import numpy as np

from copa._core.arrays import Array
from copa._core.words import counted, rounded_down, rounded_up, visible
from copa.data.tables.cells import as_text, is_missing, plain
from copa.models.refits.reliability import LEAST_RELIABILITY
from copa.plans.changes import Change
from copa.plans.request import PlanBasis, PlanRequest
from copa.plans.tested import TESTED_LEVELS, is_tested, tested_rule
from copa.theory.sets.ambiguity import AmbiguitySet

if TYPE_CHECKING:
    from copa.plans.records import PlanRecord


GUARANTEES_MEAN = (
    "A guarantee is a proven lower bound on the probability that the next model still gives the favourable answer, "
    "for every distribution of its parameters that the assumption allows; it says nothing about other distributions."
)

# What comes from a distribution of the ambiguity set, and whose mean and covariance these are. Of a black box: what its
# refits say of these very rows.
SUBJECTS = {
    "parameters": "the parameters of the next model",
    "scores": "the scores that the next model gives these rows (known from refits)",
    "surrogate": "the next model is the linear surrogate that was fitted around the applicant, whose parameters",
    "assumed": "the scores that the next model gives these rows (with an assumed covariance)",
}
MOMENTS = {
    "parameters": "the next models' {}",
    "scores": "the {} of the scores that the next models give these rows",
    "surrogate": "the local surrogate is true, and the {} of its parameters",
    "assumed": "the {} of the scores that the next models give these rows (covariance assumed)",
}

# What is done where the columns that an applicant may change say less of the score than all columns do.
DEDUCTED = (
    "From each score is deducted what makes it look too good because the option was chosen by it, judged within what "
    "this applicant may change."
)
# How messages begin to speak of the radius and the family of the ambiguity set, up to the next sentence.
OBSTACLE = "What stands in the way is"
_OBSTACLE = re.compile(rf"(?:\. |^)(?P<words>{OBSTACLE} .*?)(?=\. [A-Z]|\.?$)", re.DOTALL)

UNUSUAL = 0.1  # plausibility below which a person is told of it

# Options that a guarantee is about.
WHOM = {"each": "each option", "any": "at least one option", "all": "all options together"}

NOT_ASKED = "which was not asked for"
OUT_OF_REACH = "accepted today, but the guarantee asked for is out of reach; the plan shows the best that was found"
MEANINGS = {
    "ok": "a plan at the guarantee asked for",
    "already_valid": "today's model accepts the applicant as is; nothing needs to change",
    "fragile": OUT_OF_REACH,
    "infeasible": "no allowed option is accepted today, or a given option asks for what is not allowed",
    "time_limit": "the time limit ended before this applicant's turn",
    "error": "the row could not be used; the message names column and value",
}

# What became of an applicant, where there are options and where there are none. Options of an applicant who is not "ok"
# are external ones, or what was found before the search ended.
WITH_OPTIONS = {
    "ok": "",
    "already_valid": "Nothing needs to change.",
    "fragile": "These options do not reach the guarantee asked for.",
    "infeasible": "These options cannot all be offered.",
    "time_limit": "The time limit ended before the work on these options was finished.",
    "error": "Not everything that was given for this applicant can be used.",
}
WITHOUT_OPTIONS = {
    "ok": "There is no option.",
    "already_valid": "Nothing needs to change.",
    "fragile": "There is no option that reaches the guarantee asked for.",
    "infeasible": "There is no option to offer.",
    "time_limit": "The search for options was not finished.",
    "error": "No plan could be made for this applicant.",
}


def explain(plan: "PlanRecord", option: int | None = None) -> str:
    """Return a plan, or one option of it, as plain text."""
    if option is not None:
        parts = [option_words(plan, option), ranges_words(plan, option)]
        return "\n\n".join([*filter(None, parts), assumption(plan.ambiguity, plan.basis, plan.request)])
    found = counted(plan.n_options, "option") if plan.n_options else plan.status.replace("_", " ")
    return "\n\n".join(
        [
            f"Applicant {as_text(plan.label)}: {found}.",
            *filter(None, ["\n".join(status_notes(plan))]),
            *(option_words(plan, number) for number in range(1, plan.n_options + 1)),
            *([whole_words(plan)] if plan.n_options else []),
            *([assumption(plan.ambiguity, plan.basis, plan.request)] if makes_promises(plan) else []),
        ]
    )


def makes_promises(plan: "PlanRecord") -> bool:
    """Return whether a plan states probabilities, which must not be given without their assumption."""
    return plan.n_options > 0 or plan.status == "already_valid"


def status_notes(plan: "PlanRecord", *, technical: bool = True) -> list[str]:
    """Explain the status of a plan; without `technical`, `obstacle_words` are left out."""
    headline = as_asked((WITH_OPTIONS if plan.n_options else WITHOUT_OPTIONS)[plan.status], plan.request)
    if plan.message:
        reason = sentence(plan.message if technical else _OBSTACLE.sub("", plan.message))
    elif not math.isnan(plan.highest_level):
        reason = f"The highest {plan.request.goal} in reach is {rounded_down(plan.highest_level)}."
    else:
        reason = ""
    return [visible(note) for note in (headline, reason) if note]


def obstacle_words(message: str) -> str:
    """Return the part of a message about the radius and family of the ambiguity set, for validators; "" for none."""
    found = _OBSTACLE.search(message)
    return visible(sentence(found["words"])) if found else ""


def as_asked(words: str, request: PlanRequest) -> str:
    """Adapt words about the guarantee asked for to a request for an expected rate, or by the paper's objective.

    Plans by the paper's objective are compared with the planner's guarantee, though they were not made to reach it.
    """
    if request.objective == "paper":
        own = f"a guarantee of {request.guarantee:g}"
        if words == OUT_OF_REACH:
            return f"accepted today, but below {own}, {NOT_ASKED}"
        return words.replace("the guarantee asked for", own)
    return words.replace("guarantee asked for", f"{request.goal} asked for")


def sentence(text: str) -> str:
    """Return a message as a sentence."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def option_words(plan: "PlanRecord", option: int) -> str:
    """Say what an option asks for, and with which probability it is accepted."""
    j = plan.position(option)
    lines = [f"Option {option} (effort {plan.effort[j]:.2f})"]
    lines += [f"- {change_words(change)}" for change in plan.changes(option)] or ["- Change nothing."]
    today = "accepts" if plan.accepted[j] else "does not accept"
    lines.append(f"Today's model {today} this option. {guarantee_words(plan.option_lower[j])}")
    return "\n".join(lines)


def guarantee_words(least: float) -> str:
    """Say what is guaranteed for one option."""
    if not says_something(least):
        return "No probability can be guaranteed for it under the assumption made."
    return (
        f"The next model accepts it with probability at least {rounded_down(least)} if the assumption below is right."
    )


def unusual_words(plausibility: float) -> str:
    """Say that an option is an unusual combination of values, where it is; "" where not, or where that is not known."""
    return f"unusual combination: plausibility {rounded_down(plausibility)}" if plausibility < UNUSUAL else ""


def says_something(least: float) -> bool:
    """Return whether a lower bound is more than 0 with the three digits that are shown."""
    return float(rounded_down(least)) > 0.0


def change_words(change: Change) -> str:
    """Say one change as a sentence."""
    rises = _rises(change)
    verb = "Change" if rises is None else "Raise" if rises else "Lower"
    before, after = (as_text(change.worded(value), quoted=rises is None) for value in (change.before, change.after))
    if is_missing(change.before):
        also = f"; {change.range_text}" if change.range_text else ""
        return f"Set {change.title} to {after} (it is missing today{also})."
    also = f" ({change.range_text})" if change.range_text else ""
    return f"{verb} {change.title} from {before} to {after}{also}."


def ranges_words(plan: "PlanRecord", option: int | None = None) -> str:
    """Say what holds within the intervals of a plan's options, or of one of them; "" where there are none."""
    chosen = slice(None) if option is None else slice(plan.position(option), option)
    ranged = ~np.isnan(plan.at_least[chosen]).all(axis=1)
    if not ranged.any():
        return ""
    holds = f"accepted today and {_kept_words(plan, plan.interval_level[chosen][ranged])}"
    return (
        f"With any values in these ranges that the schema allows, also together, an option is {holds}. Effort, "
        "guarantee and plausibility are those of the values shown."
    )


def _kept_words(plan: "PlanRecord", levels: Array) -> str:
    """Say which level options keep within their intervals."""
    what = plan.request.goal
    asked = plan.request.guarantee
    reached = levels >= asked
    whole = plan.request.objective != "level" or plan.request.guarantee_for != "each"
    if whole or not reached.any():
        return f"keeps the {what} that it has by itself"
    return f"keeps {_article(what)} {what} of at least {asked:g}{'' if reached.all() else ', or its own if lower'}"


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"


def _rises(change: Change) -> bool | None:
    """Return whether a change goes up, in numbers or along the order of an ordinal; None where there is no up."""
    feature = change.feature
    if feature is None or is_missing(change.before) or is_missing(change.after) or feature.is_special(change.before):
        return None
    if feature.kind == "ordinal":
        if feature.labels:  # words have their own up and down: "below 20 %" may come after "20 to 25 %"
            return None
        here, there = feature.index.position(change.before), feature.index.position(change.after)
        return there > here if min(here, there) >= 0 else None
    if not feature.is_numeric:
        return None
    before, after = plain(change.before), plain(change.after)
    return None if isinstance(before, str) or isinstance(after, str) else bool(after > before)


def guarantees_words(plan: "PlanRecord") -> str:
    """Say with which probability the options are accepted, each, any and all of them; not what is 0."""
    if plan.n_options == 1:
        return _accepts([("its option", plan.lower)]) or "No probability can be guaranteed for its option."
    return _accepts([("each option", float(plan.option_lower.min())), *_together(plan)]) or (
        "No probability can be guaranteed for these options."
    )


def _together(plan: "PlanRecord") -> list[tuple[str, float]]:
    """Return lower bounds on the acceptance of several options together."""
    return [("at least one option", plan.any_lower), ("all of them together", plan.lower)]


def _accepts(bounds: list[tuple[str, float]]) -> str:
    """Say whom the next model accepts with which probability; "" where every bound is 0."""
    known = [f"{whom} with at least {rounded_down(bound)}" for whom, bound in bounds if says_something(bound)]
    return f"The next model accepts {', '.join(known)}.".replace("with at", "with probability at", 1) if known else ""


def whole_words(plan: "PlanRecord") -> str:
    """Say with which probability the plan as a whole is accepted."""
    sentences = []
    if plan.n_options > 1 and not plan.request.expected:
        sentences.append(_accepts(_together(plan)))
    most = rounded_up(plan.upper)
    if float(most) < 1.0:
        sentences.append(f"In the best case, the next model accepts all of them with probability {most} at most.")
    if plan.breaks_first is not None:
        sentences.append(f"Option {plan.breaks_first} is the one that a change of the model breaks first.")
    if plan.request.objective == "level":
        sentences.append(request_words(plan.request))
    sentences.append(ranges_words(plan))
    sentences.append(tried_words(plan))
    return " ".join(sentence for sentence in sentences if sentence) or "No level was asked for."


def tried_words(plan: "PlanRecord") -> str:
    """Say how many of the held-out refits accept the options; "" where there are none."""
    if plan.n_held_out == 0 or plan.n_options == 0:
        return ""
    shares = [f"{_percent_down(share)} accept option {j}" for j, share in enumerate(plan.expected_rate, start=1)]
    both = f"; {_percent_down(plan.all_rate)} accept all of them" if plan.n_options > 1 else ""
    words = (
        f"Expected rate: of {counted(plan.n_held_out, 'refit')} that the search did not go by, "
        f"{', '.join(shares)}{both}.{_reliability_words(plan)} This is a frequency, not a guarantee."
    )
    return f"{words}{_fidelity_words(plan)}"


def rates_words(plan: "PlanRecord") -> str:
    """Say what the expected rates are that stand beside each option; "" where there are none."""
    if plan.n_held_out == 0 or plan.n_options == 0:
        return ""
    both = f" {rounded_down(plan.all_rate)} accept all of them." if plan.n_options > 1 else ""
    return (
        f"Expected rate: share of {counted(plan.n_held_out, 'refit')}, none of them used by the search, that accept "
        f"the option.{both}{_reliability_words(plan)} This is a frequency, not a guarantee.{_fidelity_words(plan)}"
    )


def _reliability_words(plan: "PlanRecord") -> str:
    if math.isnan(plan.reliability):
        return ""
    return f" Scores count as far as they are reliable within what this applicant may change, {plan.reliability:.2f}."


def _fidelity_words(plan: "PlanRecord") -> str:
    if math.isnan(plan.fidelity):
        return ""
    return (
        f" Near these options the local surrogate used by the search agrees with the model on "
        f"{_percent_down(plan.fidelity)} of rows."
    )


def _percent_down(share: float) -> str:
    """Return a share as a percentage with one decimal at most, rounded down."""
    return f"{100.0 * float(rounded_down(share)):.4g}%"


def request_words(request: PlanRequest) -> str:
    """Say which guarantee was asked for."""
    if request.objective == "paper":
        return "No guarantee was asked for: the options minimise the paper's weighted sum."
    level, whom = f"{request.guarantee:g}", WHOM[request.guarantee_for]
    if request.expected:
        return f"Asked for is an expected rate of {level} for {whom}, not a guarantee."
    return f"The guarantee asked for is at least {level} for {whom}."


def assumption(ambiguity: AmbiguitySet, basis: PlanBasis, request: PlanRequest | None = None) -> str:
    """Say what the probabilities rest on; `request` is what was asked of the plans, where they are known."""
    answer = f"An option is accepted if the model answers {as_text(basis.favourable, quoted=True)}"
    rule = "" if basis.threshold is None else f" at the threshold {basis.threshold:g}"
    asked = request is None or request.level is not None
    deducted = f" {DEDUCTED}" if basis.deducts else ""
    return (
        f"Assumption: {SUBJECTS[basis.subject]} come from a distribution {ambiguity.in_words()} "
        f"(radius: {basis.radius_source}).{deducted} The probabilities are proven for every such distribution, "
        f"and say nothing about others. {expectation(ambiguity, basis, request) if asked else ''}{answer}{rule}. "
        "Effort is in units of the features' spreads."
    )


def expectation(ambiguity: AmbiguitySet, basis: PlanBasis, request: PlanRequest | None) -> str:
    """Say what to expect of guarantees that follow from a confidence, and how that was tested; "" for others."""
    if basis.confidence is None:
        return ""
    if basis.reliability is not None and basis.reliability < LEAST_RELIABILITY:
        return "The training data are too few for these probabilities to be relied on. "
    tested = tested_rule(basis.confidence) if basis.tested and is_tested(ambiguity) else None
    if tested is None or not _is_tested_request(request):
        return "How well later models keep guarantees of this kind of request was not tested. "
    return (
        "What we expect: a model that is trained the same way on as many new rows from the same population accepts an "
        f"option with probability at least its guarantee. {tested.in_words()} It is the training sample that is lucky "
        "or not: where it is not, its options fail together. "
    )


def _is_tested_request(request: PlanRequest | None) -> bool:
    """Return whether plans were asked for as in the benchmark: a level for each option, at the default cost."""
    if request is None or request.level is None:
        return False
    low, high = TESTED_LEVELS
    by_default = request.guarantee_for == "each" and request.cost == "l1"
    # Nothing is asked of the plausibility of plans that others made.
    return by_default and low <= request.level <= high and request.plausibility > 0.0


def shortened(text: str, length: int) -> str:
    """Cut a text to a length, with an ellipsis at the cut."""
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"


def percent(share: float) -> str:
    """Return a share as a percentage; a small or large one never as 0 or 100."""
    if 0.0 < share < 0.001:
        return "under 0.1 %"
    if 0.999 < share < 1.0:
        return "over 99.9 %"
    return f"{100.0 * share:.1f} %"


def condition(ambiguity: AmbiguitySet, basis: PlanBasis) -> str:
    """Return the condition under which every probability of a report holds, as half of a sentence."""
    if ambiguity.radius_words() is None:
        return f"if {SUBJECTS[basis.subject]} come from a distribution {ambiguity.in_words()}"
    if ambiguity.radius == 0.0:
        moments = MOMENTS[basis.subject].format("mean and covariance")
        return f"if {moments} are exactly the estimated ones{_form(ambiguity)}"
    before, after = around_radius(ambiguity, basis)
    return f"{before} {rounded_radius(ambiguity.radius)}{after}"


def around_radius(ambiguity: AmbiguitySet, basis: PlanBasis) -> tuple[str, str]:
    """Return the words before and after the radius in the condition of a report."""
    words = ambiguity.radius_words()
    if words is None:
        return f"for a {type(ambiguity).__name__} of radius", ""
    moments, after = words
    stay = "stay" if " and " in moments else "stays"
    return f"if {MOMENTS[basis.subject].format(moments)} {stay} within radius", f"{after}{_form(ambiguity)}"


def _form(ambiguity: AmbiguitySet) -> str:
    """Return the words about the form of a score's distribution, which follow those about its moments."""
    return f", and {ambiguity.laws.in_words}" if ambiguity.laws.in_words else ""


def request_fact(request: PlanRequest) -> tuple[str, str]:
    """Return the guarantee asked for, and for whom."""
    if request.objective == "paper":
        return "none", "the options minimise the paper's weighted sum"
    if request.expected:
        return "none", f"an expected rate of {request.guarantee:g} for {WHOM[request.guarantee_for]}"
    return f"at least {request.guarantee:g}", f"for {WHOM[request.guarantee_for]}"


def favourable(basis: PlanBasis) -> tuple[str, str]:
    """Return the answer that a person wants, and the rule that decides."""
    rule = "as the model itself predicts" if basis.threshold is None else f"at the threshold {basis.threshold:g}"
    return as_text(basis.favourable, quoted=True), rule


def rounded_radius(radius: float) -> str:
    """Return a radius with three digits, rounded down."""
    if radius == 0.0 or not math.isfinite(radius):
        return "0"
    unit = 10.0 ** (math.floor(math.log10(radius)) - 2)
    return f"{math.floor(radius / unit * (1.0 + 1e-12)) * unit:.3g}"
