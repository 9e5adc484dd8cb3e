"""`copa backtest`: dated data in, whether promises of the past were kept out."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from copa._core.files import write_atomically
from copa._core.reading import read_count
from copa._core.words import PERIODS, counted, rounded_down, shown
from copa.cli.commands import wants_json
from copa.cli.files import open_bundle, open_data, require_columns, require_outputs, with_guarantee
from copa.cli.messages import MisuseError, json_text, misuse, say, show, show_json, show_table
from copa.cli.options import BundleArgument, Guarantee, PageFile
from copa.exceptions import DataError
from copa.models.decisions import match_label
from copa.plans.writers import PAGES

if TYPE_CHECKING:
    from copa.analysis.backtest import Backtest
    from copa.planner import RecoursePlanner
    from copa.planner.training_data import TrainingData

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
    if by is None and every is not None:
        raise MisuseError("--every is about the dates in --by; give both, or neither")
    if by == target:
        raise MisuseError(f"--by and --target are the same column, {shown(by)}")
    table = open_data(data)
    require_columns(table, [target, *([] if by is None else [by])])
    table.require_distinct()
    from copa.planner.training_data import read_training_data, rows_by_version

    training = read_training_data(table, target, planner.model, planner.schema_, by)
    for note in training.notes:
        say(f"note: {note}")
    if training.beside is None:
        versions = {"1": np.arange(len(training.features))}
    else:
        versions = rows_by_version(training.beside, None if every is None else str(every))
    result = _run(planner, training, versions, target, **options)
    if output is not None and output.suffix.lower() == ".json":
        write_atomically(output, f"{json_text(result.to_dict())}\n".encode())
    elif output is not None:
        from copa.report import backtest_page

        backtest_page(result, output)
    if wants_json():
        show_json(result.to_dict())
    else:
        _show(result, output)


def _run(
    planner: "RecoursePlanner", training: "TrainingData", versions: dict[str, Any], target: str, **options: Any
) -> "Backtest":
    from copa.planner.training_data import as_classes

    labels = as_classes(planner.model, training.labels, target)
    planner.favourable = match_label(planner.favourable, np.unique(labels).tolist())
    for name, rows in versions.items():
        if len(np.unique(labels[rows])) < 2:
            raise DataError(
                f"version {shown(name)} has {counted(len(rows), 'row')}, all of them with the same {shown(target)}; a "
                "model needs both. Take longer periods, or leave it out"
            )
    pairs = [(training.features.iloc[rows].reset_index(drop=True), labels[rows]) for rows in versions.values()]
    if len(pairs) == 1:
        say("note: without --by there is no history: the rows are split, and what is said is a forecast")
        return planner.backtest(*pairs[0], **options)
    return planner.backtest(history_data=pairs, names=[*versions], **options)


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
