"""`copa gate`: a candidate model in, whether it may go live out."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from copa._core.progress import stage
from copa._core.words import shown
from copa.cli.fit import load_model
from copa.cli.messages import FAILED, FINE, LONGEST, MisuseError, show, show_json, show_table
from copa.cli.options import AsJson, Delimiter, open_bundle, open_data, require_outputs
from copa.cli.promise_source import MAX_BROKEN, ModelVersion, OtherLedger, PromisesFile, open_promises
from copa.exceptions import CopaError

if TYPE_CHECKING:
    import pandas as pd

    from copa.promises import GateReport, PortfolioRisk

OUTPUTS = (".html", ".htm", ".json")


def gate(  # noqa: PLR0913, PLR0917 - the options of the command
    candidate: Annotated[Path, typer.Argument(help="Candidate model: .skops.", metavar="CANDIDATE")],
    ledger: OtherLedger = None,
    promises: PromisesFile = None,
    max_broken: Annotated[str, typer.Option("--max-broken", help=MAX_BROKEN, metavar="LIMIT")] = "0",
    current: Annotated[
        Path | None,
        typer.Option(help="Model in force: .skops, or the bundle that plans with it.", metavar="FILE"),
    ] = None,
    reference: Annotated[
        Path | None, typer.Option(help="Other rows, to see who gains and loses: .csv or .parquet.", metavar="FILE")
    ] = None,
    groups: Annotated[
        list[str] | None, typer.Option("--groups", help="Column to count by as well; repeatable.", metavar="COL")
    ] = None,
    favourable: Annotated[str | None, typer.Option(help="Label that was promised, where nothing says it.")] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Probability from which the models accept; default: what `predict` says.")
    ] = None,
    as_of: Annotated[
        str | None, typer.Option("--as-of", help="Day on which promises are outstanding.", metavar="DATE")
    ] = None,
    model_version: ModelVersion = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the page (.html) or the JSON (.json).", metavar="FILE")
    ] = None,
    delimiter: Delimiter = ",",
    as_json: AsJson = False,
) -> int:
    """Try all outstanding promises on a candidate model before it goes live.

    Exit code 0: it breaks no more promises than the limit allows; 1: it breaks more; 2: it could not be tried.
    """
    from copa.planner.training_data import model_kinds
    from copa.promises import gate as try_promises

    with _untried():
        require_outputs({"--output": (output, OUTPUTS)}, candidate, promises, current, reference)
        model = _load(candidate, "the candidate")
        in_force, kinds = (None, model_kinds(model)) if current is None else _open_current(current, model)
        with ExitStack() as stack:
            given = open_promises(ledger, promises, lambda path: _read(path, delimiter, kinds), stack)
            report = try_promises(
                model,
                given,
                max_broken=max_broken,
                reference=None if reference is None else _read(reference, delimiter, kinds),
                current=in_force,
                groups=groups or (),
                favourable=favourable,
                threshold=threshold,
                as_of=as_of,
                model_version=model_version,
                progress=None,
            )
            risk = _portfolio(in_force, given, as_of, model_version)
        if output is not None:
            _write(output, report, risk)
        if as_json:
            show_json(report.to_dict() | ({} if risk is None else {"portfolio": _forecast(report, risk)}))
        else:
            _show(report, risk, output)
        sys.stdout.flush()  # a verdict that nobody can read is none
    return FINE if report.passed else FAILED


@contextmanager
def _untried() -> Iterator[None]:
    """Turn whatever goes wrong into exit code 2: 1 says that the candidate was tried, and breaks too much."""
    try:
        yield
    except MisuseError:
        raise
    except CopaError as error:
        raise MisuseError(str(error)) from error
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise MisuseError(f"{where}{error.strerror or error}") from error
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except Exception as error:
        raise MisuseError(f"unexpected {type(error).__name__}: {str(error)[:LONGEST]}") from error


def _load(path: Path, what: str) -> Any:
    if path.suffix.lower() != ".skops":
        raise MisuseError(f"{what} must be a .skops file, which runs no code when it is loaded, got {path.name}")
    return load_model(path, trust_pickle=False)


def _open_current(path: Path, candidate: Any) -> tuple[Any, dict[str, str]]:
    """Read the model in force, or the planner of a bundle, and the kinds of columns that it and the candidate know."""
    from copa.data.tables.casting import TEXT, TRUTH, kinds_of
    from copa.planner.training_data import model_kinds

    if path.suffix.lower() == ".skops":
        model = _load(path, "the model in force")
        return model, model_kinds(candidate) | model_kinds(model)
    bundle = open_bundle(path)
    known = {name: kind for name, kind in kinds_of(bundle.template).items() if kind in (TEXT, TRUTH)}
    return bundle.planner, model_kinds(candidate) | known


def _read(path: Path, delimiter: str, kinds: Mapping[str, str]) -> "pd.DataFrame":
    """Read rows, or what `copa promises list` wrote, of which ids, names and versions are text."""
    from copa.data.tables.casting import TEXT
    from copa.data.tables.files import read_table
    from copa.promises.promised_rows import text_facts

    table = open_data(path, delimiter)
    table.require_distinct()
    with stage(f"reading {path.name}"):
        return read_table(table, table.names, {**kinds, **dict.fromkeys(text_facts(table.names), TEXT)})[0]


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
