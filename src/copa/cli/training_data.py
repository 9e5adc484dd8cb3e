"""Training data: the columns that are wanted, in the kinds that model and schema expect, and two labels."""

from typing import TYPE_CHECKING, Any

import numpy as np

from copa.cli.kinds import TEXT, TRUTH
from copa.cli.messages import MisuseError, counted, say
from copa.cli.models_in import expected_kinds
from copa.cli.tables_in import TableFile, read_whole
from copa.exceptions import DataError, InvalidInputError
from copa.schema import FeatureSchema
from copa.schema.names import hint, listed, shown
from copa.schema.values import text_of

if TYPE_CHECKING:
    import pandas as pd

MOST_TEXTS = 200  # different texts in a column that may change; more are names or notes, not choices


def read_training_data(
    table: TableFile, label: str, model: Any, schema: FeatureSchema | None, drop: list[str]
) -> tuple["pd.DataFrame", Any, dict[str, str]]:
    """Read features and labels; rows with a missing value are left out."""
    for name in (label, *drop):
        if name not in table.names:
            raise MisuseError(f"{table.path} has no column {shown(name)}; {hint(name, table.names)}")
    own = getattr(getattr(model, "best_estimator_", model), "feature_names_in_", None)
    columns = [name for name in table.names if name != label and name not in drop] if own is None else [*map(str, own)]
    columns = [*columns, *(name for name in (schema.names if schema else ()) if name not in columns)]
    if not columns:
        raise MisuseError(
            f"{table.path} has no column besides the label {shown(label)}; there is nothing to learn from"
        )
    expected = (schema_kinds(schema) if schema else {}) | expected_kinds(model)
    frame, kinds = read_whole(table, [*dict.fromkeys([*columns, label])], expected)
    _require_numbers(frame, kinds, schema)
    complete = frame.notna().all(axis=1)
    if complete.mean() < 0.5:
        worst = frame.isna().sum().sort_values(ascending=False)
        raise DataError(
            f"{table.path}: {int((~complete).sum())} of {len(frame)} rows have an empty cell, most of them in "
            f"{listed(worst.index[worst > 0].tolist()[:3])}; fill them in, or leave columns out with --drop"
        )
    if not complete.all():
        say(f"note: {counted(int((~complete).sum()), 'row')} with an empty cell left out of {len(frame):,}")
    frame = frame[complete].reset_index(drop=True)
    return frame[columns], _read_labels(frame[label], label), kinds


def schema_kinds(schema: FeatureSchema) -> dict[str, str]:
    """Kinds of the columns whose values the schema lists as text, or as true and false."""
    kinds = {}
    for feature in schema.features:
        values = feature.values or ()
        if values and all(isinstance(value, str) for value in values):
            kinds[feature.name] = TEXT
        elif values and all(isinstance(value, bool) for value in values):
            kinds[feature.name] = TRUTH
    return kinds


def _require_numbers(frame: "pd.DataFrame", kinds: dict[str, str], schema: FeatureSchema | None) -> None:
    """Raise if a column holds text where the model, the schema or its other cells ask for something else."""
    for name in frame.columns:
        is_line = schema is not None and name in schema and schema[name].is_line
        if kinds[name] == TEXT and not is_line:
            continue
        bad = [(k, cell) for k, cell in enumerate(frame[name]) if isinstance(cell, str) and not _is_number(cell)]
        if bad:
            row, cell = bad[0]
            wish = "true or false" if kinds[name] == TRUTH else "numbers"
            raise DataError(f"column {shown(name)} must hold {wish}, got {shown(cell)} in row {row}")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_labels(column: "pd.Series[Any]", name: str) -> Any:
    distinct = column.unique().tolist()
    if len(distinct) != 2:
        raise DataError(
            f"the label {shown(name)} must have 2 different values, it has {len(distinct)}: "
            f"{listed(sorted(map(str, distinct)))}"
        )
    return column.to_numpy()


def read_favourable(favourable: str | None, labels: Any, name: str) -> Any:
    """The label as the data have it, from how it was written on the command line."""
    if favourable is None:
        return None
    known = {str(text_of(value)): value for value in np.unique(labels).tolist()}
    if favourable not in known:
        raise MisuseError(
            f"--favourable must be a value of the label {shown(name)}, {listed(list(known))}, got {shown(favourable)}"
        )
    return known[favourable]


def as_classes(model: Any, labels: Any, name: str) -> Any:
    """Labels in the type that the model knows them in."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        raise InvalidInputError(f"the model is no fitted classifier: {type(model).__name__} has no classes_")
    known = {str(text_of(value)): value for value in np.asarray(classes).tolist()}
    unknown = [value for value in np.unique(labels).tolist() if str(text_of(value)) not in known]
    if unknown:
        raise DataError(
            f"the label {shown(name)} has the value {shown(unknown[0])}, and the model knows "
            f"{listed(list(known.values()))} only"
        )
    return np.array([known[str(text_of(value))] for value in labels.tolist()], dtype=np.asarray(classes).dtype)


def require_few_texts(features: "pd.DataFrame", spared: set[str]) -> None:
    """Raise if a column of text has more values than a choice can have."""
    from pandas.api.types import is_numeric_dtype

    for name in features.columns:
        if is_numeric_dtype(features[name].dtype) or name in spared:
            continue
        distinct = int(features[name].nunique())
        if distinct > MOST_TEXTS:
            raise DataError(
                f"column {shown(name)} holds {distinct:,} different texts in {len(features):,} rows, which is no "
                f"choice between values; leave it out with --drop {name}, or mark it immutable in a schema (--schema)"
            )
