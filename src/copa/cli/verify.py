"""`copa verify`: saved proofs, checked from the file alone."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from copa._core.progress import counting, stage
from copa._core.words import counted
from copa.cli.messages import FAILED, FINE, MisuseError, say, show, show_json
from copa.cli.options import AsJson, open_bundle
from copa.exceptions import DataError
from copa.plans import PlanBatch
from copa.plans.document import (
    Claim,
    claims_of_batch,
    document_faults,
    name_violation,
)
from copa.plans.storage import in_parts, read_parts
from copa.tables.files import read_json_file

if TYPE_CHECKING:
    from copa.planner.bundle import Bundle


SHOWN = 10  # violations


def verify(
    file: Annotated[Path, typer.Argument(help="Saved plans with certificates: .copa, .zip or .json.", metavar="FILE")],
    *,
    bundle: Annotated[
        Path | None,
        typer.Option(help="Also check rows, schema, model and moments against a bundle.", metavar="BUNDLE"),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Check every bound in a file against its certificate, by plain linear algebra, and the file against its digest."""
    if not file.is_file():
        raise MisuseError(f"the file {file} does not exist (looked for {file.absolute()})")
    opened = None if bundle is None else open_bundle(bundle)
    n_plans, n_options, violations, proven_for = 0, 0, list[str](), ""
    for claim, violation in counting(_checked(file, opened), "checking proofs", None, "claims"):
        if claim is not None:
            n_plans += len(claim.option_lower) > 0
            n_options += len(claim.option_lower)
            proven_for = proven_for or claim.proven_for
        violations += [] if violation is None else [violation]
    if as_json:
        counts = {"file": str(file), "plans": n_plans, "options": n_options}
        show_json(counts | {"proven": not violations, "proven_for": proven_for, "faults": violations})
    elif not violations:
        scope = (
            ""
            if bundle is None
            else " The rows are those that the certificates are about, the bundle's schema allows what is offered, and "
            "the model accepts them as said."
        )
        found = f"{counted(n_plans, 'plan')} with {counted(n_options, 'option')}"
        show(f"{file}: {found}; every bound is proven{f', for {proven_for}' if proven_for else ''}.{scope}")
    for violation in violations[:SHOWN]:
        say(f"error: {violation}")
    if violations:
        say(f"error: {file}: {counted(len(violations), 'claim')} not proven.")
    return FAILED if violations else FINE


def _checked(file: Path, opened: "Bundle | None") -> Iterator[tuple[Claim | None, str | None]]:
    """Every claim, once with None and once per violation; those that are about no claim of their own come alone."""
    if file.suffix.lower() == ".json":
        if opened is not None:
            raise MisuseError(
                "--bundle needs a .copa or .zip file: a JSON document does not keep the types of the rows"
            )
        content = read_json_file(file)
        entries = content.get("applicants")
        n_plans = len(entries) if isinstance(entries, list) else 0
        with stage("checking plans", n_plans, "plans") as advance:
            try:
                for claim, violation in document_faults(content):
                    advance(claim is not None)
                    yield claim, violation
            except DataError as error:
                raise DataError(f"{file}: {error}") from error
        return
    batches = read_parts(PlanBatch, file) if in_parts(file) else iter([PlanBatch.load(file)])
    for batch in batches:
        yield from _with_violations(claims_of_batch(batch), len(batch))
        if opened is not None:
            from copa.planner.bundle import bundle_violations

            yield from ((None, violation) for violation in bundle_violations(batch, opened))


def _with_violations(claims: Iterator[Claim], n_plans: int) -> Iterator[tuple[Claim | None, str | None]]:
    for claim in counting(claims, "checking plans", n_plans, "plans"):
        yield claim, None
        yield from ((None, name_violation(claim, violation)) for violation in claim.violations())
