"""`copa verify`: saved proofs, checked from the file alone."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from copa._core.words import counted
from copa.cli.commands import wants_json
from copa.cli.files import open_bundle, require_file
from copa.cli.messages import FAILED, FINE, MisuseError, say, show, show_json
from copa.data.tables.files import read_json_file
from copa.exceptions import DataError
from copa.plans import PlanBatch
from copa.plans.document import (
    BY_FORMULA,
    COVERED_BY_DIGEST,
    RECOMPUTED_BY_BUNDLE,
    Findings,
    check_document,
    claims_of_batch,
)
from copa.plans.storage import read_batches

if TYPE_CHECKING:
    from copa.planner.bundle import Bundle


SHOWN = 10  # violations


def verify(
    file: Annotated[
        Path, typer.Argument(help="Plans with their proofs: a run, or a .copa, .zip or .json file.", metavar="PLANS")
    ],
    *,
    bundle: Annotated[
        Path | None,
        typer.Option(
            help="Also check rows, schema, model and moments, and all other numbers that a bundle can recompute.",
            metavar="BUNDLE",
        ),
    ] = None,
) -> int:
    """Check every bound against its certificate, by plain linear algebra, and the file against its digest."""
    if not file.is_dir():
        require_file(file, "the file")
    opened = None if bundle is None else open_bundle(bundle)
    findings = _check_json(file, opened) if file.suffix.lower() == ".json" else _check_plans(file, opened)
    violations = findings.violations
    if wants_json():
        show_json({"file": str(file)} | findings.to_json())
    elif not violations:
        show(f"{file}: {_verdict(findings)}")
        if bundle is not None:
            show(
                "The rows are those that the certificates are about, the bundle's schema allows what is offered, the "
                "model accepts them as said, and the bundle gives the same "
                f"{', '.join(RECOMPUTED_BY_BUNDLE[2:])}."
            )
        show(f"Covered by the digest only: {', '.join(findings.digest_only)}.")
    for violation in violations[:SHOWN]:
        say(f"error: {violation}")
    if violations:
        say(f"error: {file}: {counted(len(violations), 'claim')} not proven.")
    return FAILED if violations else FINE


def _verdict(findings: Findings) -> str:
    """Say what was found where nothing contradicts it."""
    whom = f", for {findings.proven_for}" if findings.proven_for else ""
    found = f"{counted(findings.n_plans, 'plan')} with {counted(findings.n_options, 'option')}"
    how = f"every bound holds{whom}: {BY_FORMULA}" if findings.by_formula else f"every bound is proven{whom}"
    return f"{found}; {how}."


def _check_json(file: Path, opened: "Bundle | None") -> Findings:
    """Check a JSON document."""
    if opened is not None:
        raise MisuseError(
            "--bundle needs a run, or a .copa or .zip file: a JSON document does not keep the types of the rows"
        )
    content = read_json_file(file)
    try:
        return check_document(content)
    except DataError as error:
        raise DataError(f"{file}: {error}") from error


def _check_plans(file: Path, opened: "Bundle | None") -> Findings:
    """Check saved plans, batch by batch, and against a bundle where there is one."""
    findings = Findings() if opened is None else Findings(digest_only=COVERED_BY_DIGEST)
    for batch in read_batches(PlanBatch, file):
        findings.check(claims_of_batch(batch), len(batch))
        if opened is not None:
            from copa.planner.bundle_checks import bundle_violations

            findings.violations += bundle_violations(batch, opened.planner)
    return findings
