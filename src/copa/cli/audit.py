"""`copa audit`: what plans made elsewhere are worth, and what would break them."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from copa._core.words import counted, rounded_down
from copa.analysis.attribution import Break, first_break
from copa.cli.messages import FAILED, FINE, MisuseError, show, show_json, show_table
from copa.cli.options import (
    Applicants,
    AsJson,
    BundleArgument,
    Delimiter,
    Group,
    Guarantee,
    Id,
    NJobs,
    PlansArgument,
    RawCells,
    ReportFile,
    Whom,
    open_bundle,
    open_data,
    require_outputs,
)
from copa.exceptions import DataError
from copa.plans import PlanBatch
from copa.plans.document import FORMAT, require_document
from copa.plans.wording import assumption
from copa.plans.writers import PAGES, PLAN_FILES, PROOF_FILES, plans_into
from copa.tables.cells import as_text
from copa.tables.files import read_applicants, read_json_file, read_options

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner.bundle import Bundle


SAVED = (".copa", ".zip")


@dataclass(frozen=True)
class Reading:
    """How files are read.

    Attributes
    ----------
    label, group : columns of the applicants with their names, and with the groups that a report compares
    delimiter : between the cells of a CSV file
    raw_cells : whether the cells of plans stay as they are, in the table of plans that copa wrote too
    """

    label: str | None
    group: str | None
    delimiter: str
    raw_cells: bool


def read_given(
    path: Path, bundle: "Bundle", applicants: Path | None, reading: Reading
) -> tuple[Any, "pd.DataFrame | None"]:
    """Return plans and applicants as `RecoursePlanner.audit` takes them."""
    if not path.is_file():
        raise MisuseError(f"the plans {path} do not exist (looked for {path.absolute()})")
    people = None
    if applicants is not None:
        table = open_data(applicants, reading.delimiter)
        people = read_applicants(table, bundle.template, label=reading.label, group=reading.group)
    suffix = path.suffix.lower()
    if suffix in SAVED:
        return PlanBatch.load(path), people
    if suffix == ".json":
        content = read_json_file(path)
        if content.get("format") == FORMAT:
            require_document(content)
        return content, people
    if people is None:
        raise MisuseError(f"--applicants is needed: {path.name} holds options, not what the applicants are like today")
    options = read_options(path, reading.delimiter, raw_cells=reading.raw_cells)
    if len(options) == 0:
        raise DataError(f"{path} has no options")
    return options, people


SHOWN = 10  # applicants that are told in words; --json has all


def audit(  # noqa: PLR0913, PLR0917 - the options of the command
    bundle: BundleArgument,
    plans: PlansArgument,
    applicants: Applicants = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write options and bounds: .csv, .parquet, .json, .copa.")
    ] = None,
    report: ReportFile = None,
    group: Group = None,
    label: Id = None,
    guarantee: Guarantee = None,
    guarantee_for: Whom = None,
    n_jobs: NJobs = None,
    delimiter: Delimiter = ",",
    raw_cells: RawCells = False,
    as_json: AsJson = False,
) -> int:
    """Bound plans that someone else made, and say which option breaks first and how."""
    files = {"--output": (output, tuple(dict.fromkeys((*PLAN_FILES, *PROOF_FILES)))), "--report": (report, PAGES)}
    require_outputs(files, bundle, plans, applicants)
    opened = open_bundle(bundle, guarantee=guarantee, guarantee_for=guarantee_for, n_jobs=n_jobs)
    reading = Reading(label=label, group=group, delimiter=delimiter, raw_cells=raw_cells)
    given, people = read_given(plans, opened, applicants, reading)
    batch = opened.planner.audit(given, people)
    breaks = [first_break(opened.fitted, batch, i) for i in range(len(batch))]
    write_plans(batch, output, report, raw_cells=raw_cells, planner=opened.planner, group=group)
    if as_json:
        show_json(_content(batch, breaks))
    else:
        _show(batch, breaks)
    return FAILED if (batch.status == "error").all() else FINE


def write_plans(batch: "PlanBatch", output: Path | None, report: Path | None, *, raw_cells: bool, **more: Any) -> None:
    """Write plans, and a report of them, where they are wanted."""
    if output is not None:
        with plans_into(output, certificates=True, raw_cells=raw_cells) as writer:
            writer.add(batch)
    if report is not None:
        from copa.report import write_report

        write_report(batch, report, **more)


def with_options(batch: "PlanBatch") -> list[int]:
    """Positions of the applicants whom there is something to say of: they have options, or bad ones."""
    positions: list[int] = np.flatnonzero((batch.counts > 0) | (batch.status == "error")).tolist()
    return positions


def _content(batch: "PlanBatch", breaks: list[Break | None]) -> dict[str, Any]:
    entries = []
    for plan, found in zip(batch, breaks, strict=True):
        entries.append(
            {
                "applicant": plan.label,
                "status": plan.status,
                "message": plan.message,
                "each": plan.option_lower.tolist(),
                "any": plan.any_lower if plan.n_options else None,
                "all": plan.lower if plan.n_options else None,
                "breaks_first": None if found is None else found.to_dict(),
            }
        )
    return {"assumption": assumption(batch.ball, batch.terms), "applicants": entries}


def _show(batch: "PlanBatch", breaks: list[Break | None]) -> None:
    concerned = with_options(batch)
    told = [(batch[i], breaks[i]) for i in concerned[:SHOWN]]
    rows = []
    for plan, found in told:
        numbers = [plan.option_lower.min(), plan.any_lower, plan.lower] if plan.n_options else []
        shown = [rounded_down(number) for number in numbers] or ["", "", ""]
        first = "" if found is None else f"option {found.option}"
        rows.append([as_text(plan.label), plan.status, plan.n_options, *shown, first])
    show_table(
        ["applicant", "status", "options", "each at least", "any at least", "all at least", "breaks first"], rows
    )
    for plan, found in told:
        lines = [line for line in (plan.message, "" if found is None else found.in_words()) if line]
        if lines:
            show(f"\nApplicant {as_text(plan.label)}: " + "\n".join(lines))
    if len(concerned) > SHOWN:
        show(f"\nand {counted(len(concerned) - SHOWN, 'more applicant')}: --json or -o FILE has all of them.")
    if len(concerned) < len(batch):
        show(f"\n{counted(len(batch) - len(concerned), 'applicant')} without options.")
    show(f"\n{assumption(batch.ball, batch.terms)}")
