"""The distribution that attains the lower bound: a mixture of attacks on the options and a rest."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from copa._core.arrays import Array
from copa._core.representation import short_repr
from copa.theory.bounds.canonical import CanonicalPlan, score_moments, witness_matrices
from copa.theory.sets.ambiguity import AmbiguitySet
from copa.theory.sets.gelbrich import gelbrich_distance

# The covariance has to be carried by some mass. Where the attack would take all of it, this much is left over.
LEAST_REST = 1e-6
# An attack with less mass than this is none: its share of the second moments goes to the rest.
NEGLIGIBLE = 1e-12
# Negative eigenvalues of a part's covariance up to this, per row and in units of the second moments, are rounding.
SPREAD_ROUNDING = 100 * float(np.finfo(np.float64).eps)


class Witness(Protocol):
    """The part of a certificate that says how the worst distribution attacks the options."""

    @property
    def points(self) -> Array:
        """Options, (J, D)."""

    @property
    def ambiguity(self) -> AmbiguitySet:
        """The ball."""

    @property
    def blocks(self) -> Array:
        """Attacks in the frames of the options, (J, n, n)."""

    def aligned(self) -> CanonicalPlan:
        """The options in the coordinates of the blocks."""


@dataclass(frozen=True, eq=False)
class WorstCase:
    """A mixture of J attacks and a rest, inside the ball, that attains the lower bound (paper, Section 3.2).

    Attack j has its whole mass where option j fails: on the hyperplane x_j' theta = 0 (or beyond, where the nominal
    mean is). The rest may hold every option, so the probability that all options hold is at most `rest_mass`.

    In another set than the paper's ball there is one attack, on the least sure option, and its own guarantee is
    attained. Where that is 0 because the mean itself may fail, a family may leave some probability: the rest.

    Attributes
    ----------
    mass : ndarray of shape (J,)
        Probability of the attack on each option, the paper's lambda_j.
    location : ndarray of shape (J, D)
        Mean of theta within each attack: the change of model that breaks the option.
    spread : ndarray of shape (J, D, D)
        Covariance of theta within each attack.
    rest_mass : float
    rest_location : ndarray of shape (D,)
    rest_spread : ndarray of shape (D, D)
        The same of the rest.
    mean : ndarray of shape (D,)
    cov : ndarray of shape (D, D)
        Moments of the whole mixture.
    distance : float
        Gelbrich distance of these moments from the nominal ones, in the geometry of the drift.

    Examples
    --------
    >>> import copa
    >>> bounds = copa.validity_bounds([[1.0, 2.0]], mean=[0.0, 1.0], cov=[[0.1, 0.0], [0.0, 0.1]], radius=0.1)
    >>> worst = bounds.certificate.worst_case()
    >>> worst.mass.round(3), round(worst.distance, 3)
    (array([0.186]), 0.1)
    """

    __repr__ = short_repr

    mass: Array
    location: Array
    spread: Array
    rest_mass: float
    rest_location: Array
    rest_spread: Array
    mean: Array
    cov: Array
    distance: float

    @classmethod
    def from_certificate(cls, certificate: Witness) -> "WorstCase":
        """Build the mixture from a certificate's witness (docs/theory.md, Claim 2)."""
        points, ball = certificate.points, certificate.ambiguity
        nominal = _second_moments(ball.mean, ball.cov)
        attacks = _attack_moments(certificate)
        mass = attacks[:, -1, -1]
        attacks = attacks * min(1.0, (1.0 - LEAST_REST) / max(mass.sum(), NEGLIGIBLE))
        attacks[mass < NEGLIGIBLE] = 0.0
        rest = nominal - attacks.sum(axis=0)
        moved = np.array([_move_to_boundary(a, x, ball) for a, x in zip(attacks, points, strict=True)])
        mean, cov = _moments(moved.sum(axis=0) + rest, fallback=ball.mean)
        rest_location, rest_spread = _moments(rest, fallback=ball.mean)
        parts = [_moments(m, fallback=ball.mean) for m in moved]
        return cls(
            mass=moved[:, -1, -1],
            location=np.array([p[0] for p in parts]),
            spread=np.array([p[1] for p in parts]),
            rest_mass=float(rest[-1, -1]),
            rest_location=rest_location,
            rest_spread=rest_spread,
            mean=mean,
            cov=cov,
            distance=gelbrich_distance(ball.mean, ball.cov, mean, cov, drift=ball.drift),
        )


def _second_moments(mean: Array, cov: Array) -> Array:
    """Second moments of (theta; 1), (D + 1, D + 1)."""
    joint = np.append(mean, 1.0)
    result = np.outer(joint, joint)
    result[:-1, :-1] += cov
    return result


def _moments(second: Array, fallback: Array) -> tuple[Array, Array]:
    """Mean and covariance of a part from its share of the second moments of (theta; 1)."""
    mass = second[-1, -1]
    if mass <= 0.0:
        return fallback.copy(), np.zeros_like(second[:-1, :-1])
    mean = second[:-1, -1] / mass
    cov = second[:-1, :-1] / mass - np.outer(mean, mean)
    # A difference of two products: where the covariance is (nearly) zero beside the second moments, rounding alone can
    # make it negative. As a square of a root it is a covariance in the units of every coordinate.
    sizes = np.sqrt(np.maximum(np.diag(second)[:-1] / mass, 0.0))
    units = np.where(sizes > 0.0, sizes, 1.0)
    values, vectors = np.linalg.eigh(0.5 * (cov + cov.T) / units[:, None] / units)
    if values[0] >= -SPREAD_ROUNDING * len(cov):
        root = sizes[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
        cov = root @ root.T
    return mean, 0.5 * (cov + cov.T)


def _attack_moments(certificate: Witness) -> Array:
    """Shares of the attacks in the nominal second moments of (theta; 1), (J, D + 1, D + 1)."""
    points, ball = certificate.points, certificate.ambiguity
    means, _, reaches, _ = score_moments(points, ball)
    broken = means <= reaches
    if broken.any():
        # L* = 0: the mean can be moved to where an option fails, and all the mass with it.
        attacks = np.zeros((len(points), ball.dimension + 1, ball.dimension + 1))
        joint = np.append(ball.mean, 1.0)
        chosen = np.where(broken, np.trace(certificate.blocks, axis1=1, axis2=2), -1.0)
        attacks[np.argmax(chosen)] = np.outer(joint, joint)
        return attacks
    plan = certificate.aligned()
    witness = witness_matrices(plan.frames, certificate.blocks)
    lift = np.zeros((ball.dimension + 1, witness.shape[1]))
    lift[:-1, :-1] = ball.cov_root @ plan.isometry
    lift[:, -1] = np.append(ball.mean, 1.0)
    attacks = lift @ witness @ lift.T
    return 0.5 * (attacks + np.swapaxes(attacks, 1, 2))


def _move_to_boundary(second: Array, point: Array, ball: AmbiguitySet) -> Array:
    """Second moments after moving a part along Q x, at least cost, onto the hyperplane x' theta = 0."""
    along = point if ball.drift is None else ball.drift @ point
    reach = ball.radius * (along @ point)
    score = point @ second[:-1, -1]
    if not (reach > 0.0 and score > 0.0):
        return second  # nothing can move it, or (attacks of L* = 0 sit in one point) it fails already
    move = np.eye(len(second))
    move[:-1, :-1] -= np.outer(along, point) / (along @ point)
    moved: Array = move @ second @ move.T
    return moved
