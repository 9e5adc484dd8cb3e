"""The option of a plan that breaks first, and the distribution that attains its guarantee, in a set of any family."""

import math

import numpy as np

from copa._core.arrays import Array
from copa.exceptions import InvalidInputError
from copa.theory.bounds.worst_case import NEGLIGIBLE, WorstCase
from copa.theory.sets.ambiguity import AmbiguitySet

# Guarantees that differ by less are equal: the same number, computed twice.
EQUAL = 1e-6


def breaks_first(guarantees: Array, weights: Array) -> int | None:
    """Position of the option of a plan that a change of the model breaks first.

    It is the one that the worst distribution puts most mass on, among the options that are less sure than the surest.
    The mass against an option depends on the others: where several break together it may be put on any of them, even on
    the one with the highest guarantee, of which nobody would say that it breaks first.

    Parameters
    ----------
    guarantees : ndarray of shape (J,)
    weights : ndarray of shape (J,)
        Mass of the worst distribution against each option; where they say nothing (all are equal), the lowest guarantee
        decides.

    Returns
    -------
    int or None
        None where all options are equally sure, and of a single one.

    Examples
    --------
    >>> import numpy as np
    >>> from copa.theory.bounds.worst_option import breaks_first
    >>> breaks_first(np.array([0.9, 0.8, 0.85]), np.array([0.5, 0.1, 0.2]))
    2
    """
    less_sure = np.flatnonzero(guarantees < np.max(guarantees, initial=0.0) - EQUAL)
    if len(less_sure) == 0:
        return None
    order = np.lexsort((guarantees[less_sure], -weights[less_sure]))
    return int(less_sure[order[0]])


def worst_of_option(points: Array, ambiguity: AmbiguitySet) -> WorstCase:
    """Worst distribution of a set for the option of a plan that breaks first.

    The moments are moved, within the set, to where the option's score has the least mean for its spread; then the score
    gets the worst distribution of the family with these two, and the parameters follow it by linear regression, plus an
    independent normal rest. So every score is a unimodal one plus a normal one, or a normal one, where the family says
    so (docs/theory.md, "Families and sets").

    Parameters
    ----------
    points : ndarray of shape (J, D)
    ambiguity : AmbiguitySet

    Raises
    ------
    InvalidInputError
        If the set does not know its worst moments.
    """
    j = int(np.argmin(ambiguity.guarantee(*_score(points, ambiguity))))
    score = tuple(float(number[j]) for number in _score(points, ambiguity))
    moved = ambiguity.worst_moments(*score)
    if moved is None:
        raise InvalidInputError(
            f"the worst distribution of a {type(ambiguity).__name__} is not known: give it `worst_moments`, or take a "
            "MomentBall or LocationSet"
        )
    mean, cov = _moved_moments(points[j], ambiguity, score, moved)
    fails, location, spread = ambiguity.laws.failure(*moved)
    if fails < NEGLIGIBLE:  # nothing to speak of
        fails, location, spread = 0.0, moved[0], moved[1] ** 2
    rest = _rest(moved, fails, location, spread)
    parts = [_given_score(points[j], mean, cov, moved[0], *part) for part in ((location, spread), rest)]
    others, covs = np.tile(ambiguity.mean, (len(points), 1)), np.zeros((len(points), *cov.shape))
    others[j], covs[j] = parts[0]
    mass = np.zeros(len(points))
    mass[j] = fails
    return WorstCase(
        mass=mass,
        location=others,
        spread=covs,
        rest_mass=1.0 - fails,
        rest_location=parts[1][0],
        rest_spread=parts[1][1],
        mean=mean,
        cov=cov,
        distance=_distance(points[j], ambiguity, score, moved),
    )


def _score(points: Array, ambiguity: AmbiguitySet) -> tuple[Array, Array, Array]:
    """Mean, standard deviation and reach of the score of each option, (J,) each, in the units of the caller."""
    reaches = ambiguity.radius * np.sqrt(_square_lengths(points, ambiguity))
    return points @ ambiguity.mean, np.linalg.norm(points @ ambiguity.cov_root, axis=1), reaches


def _square_lengths(points: Array, ambiguity: AmbiguitySet) -> Array:
    """Values x' drift x of points (..., D)."""
    rows = points if ambiguity.drift_root is None else points @ ambiguity.drift_root
    return np.asarray((rows**2).sum(axis=-1))


def _distance(point: Array, ambiguity: AmbiguitySet, score: tuple[float, ...], moved: tuple[float, float]) -> float:
    """Gelbrich distance of the moved moments: how far those of the score are, per unit of the option's length."""
    length = math.sqrt(float(_square_lengths(point, ambiguity)))
    return math.hypot(score[0] - moved[0], score[1] - moved[1]) / length if length > 0.0 else 0.0


def _moved_moments(
    point: Array, ambiguity: AmbiguitySet, score: tuple[float, ...], moved: tuple[float, float]
) -> tuple[Array, Array]:
    """Mean and covariance at the least distance from the nominal ones that give the score the moved moments."""
    square = float(_square_lengths(point, ambiguity))
    if not square > 0.0:
        return ambiguity.mean.copy(), ambiguity.cov.copy()
    along = (point if ambiguity.drift is None else ambiguity.drift @ point) / square
    mean = ambiguity.mean + (moved[0] - score[0]) * along
    if not score[1] > 0.0:
        return mean, ambiguity.cov + moved[1] ** 2 * np.outer(along, along)
    stretch = np.eye(len(point)) + (moved[1] / score[1] - 1.0) * np.outer(along, point)
    return mean, stretch @ ambiguity.cov @ stretch.T


def _rest(moved: tuple[float, float], fails: float, location: float, spread: float) -> tuple[float, float]:
    """Mean and variance of the score where it does not fail, from those of the whole and of the part that fails."""
    holds = 1.0 - fails
    if not holds > NEGLIGIBLE:
        return moved[0], 0.0
    mean = (moved[0] - fails * location) / holds
    square = (moved[0] ** 2 + moved[1] ** 2 - fails * (location**2 + spread)) / holds
    return mean, max(0.0, square - mean**2)


def _given_score(
    point: Array, mean: Array, cov: Array, score: float, location: float, spread: float
) -> tuple[Array, Array]:
    """Mean and covariance of the parameters in a part in which the score has the moments (location, spread)."""
    along = cov @ point
    square = float(along @ point)
    if not square > 0.0:
        return mean.copy(), cov.copy()
    along = along / square
    given = cov + (spread - square) * np.outer(along, along)
    return mean + (location - score) * along, 0.5 * (given + given.T)
