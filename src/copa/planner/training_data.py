"""Training data from a file: features and labels in the types that model and schema expect, and a default model."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from copa._core.arrays import Indices
from copa._core.progress import stage
from copa._core.words import PERIODS, counted, listed, shown
from copa.data.schema import FeatureSchema
from copa.data.schema.recognition import counts_rows
from copa.data.tables.casting import NUMBER, TEXT, TRUTH, template_of
from copa.data.tables.cells import as_text, is_missing
from copa.data.tables.files import TableFile, read_table
from copa.data.tables.frames import with_columns
from copa.exceptions import DataError, InvalidInputError
from copa.models.base import best_of
from copa.models.decisions import match_label
from copa.models.encoders import encoder_categories
from copa.models.spelling import spell_levels

if TYPE_CHECKING:
    import pandas as pd


class TrainingData(NamedTuple):
    """Rows that a model can learn from."""

    features: "pd.DataFrame"  # N rows, with empty cells only where the model reads them
    labels: Any  # (N,), of two kinds
    template: "pd.DataFrame"  # columns of the features in the dtypes of their kinds, without rows
    notes: list[str]  # about what was left out or changed
    beside: "pd.Series[Any] | None" = None  # another column, such as the dates of the rows


def read_training_data(
    table: TableFile,
    target: str,
    model: Any = None,
    schema: FeatureSchema | None = None,
    beside: str | None = None,
) -> TrainingData:
    """Read features, labels from the column `target`, and another column `beside` them.

    The model says which columns are features, and which of them hold text; without it, the schema does.
    """
    named = getattr(best_of(model), "feature_names_in_", None)
    columns = [name for name in table.names if name not in (target, beside)] if named is None else [*map(str, named)]
    columns = [*columns, *(name for name in (schema.names if schema else ()) if name not in columns)]
    expected = (schema_kinds(schema) if schema else {}) | model_kinds(model)
    more = [] if beside is None else [beside]
    frame, kinds = read_table(table, [*dict.fromkeys([*columns, target, *more])], expected)
    _require_numbers(frame, kinds, schema)
    notes = list[str]()
    if named is None:
        counting = [name for name in columns if counts_rows(frame[name]) and name not in (schema or ())]
        notes += [
            f"column {shown(name)} ({table.number_of(name)}) counts the rows, as an index does that was saved with "
            "them; it is left out"
            for name in counting
        ]
        columns = [name for name in columns if name not in counting]
    if not columns:
        raise DataError(f"{table.path} has no column besides the label {shown(target)}; there is nothing to learn from")
    if any(isinstance(cell, str) and cell != cell.strip() for cell in frame[target].unique()):
        notes.append(f"blanks around the values of {shown(target)} are left out")
    kept = frame[[target, *more]].notna().all(axis=1) & _readable_rows(frame[columns], model)
    _require_half(frame, kept, str(table.path))
    if not kept.all():
        notes.append(f"{counted(int((~kept).sum()), 'row')} with an empty cell left out of {len(frame):,}")
    rows = frame[kept].reset_index(drop=True)
    n_filled = int(rows[columns].isna().any(axis=1).sum())
    if n_filled:
        notes.append(f"{counted(n_filled, 'row')} with an empty cell kept: the model reads them")
    template = template_of({name: kinds[name] for name in columns})
    labels = _read_labels(rows[target], target)
    return TrainingData(rows[columns], labels, template, notes, None if beside is None else rows[beside])


def _readable_rows(features: "pd.DataFrame", model: Any) -> Any:
    """Flag the rows (N,) with empty cells only in columns where the model reads them; all rows without a model."""
    empty = features.isna()
    if model is None or not empty.to_numpy().any():
        return np.ones(len(features), dtype=bool)
    full = features[~empty.any(axis=1)].head(1)
    columns = [name for name in features.columns if empty[name].any()]
    unread = [name for name in columns if not _reads(model, _emptied(full, name) if len(full) else features, name)]
    return (~empty[unread].any(axis=1)).to_numpy()


def _emptied(row: "pd.DataFrame", name: str) -> "pd.DataFrame":
    """Return a row without its cell in one column."""
    column = row[name]
    wider = {"i": np.float64, "u": np.float64, "b": object}.get(column.dtype.kind, column.dtype)
    return with_columns(row, {name: column.astype(wider).where([False])})


def _reads(model: Any, rows: "pd.DataFrame", name: str) -> bool:
    """Return whether a model answers rows with empty cells in a column."""
    named = getattr(best_of(model), "feature_names_in_", None)
    if named is not None and name not in named:
        return True
    try:
        model.predict(rows.to_numpy() if named is None else rows[list(named)])
    except (ValueError, TypeError):
        return False
    return True


def _require_half(frame: "pd.DataFrame", kept: Any, path: str) -> None:
    if kept.mean() < 0.5:
        worst = frame.isna().sum().sort_values(ascending=False)
        raise DataError(
            f"{path}: {int((~kept).sum())} of {len(frame)} rows have an empty cell, most of them in "
            f"{listed(worst.index[worst > 0].tolist()[:3])}; fill them in, leave these columns out, or give a model "
            "that reads them (a pipeline with a SimpleImputer)"
        )


def read_target(table: TableFile, target: str) -> Any:
    """Return the labels in a file (N,), without missing ones and blanks around them; an error unless they are two."""
    frame, _ = read_table(table, [target], {})
    return _read_labels(frame[target].dropna(), target)


MOST_VERSIONS = 100


def rows_by_version(column: "pd.Series[Any]", every: str | None = None) -> dict[str, Indices]:
    """Return the rows of each version of a model, oldest first, by a column of versions or of dates.

    With `every`, one of `PERIODS`, a version is a period in which the dates lie.
    """
    import pandas as pd

    name = shown(column.name)
    if every is not None:
        try:
            dates = pd.to_datetime(column.astype(str), format="ISO8601")
        except ValueError as error:
            raise DataError(f"column {name} must hold dates such as 2024-03-31: {error}") from error
        column = dates.dt.to_period(PERIODS[every]).astype(str)
    versions = sorted(column.unique().tolist())
    if not 2 <= len(versions) <= MOST_VERSIONS:
        raise DataError(
            f"column {name} has {counted(len(versions), 'different value')}; versions must be 2 to {MOST_VERSIONS}. "
            "Of a column of dates, say how often the model is trained: --every quarter"
        )
    return {as_text(version): np.flatnonzero(column.to_numpy() == version) for version in versions}


def schema_kinds(schema: FeatureSchema) -> dict[str, str]:
    """Return the kinds of the columns whose values the schema lists as text, or as true and false."""
    kinds = {}
    for feature in schema.features:
        values = feature.values or ()
        if values and all(isinstance(value, str) for value in values):
            kinds[feature.name] = TEXT
        elif values and all(isinstance(value, bool) for value in values):
            kinds[feature.name] = TRUTH
    return kinds


def model_kinds(model: Any) -> dict[str, str]:
    """Return the kinds of the columns whose categories an encoder of a model knows: the code "1" is not a number."""
    kinds = {name: _kind_of_categories(categories) for name, categories in encoder_categories(model).items()}
    return {name: kind for name, kind in kinds.items() if kind is not None}


def _kind_of_categories(categories: list[Any]) -> str | None:
    seen = [value for value in categories if not is_missing(value)]
    if seen and all(isinstance(value, str) for value in seen):
        return TEXT
    if seen and all(str(value) in ("True", "False") for value in seen):
        return TRUTH
    return NUMBER if seen and all(isinstance(value, float) for value in seen) else None


def _require_numbers(frame: "pd.DataFrame", kinds: dict[str, str], schema: FeatureSchema | None) -> None:
    """Raise if a column holds text where the model, the schema or its other cells ask for something else."""
    for name in frame.columns:
        is_numeric = schema is not None and name in schema and schema[name].is_numeric
        if kinds[name] == TEXT and not is_numeric:
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
    labels = _trimmed(column)
    distinct = labels.unique().tolist()
    if len(distinct) != 2:
        raise DataError(
            f"the label {shown(name)} must have 2 different values, it has {len(distinct)}: "
            f"{listed(sorted(map(str, distinct)))}"
        )
    return labels.to_numpy()


def _trimmed(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return a column without blanks around its texts."""
    from pandas.api.types import is_numeric_dtype

    if is_numeric_dtype(column.dtype):
        return column
    return column.map(lambda cell: cell.strip() if isinstance(cell, str) else cell)


