"""Ambiguity sets: the distributions of the next parameters that a guarantee must hold for."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, TypeGuard, final

import numpy as np
import numpy.typing as npt

from copa._core.arrays import LARGEST, SMALLEST, Array, as_symmetric, as_vector, covering_root, require_size
from copa._core.reading import read_number, read_word
from copa._core.representation import short_repr
from copa._core.words import shown
from copa.exceptions import InvalidInputError
from copa.theory.sets.families import FAMILIES, Family

WIDEST_SPAN = 1e100  # of the sizes of parameters: products of theirs with options keep their digits

COVARIANCE = "cov"  # as a shape: the covariance of the set, whatever it will be


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


@dataclass(frozen=True, eq=False)
class AmbiguitySet(ABC):
    """Distributions of the next parameters theta, around a nominal mean and covariance.

    An option x enters only through three numbers: mean and standard deviation of its score theta'x under the nominal
    moments, and its reach, radius * sqrt(x' drift x), how far the whole radius can move the score. Two functions, each
    the inverse of the other, define a set:

    - `level_coefficients(level)` gives (b, c) such that the score is positive with a probability of at least `level`,
      under every distribution of the set, if and only if mean - b * std - c * reach >= 0. Both grow with the level;
      0 <= b and 0 <= c. The search finds options with them.
    - `guarantee(mean, std, reach)` is the largest such level. It broadcasts, lies in [0, 1], does not fall with the
      mean, does not rise with std or reach, and depends on the proportions of the three only. What is said of an
      option, and what a certificate recomputes, comes from it.

    With these two a set can be planned with, bounded and certified. Bounds of several options together follow from
    their guarantees (`joint_guarantees`); they hold for every set, and a set that knows better ones overrides them. So
    does one that has a bound from above (`upper_limit`), or that knows its worst distribution (`worst_moments`).
    `in_words` and `radius_words` say which distributions are meant; they are printed beside guarantees.

    Parameters
    ----------
    mean : array_like of shape (D,), optional
        Nominal mean of the parameters, the intercept first: theta'x >= 0 is acceptance. A planner that is given a set
        without moments fills in those of its refits.
    cov : array_like of shape (D, D), optional
        Nominal covariance, positive semidefinite.
    radius : float
        Size of the set, at least 0.
    drift : array_like of shape (D, D) or {"cov"}, optional
        Shape of the set, positive semidefinite; "cov" is the covariance, None the identity.
    family : {"any", "unimodal", "gaussian"}
        What is assumed of the form of a score's distribution (`copa.theory.sets.families`). A set of your own may
        ignore it.

    Attributes
    ----------
    cov_root, drift_root : ndarray of shape (D, D)
        Matrices F with F F' = cov, drift up to rounding, and never less (`covering_root`); `drift_root` is None for the
        identity.

    Examples
    --------
    Scores that are normally distributed with known variance, while the mean may move by the reach:

    >>> import numpy as np
    >>> from scipy.special import ndtr, ndtri
    >>> from copa.theory.sets import AmbiguitySet
    >>> class GaussianSet(AmbiguitySet):
    ...     def level_coefficients(self, level):
    ...         return max(0.0, float(ndtri(level))), 1.0
    ...     def guarantee(self, mean, std, reach):
    ...         room = np.maximum(np.asarray(mean) - reach, 0.0)
    ...         return np.where(room > 0.0, ndtr(room / np.maximum(std, 1e-300)), 0.0)
    >>> known = GaussianSet(mean=[0.0, 1.0], cov=[[0.0, 0.0], [0.0, 0.25]], radius=0.1)
    >>> known.option_guarantees(np.array([[1.0, 2.0]])).round(3)
    array([0.962])
    """

    __repr__ = short_repr

    mean: Array = field(default_factory=lambda: np.zeros(0))
    cov: Array = field(default_factory=lambda: np.zeros((0, 0)))
    radius: float = 0.0
    drift: Any = None
    family: str = "any"
    cov_root: Array = field(init=False, repr=False, default_factory=lambda: np.zeros((0, 0)))
    drift_root: Array | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        self._set("radius", read_number(self.radius, "radius"))
        read_word(self.family, [*FAMILIES], "family")
        if isinstance(self.drift, str):
            read_word(self.drift, (COVARIANCE,), "drift, if it is not a matrix,")
        if np.size(self.mean) == 0 and np.size(self.cov) == 0:
            return
        self._set("mean", as_vector(self.mean, "mean").copy())
        require_size(self.mean, "mean", SMALLEST)
        self._set("cov", as_symmetric(self.cov, "cov", self.mean.size))
        require_size(self.cov, "cov", largest=LARGEST**2)
        _require_span(self.mean, self.cov)
        self._set("cov_root", covering_root(self.cov, "cov"))
        if self.drift is not None:
            drift = self.cov if isinstance(self.drift, str) else as_symmetric(self.drift, "drift", self.mean.size)
            require_size(drift, "drift", largest=LARGEST**2)
            self._set("drift", drift)
            self._set("drift_root", covering_root(drift, "drift"))
            drift.setflags(write=False)
        for array in (self.mean, self.cov):  # certificates refer to them: they must stay what they are
            array.setflags(write=False)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @property
    def has_moments(self) -> bool:
        """Whether it has moments; if not, a planner fills in those of its refits."""
        return self.mean.size > 0

    def same_as(self, other: "AmbiguitySet") -> bool:
        """Whether another set is of the same kind and holds the same distributions, to the last bit of its fields."""
        if self is other or type(self) is not type(other):
            return self is other
        return all(_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self) if f.init)

    def in_words(self) -> str:
        """Say which distributions are meant, to follow the words "a distribution": the assumption of every guarantee.

        Examples
        --------
        >>> from copa.theory.sets import MomentBall
        >>> MomentBall(mean=[0.0], cov=[[1.0]], radius=0.1).in_words()
        'whose mean and covariance are within a distance of 0.1 of the estimated ones, equally in every direction'
        """
        return f"of the class {type(self).__name__}, around the estimated mean and covariance, radius {self.radius:.3g}"

    def radius_words(self) -> tuple[str, str] | None:
        """Say which moments may be off by the radius, and what follows its number; None for `in_words` alone.

        Examples
        --------
        >>> from copa.theory.sets import MomentBall
        >>> MomentBall(mean=[0.0], cov=[[1.0]], radius=0.1).radius_words()
        ('mean and covariance', ' of the estimated ones')
        """
        return None

    @property
    def dimension(self) -> int:
        """Number of parameters D, the intercept included."""
        return self.mean.size

    @property
    def laws(self) -> Family:
        """The family, as what it says of a score."""
        return FAMILIES[self.family]

    @abstractmethod
    def level_coefficients(self, level: float) -> tuple[float, float]:
        """Return (b, c): a level in [0, 1) is reached if and only if mean - b * std - c * reach >= 0."""

    @abstractmethod
    def guarantee(self, mean: Any, std: Any, reach: Any) -> Array:
        """Return the least probability of a positive score over the set; the arguments broadcast."""

    def upper_limit(self, mean: Any, std: Any, reach: Any) -> Array:
        """Return an upper bound on the probability of a positive score over the set; the arguments broadcast.

        It is 1 unless the set knows better.
        """
        return np.ones(np.broadcast_shapes(np.shape(mean), np.shape(std), np.shape(reach)))

    def worst_moments(self, mean: float, std: float, reach: float) -> tuple[float, float] | None:  # noqa: ARG002
        """Return mean and standard deviation of the score under the worst distribution of the set, None if unknown."""
        return None

    @property
    def has_worst_case(self) -> bool:
        """Whether the distribution that an option's guarantee is attained by is known, and is in the set."""
        return self.worst_moments(1.0, 0.0, 0.0) is not None

    @property
    def in_ball(self) -> bool:
        """Whether it holds only distributions of the `MomentBall` with these moments, radius and drift, at once.

        Then the ball's bounds hold in it, and its guarantee holds for every mixture of options as for one of them.
        """
        return False

    def option_guarantees(self, points: Array) -> Array:
        """Return the guarantee of each option by itself, (M,), the same to the last bit in any batch.

        Parameters
        ----------
        points : ndarray of shape (M, D)
        """
        return self.guarantee(*self.option_moments(points))

    def option_moments(self, points: Array) -> tuple[Array, Array, Array]:
        """Return mean, standard deviation and reach of each option's score, (M,) each, in a unit of its own (`Scores`).

        Parameters
        ----------
        points : ndarray of shape (M, D)
        """
        scores = self.scores(points[:, None])  # one product per row: the same to the last bit in any batch
        return scores.means[:, 0], scores.spreads[:, 0], scores.reaches[:, 0]

    def joint_guarantees(self, each: Array, points: Array) -> tuple[Array, Array, Array]:  # noqa: ARG002
        """Bounds of plans from the guarantees of their options, whatever the set.

        Parameters
        ----------
        each : ndarray of shape (..., J)
            Guarantees of the options.
        points : ndarray of shape (..., J, D)
            The options, for sets that know more of several than their guarantees say.

        Returns
        -------
        all_lower, any_lower, all_upper : ndarray of shape (...)
            All options hold with at least 1 - sum_j (1 - each_j) (Boole's inequality), at least one of them with at
            least the largest guarantee; that all hold can be certain.
        """
        all_lower = np.maximum(0.0, 1.0 - (1.0 - each).sum(axis=-1))
        return all_lower, each.max(axis=-1), np.ones(each.shape[:-1])

    def scores(self, points: Array) -> Scores:
        """Moments of the scores of options (..., J, D), each in its own unit."""
        means, roots = points @ self.mean, points @ self.cov_root
        reach_roots = self.radius * (points if self.drift_root is None else points @ self.drift_root)
        sizes = np.maximum(np.abs(roots).max(axis=-1), np.abs(reach_roots).max(axis=-1))
        exponents = np.frexp(np.maximum(np.abs(means), sizes))[1]
        means = np.ldexp(means, -exponents)
        roots, reach_roots = (np.ldexp(rows, -exponents[..., None]) for rows in (roots, reach_roots))
        return Scores(means, roots, reach_roots, exponents)


@final
@dataclass(frozen=True, eq=False)
class MomentBall(AmbiguitySet):
    """All distributions whose moments are within `radius` of (mean, cov): the paper's Gelbrich ball.

    The distance is Gelbrich's (paper, Def. 2) after theta -> drift^{-1/2} theta; `drift=None` is the paper's ball.
    With the family "any" nothing is assumed of the form of the distributions, and the bounds of several options are
    exact (`copa.validity_bounds`).

    Parameters
    ----------
    mean : array_like of shape (D,), optional
        Nominal mean of the parameters, the intercept first. A planner that is given a ball without moments fills in
        those of its refits.
    cov : array_like of shape (D, D), optional
        Nominal covariance, positive semidefinite.
    radius : float
        Largest Gelbrich distance from the nominal moments, at least 0.
    drift : array_like of shape (D, D) or {"cov"}, optional
        Shape of the ball, positive semidefinite; "cov" is the covariance, None the identity.
    family : {"any", "unimodal", "gaussian"}
        What is assumed of the form of a score's distribution.

    Examples
    --------
    >>> import numpy as np
    >>> from copa.theory.sets import MomentBall
    >>> ball = MomentBall(mean=[0.0, 1.0], cov=[[0.0, 0.0], [0.0, 0.25]], radius=0.1)
    >>> ball.option_guarantees(np.array([[1.0, 2.0]])).round(3)
    array([0.714])
    >>> b, c = ball.level_coefficients(0.5)
    >>> round(b, 3), round(c, 3)
    (1.0, 1.414)
    """

    __repr__ = short_repr

    def __init_subclass__(cls) -> None:
        raise TypeError("MomentBall is final: its bounds are proven for its own guarantee; subclass AmbiguitySet")

    @property
    def in_ball(self) -> bool:
        """True: it is the ball."""
        return True

    def in_words(self) -> str:
        """Say how far the moments may be from the estimated ones."""
        form = f", and in which {self.laws.in_words}" if self.laws.in_words else ""
        if self.radius == 0.0:
            return f"whose mean and covariance are the estimated ones exactly{form}"
        shape = "equally in every direction" if self.drift is None else "in units of the drift between models"
        within = f"within a distance of {self.radius:.3g} of the estimated ones"
        return f"whose mean and covariance are {within}, {shape}{form}"

    def radius_words(self) -> tuple[str, str] | None:
        """Say that mean and covariance may be off, and in which unit."""
        unit = "" if self.drift is None else ", measured in units of the drift between models"
        return "mean and covariance", f" of the estimated ones{unit}"

    def level_coefficients(self, level: float) -> tuple[float, float]:
        """Return (b, c) = (k, sqrt(1 + k^2)), with the ratio k that the family asks for.

        The moments of a score fill the disc of radius `reach` around (mean, std), and the family asks for
        mean >= k std at each of them; Cantelli's inequality, of the family "any", with k = sqrt(level / (1 - level)).
        """
        k = self.laws.ratio(level)
        return k, 1.0 / math.sqrt(1.0 - level) if self.family == "any" else math.hypot(1.0, k)

    def guarantee(self, mean: Any, std: Any, reach: Any) -> Array:
        """Return what the family makes of sin^2(max(0, atan2(mean, std) - asin(min(1, reach / hypot(mean, std))))).

        Cantelli's mean^2 / (mean^2 + std^2) where the reach is 0, and zero as soon as mean <= reach (docs/theory.md,
        "One option"). Another family converts it ("Families and sets").
        """
        angle = _worst_angle(mean, std, reach)
        lower: Array = np.sin(angle) ** 2
        return lower if self.family == "any" else self.laws.level(lower)

    def upper_limit(self, mean: Any, std: Any, reach: Any) -> Array:
        """Return one minus the guarantee of the opposite score, whose distributions are in the set as well."""
        return 1.0 - self.guarantee(np.negative(mean), std, reach)

    def worst_moments(self, mean: float, std: float, reach: float) -> tuple[float, float] | None:
        """Return the point of the disc with the least mean / std; where mean <= reach, the least mean."""
        if not mean > reach:
            return mean - reach, std
        angle, length = float(_worst_angle(mean, std, reach)), math.hypot(mean, std)
        tangent = math.sqrt(max(0.0, (length - reach) * (length + reach)))
        return tangent * math.sin(angle), tangent * math.cos(angle)


def read_set(mean: Any, cov: Any, radius: Any, drift: Any, family: str, ambiguity: AmbiguitySet | None) -> AmbiguitySet:
    """Return the set that a caller gave, or the moment ball of the moments that it gave instead."""
    if ambiguity is None:
        return MomentBall(as_vector(mean, "mean"), cov, radius, drift, family)
    if not isinstance(ambiguity, AmbiguitySet):
        raise InvalidInputError(f"ambiguity must be an AmbiguitySet or None, got {shown(ambiguity)}")
    if mean is not None or cov is not None or drift is not None:
        raise InvalidInputError("give mean, cov and drift, or an ambiguity set that has its own, not both")
    if not ambiguity.has_moments:
        raise InvalidInputError(f"ambiguity must have a mean and a cov here, got {shown(ambiguity)}")
    return ambiguity


def _worst_angle(mean: Any, std: Any, reach: Any) -> Array:
    """Least atan2(mean, std) over the disc of radius `reach` around (mean, std); zero where mean <= reach."""
    length = np.hypot(mean, std)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        tilt = np.arcsin(np.minimum(1.0, np.where(length > 0.0, reach / length, 1.0)))
    return np.where(mean > reach, np.maximum(0.0, np.arctan2(mean, std) - tilt), 0.0)


def is_exact(ambiguity: AmbiguitySet) -> TypeGuard[MomentBall]:
    """Whether a set is the paper's: a moment ball of the family "any", in which the bounds of plans are exact."""
    return isinstance(ambiguity, MomentBall) and ambiguity.family == "any"


def _require_span(mean: Array, cov: Array) -> None:
    """Raise if parameters, as their means and standard deviations say, differ too much in size to be added."""
    sizes = np.maximum(np.abs(mean), np.sqrt(np.maximum(np.diag(cov), 0.0)))
    sizes = np.where(sizes > 0.0, sizes, sizes.max(initial=0.0))
    if sizes.min() < sizes.max() / WIDEST_SPAN:
        raise InvalidInputError(
            f"the parameters must be within a factor of {WIDEST_SPAN:g} of each other, got {sizes.min():g} (coordinate "
            f"{int(sizes.argmin())}) beside {sizes.max():g} (coordinate {int(sizes.argmax())}); choose other units"
        )


def _equal(one: Any, other: Any) -> bool:
    """Whether two values of a field, numbers or arrays, are equal."""
    return one is other if one is None or other is None else bool(np.array_equal(one, other))
