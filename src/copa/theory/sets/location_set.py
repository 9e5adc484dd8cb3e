"""The ambiguity set in which only the mean is unknown: the covariance is that of retraining, as estimated."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from copa._core.arrays import Array
from copa._core.reading import read_flag
from copa._core.representation import short_repr
from copa.theory.sets.ambiguity import AmbiguitySet


@final
@dataclass(frozen=True, eq=False)
class LocationSet(AmbiguitySet):
    """Distributions with the nominal covariance, whose mean is within `radius` of the nominal one.

    The mean of a score may be off by its reach, radius * sqrt(x' drift x), and its standard deviation is known: less
    than a `MomentBall` of the same radius allows. With `drift=cov` the radius counts standard deviations of the score
    itself, and a level is reached if and only if mean >= (k + radius) std, with the ratio k that the family asks for.

    Parameters
    ----------
    mean : array_like of shape (D,), optional
        Nominal mean of the parameters, the intercept first. A planner that is given a set without moments fills in
        those of its refits.
    cov : array_like of shape (D, D), optional
        Covariance, positive semidefinite.
    radius : float
        How far the mean may be from the nominal one, at least 0.
    drift : array_like of shape (D, D) or {"cov"}, optional
        Unit of the radius, positive semidefinite; "cov" is the covariance, None the identity.
    family : {"any", "unimodal", "gaussian"}
        What is assumed of the form of a score's distribution.
    simultaneous : bool
        Whether the radius holds for the scores of all options at once. Then one mean of the parameters explains them
        all, the set lies in the `MomentBall` of the same radius, and bounds of several options use it. Where the radius
        was found for one score at a time (a confidence, a drift of scores), several options are bounded by Boole's
        inequality and by single options only.

    Examples
    --------
    >>> import numpy as np
    >>> from copa.theory.sets import LocationSet
    >>> cov = np.diag([0.0, 0.25])
    >>> known = LocationSet([0.0, 1.0], cov, radius=0.5, drift=cov, family="unimodal")
    >>> known.option_guarantees(np.array([[1.0, 2.0]])).round(3)  # mean 2, std 1, reach 0.5
    array([0.863])
    >>> b, c = known.level_coefficients(0.9)
    >>> round(b, 3), c
    (1.856, 1.0)
    """

    __repr__ = short_repr

    simultaneous: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("simultaneous", read_flag(self.simultaneous, "simultaneous"))

    def __init_subclass__(cls) -> None:
        raise TypeError("LocationSet is final: its bounds are proven for its own guarantee; subclass AmbiguitySet")

    @property
    def in_ball(self) -> bool:
        """Whether the radius holds for all scores at once."""
        return self.simultaneous

    def in_words(self) -> str:
        """Say how far the mean may be from the estimated one."""
        form = f", and in which {self.laws.in_words}" if self.laws.in_words else ""
        if self.radius == 0.0:
            return f"whose mean and covariance are the estimated ones exactly{form}"
        if self.drift is not None and np.array_equal(self.drift, self.cov):
            off = f"moves no score by more than {self.radius:.3g} of its standard deviations"
        else:
            shape = "equally in every direction" if self.drift is None else "in units of the drift between models"
            off = f"is within a distance of {self.radius:.3g} of the estimated one, {shape}"
        one = "" if self.simultaneous else " (said of one score at a time)"
        return f"whose covariance is the estimated one, while its mean {off}{one}{form}"

    def radius_words(self) -> tuple[str, str] | None:
        """Say that the mean may be off, and in which unit."""
        if self.drift is None:
            unit = ""
        elif np.array_equal(self.drift, self.cov):
            unit = ", measured in standard deviations of each score"
        else:
            unit = ", measured in units of the drift between models"
        return "mean", f" of the estimated one{unit}, with the covariance as estimated"

    def level_coefficients(self, level: float) -> tuple[float, float]:
        """Return (b, c) = (k, 1), with the ratio k that the family asks for."""
        return self.laws.ratio(level), 1.0

    def guarantee(self, mean: Any, std: Any, reach: Any) -> Array:
        """Return what the family makes of Cantelli's bound at (mean - reach) / std; zero as soon as mean <= reach."""
        room = np.maximum(np.subtract(mean, reach), 0.0)
        length = np.hypot(room, std)
        with np.errstate(invalid="ignore", divide="ignore"):
            sine = np.where(room > 0.0, room / length, 0.0)
        return self.laws.level(sine**2)

    def upper_limit(self, mean: Any, std: Any, reach: Any) -> Array:
        """Return one minus the guarantee of the opposite score, whose distributions are in the set as well."""
        return 1.0 - self.guarantee(np.negative(mean), std, reach)

    def worst_moments(self, mean: float, std: float, reach: float) -> tuple[float, float] | None:
        """Return the least mean, with the standard deviation as it is."""
        return mean - reach, std
