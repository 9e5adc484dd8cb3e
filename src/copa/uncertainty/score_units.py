"""Moments of scores in units of their own: powers of two, in which no product under- or overflows."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array

Exponents = npt.NDArray[np.int32]
NOTHING = -(2**20)  # exponent of zero: below that of any number, and sums of a few still fit


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


def split_digits(array: Array) -> tuple[Array, Exponents]:
    """Digits in [0.5, 1) and exponents of two of numbers; zero has the exponent `NOTHING`."""
    digits, exponents = np.frexp(array)
    return digits, np.where(digits == 0.0, np.int32(NOTHING), exponents)