def as_classes(model: Any, labels: Any, name: str) -> Any:
    """Return labels in the type that the model knows them in."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        raise InvalidInputError(f"the model is no fitted classifier: {type(model).__name__} has no classes_")
    known = np.asarray(classes)
    matched = {label: match_label(label, known.tolist()) for label in np.unique(labels).tolist()}
    for label, match in matched.items():
        if match is None:
            raise DataError(
                f"the label {shown(name)} has the value {shown(label)}, and the model knows {listed(known.tolist())} "
                "only"
            )
    return np.array([matched[label] for label in labels.tolist()], dtype=known.dtype)


FOLDS = 5


def fit_default_model(table: "pd.DataFrame", labels: Any, schema: FeatureSchema) -> tuple[Any, float]:
    """Fit a logistic regression to one-hot levels and scaled numbers, empty ones replaced by the median.

    The schema says which columns are categorical. Returned with the model is its cross-validated accuracy (5 folds,
    stratified).
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.pipeline import make_pipeline

    _, counts = np.unique(np.asarray(labels), return_counts=True)
    if counts.min() < FOLDS:
        raise InvalidInputError(
            f"each label must be there at least {FOLDS} times to say how good a model is, the rarer one is there "
            f"{counts.min()} times; give more rows, or a model of your own with --model"
        )
    encoder = ColumnTransformer(_default_steps(table, schema))
    model = make_pipeline(encoder, LogisticRegression(max_iter=1000))
    scores = []
    with stage("fitting a model", FOLDS + 1, "fits") as advance:
        for fold in StratifiedKFold(FOLDS).split(table, labels):
            scores += cross_val_score(model, table, labels, cv=[fold]).tolist()
            advance(1)
        return model.fit(table, labels), float(np.mean(scores))


