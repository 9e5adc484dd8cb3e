"""The derivative of any fitted transformer: exact where we know its formula, by central differences otherwise."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from copa.arrays import Array, as_floats, require_finite
from copa.exceptions import InvalidInputError
from copa.models.feature_maps.differences import difference_tangents
from copa.models.feature_maps.inputs import as_table

Rule = Callable[[Any, Any, Array], Array]


def jacobian_of(transformer: Any, rows: Any) -> Array:
    """Derivative of a fitted transformer's output with respect to its input, at each row.

    Exact for PolynomialFeatures, SplineTransformer, StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, PCA,
    TruncatedSVD, SimpleImputer, FunctionTransformer of NumPy's logarithms, exponentials and roots, `FeatureMap` with a
    Jacobian, and for Pipeline, FeatureUnion and ColumnTransformer made of them; zero for OneHotEncoder, OrdinalEncoder,
    TargetEncoder and KBinsDiscretizer, which act on categories.

    Any other transformer, subclasses of these included, is differentiated through its own `transform` by central
    differences: four values per column, steps h and 2h with h = 0.0007 max(1, |x|) in double precision, and shorter
    where a kink or the end of the domain is near. The relative error of a smooth function is then about 1e-9.

    Parameters
    ----------
    transformer : fitted scikit-learn transformer
    rows : DataFrame, array or sparse matrix of shape (N, Q)
        As its `transform` takes them. Columns of texts or categories are held: their derivative is zero, unless they
        are passed on unchanged. So are missing values.

    Returns
    -------
    ndarray of shape (N, P, Q)

    Raises
    ------
    InvalidInputError
        Where there is no finite derivative: at jumps and kinks of an unknown transformer, or outside its domain.
    """
    table = as_table(rows)
    n_rows, n_inputs = table.shape
    return tangents_of(transformer, rows, np.tile(np.eye(n_inputs), (n_rows, 1, 1)))


def tangents_of(transformer: Any, rows: Any, tangents: Array) -> Array:
    """How a fitted transformer's output moves when its input moves in C directions.

    The product of the derivative with the directions, without forming the derivative: after many products of columns it
    would have thousands of columns by thousands of rows.

    Parameters
    ----------
    transformer, rows : as in `jacobian_of`
    tangents : (N, Q, C) directions in which the input columns move

    Returns
    -------
    ndarray of shape (N, P, C)
    """
    name = type(transformer).__name__
    if not hasattr(transformer, "transform"):
        raise InvalidInputError(f"a transformer has a transform method, {name} has none; give a fitted transformer")
    rule = _rules().get(type(transformer))
    try:
        if rule is None:
            moved = difference_tangents(transformer.transform, rows, tangents, name=name)
        else:
            moved = rule(transformer, rows, tangents)
    except InvalidInputError:
        raise
    except (ValueError, TypeError, AttributeError) as error:  # not fitted, other columns, missing values ...
        raise InvalidInputError(f"{name} could not be differentiated at these rows: {error}") from error
    moved = as_floats(moved, f"the derivative of {name}")
    require_finite(moved, f"the derivative of {name} (row, output column, input column)")
    return moved


@cache
def _rules() -> dict[type, Rule]:
    """From the exact type of a transformer to its rule; a subclass may transform in another way."""
    from sklearn import compose, decomposition, impute, pipeline, preprocessing

    from copa.models.feature_maps import categories, chains, column_blocks, functions, projections, scalers
    from copa.models.feature_maps.feature_map import FeatureMap
    from copa.models.feature_maps.polynomial import polynomial_tangents
    from copa.models.feature_maps.spline import spline_tangents

    return {
        preprocessing.PolynomialFeatures: polynomial_tangents,
        preprocessing.SplineTransformer: spline_tangents,
        preprocessing.StandardScaler: scalers.dividing_tangents,
        preprocessing.RobustScaler: scalers.dividing_tangents,
        preprocessing.MinMaxScaler: scalers.minmax_tangents,
        preprocessing.MaxAbsScaler: scalers.maxabs_tangents,
        preprocessing.FunctionTransformer: functions.function_tangents,
        preprocessing.OneHotEncoder: categories.category_tangents,
        preprocessing.OrdinalEncoder: categories.category_tangents,
        preprocessing.TargetEncoder: categories.category_tangents,
        preprocessing.KBinsDiscretizer: categories.category_tangents,
        impute.SimpleImputer: categories.imputer_tangents,
        decomposition.PCA: projections.pca_tangents,
        decomposition.TruncatedSVD: projections.svd_tangents,
        compose.ColumnTransformer: column_blocks.columns_tangents,
        pipeline.Pipeline: chains.pipeline_tangents,
        pipeline.FeatureUnion: chains.union_tangents,
        FeatureMap: FeatureMap.tangents_at,
    }
