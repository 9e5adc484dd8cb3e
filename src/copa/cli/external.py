"""`copa audit` and `copa correct`: what plans made elsewhere are worth, what would break them, and their repair."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from copa._core.progress import counting, stage
from copa._core.words import ERROR, FRAGILE, INFEASIBLE, OK, counted, rounded_down
from copa.analysis.attribution import Attribution, Attributor
from copa.analysis.totals import AuditTotals
from copa.cli.commands import inherited, wants_json
from copa.cli.files import (
    SAVED,
    open_bundle,
    plans_opened,
    read_people,
    require_file,
    require_outputs,
    require_report,
    with_guarantee,
)
from copa.cli.messages import FAILED, FINE, MisuseError, show, show_json, show_table
from copa.cli.options import ApplicantOptions, BundleArgument, Guarantee, Method
from copa.data.tables.cells import as_json, as_text
from copa.data.tables.files import read_json_file, read_options
from copa.exceptions import DataError
from copa.plans import PlanBatch
from copa.plans.document import FORMAT, require_document
from copa.plans.wording import as_asked, assumption, guarantees_words, sentence
from copa.plans.writers import BATCH_FILES, PAGES

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner import CorrectedPlans, RecoursePlanner
    from copa.plans import Plan

SHOWN = 10  # applicants that are told in words; --json has all
MOST_VIOLATIONS = 3  # that are named of an option
VERDICTS = {
    OK: "the plan reaches the guarantee asked for",
    FRAGILE: "the plan does not reach the guarantee asked for",
    INFEASIBLE: "the plan cannot be offered as it is",
    ERROR: "the plan cannot be audited as it is",
}


DEFAULT = Method("level")


@dataclass(frozen=True, kw_only=True)
class ExternalPlans:
    """Plans of anyone, and what the planner of a bundle needs to judge them."""

    bundle: BundleArgument
    plans: Annotated[
        Path,
        typer.Argument(
            help="Plans: a table of options (.csv, .parquet), DiCE's .json, or plans of copa.", metavar="PLANS"
        ),
    ]
    applicants: Annotated[
        Path | None, typer.Option(help="Table of the applicants as they are today: .csv or .parquet.", metavar="FILE")
    ] = None
    guarantee: Guarantee = None

    def open(
        self, outputs: list[Path], people: ApplicantOptions
    ) -> tuple["RecoursePlanner", Any, "pd.DataFrame | None"]:
        """Return the planner, and plans and applicants as it takes them."""
        require_outputs(outputs, (*BATCH_FILES, *PAGES), self.bundle, self.plans, self.applicants)
        require_report(people, outputs)
        bundle = open_bundle(self.bundle)
        planner = with_guarantee(bundle.planner, self.guarantee)
        if not self.plans.is_dir():
            require_file(self.plans, "the plans")
        table = None if self.applicants is None else read_people(self.applicants, bundle, people)
        return planner, self._read_plans(table), table

    def _read_plans(self, people: "pd.DataFrame | None") -> Any:
        suffix = self.plans.suffix.lower()
        if suffix in SAVED or self.plans.is_dir():
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
        options = read_options(self.plans, inherited("delimiter", ","), raw_cells=bool(inherited("raw_cells")))
        if len(options) == 0:
            raise DataError(f"{self.plans} has no options")
        return options


def audit(
    source: ExternalPlans,
    people: ApplicantOptions,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            help="Write the audited plans (.csv, .parquet, .json, .zip, .copa) or a report (.html); repeatable.",
            metavar="FILE",
        ),
    ] = None,
) -> int:
    """Bound plans that someone else made, and say which option breaks first and how."""
    planner, plans, applicants = source.open(output or [], people)
    batch = planner.audit(plans, applicants)
    _write(batch, output or [], planner, people)
    with stage("counting what breaks"):
        totals, attributor = AuditTotals.of(batch, planner.strategy_), Attributor(planner.strategy_)
    if wants_json():
        show_json(_content(batch, totals, attributor))
    else:
        _show_audit(batch, totals, attributor)
    return FAILED if (batch.status == "error").all() else FINE


def correct(
    source: ExternalPlans,
    people: ApplicantOptions,
    output: Annotated[
        list[Path],
        typer.Option(
            "--output",
            "-o",
            help="Write the corrected plans (.csv, .parquet, .json, .zip, .copa) or a report (.html); repeatable.",
            metavar="FILE",
        ),
    ],
    *,
    method: Annotated[Method, typer.Option(help="Method of correction; see docs/planning.md.")] = DEFAULT,
    budget: Annotated[float, typer.Option(help="Largest distance an option is moved (mahalanobis).")] = 0.1,
    margin: Annotated[float, typer.Option(help="Mean score to reach (requirement).")] = 0.1,
    n_corrections: Annotated[int | None, typer.Option(help="Most options moved per plan; default: all.")] = None,
) -> int:
    """Repair plans that someone else made, and say what it did."""
    if not (budget >= 0.0 and margin >= 0.0) or (n_corrections is not None and n_corrections < 1):
        raise MisuseError(
            "--budget and --margin must be at least 0, and --n-corrections at least 1, got "
            f"{budget:g}, {margin:g} and {n_corrections}"
        )
    planner, plans, applicants = source.open(output, people)
    corrected = planner.correct(
        plans, applicants, method=str(method), budget=budget, margin=margin, n_corrections=n_corrections
    )
    _write(corrected.after, output, planner, people, corrected)
    written = [str(path) for path in output]
    if wants_json():
        records = corrected.summary().to_dict("records")
        show_json({"method": str(method), "written": written, "applicants": records})
    else:
        _show_correction(corrected, written)
    return FAILED if (corrected.after.status == "error").all() else FINE


def _write(
    batch: PlanBatch,
    output: list[Path],
    planner: "RecoursePlanner",
    people: ApplicantOptions,
    corrected: "CorrectedPlans | None" = None,
) -> None:
    with stage("writing the plans"), plans_opened(output, planner, people, corrected) as writers:
        for writer in writers:
            writer.add(batch)


def _with_options(batch: "PlanBatch") -> list[int]:
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


def _show_audit(batch: "PlanBatch", totals: AuditTotals, attributor: Attributor) -> None:
    concerned = _with_options(batch)
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


def _show_correction(corrected: "CorrectedPlans", written: list[str]) -> None:
    whole = corrected.summary()
    summary = whole.iloc[_with_options(corrected.before)]
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
        f"All options together hold more surely for {raised} of {counted(len(summary), 'applicant')}. "
        f"Written: {', '.join(written)}"
    )
