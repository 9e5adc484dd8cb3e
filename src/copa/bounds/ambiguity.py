"""The ball of distributions that a bound must hold for, read from the caller once."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from copa.arrays import LARGEST, SMALLEST, Array, as_floats, as_symmetric, as_vector, require_size, semidefinite_root
from copa.exceptions import InvalidInputError


@dataclass(frozen=True, eq=False)
class AmbiguityBall:
    """All distributions of theta whose moments are within `radius` of (mean, cov), in the geometry of `drift`.

    The distance is Gelbrich's (paper, Def. 2) after theta -> drift^{-1/2} theta; `drift=None` is the identity,
    the paper's ball.

    Attributes
    ----------
    mean : (D,) nominal mean of the parameters
    cov : (D, D) nominal covariance
    radius : float >= 0
    drift : (D, D) positive semidefinite, or None for the identity
    cov_root, drift_root : (D, D) matrices F with F F' = cov, drift; `drift_root` is None for the identity
    """

    mean: Array
    cov: Array
    radius: float
    drift: Array | None = None
    cov_root: Array = field(init=False, repr=False)
    drift_root: Array | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cov_root", semidefinite_root(self.cov, "cov"))
        if self.drift is not None:
            object.__setattr__(self, "drift_root", semidefinite_root(self.drift, "drift"))
        for array in (self.mean, self.cov, self.drift):
            if array is not None:  # certificates refer to them: they must stay what they are
                array.setflags(write=False)

    @classmethod
    def read(cls, mean: Any, cov: Any, radius: Any, drift: Any = None) -> "AmbiguityBall":
        """Check what the caller gave and build the ball."""
        mean = as_vector(mean, "mean").copy()
        require_size(mean, "mean", SMALLEST)
        cov = as_symmetric(cov, "cov", mean.size)
        require_size(cov, "cov", largest=LARGEST**2)
        if drift is not None:
            drift = as_symmetric(drift, "drift", mean.size)
            require_size(drift, "drift", largest=LARGEST**2)
        return cls(mean, cov, read_radius(radius), drift)

    @property
    def dimension(self) -> int:
        """Number of parameters D, the intercept included."""
        return self.mean.size

    def mean_scores(self, points: Array) -> Array:
        """Nominal means x_j' mu of the options' scores, (..., J) for points (..., J, D)."""
        scores: Array = points @ self.mean
        return scores

    def score_roots(self, points: Array) -> Array:
        """Rows whose inner products are the nominal covariances x_i' S x_j of the scores, (..., J, D)."""
        roots: Array = points @ self.cov_root
        return roots

    def reach_roots(self, points: Array) -> Array:
        """Rows whose lengths are the options' reaches radius |x_j|_Q, (..., J, D)."""
        roots: Array = self.radius * (points if self.drift_root is None else points @ self.drift_root)
        return roots

    def reaches(self, points: Array) -> Array:
        """How far the whole radius can move each option's score, radius |x_j|_Q, (..., J)."""
        lengths: Array = np.linalg.norm(self.reach_roots(points), axis=-1)
        return lengths


def read_radius(radius: Any) -> float:
    """Check a radius: one finite number, not negative."""
    value = as_floats(radius, "radius")
    if value.ndim != 0:
        raise InvalidInputError(f"radius must be one number, got shape {value.shape}")
    if not (np.isfinite(value) and value >= 0.0):
        raise InvalidInputError(f"radius must be finite and at least 0, got {float(value)}")
    require_size(value, "radius")
    return float(value)
