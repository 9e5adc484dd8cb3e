"""`copa verify`: saved proofs, checked from the file alone."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from copa._core.archive import parse_json
from copa._core.words import counted
from copa.bounds.certificate_list import same_ball
from copa.cli.messages import FAILED, FINE, MisuseError, say, show, show_json
from copa.cli.options import AsJson, open_bundle
from copa.exceptions import DataError
from copa.plans import PlanBatch
from copa.plans.claims import Claim, claims_of_batch, claims_of_document, name_fault
from copa.plans.document import require_document
from copa.plans.frames import option_numbers
from copa.plans.storage import in_parts, read_parts
from copa.tables.cells import as_text, plain

if TYPE_CHECKING:
    from copa.planner.bundle import Bundle
    from copa.planner.fitted import Fitted


ENCODING = 1e-9  # relative difference of an entry of an encoded row that is rounding
WITHDRAWN = ("infeasible", "error")  # statuses of options that are not offered: their message says what is wrong
ACCEPTED = ("ok", "fragile")  # statuses that say that today's model accepts all options


def bundle_faults(batch: PlanBatch, bundle: "Bundle") -> Iterator[str]:
    """Say what a bundle has against saved plans, option by option."""
    fitted = bundle.fitted
    if not batch.ball.same_as(fitted.ambiguity(_n_options(batch))):
        yield "the ball of distributions is another one than that of the bundle"
        return
    different = [name for name, own in _terms_of(fitted).items() if getattr(batch.terms, name) != own]
    if different:
        yield f"the terms are not those of the bundle: {', '.join(different)} differ"
    yield from _applicant_faults(batch, fitted)
    if len(batch.options):
        yield from _option_faults(batch, fitted, bundle.planner.n_jobs)


def _n_options(batch: PlanBatch) -> int:
    """Most options of a plan: an ambiguity set of scores has a dimension for each, and one more."""
    return batch.ball.dimension - 1


def _terms_of(fitted: "Strategy") -> dict[str, Any]:
    """Terms of all plans of a bundle, whatever else was asked for when they were made."""
    return {
        "schema": fitted.schema,
        "favourable": plain(fitted.model.favourable),
        "threshold": fitted.model.threshold,
        "cost": fitted.space.cost.name,
        "radius_source": fitted.radius_source,
        "basis": fitted.subject,
    }


def _applicant_faults(batch: PlanBatch, fitted: "Strategy") -> Iterator[str]:
    """Applicants who are said to need nothing, though the model does not accept them."""
    idle = np.flatnonzero(batch.status == "already_valid")
    if len(idle):
        for i in idle[~fitted.model.accepts(batch.applicants.iloc[idle])].tolist():
            yield f"{_applicant(batch, i)}: the model does not accept the row, and the status is already_valid"


def _option_faults(batch: PlanBatch, fitted: "Strategy", n_jobs: int | None) -> Iterator[str]:
    encoded = fitted.points(batch.options, batch.owner, _n_options(batch), n_jobs)
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


SHOWN = 10  # faults


def verify(
    file: Annotated[Path, typer.Argument(help="Saved plans with certificates: .copa, .zip or .json.", metavar="FILE")],
    *,
    bundle: Annotated[
        Path | None,
        typer.Option(help="Also check rows, schema, model and moments against this bundle.", metavar="BUNDLE"),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Check every bound in a file against its certificate, by plain linear algebra, and the file against its digest."""
    if not file.is_file():
        raise MisuseError(f"the file {file} does not exist (looked for {file.absolute()})")
    opened = None if bundle is None else open_bundle(bundle)
    n_plans, n_options, faults = 0, 0, list[str]()
    for claim, fault in _checked(file, opened):
        if claim is not None:
            n_plans += len(claim.option_lower) > 0
            n_options += len(claim.option_lower)
        faults += [] if fault is None else [fault]
    if as_json:
        show_json({"file": str(file), "plans": n_plans, "options": n_options, "proven": not faults, "faults": faults})
    elif not faults:
        scope = (
            ""
            if bundle is None
            else " The rows are those that the certificates are about, the bundle's schema allows what is offered, and "
            "the model accepts them as said."
        )
        show(f"{file}: {counted(n_plans, 'plan')} with {counted(n_options, 'option')}; every bound is proven.{scope}")
    for fault in faults[:SHOWN]:
        say(f"error: {fault}")
    if faults:
        say(f"error: {file}: {counted(len(faults), 'claim')} not proven.")
    return FAILED if faults else FINE


def _checked(file: Path, opened: "Bundle | None") -> Iterator[tuple[Claim | None, str | None]]:
    """Every claim, once with None and once per fault; faults that are about no claim of their own come alone."""
    if file.suffix.lower() == ".json":
        if opened is not None:
            raise MisuseError(
                "--bundle needs a .copa or .zip file: a JSON document does not keep the types of the rows"
            )
        try:
            yield from _with_faults(claims_of_document(_read_document(file)))
        except DataError as error:
            raise DataError(f"{file}: {error}") from error
        return
    batches = read_parts(PlanBatch, file) if in_parts(file) else iter([PlanBatch.load(file)])
    for batch in batches:
        yield from _with_faults(claims_of_batch(batch))
        if opened is not None:
            yield from ((None, fault) for fault in bundle_faults(batch, opened))


def _with_faults(claims: Iterator[Claim]) -> Iterator[tuple[Claim | None, str | None]]:
    for claim in claims:
        yield claim, None
        yield from ((None, name_fault(claim, fault)) for fault in claim.faults())


def _read_document(file: Path) -> dict[str, object]:
    try:
        content = parse_json(file.read_text(encoding="utf-8"))
        require_document(content)
    except ValueError as error:
        raise DataError(f"it is not JSON: {error}") from error
    return dict(content)
