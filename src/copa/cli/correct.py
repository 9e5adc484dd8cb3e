"""`copa correct`: plans made elsewhere, repaired."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from copa._core.words import counted, rounded_down
from copa.cli.audit import SHOWN, Request, with_options
from copa.cli.messages import FAILED, FINE, MisuseError, show, show_json, show_table
from copa.cli.options import (
    Applicants,
    AsJson,
    BundleArgument,
    Delimiter,
    ExpectedRate,
    Group,
    Guarantee,
    Id,
    Method,
    NJobs,
    PlansArgument,
    RawCells,
    ReportFile,
    TotalsOnly,
    Whom,
)
from copa.data.tables.cells import as_text

if TYPE_CHECKING:
    from copa.planner import CorrectedPlans


DEFAULT = Method("level")


def correct(  # noqa: PLR0913, PLR0917 - the options of the command
    bundle: BundleArgument,
    plans: PlansArgument,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Write the corrected plans: .csv, .parquet, .json or .copa."),
    ],
    applicants: Applicants = None,
    method: Annotated[Method, typer.Option(help="Method of correction; see docs/planning.md.")] = DEFAULT,
    budget: Annotated[float, typer.Option(help="Largest distance an option is moved (mahalanobis).")] = 0.1,
    margin: Annotated[float, typer.Option(help="Mean score to reach (requirement).")] = 0.1,
    n_corrections: Annotated[int | None, typer.Option(help="Most options moved per plan; default: all.")] = None,
    report: ReportFile = None,
    totals_only: TotalsOnly = False,
    group: Group = None,
    label: Id = None,
    guarantee: Guarantee = None,
    expected: ExpectedRate = None,
    guarantee_for: Whom = None,
    n_jobs: NJobs = None,
    delimiter: Delimiter = ",",
    raw_cells: RawCells = False,
    as_json: AsJson = False,
) -> int:
    """Repair plans that someone else made, and say what it did."""
    if not (budget >= 0.0 and margin >= 0.0) or (n_corrections is not None and n_corrections < 1):
        raise MisuseError(
            "--budget and --margin must be at least 0, and --n-corrections at least 1, got "
            f"{budget:g}, {margin:g} and {n_corrections}"
        )
    request = Request(bundle, plans, applicants, output, report, totals_only, group, label, delimiter, raw_cells)
    opened, given, people = request.open(
        guarantee=guarantee, expected=expected, guarantee_for=guarantee_for, n_jobs=n_jobs
    )
    corrected = opened.planner.correct(
        given, people, method=str(method), budget=budget, margin=margin, n_corrections=n_corrections
    )
    request.write(corrected.after, planner=opened.planner, corrected=corrected)
    if as_json:
        records = corrected.summary().to_dict("records")
        show_json({"method": str(method), "written": str(output), "applicants": records})
    else:
        _show(corrected, output)
    return FAILED if (corrected.after.status == "error").all() else FINE


def _show(corrected: "CorrectedPlans", output: Path) -> None:
    whole = corrected.summary()
    summary = whole.iloc[with_options(corrected.before)]
    rows = []
    for entry in summary.head(SHOWN).to_dict("records"):
        numbers = [rounded_down(entry[name]) for name in ("any_before", "any_after", "all_before", "all_after")]
        rows.append([as_text(entry["applicant"]), entry["status_before"], entry["status_after"], *numbers])
    show_table(["applicant", "status", "then", "any at least", "then", "all at least", "then"], rows)
    if len(summary) > SHOWN:
        show(f"and {counted(len(summary) - SHOWN, 'more applicant')}.")
    left_out = int(summary["left_out"].sum())
    if left_out:
        show(f"Left out: {counted(left_out, 'option')} that the schema or today's model refuses as given or corrected.")
        told = summary.index[summary["left_out"] > 0][:SHOWN]
        for i in told:
            show(f"  {as_text(summary.loc[i, 'applicant'])}: {corrected.after.message[i]}")
    raised = int((summary["all_after"] > summary["all_before"]).sum())
    show(
        f"All options together hold more surely for {raised} of {counted(len(summary), 'applicant')}. Written: {output}"
    )
