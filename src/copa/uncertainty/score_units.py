"""Moments of scores in units of their own: powers of two, in which no square under- or overflows."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array

Exponents = npt.NDArray[np.int32]


class Scores(NamedTuple):
    """Moments of the options' scores, each option in a unit of its own, a power of two, in which it is of size one.

    The bounds depend on the proportions of an option's mean, roots and reach only. In these units no square of them is
    lost, however small the option and the parameters that it meets.

    Attributes
    ----------
    means : ndarray of shape (..., J)
        Nominal means.
    roots : ndarray of shape (..., J, D)
        Rows whose inner products are the nominal covariances.
    reach_roots : ndarray of shape (..., J, D)
        Rows whose lengths are the reaches.
    exponents : ndarray of shape (..., J)
        The units: the scores are these times 2**exponent.
    """

    means: Array
    roots: Array
    reach_roots: Array
    exponents: Exponents

    @property
    def spreads(self) -> Array:
        """Nominal standard deviations, (..., J)."""
        lengths: Array = np.linalg.norm(self.roots, axis=-1)
        return lengths

    @property
    def reaches(self) -> Array:
        """How far the whole radius can move each score, (..., J)."""
        lengths: Array = np.linalg.norm(self.reach_roots, axis=-1)
        return lengths
