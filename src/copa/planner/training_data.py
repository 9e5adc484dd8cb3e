"""Training data from a file: features and labels in the types that model and schema expect, and a default model."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from copa._core.words import listed, shown
from copa.exceptions import DataError, InvalidInputError
from copa.models.encoders import encoder_categories
from copa.models.spelling import spell_levels
from copa.schema import FeatureSchema
from copa.tables.casting import NUMBER, TEXT, TRUTH, template_of
from copa.tables.cells import is_missing, text_of
from copa.tables.files import TableFile, read_table

if TYPE_CHECKING:
    import pandas as pd


class TrainingData(NamedTuple):
    """Rows without a missing value.

    Attributes
    ----------
    features : DataFrame of N rows
    labels : ndarray of shape (N,)
        Two different ones.
    template : DataFrame
        The columns of the features in the dtypes of their kinds, without rows.
    n_incomplete : int
        Rows of the file that were left out, because a cell is empty.
    beside : Series of N entries or None
        Another column, that of the dates or versions of the rows.
    """

    features: "pd.DataFrame"
    labels: Any
    template: "pd.DataFrame"
    n_incomplete: int
    beside: "pd.Series[Any] | None" = None


def read_training_data(
    table: TableFile,
    target: str,
    model: Any = None,
    schema: FeatureSchema | None = None,
    drop: Sequence[str] = (),
    beside: str | None = None,
) -> TrainingData:
    """Read features and labels.

    Parameters
    ----------
    table : CsvFile or ParquetFile
    target : str
        Column with the outcome.
    model : estimator, optional
        Says which columns are features, and which of them hold text.
    schema : FeatureSchema, optional
        The same, where the model does not say it.
    drop : sequence of str
        Columns to leave out.
    beside : str, optional
        A column to read that is no feature.
    """
    drop = [*drop, beside] if beside is not None else drop
    own = getattr(getattr(model, "best_estimator_", model), "feature_names_in_", None)
    columns = [name for name in table.names if name != target and name not in drop] if own is None else [*map(str, own)]
    columns = [*columns, *(name for name in (schema.names if schema else ()) if name not in columns)]
    if not columns:
        raise DataError(f"{table.path} has no column besides the label {shown(target)}; there is nothing to learn from")
    expected = (schema_kinds(schema) if schema else {}) | model_kinds(model)
    more = [] if beside is None else [beside]
    frame, kinds = read_table(table, [*dict.fromkeys([*columns, target, *more])], expected)
    _require_numbers(frame, kinds, schema)
    complete = frame.notna().all(axis=1)
    if complete.mean() < 0.5:
        worst = frame.isna().sum().sort_values(ascending=False)
        raise DataError(
            f"{table.path}: {int((~complete).sum())} of {len(frame)} rows have an empty cell, most of them in "
            f"{listed(worst.index[worst > 0].tolist()[:3])}; fill them in, or leave these columns out"
        )
    rows = frame[complete].reset_index(drop=True)
    template = template_of({name: kinds[name] for name in columns})
    labels = _read_labels(rows[target], target)
    extra = None if beside is None else rows[beside]
    return TrainingData(rows[columns], labels, template, len(frame) - len(rows), extra)


def read_target(table: TableFile, target: str) -> Any:
    """The labels in a file (N,), without those that are missing; an error unless they are of two kinds.

    Blanks around them are taken away.
    """
    frame, _ = read_table(table, [target], {})
    return _read_labels(frame[target].dropna(), target)


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


def model_kinds(model: Any) -> dict[str, str]:
    """Kinds of the columns whose categories an encoder of the model has learned: the code "1" is not the number 1."""
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
    labels = trimmed(column)
    distinct = labels.unique().tolist()
    if len(distinct) != 2:
        raise DataError(
            f"the label {shown(name)} must have 2 different values, it has {len(distinct)}: "
            f"{listed(sorted(map(str, distinct)))}"
        )
    return labels.to_numpy()


def trimmed(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """A column without blanks around its texts."""
    from pandas.api.types import is_numeric_dtype

    if is_numeric_dtype(column.dtype):
        return column
    return column.map(lambda cell: cell.strip() if isinstance(cell, str) else cell)


def as_classes(model: Any, labels: Any, name: str) -> Any:
    """Labels in the type that the model knows them in."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        raise InvalidInputError(f"the model is no fitted classifier: {type(model).__name__} has no classes_")
    known = {str(text_of(value)).strip(): value for value in np.asarray(classes).tolist()}
    unknown = [value for value in np.unique(labels).tolist() if str(text_of(value)) not in known]
    if unknown:
        raise DataError(
            f"the label {shown(name)} has the value {shown(unknown[0])}, and the model knows "
            f"{listed(list(known.values()))} only"
        )
    return np.array([known[str(text_of(value))] for value in labels.tolist()], dtype=np.asarray(classes).dtype)


FOLDS = 5


def fit_default_model(table: "pd.DataFrame", labels: Any, schema: FeatureSchema) -> tuple[Any, float]:
    """Fit a logistic regression to one-hot levels and scaled numbers.

    Parameters
    ----------
    table : DataFrame of N rows
    labels : ndarray of shape (N,)
        Two different ones.
    schema : FeatureSchema
        Which of the columns are categorical, and their levels.

    Returns
    -------
    model : Pipeline
        Fitted.
    accuracy : float
        Cross-validated (5 folds, stratified).
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    _, counts = np.unique(np.asarray(labels), return_counts=True)
    if counts.min() < FOLDS:
        raise InvalidInputError(
            f"each label must be there at least {FOLDS} times to say how good a model is, the rarer one is there "
            f"{counts.min()} times; give more rows, or a model of your own with --model"
        )
    categorical = [name for name in table.columns if _is_categorical(table[name], schema)]
    numeric = [name for name in table.columns if name not in categorical]
    levels = [_levels(table[name], schema) for name in categorical]
    encoder = ColumnTransformer(
        [("choices", OneHotEncoder(categories=levels or "auto"), categorical), ("numbers", StandardScaler(), numeric)]
    )
    model = make_pipeline(encoder, LogisticRegression(max_iter=1000))
    accuracy = float(cross_val_score(model, table, labels, cv=FOLDS).mean())
    return model.fit(table, labels), accuracy


def _is_categorical(column: "pd.Series[Any]", schema: FeatureSchema) -> bool:
    from pandas.api.types import is_numeric_dtype

    return schema[column.name].is_categorical if column.name in schema else not is_numeric_dtype(column.dtype)


def _levels(column: "pd.Series[Any]", schema: FeatureSchema) -> list[Any]:
    """The levels of a column: all of the schema's, because an option may take each, and not only those in the data."""
    values = column.unique().tolist()
    if column.name in schema:
        feature = schema[column.name]
        codes = np.arange(len(feature.values or ()))
        values = spell_levels(feature, codes, column.iloc[np.zeros_like(codes)]).tolist()  # all like the first
    return (
        values if any(isinstance(value, str) for value in values) else sorted(values)
    )  # as scikit-learn wants numbers
