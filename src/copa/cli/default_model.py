"""The model for a table that comes without one: one-hot choices, scaled numbers, logistic regression."""

from typing import TYPE_CHECKING, Any

import numpy as np

from copa.exceptions import InvalidInputError
from copa.models.spelling import spell_choices

if TYPE_CHECKING:
    import pandas as pd

    from copa.schema import FeatureSchema

FOLDS = 5


def fit_default_model(table: "pd.DataFrame", labels: Any, schema: "FeatureSchema") -> tuple[Any, float]:
    """Fit the model, and say how good it is on rows that it has not seen.

    Parameters
    ----------
    table : N rows
    labels : (N,) two different ones
    schema : which of its columns are choices, and of which values

    Returns
    -------
    The fitted pipeline, and its cross-validated accuracy (5 folds, stratified)
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
    choices = [name for name in table.columns if _is_choice(table[name], schema)]
    numbers = [name for name in table.columns if name not in choices]
    values = [_values(table[name], schema) for name in choices]
    encoder = ColumnTransformer(
        [("choices", OneHotEncoder(categories=values or "auto"), choices), ("numbers", StandardScaler(), numbers)]
    )
    model = make_pipeline(encoder, LogisticRegression(max_iter=1000))
    accuracy = float(cross_val_score(model, table, labels, cv=FOLDS).mean())
    return model.fit(table, labels), accuracy


def _is_choice(column: "pd.Series[Any]", schema: "FeatureSchema") -> bool:
    from pandas.api.types import is_numeric_dtype

    return schema[column.name].is_choice if column.name in schema else not is_numeric_dtype(column.dtype)


def _values(column: "pd.Series[Any]", schema: "FeatureSchema") -> list[Any]:
    """The values of a choice: all of the schema's, because an option may go to each, and not only those in the data."""
    values = column.unique().tolist()
    if column.name in schema:
        feature = schema[column.name]
        codes = np.arange(len(feature.values or ()))
        values = spell_choices(feature, codes, column.iloc[np.zeros_like(codes)]).tolist()  # all like the first
    return (
        values if any(isinstance(value, str) for value in values) else sorted(values)
    )  # as scikit-learn wants numbers