def _default_steps(table: "pd.DataFrame", schema: FeatureSchema) -> list[tuple[str, Any, list[str]]]:
    """Return the parts of the default encoder: levels, numbers, and numbers with empty cells, which get the median.

    An empty cell among levels has none of their columns. The median is that of all rows, also in refits, so that they
    only scale the columns.
    """
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    categorical = [name for name in table.columns if _is_categorical(table[name], schema)]
    numeric = [name for name in table.columns if name not in categorical]
    empty = [name for name in table.columns if table[name].isna().any()]
    for name in empty:
        if table[name].isna().all():
            raise DataError(f"column {shown(name)} has no value in any row; leave it out with --drop {name}")
    known = [_levels(table[name], schema) for name in categorical]
    unknown = "ignore" if any(name in categorical for name in empty) else "error"
    full = [name for name in numeric if name not in empty]
    steps: list[tuple[str, Any, list[str]]] = [
        ("choices", OneHotEncoder(categories=known or "auto", handle_unknown=unknown), categorical),
        ("numbers", StandardScaler(), full),
    ]
    for name in (name for name in numeric if name in empty):
        median = SimpleImputer(strategy="constant", fill_value=float(table[name].median()))
        steps.append((f"numbers of {name}", make_pipeline(median, StandardScaler()), [name]))
    return steps


def _is_categorical(column: "pd.Series[Any]", schema: FeatureSchema) -> bool:
    from pandas.api.types import is_numeric_dtype

    return schema[column.name].is_categorical if column.name in schema else not is_numeric_dtype(column.dtype)


def _levels(column: "pd.Series[Any]", schema: FeatureSchema) -> list[Any]:
    """Return the levels of a column: all of the schema's, since an option may take each, else those in the data."""
    column = column.dropna()
    values = column.unique().tolist()
    if column.name in schema:
        feature = schema[column.name]
        codes = np.arange(len(feature.values or ()))
        values = spell_levels(feature, codes, column.iloc[np.zeros_like(codes)]).tolist()  # all like the first
    # scikit-learn wants numbers in order.
    return values if any(isinstance(value, str) for value in values) else sorted(values)
