"""Letters of plans: who gets one, which options it offers, which reasons it gives; its numbers are checked."""

import warnings
from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.words import ERROR, TIME_LIMIT, counted, listed, require_known, shown
from copa.analysis.reasons import NEIGHBOURS, Reasons, find_reasons, protected_columns, require_reference
from copa.analysis.totals import accepted_today
from copa.data.tables.cells import as_text
from copa.exceptions import FragilePlanWarning, InvalidInputError, ProtectedReasonWarning
from copa.plans import Plan, PlanBatch
from copa.report.letters.facts import letter_facts
from copa.report.letters.letter import Letter, LetterSettings
from copa.report.letters.numbers import check_numbers
from copa.report.letters.template import Template, as_plain_text

if TYPE_CHECKING:
    from copa.planner import RecoursePlanner
    from copa.planner.strategies.base import Strategy

ACCEPTED, UNREADABLE, UNFINISHED = "accepted", "unreadable", "unfinished"
FRAGILE = "fragile"
WHY_NONE = {
    ACCEPTED: "the model accepts this applicant, and there is no decline to write about",
    UNREADABLE: "the applicant's row cannot be used: {}",
    UNFINISHED: "the time limit ended before this applicant's options were found; plan without it",
}


class LetterWriter:
    """Writes the letters of a planner's plans.

    Parameters
    ----------
    fitted : Strategy
        What the planner has fitted.
    settings : LetterSettings, optional
        What the sender says.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> import copa
    >>> from copa.report.letters import LetterSettings, LetterWriter
    >>> draw = np.random.default_rng(0)
    >>> X = pd.DataFrame({"income": draw.integers(10, 60, 300), "debt": draw.integers(0, 20, 300)})
    >>> y = X["income"] - X["debt"] + draw.normal(0, 5, 300) > 25
    >>> model = LogisticRegression().fit(X, y)
    >>> later = copa.LaterModels(n_refits=50)
    >>> planner = copa.RecoursePlanner(model, n_options=2, later_models=later, progress=False).fit(X, y)
    >>> writer = LetterWriter(planner.strategy_, LetterSettings(sender="Example Bank"))
    >>> [type(letter).__name__ for letter in writer.write(planner.plan(X.head(4)))]
    ['str', 'str', 'str', 'Letter']
    """

    def __init__(self, fitted: "Strategy", settings: LetterSettings | None = None) -> None:
        self._fitted = fitted
        self._settings = LetterSettings() if settings is None else settings
        self._template = Template(self._settings.template)
        self._protected = protected_columns(fitted.schema, fitted.model.columns)
        require_reference(fitted)

    def write(self, batch: PlanBatch) -> Iterator[Letter | str]:
        """Yield for every applicant a letter, or why there is none: "accepted", "unreadable" or "unfinished".

        Parameters
        ----------
        batch : PlanBatch
            Plans of this planner, made or audited by it.
        """
        _require_own(batch, self._fitted)
        why = self._without_letter(batch)
        declined = [i for i in range(len(batch)) if not why[i]]
        reasons = iter(find_reasons(self._fitted, batch.applicants.iloc[declined])) if declined else iter(())
        sound = self._sound_options(batch)
        for i in range(len(batch)):
            if why[i]:
                yield why[i]
                continue
            plan = batch[i]
            is_sound = sound[plan.own_rows]
            if plan.status in ("ok", FRAGILE) and not is_sound.all():
                raise InvalidInputError(
                    f"the plan of applicant {as_text(plan.label)} has options that the model or the schema refuses; "
                    "plan again with this planner"
                )
            offered = (np.flatnonzero(is_sound) + 1).tolist()
            left_out = plan.n_options if plan.status == FRAGILE and not self._settings.include_fragile else 0
            yield self._letter(plan, [] if left_out else offered, next(reasons), left_out)

    def _without_letter(self, batch: PlanBatch) -> list[str]:
        """Return why applicants get no letter, "" for those who do."""
        readable = batch.status != ERROR
        verdicts = [~readable, accepted_today(batch, self._fitted.model), batch.status == TIME_LIMIT]
        return [str(word) for word in np.select(verdicts, [UNREADABLE, ACCEPTED, UNFINISHED], "")]

    def _sound_options(self, batch: PlanBatch) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """Flag the options that today's model accepts and the schema allows, (M,)."""
        if len(batch.options) == 0:
            return np.zeros(0, dtype=bool)
        allowed = self._fitted.schema.obeys(batch.applicants.iloc[batch.owner], batch.options)
        return np.asarray(allowed & self._fitted.model.accepts(batch.options), dtype=bool)

    def _letter(self, plan: Plan, offered: list[int], reasons: Reasons, fragile_left_out: int) -> Letter:
        settings = self._settings
        without = self._protected if settings.without_protected else {}
        principal = reasons.principal()
        told = [reason for reason in principal if reason.column not in without]
        left_out = len(told) < len(principal)
        near = reasons.compared_with == NEIGHBOURS
        facts = letter_facts(plan, offered, told, left_out=left_out, settings=settings, neighbours=near)
        blocks = self._template.blocks(facts)
        text, html = as_plain_text(blocks), self._template.page(blocks)
        check_numbers(text, html, plan, told, settings)
        protected = tuple(reason.column for reason in told if reason.column in self._protected)
        return Letter(plan.label, text, html, tuple(told), protected, reasons, fragile_left_out)


