"""`copa backtest`: dated data in, whether promises of the past were kept out."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from copa._core.files import write_atomically
from copa._core.reading import read_count
from copa._core.words import counted, rounded_down, shown
from copa.cli.commands import wants_json
from copa.cli.files import open_bundle, open_data, require_columns, require_outputs, with_guarantee
from copa.cli.fit import label_like
from copa.cli.messages import MisuseError, json_text, misuse, say, show, show_json, show_table
from copa.cli.options import BundleArgument, Guarantee, PageFile
from copa.data.tables.cells import as_text, text_of
from copa.exceptions import DataError
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


def backtest(  # noqa: PLR0913 - the options of the command
    bundle: BundleArgument,
    data: Annotated[Path, typer.Argument(help="Training data of all versions: .csv or .parquet.", metavar="DATA")],
    *,
    target: Annotated[
        str | None, typer.Option(help="Column of the outcome; default: that of `copa fit`.", metavar="COL")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="Column of the version or date of each row; without it the rows are split.", metavar="COL"),
    ] = None,
    every: Annotated[
        Every | None, typer.Option("--every", help="How often a version is trained, where --by holds dates.")
    ] = None,
    guarantee: Guarantee = None,
    horizon: Annotated[
        int | None, typer.Option(help="Retrainings that promises are followed over.", metavar="N")
    ] = None,
    n_applicants: Annotated[int, typer.Option(help="Declined applicants to plan for per version.", metavar="N")] = 50,
    output: PageFile = None,
) -> None:
    """Plan as of each past version of a model, ask the later ones, and say whether the promises were kept.

    The model is fitted again to the rows of each version; as of each, only older versions are known.

    Without --by, halves of the rows are planned on and the others asked: a forecast that certifies nothing.
    """
    require_outputs(output, (*PAGES, ".json"), data, bundle)
    options = {"horizon": horizon, "n_applicants": n_applicants}
    with misuse():
        for name, value in options.items():
            read_count(1 if value is None else value, name)
    opened = open_bundle(bundle)
    planner, target = with_guarantee(opened.planner, guarantee), target or opened.facts.get("label")
    if target is None:
        raise MisuseError("missing option --target: the column with the outcome")
    if by == target:
        raise MisuseError(f"--by and --target are the same column, {shown(by)}")
    table = open_data(data)
    require_columns(table, [target, *([] if by is None else [by])])
    table.require_distinct()
    from copa.planner.training_data import read_training_data

    training = read_training_data(table, target, planner.model, planner.schema_, by)
    for note in training.notes:
        say(f"note: {note}")
    names, rows = _read_versions(training, by, every)
    result = _run(planner, training, names, rows, target, **options)
    if output is not None and output.suffix.lower() == ".json":
        write_atomically(output, f"{json_text(result.to_dict())}\n".encode())
    elif output is not None:
        from copa.report import backtest_page

        backtest_page(result, output)
    if wants_json():
        show_json(result.to_dict())
    else:
        _show(result, output)


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


def _show(found: "Backtest", output: Path | None) -> None:
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
    if output is not None:
        show(f"Written: {output}")
