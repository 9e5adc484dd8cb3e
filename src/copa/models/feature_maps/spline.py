"""Derivatives of SplineTransformer: every input column has its own block of B-splines."""

from typing import Any

import numpy as np

from copa.arrays import Array
from copa.models.feature_maps.differences import difference_tangents
from copa.models.feature_maps.inputs import numbers_of


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
