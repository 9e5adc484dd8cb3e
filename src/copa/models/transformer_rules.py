"""Derivatives of scikit-learn's transformers, as one table of short functions.

A rule takes the fitted transformer, its rows (N, Q) and the directions (N, Q, C) in which its input moves, and returns
how its output moves, (N, P, C).
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, as_floats
from copa.models.differences import as_table, difference_tangents, numbers_of

Rule = Callable[[Any, Any, Array], Array]


@cache
def rules() -> dict[type, Rule]:
    """From the exact type of a transformer to its rule; a subclass may transform in another way."""
    from sklearn import decomposition, impute, preprocessing

    from copa.models.feature_map import FeatureMap

    return {
        preprocessing.StandardScaler: by_entry(division_slopes),
        preprocessing.RobustScaler: by_entry(division_slopes),
        preprocessing.MinMaxScaler: by_entry(minmax_slopes),
        preprocessing.MaxAbsScaler: by_entry(maxabs_slopes),
        preprocessing.PolynomialFeatures: polynomial_tangents,
        preprocessing.SplineTransformer: spline_tangents,
        preprocessing.FunctionTransformer: function_tangents,
        preprocessing.OneHotEncoder: category_tangents,
        preprocessing.OrdinalEncoder: category_tangents,
        preprocessing.TargetEncoder: category_tangents,
        preprocessing.KBinsDiscretizer: category_tangents,
        impute.SimpleImputer: imputer_tangents,
        decomposition.PCA: projection_tangents,
        decomposition.TruncatedSVD: projection_tangents,
        FeatureMap: FeatureMap.tangents_at,
    }


def scaled(slopes: Any, tangents: Array) -> Array:
    """Output tangents (N, Q, C) of a function of each entry by itself with slopes (N, Q) or (Q,).

    A column that does not move stays where it is, even where its slope is not finite.
    """
    with np.errstate(invalid="ignore"):
        return np.where(tangents == 0.0, 0.0, np.asarray(slopes)[..., None] * tangents)


def by_entry(slopes: Callable[[Any, Any], Any]) -> Rule:
    """Rule of a transformer that multiplies every column by its own number."""

    def rule(transformer: Any, rows: Any, tangents: Array) -> Array:
        require_width(transformer, rows)
        return scaled(slopes(transformer, rows), tangents)

    return rule


def division_slopes(transformer: Any, _rows: Any) -> Any:
    """StandardScaler and RobustScaler: division by `scale_`, or by nothing where that is switched off."""
    scale = transformer.scale_
    return np.ones(transformer.n_features_in_) if scale is None else 1.0 / np.asarray(scale)


def minmax_slopes(transformer: Any, rows: Any) -> Any:
    """MinMaxScaler: multiplication by `scale_`; with `clip`, zero where the result is cut off."""
    slopes = np.asarray(transformer.scale_)
    if not transformer.clip:
        return slopes
    low, high = transformer.feature_range
    return slopes * _within(_floats(rows) * slopes + transformer.min_, low, high)


def maxabs_slopes(transformer: Any, rows: Any) -> Any:
    """MaxAbsScaler: division by `scale_`; with `clip` (newer versions have it), zero beyond -1 and 1."""
    slopes = 1.0 / np.asarray(transformer.scale_)
    clipped = getattr(transformer, "clip", False)
    return slopes * _within(_floats(rows) * slopes, -1.0, 1.0) if clipped else slopes


def require_width(transformer: Any, rows: Any) -> None:
    """Raise if the rows do not have the columns that the transformer was fitted to."""
    n_columns = as_table(rows).shape[1]
    if n_columns != transformer.n_features_in_:
        raise ValueError(f"it was fitted to {transformer.n_features_in_} columns, got rows with {n_columns}")


def _floats(rows: Any) -> Array:
    return as_floats(as_table(rows), "the rows given to the scaler")


def _within(values: Array, low: float, high: float) -> Any:
    return (values >= low) & (values <= high)


def projection_tangents(transformer: Any, rows: Any, tangents: Array) -> Array:
    """PCA and TruncatedSVD: the components, of a PCA that whitens each divided by its spread."""
    require_width(transformer, rows)
    matrix = np.asarray(transformer.components_)
    if getattr(transformer, "whiten", False):
        spread = np.sqrt(transformer.explained_variance_)
        matrix = matrix / np.maximum(spread, np.finfo(spread.dtype).eps)[:, None]  # never by zero, as PCA itself has it
    return np.asarray(matrix @ tangents)


def polynomial_tangents(transformer: Any, rows: Any, tangents: Array) -> Array:
    """Output tangents (N, P, C) by the product rule: over the factors of a product, the sum of the other factors.

    Nothing is divided and no power is taken, so the answer is as exact at zero inputs as elsewhere.
    """
    numbers = numbers_of(rows, "PolynomialFeatures")
    factors = _factors(transformer.powers_)
    values = np.column_stack([numbers, np.ones(len(numbers))])[:, factors]  # (N, P, degree)
    moves = np.concatenate([tangents, np.zeros_like(tangents[:, :1])], axis=1)  # the factor 1 does not move
    moved = np.zeros((len(numbers), len(factors), tangents.shape[2]))
    for k in range(factors.shape[1]):
        others = np.delete(values, k, axis=2).prod(axis=2)
        moved += others[:, :, None] * moves[:, factors[:, k]]
    return moved


def _factors(powers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """From powers (P, Q) to the factors of each product (P, degree), Q standing for the factor 1."""
    n_products, n_inputs = powers.shape
    factors = np.full((n_products, int(powers.sum(axis=1).max(initial=0))), n_inputs)
    for p, power in enumerate(powers):
        factors[p, : power.sum()] = np.repeat(np.arange(n_inputs), power)
    return factors


def spline_tangents(transformer: Any, rows: Any, tangents: Array) -> Array:
    """Output tangents (N, P, C), block by block.

    At a knot where the derivative jumps (degree 1, or an end of the knots) it is the one inside the knots, to the right
    if there are two.
    """
    if transformer.extrapolation == "linear" and transformer.degree <= 1 and len(transformer.bsplines_) > 1:
        # Some versions of scikit-learn take other knots than the outermost ones as the ends, from the second column on.
        # The derivative must be that of what they do.
        return difference_tangents(transformer.transform, rows, tangents, name="SplineTransformer")
    numbers = numbers_of(rows, "SplineTransformer")
    width = transformer.bsplines_[0].c.shape[1] - (not transformer.include_bias)  # without bias, the last is left out
    blocks = []
    for q, spline in enumerate(transformer.bsplines_):
        slopes = _slopes(spline, numbers[:, q], transformer.extrapolation)[:, :width]
        blocks.append(slopes[:, :, None] * tangents[:, q : q + 1])
    return np.concatenate(blocks, axis=1)


def _slopes(spline: Any, values: Array, extrapolation: str) -> Array:
    """Derivatives of all B-splines of one column (N, S); NaN beyond the knots where that is an error."""
    low, high = spline.t[spline.k], spline.t[-spline.k - 1]
    if not high > low:  # fitted to a column with one value: the splines are zero everywhere
        return np.zeros((len(values), spline.c.shape[1]))
    if extrapolation == "periodic":
        values = low + (values - low) % (high - low)
    elif extrapolation in ("constant", "linear"):
        inside = np.clip(values, low, high)
        slopes = np.asarray(spline(inside, nu=1))
        return slopes if extrapolation == "linear" else slopes * (inside == values)[:, None]
    return np.asarray(spline(values, nu=1))


def category_tangents(transformer: Any, rows: Any, tangents: Array) -> Array:
    """OneHotEncoder, OrdinalEncoder, TargetEncoder, KBinsDiscretizer: zero, as they act on categories.

    A category does not move by a small step; nor does the bin of a number, except at the edge of a bin.
    """
    width = transformer.transform(rows).shape[1]
    return np.zeros((len(tangents), width, tangents.shape[2]))


def imputer_tangents(transformer: Any, rows: Any, tangents: Array) -> Array:
    """SimpleImputer: a value that is there is passed on; one that is filled in does not move, nor do indicators.

    Columns without any value at fit are left out by the imputer, unless it keeps them; they have no row here either.
    """
    import pandas as pd

    require_width(transformer, rows)
    there = ~_missing(as_table(rows), transformer.missing_values)
    kept = np.arange(there.shape[1])
    if not transformer.keep_empty_features:
        kept = kept[~pd.isna(transformer.statistics_)]
    n_indicators = len(transformer.indicator_.features_) if transformer.add_indicator else 0
    indicators = np.zeros((len(tangents), n_indicators, tangents.shape[2]))
    return np.concatenate([tangents[:, kept] * there[:, kept, None], indicators], axis=1)


def _missing(table: Any, mark: Any) -> Any:
    import pandas as pd

    return np.asarray(pd.isna(table) if pd.isna(mark) else table == mark, dtype=bool)


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
