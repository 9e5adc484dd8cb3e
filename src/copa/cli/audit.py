"""`copa audit`: what plans made elsewhere are worth, and what would break them."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from copa._core.progress import counting, stage
from copa._core.words import ERROR, FRAGILE, INFEASIBLE, OK, counted
from copa.analysis.attribution import Attribution, Attributor
from copa.analysis.totals import AuditTotals
from copa.cli.messages import FAILED, FINE, MisuseError, show, show_json
from copa.cli.options import (
    Applicants,
    AsJson,
    BundleArgument,
    Delimiter,
    ExpectedRate,
    Group,
    Guarantee,
    Id,
    NJobs,
    PlansArgument,
    RawCells,
    ReportFile,
    TotalsOnly,
    Whom,
    open_bundle,
    open_data,
    require_outputs,
    require_report,
)
from copa.data.tables.cells import as_json, as_text
from copa.data.tables.files import read_applicants, read_json_file, read_options
from copa.exceptions import DataError
from copa.plans import PlanBatch
from copa.plans.document import FORMAT, require_document
from copa.plans.wording import as_asked, assumption, guarantees_words, sentence
from copa.plans.writers import BATCH_FILES, PAGES, plans_into

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner.bundle import Bundle
    from copa.plans import Plan


SAVED = (".copa", ".zip")


@dataclass(frozen=True)
class Request:
    """What `copa audit` and `copa correct` are asked for, beside what they do with it.

    Attributes
    ----------
    bundle, plans : Path
    applicants : Path, optional
    output, report : Path, optional
        Files to write.
    totals_only : bool
        Whether the report shows no applicant one by one.
    group, label : str, optional
        Columns of the applicants with the groups that a report compares, and with their names.
    delimiter : str
        Between the cells of a CSV file.
    raw_cells : bool
        Whether cells of CSV files stay as they are, also where they begin formulas.
    """

    bundle: Path
    plans: Path
    applicants: Path | None
    output: Path | None
    report: Path | None
    totals_only: bool
    group: str | None
    label: str | None
    delimiter: str
    raw_cells: bool

    def open(self, **settings: Any) -> tuple["Bundle", Any, "pd.DataFrame | None"]:
        """Return the bundle, and plans and applicants as `RecoursePlanner.audit` takes them."""
        files = {"--output": (self.output, BATCH_FILES), "--report": (self.report, PAGES)}
        require_outputs(files, self.bundle, self.plans, self.applicants)
        require_report(self.totals_only, self.report)
        bundle = open_bundle(self.bundle, **settings)
        if not self.plans.is_file():
            raise MisuseError(f"the plans {self.plans} do not exist (looked for {self.plans.absolute()})")
        people = None
        if self.applicants is not None:
            table = open_data(self.applicants, self.delimiter)
            people = read_applicants(table, bundle.template, label=self.label, group=self.group)
        return bundle, self._read_plans(people), people

    def _read_plans(self, people: "pd.DataFrame | None") -> Any:
        suffix = self.plans.suffix.lower()
        if suffix in SAVED:
            with stage("reading the plans"):
                return PlanBatch.load(self.plans)
        if suffix == ".json":
            with stage("reading the plans"):
                content = read_json_file(self.plans)
            if content.get("format") == FORMAT:
                require_document(content)
            return content
        if people is None:
            raise MisuseError(
                f"--applicants is needed: {self.plans.name} holds options, not what the applicants are like today"
            )
        options = read_options(self.plans, self.delimiter, raw_cells=self.raw_cells)
        if len(options) == 0:
            raise DataError(f"{self.plans} has no options")
        return options

    def write(self, batch: PlanBatch, **more: Any) -> None:
        """Write plans, and a report of them, where they are wanted."""
        if self.output is not None:
            with (
                stage("writing the plans"),
                plans_into(self.output, certificates=True, raw_cells=self.raw_cells) as writer,
            ):
                writer.add(batch)
        if self.report is not None:
            from copa.report import write_report

            with stage("writing the report"):
                write_report(batch, self.report, group=self.group, totals_only=self.totals_only, **more)


SHOWN = 10  # applicants that are told in words; --json has all
MOST_VIOLATIONS = 3  # that are named of an option
VERDICTS = {
    OK: "the plan reaches the guarantee asked for",
    FRAGILE: "the plan does not reach the guarantee asked for",
    INFEASIBLE: "the plan cannot be offered as it is",
    ERROR: "the plan cannot be audited as it is",
}


def audit(  # noqa: PLR0913, PLR0917 - the options of the command
    bundle: BundleArgument,
    plans: PlansArgument,
    applicants: Applicants = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the audited plans: .csv, .parquet, .json or .copa."),
    ] = None,
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
    """Bound plans that someone else made, and say which option breaks first and how."""
    request = Request(bundle, plans, applicants, output, report, totals_only, group, label, delimiter, raw_cells)
    opened, given, people = request.open(
        guarantee=guarantee, expected=expected, guarantee_for=guarantee_for, n_jobs=n_jobs
    )
    batch = opened.planner.audit(given, people)
    request.write(batch, planner=opened.planner)
    with stage("counting what breaks"):
        totals, attributor = AuditTotals.of(batch, opened.fitted), Attributor(opened.fitted)
    if as_json:
        show_json(_content(batch, totals, attributor))
    else:
        _show(batch, totals, attributor)
    return FAILED if (batch.status == "error").all() else FINE


def with_options(batch: "PlanBatch") -> list[int]:
    """Positions of the applicants whom there is something to say of: they have options, or bad ones."""
    positions: list[int] = np.flatnonzero((batch.counts > 0) | (batch.status == "error")).tolist()
    return positions


def _content(batch: "PlanBatch", totals: AuditTotals, attributor: Attributor) -> dict[str, Any]:
    entries = []
    for plan in counting(batch, "finding what breaks", len(batch), "plans"):
        found = attributor.attribute(plan)
        entries.append(
            {
                "applicant": plan.label,
                "status": plan.status,
                "message": plan.message,
                "each": plan.option_lower.tolist(),
                "plausibility": [as_json(share) for share in plan.plausibility.tolist()],
                "any": plan.any_lower if plan.n_options else None,
                "all": plan.lower if plan.n_options else None,
                "breaks_first": None if found is None else found.to_dict(),
            }
        )
    return {
        "totals": totals.to_dict(),
        "assumption": assumption(batch.ambiguity, batch.basis),
        "comparison": attributor.comparison,
        "applicants": entries,
    }


def _show(batch: "PlanBatch", totals: AuditTotals, attributor: Attributor) -> None:
    concerned = with_options(batch)
    show("\n".join(totals.in_words(batch)))
    for i in concerned[:SHOWN]:
        show(f"\n{_paragraph(batch[i], attributor.attribute(batch[i]))}")
    if len(concerned) > SHOWN:
        show(f"\nAnd {counted(len(concerned) - SHOWN, 'more applicant')}: --json has all of them.")
    if len(concerned) < len(batch):
        show(f"\n{counted(len(batch) - len(concerned), 'applicant')} without options.")
    show(f"\n{attributor.comparison}")
    show(f"\n{assumption(batch.ambiguity, batch.basis)}")


def _paragraph(plan: "Plan", found: Attribution | None) -> str:
    """Say how sure a plan is, and what breaks it first."""
    lines = [f"Applicant {as_text(plan.label)}: {as_asked(VERDICTS[plan.status], plan.request)}."]
    if plan.status == ERROR:
        lines.append(sentence(plan.message))
    lines += _refusals(plan)
    if plan.n_options:
        lines.append(guarantees_words(plan))
    if found is not None:
        lines += [found.first_words(), *(f"- {cause}" for cause in found.causes if found.is_accepted)]
    return "\n  ".join(lines)


def _refusals(plan: "Plan") -> list[str]:
    """Say which options the schema does not allow, and which ones today's model does not accept."""
    own = plan.factual.iloc[np.zeros(plan.n_options, dtype=np.intp)]
    lines = []
    for number, found in enumerate(plan.basis.schema.violations(own, plan.options), start=1):
        more = f" (and {len(found) - MOST_VIOLATIONS} more)" if len(found) > MOST_VIOLATIONS else ""
        if found:
            lines.append(f"Option {number} is not allowed: {'; '.join(found[:MOST_VIOLATIONS])}{more}.")
    refused = (np.flatnonzero(~plan.accepted) + 1).tolist()
    if refused:
        names = ", ".join(str(number) for number in refused)
        lines.append(f"Today's model does not accept option{'' if len(refused) == 1 else 's'} {names}.")
    return lines
