"""Derivatives of PCA and TruncatedSVD: one matrix for all rows."""

from typing import Any

import numpy as np

from copa.arrays import Array
from copa.models.feature_maps.scalers import require_width


def pca_tangents(transformer: Any, rows: Any, tangents: Array) -> Array:
    """PCA: its components, each divided by its spread where it whitens."""
    require_width(transformer, rows)
    matrix = np.asarray(transformer.components_)
    if transformer.whiten:
        spread = np.sqrt(transformer.explained_variance_)
        matrix = matrix / np.maximum(spread, np.finfo(spread.dtype).eps)[:, None]  # never by zero, as PCA itself has it
    return np.asarray(matrix @ tangents)


def svd_tangents(transformer: Any, rows: Any, tangents: Array) -> Array:
    """TruncatedSVD: its components."""
    require_width(transformer, rows)
    return np.asarray(transformer.components_ @ tangents)
