"""`copa gate`: a candidate model in, whether it may go live out."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from copa._core.words import shown
from copa.cli.commands import wants_json
from copa.cli.files import load_skops, open_bundle, open_promises, read_rows, require_outputs
from copa.cli.messages import FAILED, FINE, show, show_json, show_table
from copa.cli.options import AsOf, PageFile, PromisesOptions

if TYPE_CHECKING:
    from copa.promises import GateReport, PortfolioRisk

OUTPUTS = (".html", ".htm", ".json")


def gate(
    candidate: Annotated[Path, typer.Argument(help="Candidate model: .skops.", metavar="CANDIDATE")],
    tried: PromisesOptions,
    *,
    current: Annotated[
        Path | None,
        typer.Option(help="Model in force: .skops, or the bundle that plans with it.", metavar="FILE"),
    ] = None,
    reference: Annotated[
        Path | None, typer.Option(help="Other rows, to see who gains and loses: .csv or .parquet.", metavar="FILE")
    ] = None,
    group: Annotated[
        list[str] | None, typer.Option(help="Column to count by as well; repeatable.", metavar="COL")
    ] = None,
    as_of: AsOf = None,
    output: PageFile = None,
) -> int:
    """Try all open promises on a candidate model before it goes live.

    Exit code 0: it breaks no more promises than the limit allows; 1: it breaks more; 2: it could not be tried.
    """
    from copa.planner.training_data import model_kinds
    from copa.promises import gate as try_promises

    source = None if tried.promises is None else Path(tried.promises)
    require_outputs(output, OUTPUTS, candidate, source, current, reference)
    model = load_skops(candidate, "the candidate")
    in_force, kinds = (None, model_kinds(model)) if current is None else _open_current(current, model)
    with ExitStack() as stack:
        promises = open_promises(tried.promises, lambda path: read_rows(path, kinds), stack)
        report = try_promises(
            model,
            promises,
            max_broken=tried.max_broken,
            reference=None if reference is None else read_rows(reference, kinds),
            current=in_force,
            groups=group or (),
            favourable=tried.favourable,
            threshold=tried.threshold,
            as_of=as_of,
            model_version=tried.model_version,
            progress=None,
        )
        risk = _portfolio(in_force, promises, as_of, tried.model_version)
    if output is not None:
        _write(output, report, risk)
    if wants_json():
        show_json(report.to_dict() | ({} if risk is None else {"portfolio": _forecast(report, risk)}))
    else:
        _show(report, risk, output)
    return FINE if report.passed else FAILED


def _open_current(path: Path, candidate: Any) -> tuple[Any, dict[str, str]]:
    """Read the model in force, or the planner of a bundle, and the kinds of columns that it and the candidate know."""
    from copa.data.tables.casting import TEXT, TRUTH, kinds_of
    from copa.planner.training_data import model_kinds

    if path.suffix.lower() == ".skops":
        model = load_skops(path, "the model in force")
        return model, model_kinds(candidate) | model_kinds(model)
    bundle = open_bundle(path)
    known = {name: kind for name, kind in kinds_of(bundle.template).items() if kind in (TEXT, TRUTH)}
    return bundle.planner, model_kinds(candidate) | known


def _portfolio(in_force: Any, promises: Any, as_of: str | None, model_version: str | None) -> "PortfolioRisk | None":
    """What the next models are expected to break, where the planner of the model in force can tell."""
    from copa.exceptions import InvalidInputError
    from copa.promises import portfolio_risk

    if in_force is None or not hasattr(in_force, "strategy_"):
        return None
    try:
        return portfolio_risk(in_force, promises, as_of=as_of, model_version=model_version)
    except InvalidInputError:  # a planner without refits
        return None


def _forecast(report: "GateReport", risk: "PortfolioRisk") -> dict[str, Any]:
    return risk.to_dict() | {"allows_candidate": risk.allows(report.broken_share)}


def _write(path: Path, report: "GateReport", risk: "PortfolioRisk | None") -> None:
    if path.suffix.lower() == ".json":
        report.to_json(path)
    else:
        from copa.report import gate_page

        gate_page(report, path, portfolio=risk)


def _show(report: "GateReport", risk: "PortfolioRisk | None", output: Path | None) -> None:
    for name, parts in report.parts.items():
        rows = [
            [
                part.name,
                f"{part.n_promises:,}",
                f"{part.n_broken:,}",
                f"{part.broken_share:.2%}",
                "" if part.guaranteed is None else f"{part.guaranteed:.3f}",
            ]
            for part in parts
        ]
        show_table([name, "promises", "broken", "share", "mean guarantee"], rows)
        show("")
    for cause in report.causes:
        show(f"broken: {cause.in_words()}")
    if report.why_not:
        show(f"Why is not told: {report.why_not}.")
    for sentence in [*report.in_words(), *([] if risk is None else risk.beside(report.broken_share))]:
        show(sentence)
    if output is not None:
        show(f"Page: {shown(str(output))}" if output.suffix.lower() != ".json" else f"JSON: {shown(str(output))}")
