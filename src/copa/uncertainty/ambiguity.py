"""The ball of distributions that a bound must hold for, read from the caller once."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from copa._core.arrays import LARGEST, SMALLEST, Array, as_symmetric, as_vector, covering_root, require_size
from copa._core.reading import read_number

Exponents = npt.NDArray[np.int32]
NOTHING = -(2**20)  # exponent of zero: below that of any number, and sums of a few still fit


class Scores(NamedTuple):
    """Moments of the options' scores, each option in a unit of its own, a power of two, in which it is of size one.

    The bounds depend on the proportions of an option's mean, roots and reach only. In these units no square of them is
    lost, however small the option and the parameters that it meets.

    Attributes
    ----------
    means : (..., J) nominal means
    roots : (..., J, D) rows whose inner products are the nominal covariances
    reach_roots : (..., J, D) rows whose lengths are the reaches
    exponents : (..., J) the units: the scores are these times 2**exponent
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


@dataclass(frozen=True, eq=False)
class MomentBall:
    """All distributions of theta whose moments are within `radius` of (mean, cov), in the geometry of `drift`.

    The distance is Gelbrich's (paper, Def. 2) after theta -> drift^{-1/2} theta; `drift=None` is the identity,
    the paper's ball.

    Attributes
    ----------
    mean : (D,) nominal mean of the parameters
    cov : (D, D) nominal covariance
    radius : float >= 0
    drift : (D, D) positive semidefinite, or None for the identity
    cov_root, drift_root : (D, D) matrices F with F F' = cov, drift up to rounding, and never less (`covering_root`);
        `drift_root` is None for the identity
    """

    mean: Array
    cov: Array
    radius: float
    drift: Array | None = None
    cov_root: Array = field(init=False, repr=False)
    drift_root: Array | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cov_root", covering_root(self.cov, "cov"))
        if self.drift is not None:
            object.__setattr__(self, "drift_root", covering_root(self.drift, "drift"))
        for array in (self.mean, self.cov, self.drift):
            if array is not None:  # certificates refer to them: they must stay what they are
                array.setflags(write=False)

    @classmethod
    def read(cls, mean: Any, cov: Any, radius: Any, drift: Any = None) -> "MomentBall":
        """Check what the caller gave and build the ball."""
        mean = as_vector(mean, "mean").copy()
        require_size(mean, "mean", SMALLEST)
        cov = as_symmetric(cov, "cov", mean.size)
        require_size(cov, "cov", largest=LARGEST**2)
        if drift is not None:
            drift = as_symmetric(drift, "drift", mean.size)
            require_size(drift, "drift", largest=LARGEST**2)
        return cls(mean, cov, read_number(radius, "radius"), drift)

    @property
    def dimension(self) -> int:
        """Number of parameters D, the intercept included."""
        return self.mean.size

    def scores(self, points: Array) -> Scores:
        """Moments of the scores of options (..., J, D), each option in its own unit.

        Options and parameters are split into digits and exponents of two, and the exponents of their products are added
        as integers: relative to its own unit, nothing of an option under- or overflows, and no digit changes.
        """
        mean, cov_root, drift_root, radius, units = self._in_units
        digits, sizes = _split(points)
        sizes = sizes + units
        exponents = sizes.max(axis=-1)
        scaled = np.ldexp(digits, sizes - exponents[..., None])
        moved = scaled * drift_root if drift_root.ndim == 1 else scaled @ drift_root
        return Scores(scaled @ mean, scaled @ cov_root, radius * moved, exponents)

    @cached_property
    def _in_units(self) -> tuple[Array, Array, Array, float, Exponents]:
        """Mean, roots of the covariance and of the drift, each coordinate in a power of two, and digits of the radius.

        The identity as a drift is kept as its diagonal, and the drift's root has the exponent of the radius. The
        exponents of the units are returned last.
        """
        rows = np.eye(self.dimension) if self.drift_root is None else self.drift_root
        radius, size = _split(np.asarray(self.radius))
        of_mean, of_cov, of_drift = (
            _split(np.abs(a).max(axis=1))[1] for a in (self.mean[:, None], self.cov_root, rows)
        )
        units = np.maximum(np.maximum(of_mean, of_cov), of_drift + size)
        drift_root = np.ldexp((np.ones(self.dimension) if self.drift_root is None else rows).T, size - units).T.copy()
        cov_root = np.ldexp(self.cov_root.T, -units).T.copy()
        return np.ldexp(self.mean, -units), cov_root, drift_root, float(radius), units


def _split(array: Array) -> tuple[Array, Exponents]:
    """Digits in [0.5, 1) and exponents of two of numbers; zero has the exponent `NOTHING`."""
    digits, exponents = np.frexp(array)
    return digits, np.where(digits == 0.0, np.int32(NOTHING), exponents)


def single_option_lower(mean: Array, spread: Array, reach: Array) -> Array:
    """Least probability that a score is positive, over all distributions in the ball.

    With the score's nominal mean m and standard deviation s, and its reach r (how far the whole radius can move
    it), the bound is sin^2(max(0, atan2(m, s) - asin(min(1, r / hypot(m, s))))): Cantelli's m^2 / (m^2 + s^2) at
    r = 0, and zero as soon as m <= r (docs/theory.md, "One option"). Broadcasts over its arguments.

    Parameters
    ----------
    mean, spread, reach : arrays of one shape (...,)

    Returns
    -------
    (...,) probabilities
    """
    length = np.hypot(mean, spread)
    with np.errstate(invalid="ignore", divide="ignore"):
        tilt = np.arcsin(np.minimum(1.0, np.where(length > 0.0, reach / length, 1.0)))
    angle = np.where(mean > reach, np.maximum(0.0, np.arctan2(mean, spread) - tilt), 0.0)
    lower: Array = np.sin(angle) ** 2
    return lower
