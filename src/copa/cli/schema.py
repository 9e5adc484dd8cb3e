"""`copa schema`: a first schema from data, and a check of one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from copa._core.progress import stage
from copa._core.words import counted, shown
from copa.cli.commands import Command, Group, guarded, wants_json
from copa.cli.files import load_model, open_data, require_columns, require_file, require_outputs
from copa.cli.fit import require_few_texts
from copa.cli.messages import FAILED, FINE, say, show, show_json, show_table
from copa.cli.options import Data, Drop, ModelFile, TrustPickle
from copa.data.schema import FeatureSchema
from copa.data.schema.recognition import counts_rows, many_texts
from copa.data.schema.support import withheld_in_words
from copa.data.tables.casting import INTEGER, NUMBER
from copa.data.tables.files import read_table
from copa.models.encoders import encoder_categories

SHOWN = 5  # bad rows
CELLS = ("missing", "special", "outside")

commands = typer.Typer(cls=Group, help="Infer a schema from data, or check one.", no_args_is_help=True)


def infer(
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="Schema: .yaml or .json.", metavar="FILE")],
    *,
    target: Annotated[str | None, typer.Option(help="Column of the outcome, which is left out.", metavar="COL")] = None,
    drop: Drop = None,
    immutable: Annotated[list[str] | None, typer.Option(help="Column that must not change; repeatable.")] = None,
    model: ModelFile = None,
    trust_pickle: TrustPickle = False,
) -> None:
    """Infer a schema from data: a draft to read and correct.

    With --model, only the model's columns, and what its encoders take for categories is categorical.
    """
    require_outputs(output, (".yaml", ".yml", ".json"), data)
    table = open_data(data, drop or [])
    left_out = [] if target is None else [target]
    require_columns(table, [*left_out, *(immutable or [])])
    from copa.planner.training_data import model_kinds

    fitted = None if model is None else load_model(model, trust_pickle=trust_pickle)
    names = [name for name in _columns_of(fitted, table.names) if name not in left_out]
    require_columns(table, names)
    frame, _ = read_table(table, names, model_kinds(fitted))
    for name in [name for name in names if fitted is None and counts_rows(frame[name])]:
        say(f"note: column {shown(name)} counts the rows, and is left out")
        frame = frame.drop(columns=name)
    if fitted is not None:
        require_few_texts(frame, immutable or [])
    for name, what in many_texts(frame, immutable or []).items():
        say(f"note: {what}; it is left out")
        frame = frame.drop(columns=name)
    with stage("describing the columns"):
        schema = FeatureSchema.infer(frame, immutable=immutable, categories=encoder_categories(fitted, names))
    schema.save(output)
    if wants_json():
        kinds = {f.name: f.kind for f in schema.features}
        show_json({"written": str(output), "columns": kinds, "notes": dict(schema.notes)})
        return
    _show_features(schema)
    for name, note in schema.notes.items():
        show(f"{name}: {note}.")
    _show_withheld(schema.with_support(frame))
    show(f"Written: {output}. Whether a column can change is not in the data: read the file, and mark what cannot.")


def _columns_of(model: Any, names: list[str]) -> list[str]:
    """Names of the columns that a model was fitted to; all of the table, where it does not say."""
    own = getattr(getattr(model, "best_estimator_", model), "feature_names_in_", None)
    return list(names) if own is None else [str(name) for name in own]


def validate(
    schema: Annotated[Path, typer.Argument(help="Schema file.", metavar="SCHEMA")],
    data: Annotated[Path | None, typer.Argument(help="Table to check against the schema.", metavar="DATA")] = None,
) -> int:
    """Check a schema, and whether the rows of a table fit it."""
    require_file(schema, "the schema")
    known = FeatureSchema.load(schema)
    bad: list[str] = []
    cells: dict[str, dict[str, int]] = {}
    rows = 0
    if data is not None:
        from copa.planner.training_data import schema_kinds

        numbers = {f.name: INTEGER if f.kind == "integer" else NUMBER for f in known.features if f.is_numeric}
        frame, _ = read_table(open_data(data), known.names, numbers | schema_kinds(known))
        with stage("checking the rows"):
            rows, bad = len(frame), [message for message in known.check(frame) if message]
            cells = known.count_cells(frame)
            known = known.with_support(frame)
    withheld = {feature.name: list(feature.withheld) for feature in known.features if feature.withheld}
    if wants_json():
        content = {"schema": str(schema), "columns": len(known), "rows": rows, "bad_rows": bad, "withheld": withheld}
        show_json(content | {"cells": cells})
    else:
        _show_features(known)
        show(f"{schema}: {counted(len(known), 'column')}, {counted(len(known.rules), 'rule')}.")
        if data is not None:
            show(f"{data}: {counted(rows, 'row')}, {len(bad)} of them do not fit.")
            _show_cells(cells)
            _show_withheld(known)
        for message in bad[:SHOWN]:
            show(message)
    return FAILED if bad else FINE


def _show_cells(cells: Mapping[str, Mapping[str, int]]) -> None:
    """Show how many cells are missing, special codes or outside the range, where there are any."""
    if cells:
        rows = [[name, *(str(found.get(what, 0)) for what in CELLS)] for name, found in cells.items()]
        show_table(["cells of", "missing", "special code", "outside the range"], rows)


def _show_withheld(schema: FeatureSchema) -> None:
    withheld = withheld_in_words(schema.features)
    if withheld:
        show(f"If a planner is fitted to these rows, {withheld}.")


def _show_features(schema: FeatureSchema) -> None:
    rows = []
    for feature in schema.features:
        ends = (feature.lower, feature.upper)
        span = " to ".join("..." if end is None else f"{end:g}" for end in ends) if feature.is_numeric else ""
        values = f"{len(feature.values)} values" if feature.values else span
        values += f", {len(feature.withheld)} withheld" if feature.withheld else ""
        rows.append([feature.name, feature.kind, "no" if feature.immutable else str(feature.direction), values])
    show_table(["column", "kind", "may change", "values"], rows)


commands.command("infer", cls=Command)(guarded(infer))
commands.command("validate", cls=Command)(guarded(validate))
