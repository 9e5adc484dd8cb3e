"""Saved plans held against a planner: what they rest on, and the numbers that it recomputes."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from copa.data.tables.cells import as_text
from copa.planner.recourse_planner import RecoursePlanner
from copa.planner.settings import Execution
from copa.planner.strategies.options import Options
from copa.plans import PlanBatch
from copa.plans.frames import option_numbers

if TYPE_CHECKING:
    from copa.planner.strategies.base import Strategy

ENCODING = 1e-9  # relative difference of an entry of an encoded row that is rounding
WITHDRAWN = ("infeasible", "error")  # statuses of options that are not offered: their message says what is wrong
ACCEPTED = ("ok", "fragile")  # statuses that say that today's model accepts all options
ANOTHER_SET = "the ambiguity set is another one than that of the bundle"


def bundle_violations(batch: PlanBatch, planner: RecoursePlanner) -> Iterator[str]:
    """Yield what contradicts a planner in saved plans: its ambiguity set, terms, model and schema, and its numbers.

    These are the rows' points, acceptance, efforts, plausibility, rates of held-out refits and intervals.

    Parameters
    ----------
    batch : PlanBatch
    planner : RecoursePlanner
    """
    fitted = planner.strategy_
    different = list(terms_violations(batch, fitted))
    yield from different
    if ANOTHER_SET in different:
        return
    yield from _applicant_violations(batch, fitted)
    if len(batch.options):
        yield from _option_violations(batch, fitted, Execution.of(planner, len(fitted.space.columns)))


def terms_violations(batch: PlanBatch, fitted: "Strategy") -> Iterator[str]:
    """Yield what plans rest on and a planner does not: their ambiguity set, or the facts beside it."""
    if not batch.ambiguity.same_as(fitted.ambiguity(_n_options(batch))):
        yield ANOTHER_SET
        return
    basis, own = vars(batch.basis), vars(fitted.basis)
    different = [name for name, value in own.items() if basis[name] != value]
    if batch.request.cost != fitted.space.cost.name:
        different.append("cost")
    if different:
        yield f"the terms are not those of the bundle: {', '.join(different)} differ"


def _n_options(batch: PlanBatch) -> int:
    """Most options of a plan: an ambiguity set of scores has a dimension for each, and one more."""
    return batch.ambiguity.dimension - 1


def _applicant_violations(batch: PlanBatch, fitted: "Strategy") -> Iterator[str]:
    """Name the applicants who are said to need nothing, though the model does not accept them."""
    idle = np.flatnonzero(batch.status == "already_valid")
    if len(idle):
        for i in idle[~fitted.model.accepts(batch.applicants.iloc[idle])].tolist():
            yield f"{_applicant(batch, i)}: the model does not accept the row, and the status is already_valid"


def _option_violations(batch: PlanBatch, fitted: "Strategy", run: Execution) -> Iterator[str]:
    whose, owner = np.unique(batch.owner, return_inverse=True)
    origins = batch.applicants.iloc[whose]
    options = fitted.evaluate_options(origins, batch.options, owner, _n_options(batch), run.n_jobs)
    encoded = options.points
    # Entry by entry: a column of large numbers would hide what differs in the others.
    near = np.abs(encoded - batch.points) <= ENCODING * np.maximum(1.0, np.abs(encoded))
    far = np.count_nonzero(near, axis=1) < encoded.shape[1]
    accepted = options.accepted
    violations = fitted.schema.violations(batch.applicants.iloc[batch.owner], batch.options)
    numbers, statuses = option_numbers(batch), batch.status[batch.owner]
    different = _different_numbers(batch, fitted, whose, options, run)
    for k, (place, status) in enumerate(zip(batch.owner.tolist(), statuses.tolist(), strict=True)):
        faults = ["its row is not the one that the certificate is about"] if far[k] else []
        if accepted[k] != batch.accepted[k]:
            faults.append("the model answers otherwise")
        elif status in ACCEPTED and not accepted[k]:
            faults.append(f"the model does not accept it, and the status is {status}")
        if status not in WITHDRAWN:
            faults += [f"breaks the schema: {violation}" for violation in violations[k]]
        faults += [f"the bundle gives another {name}" for name, other in different.items() if other[k]]
        yield from (f"{_applicant(batch, place)}, option {numbers[k]}: {violation}" for violation in faults)


def _different_numbers(
    batch: PlanBatch, fitted: "Strategy", whose: Any, options: Options, run: Execution
) -> dict[str, Any]:
    """Flag the options (M,) of which a planner gives other numbers than a batch says, by what they are about."""
    different = {
        "effort": _other(batch.effort, options.effort) | _other(batch.change_effort, options.change_effort).any(axis=1),
        "plausibility": _other(batch.plausibility, options.plausibility),
    }
    everyone = np.ones(len(batch.options), dtype=bool)
    if batch.n_held_out:
        rates = fitted.expected_rates(options, len(whose), run.n_jobs)
        different["expected rate"] = everyone
        if rates is not None:
            plans = _other(batch.all_rate[whose], rates.all_rate) | _other(batch.any_rate[whose], rates.any_rate)
            shares = _other(batch.expected_rate, rates.expected_rate) | (batch.n_held_out != rates.n_held_out)
            different["expected rate"] = shares | plans[options.owner]
    ranged = ~np.isnan(batch.at_least).all(axis=1)
    if ranged.any():
        searched = fitted if not batch.request.expected else fitted.expecting()
        applicants = fitted.read_applicants(batch.applicants.iloc[whose])
        right = searched.intervals(applicants, options, batch.request, run)
        different["interval"] = ranged
        if right is not None:
            ends = _other(batch.at_least, right.at_least) | _other(batch.at_most, right.at_most)
            different["interval"] = ends.any(axis=1) | (ranged & _other(batch.interval_level, right.interval_level))
    return different


def _other(claimed: Any, right: Any) -> Any:
    """Flag numbers that differ by more than rounding; NaN claims nothing."""
    return ~np.isclose(claimed, right, rtol=ENCODING, atol=ENCODING) & ~np.isnan(claimed)


def _applicant(batch: PlanBatch, i: int) -> str:
    return f"applicant {as_text(batch.applicants.index[i])}"
