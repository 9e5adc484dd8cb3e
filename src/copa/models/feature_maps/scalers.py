"""Derivatives of the scalers: every column is multiplied by its own number."""

from typing import Any

import numpy as np

from copa.arrays import Array, as_floats
from copa.models.feature_maps.inputs import as_table


def scaled(slopes: Any, tangents: Array) -> Array:
    """Output tangents (N, Q, C) of a function of each entry by itself with slopes (N, Q) or (Q,).

    A column that does not move stays where it is, even where its slope is not finite.
    """
    with np.errstate(invalid="ignore"):
        return np.where(tangents == 0.0, 0.0, np.asarray(slopes)[..., None] * tangents)


def dividing_tangents(transformer: Any, rows: Any, tangents: Array) -> Array:
    """StandardScaler and RobustScaler: division by `scale_`, or by nothing where that is switched off."""
    require_width(transformer, rows)
    return tangents if transformer.scale_ is None else scaled(1.0 / np.asarray(transformer.scale_), tangents)


def minmax_tangents(transformer: Any, rows: Any, tangents: Array) -> Array:
    """MinMaxScaler: multiplication by `scale_`; with `clip`, zero where the result is cut off."""
    require_width(transformer, rows)
    slopes = np.asarray(transformer.scale_)
    if transformer.clip:
        low, high = transformer.feature_range
        slopes = slopes * _within(_floats(rows) * slopes + transformer.min_, low, high)
    return scaled(slopes, tangents)


def maxabs_tangents(transformer: Any, rows: Any, tangents: Array) -> Array:
    """MaxAbsScaler: division by `scale_`; with `clip` (newer versions have it), zero beyond -1 and 1."""
    require_width(transformer, rows)
    slopes = 1.0 / np.asarray(transformer.scale_)
    if getattr(transformer, "clip", False):
        slopes = slopes * _within(_floats(rows) * slopes, -1.0, 1.0)
    return scaled(slopes, tangents)


def require_width(transformer: Any, rows: Any) -> None:
    """Raise if the rows do not have the columns that the transformer was fitted to."""
    n_columns = as_table(rows).shape[1]
    if n_columns != transformer.n_features_in_:
        raise ValueError(f"it was fitted to {transformer.n_features_in_} columns, got rows with {n_columns}")


def _floats(rows: Any) -> Array:
    return as_floats(as_table(rows), "the rows given to the scaler")


def _within(values: Array, low: float, high: float) -> Any:
    return (values >= low) & (values <= high)
