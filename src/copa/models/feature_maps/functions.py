"""Derivatives of FunctionTransformer: exact for common functions of one number, else by central differences."""

from typing import Any

import numpy as np

from copa.arrays import Array, as_floats
from copa.models.feature_maps.differences import difference_tangents
from copa.models.feature_maps.inputs import as_table
from copa.models.feature_maps.scalers import scaled

SLOPES: dict[Any, Any] = {
    np.log: lambda x: 1.0 / x,
    np.log1p: lambda x: 1.0 / (1.0 + x),
    np.log2: lambda x: 1.0 / (x * np.log(2.0)),
    np.log10: lambda x: 1.0 / (x * np.log(10.0)),
    np.sqrt: lambda x: 0.5 / np.sqrt(x),
    np.square: lambda x: 2.0 * x,
    np.exp: np.exp,
    np.expm1: np.exp,
    np.arcsinh: lambda x: 1.0 / np.sqrt(1.0 + x * x),
    np.tanh: lambda x: 1.0 - np.tanh(x) ** 2,
}


def function_tangents(transformer: Any, rows: Any, tangents: Array) -> Array:
    """Output tangents (N, P, C); a missing entry stays missing, and does not move."""
    if transformer.func is None:
        return tangents
    slope = _known_slope(transformer)
    if slope is None:
        return difference_tangents(transformer.transform, rows, tangents, name=_shown(transformer))
    values = as_floats(as_table(rows), f"the rows given to {_shown(transformer)}")
    with np.errstate(all="ignore"):  # outside the domain: reported as an error by the caller
        inside = np.isfinite(transformer.func(values)) | np.isnan(values)
        slopes = np.where(np.isnan(values), 0.0, slope(values))
    return scaled(np.where(inside, slopes, np.nan), tangents)


def _known_slope(transformer: Any) -> Any:
    known = isinstance(transformer.func, np.ufunc) and not transformer.kw_args
    return SLOPES.get(transformer.func) if known else None


def _shown(transformer: Any) -> str:
    return f"FunctionTransformer({getattr(transformer.func, '__name__', type(transformer.func).__name__)})"
