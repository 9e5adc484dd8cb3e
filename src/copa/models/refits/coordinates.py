"""Parameters of a refit, which has an encoder of its own, in the coordinates of today's encoder."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, as_floats

Places = npt.NDArray[np.intp]

ALIKE = 1e-9  # of one, what a correlation may lack where two columns are the same up to scale and shift
REPRODUCED = 1e-8  # of the largest entry, what may remain between an encoding and its reproduction
COLLINEAR = 1e-10  # of the largest, singular values that are zero
CONSTANT = 1e-13  # of the largest entry, spread of a column that is constant up to rounding


@dataclass(frozen=True, eq=False)
class Matches:
    """Columns of another encoder as columns of today's: entry = offset + slope * today's entry.

    Attributes
    ----------
    place : ndarray of shape (Q,)
        Today's column; -1 for a constant, -2 for a column that is not that of one column of today's.
    slope, offset : ndarray of shape (Q,)
    """

    place: Places
    slope: Array
    offset: Array

    @property
    def complete(self) -> bool:
        """Whether all columns are constants or columns of today's, each at most once."""
        used = self.place[self.place >= 0]
        return bool((self.place > -2).all()) and np.unique(used).size == used.size


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Today's encoding of the training rows, in which the parameters of refits are expressed.

    Attributes
    ----------
    encoded : ndarray of shape (n, D)
        With a leading 1.
    """

    encoded: Array

    @cached_property
    def _inverse(self) -> tuple[Array, int]:
        """Pseudo-inverse (D, n), and the rank; a one-hot block beside the intercept has one column too many."""
        length = np.linalg.norm(self.encoded, axis=0)
        length[length == 0.0] = 1.0
        left, sizes, right = np.linalg.svd(self.encoded / length, full_matrices=False)
        kept = sizes > COLLINEAR * sizes[0]
        inverse: Array = (right[kept].T / sizes[kept]) @ left[:, kept].T / length[:, None]
        return inverse, int(kept.sum())

    @cached_property
    def _standard(self) -> tuple[Array, Array, Array]:
        return _standardised(self.encoded[:, 1:])

    def project(self, columns: Array) -> Array:
        """Return the parameters (D, A) whose scores of the rows are nearest to columns (n, A)."""
        return self._inverse[0] @ columns

    def match(self, encoding: Array) -> Matches:
        """Find each column of another encoding (n, Q) of the same rows among today's.

        Two columns are alike where they are perfectly correlated. Of several, such as the two levels of a yes-or-no
        column, one with a positive slope is taken, and one that is not taken yet.
        """
        today, mean, spread = self._standard
        other, other_mean, other_spread = _standardised(encoding)
        correlation = today.T @ other  # (p, Q)
        alike = 1.0 - np.abs(correlation) < ALIKE
        place = np.where(other_spread > 0.0, -2, -1).astype(np.intp)
        free = np.ones(mean.size, dtype=bool)
        for q in np.flatnonzero(alike.any(axis=0)):
            same = np.flatnonzero(alike[:, q])
            place[q] = same[np.argmax(2 * (correlation[same, q] > 0.0) + free[same])]
            free[place[q]] = False
        found = np.flatnonzero(place >= 0)
        slope, offset = np.zeros(place.size), np.where(place == -1, other_mean, 0.0)
        own = place[found]
        slope[found] = np.sign(correlation[own, found]) * other_spread[found] / spread[own]
        offset[found] = other_mean[found] - slope[found] * mean[own]
        remains = np.abs(offset[found] + slope[found] * self.encoded[:, 1 + own] - encoding[:, found]).max(axis=0)
        place[found[remains > REPRODUCED * np.abs(encoding[:, found]).max(axis=0)]] = -2
        return Matches(place, slope, offset)

    def express(self, encoding: Array, theta: Array) -> tuple[Array, bool]:
        """Express the parameters of a refit in today's coordinates.

        Parameters
        ----------
        encoding : ndarray of shape (n, Q)
            The same rows as the refit's own encoder has them.
        theta : ndarray of shape (Q + 1,)
            Intercept and coefficients of the refit.

        Returns
        -------
        ndarray of shape (D,)
            Parameters with the same scores for all rows that are a combination of today's columns; where the encoders
            are no affine maps of each other, those with the nearest scores (least squares over the rows).
        bool
            Whether the scores are the same.
        """
        matches = self.match(encoding)
        weights = theta[1:]
        expressed = np.zeros(self.encoded.shape[1])
        known = matches.place >= -1
        expressed[0] = theta[0] + weights[known] @ matches.offset[known]
        found = matches.place >= 0
        np.add.at(expressed, 1 + matches.place[found], weights[found] * matches.slope[found])
        if known.all():
            return expressed, True
        scores = encoding[:, ~known] @ weights[~known]
        inverse, rank = self._inverse
        rest = inverse @ scores
        remains = np.abs(self.encoded @ rest - scores).max()
        # As many parameters as rows reproduce any scores, which says nothing of other rows.
        return expressed + rest, bool(rank < len(scores) and remains <= REPRODUCED * np.abs(scores).max())


def _standardised(columns: Array) -> tuple[Array, Array, Array]:
    """Columns with mean 0 and length 1 (those that are constant are 0), their means, and their lengths before."""
    mean = columns.mean(axis=0)
    centred = columns - mean
    largest = np.abs(columns).max(axis=0, initial=0.0)
    length = np.sqrt(np.einsum("np,np->p", centred, centred))
    length[length <= CONSTANT * np.sqrt(len(columns)) * largest] = 0.0
    return centred / np.where(length > 0.0, length, np.inf), mean, length


def as_dense(rows: Any) -> Array:
    """Encoded rows as an array, whatever a transformer returned."""
    return as_floats(rows.toarray() if hasattr(rows, "toarray") else rows, "the encoded rows")