def write_letter(planner: "RecoursePlanner", plan: Plan, **settings: Any) -> Letter:
    """Write a letter to a declined applicant: the decision, its principal reasons, the options, what is promised.

    Every number in it is checked against the plan before it is returned. A reason that looks like a protected
    attribute is given with a `ProtectedReasonWarning`. Options of a fragile plan are left out, with a
    `FragilePlanWarning`, unless `include_fragile=True` asks for them.

    Parameters
    ----------
    planner : RecoursePlanner
        The one that made the plan, or audited it.
    plan : Plan
    **settings : object
        What the sender says: the parameters of `LetterSettings`.

    Returns
    -------
    Letter

    Examples
    --------
    >>> import copa
    >>> from sklearn.linear_model import LogisticRegression
    >>> from copa.report.letters import write_letter
    >>> data = copa.datasets.load_german()
    >>> numbers = data.features[["duration", "amount"]]
    >>> model = LogisticRegression(max_iter=500).fit(numbers, data.favourable)
    >>> schema = copa.FeatureSchema([data.schema["duration"], data.schema["amount"]])
    >>> later = copa.LaterModels(n_refits=50)
    >>> planner = copa.RecoursePlanner(model, schema=schema, guarantee=0.6, n_options=2, later_models=later)
    >>> plan = planner.fit(numbers, data.favourable).plan(numbers[~model.predict(numbers)].head(1))[0]
    >>> letter = write_letter(planner, plan, sender="Example Bank")
    >>> [reason.column for reason in letter.told]
    ['duration', 'amount']
    """
    if not hasattr(planner, "strategy_"):
        raise InvalidInputError(f"planner must be a fitted RecoursePlanner, got {shown(planner)}")
    require_known(settings, [entry.name for entry in fields(LetterSettings)], "setting of letters")
    planner.fingerprint_.require_current()
    writer = LetterWriter(planner.strategy_, LetterSettings(**settings))
    alone: PlanBatch = plan.batch[plan.row : plan.row + 1]  # type: ignore[assignment]  # a plan is of such a batch
    letter = next(writer.write(alone))
    if isinstance(letter, str):
        raise InvalidInputError(f"applicant {as_text(plan.label)}: {WHY_NONE[letter].format(plan.message)}")
    if letter.protected:
        warnings.warn(
            f"the letter to applicant {as_text(plan.label)} gives as a reason what looks like a protected attribute: "
            f"{listed(letter.protected)}. Whether the model may use it, and what a letter must say of it, is for you "
            "to find out; without_protected=True leaves it out",
            ProtectedReasonWarning,
            stacklevel=2,
        )
    if letter.fragile_left_out:
        warnings.warn(
            f"the plan of applicant {as_text(plan.label)} is fragile: {counted(letter.fragile_left_out, 'option')} "
            "left out of the letter; include_fragile=True offers them",
            FragilePlanWarning,
            stacklevel=2,
        )
    return letter


def _require_own(batch: PlanBatch, fitted: "Strategy") -> None:
    """Raise for plans of another planner: their options and numbers are about another model."""
    from copa.planner.bundle_checks import terms_violations

    for violation in terms_violations(batch, fitted):
        raise InvalidInputError(
            "these plans are not of this planner, and letters of them would not be true: "
            f"{violation.replace('the bundle', 'the planner')}; plan again with it"
        )
