"""Families of distributions of a score: what mean and standard deviation say of the probability that it is positive.

In each family the least probability of a positive score is an increasing function of mean / std alone. The family "any"
assumes nothing, and its function is Cantelli's; a bound that is one Cantelli bound therefore converts to every other
family in closed form (docs/theory.md, "Families and sets").
"""

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from copa._core.arrays import Array

UNIMODAL_TURN = 5.0 / 8.0  # Cantelli's bound where the two branches of the unimodal inequality meet, both at 5/6


class Failure(NamedTuple):
    """The part of a score's worst distribution in which the score is not positive.

    Attributes
    ----------
    mass : float
        Probability of this part.
    mean, variance : float
        Moments of the score within it.
    """

    mass: float
    mean: float
    variance: float


class Family(ABC):
    """Distributions of one score with a known mean and standard deviation.

    Attributes
    ----------
    name : str
    in_words : str
        What somebody must believe of the next score, as a clause; empty where nothing is assumed.

    Examples
    --------
    >>> from copa.theory.sets.families import FAMILIES
    >>> {name: round(family.ratio(0.9), 3) for name, family in FAMILIES.items()}
    {'any': 3.0, 'unimodal': 1.856, 'gaussian': 1.282}
    >>> {name: float(family.level(0.9).round(3)) for name, family in FAMILIES.items()}
    {'any': 0.9, 'unimodal': 0.956, 'gaussian': 0.999}
    """

    name: str
    in_words: str

    @abstractmethod
    def ratio(self, level: float) -> float:
        """Return the least mean / std, at least 0, at which a level in [0, 1) is certain."""

    @abstractmethod
    def level(self, cantelli: Any) -> Array:
        """Return the least probability of a positive score, given Cantelli's bound k^2 / (1 + k^2) at k = mean / std.

        Parameters
        ----------
        cantelli : array_like
            In [0, 1]. Zero, which is also said of a mean of zero or below, stays zero.
        """

    @abstractmethod
    def failure(self, mean: float, std: float) -> Failure:
        """Return the part of the worst distribution of a score in which it fails.

        Parameters
        ----------
        mean, std : float
            Of the score. Where the mean is at most zero the whole distribution may fail, except in a family that fixes
            it by these two.
        """

    def __repr__(self) -> str:
        return f"Family({self.name!r})"


class AnyFamily(Family):
    """Every distribution: Cantelli's inequality, attained by two points, one of them at zero."""

    name = "any"
    in_words = ""

    def ratio(self, level: float) -> float:
        """Return sqrt(level / (1 - level))."""
        return math.sqrt(level / (1.0 - level))

    def level(self, cantelli: Any) -> Array:
        """Return what was given."""
        return np.array(cantelli, dtype=np.float64)

    def failure(self, mean: float, std: float) -> Failure:
        """Return the mass at zero."""
        if mean <= 0.0:
            return Failure(1.0, mean, std**2)
        return Failure((std / math.hypot(mean, std)) ** 2, 0.0, 0.0)


class UnimodalFamily(Family):
    """One mode, others rarer the further away: the one-sided inequality of Vysochanskij and Petunin."""

    name = "unimodal"
    in_words = "the next score has one most likely value, and others are rarer the further away"

    def ratio(self, level: float) -> float:
        """Return sqrt(4 / (9 (1 - level)) - 1) for levels from 5/6 on, sqrt(3 level / (4 - 3 level)) below."""
        if level >= 5.0 / 6.0:
            return math.sqrt(4.0 / (9.0 * (1.0 - level)) - 1.0)
        return math.sqrt(3.0 * level / (4.0 - 3.0 * level))

    def level(self, cantelli: Any) -> Array:
        """Return 1 - (4/9)(1 - L) for L from 5/8 on, (4/3) L below."""
        bound = np.asarray(cantelli, dtype=np.float64)
        return np.where(bound >= UNIMODAL_TURN, 1.0 - 4.0 / 9.0 * (1.0 - bound), 4.0 / 3.0 * bound)

    def failure(self, mean: float, std: float) -> Failure:
        """Return the tail of the worst distribution.

        It is a point mass at its mode M and a uniform distribution on [-M/2, M], with M = (mean^2 + std^2) / mean;
        below 5/6, a point mass at zero and a uniform distribution above it.
        """
        if mean <= 0.0:
            return Failure(1.0, mean, std**2)
        fails = (std / math.hypot(mean, std)) ** 2
        if 1.0 - fails < UNIMODAL_TURN:
            return Failure(1.0 - 4.0 / 3.0 * (1.0 - fails), 0.0, 0.0)
        mode = mean + std**2 / mean
        return Failure(4.0 / 9.0 * fails, -mode / 4.0, mode**2 / 48.0)


class GaussianFamily(Family):
    """Normal scores, which mean and standard deviation tell completely."""

    name = "gaussian"
    in_words = "the next score is normally distributed"

    def ratio(self, level: float) -> float:
        """Return the normal quantile, or 0 for levels below one half."""
        from scipy.special import ndtri

        return max(0.0, float(ndtri(level)))

    def level(self, cantelli: Any) -> Array:
        """Return Phi(sqrt(L / (1 - L)))."""
        from scipy.special import ndtr

        bound = np.asarray(cantelli, dtype=np.float64)
        return np.where(bound > 0.0, ndtr(_ratios(bound)), 0.0)

    def failure(self, mean: float, std: float) -> Failure:
        """Return the lower tail of the normal distribution."""
        from scipy.special import log_ndtr

        if not std > 0.0:
            return Failure(float(mean <= 0.0), mean, 0.0)
        ratio = mean / std
        log_mass = float(log_ndtr(-ratio))
        hazard = math.exp(-0.5 * ratio**2 - log_mass) / math.sqrt(2.0 * math.pi)  # density at the end of the tail
        return Failure(math.exp(log_mass), mean - std * hazard, max(0.0, std**2 * (1.0 + ratio * hazard - hazard**2)))


FAMILIES: dict[str, Family] = {family.name: family for family in (AnyFamily(), UnimodalFamily(), GaussianFamily())}
"""Families by their names, from the one that assumes least on."""


def _ratios(cantelli: Array) -> Array:
    """Return k from k^2 / (1 + k^2), infinite for 1."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.sqrt(np.maximum(cantelli, 0.0) / np.maximum(1.0 - cantelli, 0.0)))
