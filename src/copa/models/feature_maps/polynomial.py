"""Derivatives of PolynomialFeatures: every output is a product of inputs."""

from typing import Any

import numpy as np
import numpy.typing as npt

from copa.arrays import Array
from copa.models.feature_maps.inputs import numbers_of


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
