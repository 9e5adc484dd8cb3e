"""The next model as one more of n refits that the search did not go by: guarantees from their scores, n finite."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from copa._core.arrays import Array
from copa._core.reading import read_count
from copa._core.representation import short_repr
from copa.exceptions import InvalidInputError
from copa.theory.sets.ambiguity import AmbiguitySet

FEWEST = 2  # refits: one has no spread
# What no score reaches: the level coefficient of a level above n / (n + 1). Finite, as the search needs it.
OUT_OF_REACH = 1e9
# Relative rounding of the number of refits that may refuse an option: it is rounded up, never down.
COUNT_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class RefitScores(AmbiguitySet):
    """Distributions of a score of which n held-out refits have drawn one value each, and the next model draws one more.

    A point is the vector of the n refits' scores of an option, (n,). The nominal moments turn it into their mean and
    standard deviation (with n - 1), and of these the guarantee takes the ratio k = mean / std. If the scores
    z_1, ..., z_n of the refits and that of the next model are exchangeable, then (docs/theory.md, "Black boxes")

        P(next model refuses, and k is at least k0) <= r(k0) / (n + 1),
        r(k) = floor((n + 1) (n^2 - 1 + n k^2) / (n^2 - 1 + n (n + 1) k^2)).

    It is Cantelli's inequality for n draws: its limit for many refits is 1 / (1 + k^2), and no option is certified
    above n / (n + 1), not even where all refits agree. No form of the distribution is assumed.

    Exchangeable is what refits on fresh data would be. Those on parts of the rows at hand share these rows, and the
    options were chosen by them. So the mean counts only by the share b that models on other rows keep of it, the
    reliability: k = b * mean / std. Where scores are all or nothing (a tree's), a mean of which b is kept says that on
    average (1 - b) / 2 of the models refuse what the refits agree on, and no spread of theirs shows it. Options differ:
    twice that is allowed for, so nothing is certified above b.

    Parameters
    ----------
    mean : ndarray of shape (n,)
        1 / n each: a score's mean over the refits.
    cov : ndarray of shape (n, n)
        The matrix that makes the variance of n scores of them.
    radius : float
        With drift=cov, how many standard deviations lower the mean may be besides.
    drift : ndarray of shape (n, n), optional
    family : {"any"}
        No form of the distribution is assumed.
    reliability : float
        Share of a chosen option's mean score that models on other rows keep, in (0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from copa.theory.sets.refit_scores import RefitScores
    >>> known = RefitScores.of(60)
    >>> scores = np.random.default_rng(0).normal(4.0, 1.0, size=(1, 60))
    >>> known.option_guarantees(scores).round(3), known.option_guarantees(np.ones((1, 60))).round(3)
    (array([0.951]), array([0.984]))
    >>> round(known.highest, 3)
    0.984
    """

    __repr__ = short_repr

    reliability: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.reliability <= 1.0:
            raise InvalidInputError(f"reliability must be in (0, 1], got {self.reliability!r}")
        if self.dimension < FEWEST:
            raise InvalidInputError(f"at least {FEWEST} refits are needed, got {self.dimension}")
        if self.family != "any":
            raise InvalidInputError(f"refits certify without a family: it must be 'any', got {self.family!r}")
        mean, cov = sample_moments(self.dimension)
        if not (np.allclose(self.mean, mean, atol=0.0) and np.allclose(self.cov, cov, atol=0.0)):
            raise InvalidInputError("mean and cov must be those of a sample of scores; make the set by RefitScores.of")

    @classmethod
    def of(cls, n_refits: int, reliability: float = 1.0, radius: float = 0.0) -> "RefitScores":
        """The set for the scores of n refits.

        Parameters
        ----------
        n_refits : int
        reliability : float
        radius : float
            How far the mean may be off besides, in standard deviations.

        Examples
        --------
        >>> round(RefitScores.of(40).level_coefficients(0.9)[0], 2)
        2.96
        """
        mean, cov = sample_moments(read_count(n_refits, "n_refits", least=FEWEST))
        return cls(mean, cov, float(radius), cov.copy() if radius > 0.0 else None, reliability=float(reliability))

    @property
    def highest(self) -> float:
        """The highest guarantee in this set: n / (n + 1), or the reliability where that is less."""
        return min(self.dimension / (self.dimension + 1.0), self.reliability)

    def in_words(self) -> str:
        """Say what is assumed of the next model's scores."""
        words = (
            f"of which those of {self.dimension} held-out refits, which the search did not go by, are equally good "
            "draws"
        )
        if self.reliability < 1.0:
            words += f", once their mean is multiplied by {self.reliability:.3g}, what models on other rows keep of it"
        if self.radius > 0.0:
            words += f", and whose mean may be lower by {self.radius:.3g} standard deviations"
        return words

    def level_coefficients(self, level: float) -> tuple[float, float]:
        """Return (k / reliability, 1 / reliability), k the smallest ratio at which the level is reached.

        A level above `highest` has none: the coefficient is then larger than any ratio met (`OUT_OF_REACH`).
        """
        n, c = self.dimension, 1.0 / self.reliability
        may_refuse = int(np.floor((1.0 - level) * (n + 1.0) * (1.0 + COUNT_ROUNDING)))  # of n + 1
        if may_refuse < 1 or level > self.highest:
            return OUT_OF_REACH, c
        # r(k) <= may_refuse if and only if k is above this; the factor makes up for COUNT_ROUNDING in `guarantee`.
        k = np.sqrt((n - 1.0) * max(n - may_refuse, 0) / (n * may_refuse)) * (1.0 + 1e-9)
        return float(k) * c, c

    def guarantee(self, mean: Any, std: Any, reach: Any) -> Array:
        """Return 1 - r(k) / (n + 1), at most `highest`, with k = (reliability * mean - reach) / std; 0 if k <= 0."""
        n = self.dimension
        room = self.reliability * np.asarray(mean) - reach
        length = np.hypot(room, std)
        with np.errstate(invalid="ignore", divide="ignore"):
            height, width = (room / length) ** 2, (n**2 - 1.0) * (np.asarray(std) / length) ** 2
            most = (n + 1.0) * (width + n * height) / (width + n * (n + 1.0) * height)
        most = np.where(room > 0.0, most, n + 1.0)
        may_refuse = np.clip(np.floor(most * (1.0 + COUNT_ROUNDING)), 1.0, n + 1.0)
        lower: Array = np.minimum((n + 1.0 - may_refuse) / (n + 1.0), self.highest)
        return lower

    def joint_guarantees(self, each: Array, points: Array) -> tuple[Array, Array, Array]:
        """Bounds of plans: an applicant's least and largest score by each refit are scores as good as any.

        Parameters
        ----------
        each : ndarray of shape (..., J)
        points : ndarray of shape (..., J, n)
            The options' scores by the refits.

        Returns
        -------
        all_lower, any_lower, all_upper : ndarray of shape (...)
            That r(k) of n + 1 models may refuse means that at most r(k) - 1 of the n refits do. So at most
            sum_j (r_j - 1) refits refuse some option, which bounds all of them together as well as the least scores
            do; and options put together by either bound need no further correction (docs/theory.md).
        """
        n = self.dimension
        least, largest = points.min(axis=-2), points.max(axis=-2)
        refuse = np.ceil((1.0 - each) * (n + 1.0) - 1e-9) - 1.0
        by_count = 1.0 - (refuse.sum(axis=-1) + 1.0) / (n + 1.0)
        all_lower = np.minimum(np.maximum(self._of_scores(least), by_count), each.min(axis=-1))
        any_lower = np.maximum(self._of_scores(largest), each.max(axis=-1))
        return np.maximum(all_lower, 0.0), any_lower, 1.0 - self._of_scores(-least)

    def _of_scores(self, points: Array) -> Array:
        """Guarantees of points (..., n)."""
        scores = self.scores(points[..., None, :])
        return self.guarantee(scores.means, scores.spreads, scores.reaches)[..., 0]


def sample_moments(n: int) -> tuple[Array, Array]:
    """Nominal moments that turn a vector of n scores into their mean and their variance (with n - 1)."""
    return np.full(n, 1.0 / n), (np.eye(n) - 1.0 / n) / (n - 1.0)
