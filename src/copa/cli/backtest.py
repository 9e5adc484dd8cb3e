"""`copa backtest`: dated data in, whether promises of the past were kept out."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from copa._core.reading import read_count
from copa._core.words import counted, rounded_down, shown
from copa.cli.fit import label_like, load_model, require_favourable
from copa.cli.messages import MisuseError, misuse, say, show, show_json, show_table
from copa.cli.options import (
    AsJson,
    Delimiter,
    Drop,
    ExpectedRate,
    Guarantee,
    NJobs,
    NOptions,
    NRefits,
    NStarts,
    RandomState,
    ReportFile,
    Schema,
    Target,
    TrustPickle,
    Whom,
    open_bundle,
    open_data,
    require_columns,
    require_outputs,
    set_up,
)
from copa.data.schema import FeatureSchema
from copa.data.tables.cells import as_text, text_of
from copa.exceptions import DataError
from copa.models.encoders import encoder_categories
from copa.plans.writers import PAGES

if TYPE_CHECKING:
    import pandas as pd

    from copa.analysis.backtest import Backtest
    from copa.planner import RecoursePlanner
    from copa.planner.training_data import TrainingData

MOST_VERSIONS = 100
PERIODS = {"month": "M", "quarter": "Q", "year": "Y"}

if TYPE_CHECKING:
    Every = str
else:
    Every = StrEnum("Every", {word.upper(): word for word in PERIODS})


def backtest(  # noqa: PLR0913, PLR0917 - the options of the command
    data: Annotated[Path, typer.Argument(help="Training data of all versions: .csv or .parquet.", metavar="DATA")],
    target: Target = None,
    by: Annotated[
        str | None,
        typer.Option(help="Column with the version or date of each row; without it the rows are split.", metavar="COL"),
    ] = None,
    every: Annotated[
        Every | None, typer.Option("--every", help="Where --by holds dates: train a version every month, ...")
    ] = None,
    bundle: Annotated[
        Path | None, typer.Option(help="Bundle made by `copa fit`: its model and settings are used.", metavar="BUNDLE")
    ] = None,
    model: Annotated[Path | None, typer.Option(help="Fitted model: .skops, .pkl or .joblib.", metavar="FILE")] = None,
    trust_pickle: TrustPickle = False,
    schema: Schema = None,
    drop: Drop = None,
    favourable: Annotated[str | None, typer.Option(help="Value of the target that applicants want.")] = None,
    threshold: Annotated[float | None, typer.Option(help="Probability from which the model accepts.")] = None,
    horizon: Annotated[
        int | None, typer.Option(help="Retrainings that promises are followed over.", metavar="N")
    ] = None,
    n_applicants: Annotated[int, typer.Option(help="Declined applicants planned for per version.", metavar="N")] = 50,
    n_splits: Annotated[int, typer.Option(help="Random halves of the rows, without --by.", metavar="N")] = 10,
    guarantee: Guarantee = None,
    expected: ExpectedRate = None,
    guarantee_for: Whom = None,
    n_options: NOptions = None,
    n_refits: NRefits = None,
    n_starts: NStarts = None,
    random_state: RandomState = None,
    n_jobs: NJobs = None,
    report: ReportFile = None,
    delimiter: Delimiter = ",",
    as_json: AsJson = False,
) -> None:
    """Plan as of each past version of a model, ask the later ones, and say whether the promises were kept.

    The model is fitted again to the rows of each version; as of each, only older versions are known. Without --by,
    halves of the rows are planned on and the other halves asked, which forecasts averages and certifies nothing.
    """
    from copa.planner import RecoursePlanner

    require_outputs({"--report": (report, PAGES)}, data, bundle, model, schema)
    options = {"horizon": horizon, "n_applicants": n_applicants, "n_splits": n_splits}
    with misuse():
        for name, value in options.items():
            read_count(1 if value is None else value, name)
    if by is not None and by == target:
        raise MisuseError(f"--by and --target are the same column, {shown(by)}")
    if bundle is not None and (model is not None or schema is not None):
        raise MisuseError("--bundle has a model and a schema; leave --model and --schema out")
    table = open_data(data, delimiter, drop or ())
    settings: dict[str, Any] = {
        "guarantee": guarantee,
        "expected": expected,
        "guarantee_for": guarantee_for,
        "n_options": n_options,
        "n_refits": n_refits,
        "n_starts": n_starts,
        "random_state": random_state,
        "n_jobs": n_jobs,
    }
    if bundle is not None:
        opened = open_bundle(bundle, **settings)
        planner, target = opened.planner, target or opened.facts.get("label")
    else:
        fitted = None if model is None else load_model(model, trust_pickle=trust_pickle)
        planner = set_up(RecoursePlanner(fitted, threshold=threshold), **settings)
        planner.schema = None if schema is None else FeatureSchema.load(schema)
    if target is None:
        raise MisuseError("missing option --target: the column with the outcome")
    require_columns(table, [target, *([] if by is None else [by])])
    table.require_distinct()
    from copa.planner.training_data import read_training_data

    known: Any = planner.schema
    if favourable is not None or planner.favourable is None:
        planner.favourable = require_favourable(favourable, table, target, known)
    training = read_training_data(table, target, planner.model, known, by)
    for note in training.notes:
        say(f"note: {note}")
    names, rows = _read_versions(training, by, every)
    _complete(planner, training, rows[-1])
    found = _run(planner, training, names, rows, target, **options)
    if report is not None:
        from copa.report import backtest_page

        backtest_page(found, report)
    if as_json:
        show_json(found.to_dict())
    else:
        _show(found, report)


def _read_versions(training: "TrainingData", by: str | None, every: Any) -> tuple[list[str], list[Any]]:
    """Names of the versions, oldest first, and the rows of each; without a column, one version of all rows."""
    if by is None:
        if every is not None:
            raise MisuseError("--every is about the dates in --by; give both, or neither")
        return ["1"], [np.arange(len(training.features))]
    column = training.beside
    assert column is not None  # noqa: S101 - it was asked for
    if every is not None:
        column = _periods(column, by, str(every))
    known = sorted(column.unique().tolist())
    if not 2 <= len(known) <= MOST_VERSIONS:
        raise DataError(
            f"column {shown(by)} has {counted(len(known), 'different value')}; versions must be 2 to {MOST_VERSIONS}. "
            "Of a column of dates, say how often the model is trained: --every quarter"
        )
    return [as_text(value) for value in known], [np.flatnonzero(column.to_numpy() == value) for value in known]


def _periods(column: "pd.Series[Any]", by: str, every: str) -> "pd.Series[Any]":
    """Dates as the periods that they lie in, by their names."""
    import pandas as pd

    try:
        dates = pd.to_datetime(column.astype(str), format="ISO8601")
    except ValueError as error:
        raise DataError(f"column {shown(by)} must hold dates such as 2024-03-31: {error}") from error
    return dates.dt.to_period(PERIODS[every]).astype(str)


def _complete(planner: Any, training: "TrainingData", newest: Any) -> None:
    """Give the planner what it still lacks: a schema, a model of the newest version, and the favourable label."""
    from copa.planner.training_data import fit_default_model

    if planner.schema is None:
        say("note: without --schema any column may change; see `copa schema infer`")
        planner.schema = FeatureSchema.infer(training.features, categories=encoder_categories(planner.model))
    if planner.model is None:
        planner.model, _ = fit_default_model(training.features.iloc[newest], training.labels[newest], planner.schema)


def _run(
    planner: "RecoursePlanner", training: "TrainingData", names: list[str], rows: list[Any], target: str, **options: Any
) -> "Backtest":
    from copa.planner.training_data import as_classes

    labels = as_classes(planner.model, training.labels, target)
    planner.favourable = label_like(str(text_of(planner.favourable)).strip(), labels)
    for name, own in zip(names, rows, strict=True):
        if len(np.unique(labels[own])) < 2:
            raise DataError(
                f"version {shown(name)} has {counted(len(own), 'row')}, all of them with the same {shown(target)}; a "
                "model needs both. Take longer periods, or leave it out"
            )
    pairs = [(training.features.iloc[own].reset_index(drop=True), labels[own]) for own in rows]
    if len(pairs) == 1:
        say("note: without --by there is no history: the rows are split, and what is said is a forecast")
        return planner.backtest(*pairs[0], **options)
    return planner.backtest(history_data=pairs, names=names, **options)


def _show(found: "Backtest", report: Path | None) -> None:
    shares = ["promised", "accepted", "lowest", "expected", "inside"]
    rows = []
    for h, result in found.horizons.iterrows():
        cells = ["" if np.isnan(share) else rounded_down(share) for share in result[shares]]
        effort = "" if np.isnan(result.effort) else f"{result.effort:.2f}"
        rows.append([h, *cells, effort, result.n_transitions, rounded_down(result.highest_level), result.verdict])
    show_table(["ahead", *shares, "effort", "transitions", "supports", "verdict"], rows)
    show("")
    show(found.headline)
    for h in found.horizons.index:
        show(f"{found.in_words(h)}.")
    for limit in found.limits:
        show(f"{limit}.")
    if report is not None:
        show(f"Report: {report}")
