"""Promises that no linear model can keep together, with the proof of it."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa._core.representation import short_repr
from copa.exceptions import RetrainingError

SHORT = 1e-7  # share of the margin by which a promise that cannot be kept falls short


@dataclass(frozen=True, eq=False)
class Contradiction:
    """Promised points that no theta accepts together.

    A theta that gives all of them a positive score, and so a multiple of it any score that is asked for, exists if and
    only if no multipliers >= 0, not all zero, have P'multipliers = 0 (Gordan's theorem). Such multipliers are the
    proof: the promises that they are positive for pull theta against each other.

    Parameters
    ----------
    given_up : ndarray of shape (m,)
        Promises that must be left out so that the others can be kept: the least sum of what they fall short by.
    multipliers : ndarray of shape (m,)
        The proof for the promises as given; all zero where there is no contradiction.
    """

    __repr__ = short_repr

    given_up: npt.NDArray[np.bool_]
    multipliers: Array

    @property
    def involved(self) -> npt.NDArray[np.bool_]:
        """Promises that the proof is about, (m,)."""
        flags: npt.NDArray[np.bool_] = self.multipliers > SHORT
        return flags


def contradictions(promised: Array) -> Contradiction:
    """Find the promises that contradict each other.

    Parameters
    ----------
    promised : ndarray of shape (m, D)
        Promised points, in the direction that must be accepted.

    Returns
    -------
    Contradiction

    Examples
    --------
    >>> import numpy as np
    >>> from copa.promises.contradictions import contradictions
    >>> points = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    >>> found = contradictions(points)
    >>> int(found.given_up.sum()), found.given_up[2:].tolist()
    (2, [False, True])
    """
    units = np.abs(promised).max(axis=1, initial=0.0)
    given_up = units == 0.0  # a score of zero, whatever theta is
    proof = given_up.astype(np.float64)
    rows = promised / np.where(given_up, 1.0, units)[:, None]
    while True:
        kept = np.flatnonzero(~given_up)
        short, multipliers = _elastic_program(rows[kept])
        if not proof[kept].any():
            proof[kept] = np.where(multipliers > SHORT, multipliers, 0.0) / units[kept]
        if not (short > SHORT).any():
            return Contradiction(given_up, proof)
        given_up[kept[short > SHORT]] = True


def _elastic_program(promised: Array) -> tuple[Array, Array]:
    """Least sum of shortfalls u with P theta + u >= 1, u >= 0: shortfalls and multipliers, both (m,)."""
    from scipy.optimize import linprog

    m, d = promised.shape
    if m == 0:
        return np.zeros(0), np.zeros(0)
    # The dual: maximise the sum of v for P'v = 0 and 0 <= v <= 1. It has D equations, however many promises there are.
    found = linprog(-np.ones(m), A_eq=promised.T, b_eq=np.zeros(d), bounds=(0.0, 1.0), method="highs")
    if found.status != 0:
        raise RetrainingError(f"whether the promises contradict each other was not settled: {found.message}")
    theta = -np.asarray(found.eqlin.marginals)
    short = np.maximum(1.0 - promised @ theta, 0.0)
    other = np.maximum(1.0 + promised @ theta, 0.0)  # the sign of marginals is a convention of the solver
    return (short if short.sum() <= other.sum() else other), np.asarray(found.x)
