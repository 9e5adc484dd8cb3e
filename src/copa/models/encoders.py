"""Encoders of a fitted model that are given raw columns, and the categories that they know."""

from collections.abc import Iterator, Sequence
from typing import Any


def encoder_categories(model: Any, columns: Sequence[str] | None = None) -> dict[str, list[Any]]:
    """Return the categories that the encoders of a fitted model know, by raw column.

    A whole-number code under a OneHotEncoder, an OrdinalEncoder or a TargetEncoder is no amount.

    Parameters
    ----------
    model : estimator
        Fitted; a pipeline, also inside a search over settings or a calibration.
    columns : sequence of str, optional
        Names of the columns, for a model that was fitted without names.

    Returns
    -------
    dict of str to list
        Empty for a model without such encoders.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> encoder_categories(OneHotEncoder().fit(pd.DataFrame({"branch": [1, 3, 2]})))
    {'branch': [1, 2, 3]}
    """
    by_column = {}
    for names, encoder in _encoders(_inner(model), columns):
        for name, categories in zip(names, encoder.categories_, strict=False):
            column = columns[name] if isinstance(name, int) and columns is not None else name
            by_column[str(column)] = list(getattr(categories, "tolist", lambda c=categories: c)())
    return by_column


def _inner(model: Any) -> Any:
    """The pipeline inside a search over settings, a calibration or a frozen estimator."""
    calibrated = getattr(model, "calibrated_classifiers_", None)
    inner = getattr(model, "best_estimator_", None) if calibrated is None else calibrated[0].estimator
    if inner is None and type(model).__name__ == "FrozenEstimator":
        inner = model.estimator
    return model if inner is None else _inner(inner)


def _encoders(model: Any, columns: Any) -> Iterator[tuple[Any, Any]]:
    """Encoders at the beginning of a model, with the raw columns that they are given."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline

    names = getattr(model, "feature_names_in_", columns)
    if isinstance(model, Pipeline):
        for _, step in model.steps:
            yield from _encoders(step, names)
            if not _keeps_columns(step):
                return
    elif isinstance(model, ColumnTransformer):
        for _, step, chosen in model.transformers_:
            own = getattr(step, "feature_names_in_", None)
            yield from _encoders(step, chosen if own is None else own)
    elif hasattr(model, "categories_") and names is not None:
        yield names, model


def _keeps_columns(step: Any) -> bool:
    """Return whether what a step returns has the columns that it was given: imputers only fill in what is missing."""
    return type(step).__name__.endswith("Imputer") and not getattr(step, "add_indicator", False)
