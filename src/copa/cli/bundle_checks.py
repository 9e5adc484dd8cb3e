"""Saved plans held against the bundle that they are said to be of: terms, ball, schema, rows and the model's answers.

Nothing that the plans say of themselves is believed here: what may change is read from the bundle's own schema, and who
is accepted is asked of the bundle's own model.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from copa.plans import PlanBatch
from copa.plans.cells import as_text, plain
from copa.plans.certificates import same_ball
from copa.plans.tables import option_numbers

if TYPE_CHECKING:
    from copa.cli.bundles import Bundle
    from copa.planner.fitted import Fitted

ENCODING = 1e-9  # relative difference of an entry of an encoded row that is rounding
WITHDRAWN = ("infeasible", "error")  # statuses of options that are not offered: their message says what is wrong
ACCEPTED = ("ok", "fragile")  # statuses that say that today's model accepts all options


def bundle_faults(batch: PlanBatch, bundle: "Bundle") -> Iterator[str]:
    """Say what a bundle has against saved plans, option by option."""
    fitted = bundle.fitted.resized(batch.ball.dimension - 1)  # a ball of scores has a dimension for each option
    if not same_ball(batch.ball, fitted.ball):
        yield "the ball of distributions is another one than that of the bundle"
        return
    different = [name for name, own in _terms_of(fitted).items() if getattr(batch.terms, name) != own]
    if different:
        yield f"the terms are not those of the bundle: {', '.join(different)} differ"
    yield from _applicant_faults(batch, fitted)
    if len(batch.options):
        yield from _option_faults(batch, fitted, bundle.planner.n_jobs)


def _terms_of(fitted: "Fitted") -> dict[str, Any]:
    """Terms of all plans of a bundle, whatever else was asked for when they were made."""
    return {
        "schema": fitted.schema,
        "favourable": plain(fitted.model.favourable),
        "threshold": fitted.model.threshold,
        "cost": "l2" if fitted.space.power == 2 else "l1",
        "radius_source": fitted.radius_source,
        "basis": fitted.basis,
    }


def _applicant_faults(batch: PlanBatch, fitted: "Fitted") -> Iterator[str]:
    """Applicants who are said to need nothing, though the model does not accept them."""
    idle = np.flatnonzero(batch.status == "already_valid")
    if len(idle):
        for i in idle[~fitted.model.accepts(batch.applicants.iloc[idle])].tolist():
            yield f"{_applicant(batch, i)}: the model does not accept the row, and the status is already_valid"


def _option_faults(batch: PlanBatch, fitted: "Fitted", n_jobs: int | None) -> Iterator[str]:
    encoded = fitted.points(batch.options, batch.owner, n_jobs)
    # Entry by entry: a column of large numbers would hide what differs in the others.
    near = np.abs(encoded - batch.points) <= ENCODING * np.maximum(1.0, np.abs(encoded))
    far = np.count_nonzero(near, axis=1) < encoded.shape[1]
    accepted = fitted.model.accepts(batch.options)
    violations = fitted.schema.violations(batch.applicants.iloc[batch.owner], batch.options)
    numbers, statuses = option_numbers(batch), batch.status[batch.owner]
    for k, (owner, status) in enumerate(zip(batch.owner.tolist(), statuses.tolist(), strict=True)):
        found = ["its row is not the one that the certificate is about"] if far[k] else []
        if accepted[k] != batch.accepted[k]:
            found.append("the model answers otherwise")
        elif status in ACCEPTED and not accepted[k]:
            found.append(f"the model does not accept it, and the status is {status}")
        if status not in WITHDRAWN:
            found += [f"breaks the schema: {violation}" for violation in violations[k]]
        yield from (f"{_applicant(batch, owner)}, option {numbers[k]}: {fault}" for fault in found)


def _applicant(batch: PlanBatch, i: int) -> str:
    return f"applicant {as_text(batch.applicants.index[i])}"
