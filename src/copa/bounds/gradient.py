"""How the lower bound changes with the options: the envelope formula of L*, and the slopes of single options."""

from typing import Any

import numpy as np

from copa._core.arrays import Array
from copa.bounds.canonical import read_plan, witness_matrices
from copa.bounds.certificate import BallCertificate, Certificate
from copa.bounds.validity import ValidityBounds, bound_batch
from copa.exceptions import InvalidInputError
from copa.uncertainty.ambiguity import AmbiguitySet, is_exact, read_set

# The witness is the gradient, and where L* is flat in it its error is the root of the gap: ask for as small a gap as
# double precision gives.
SHARP = 1e-12
NEGLIGIBLE = 1e-12  # by which L* must be larger than Boole's bound to be another number


def lower_bound_gradient(
    points: Any,
    mean: Any = None,
    cov: Any = None,
    radius: Any = 0.0,
    drift: Any = None,
    *,
    family: str = "any",
    ambiguity: AmbiguitySet | None = None,
) -> tuple[float, Array]:
    """Lower bound of one plan, that all options hold, and its gradient with respect to the options.

    Where the bound is 0 the gradient is zero. Where an optimal witness is not unique (duplicate options, for one) L*
    may have a kink, and the vector returned is not promised to be a derivative. In a set in which the bound is the
    larger of L* and Boole's, it is the gradient of the larger one.

    Parameters
    ----------
    points : array_like of shape (J, D)
    mean : array_like of shape (D,)
    cov : array_like of shape (D, D)
        Nominal mean and covariance of the parameters.
    radius : float
        At least 0.
    drift : array_like of shape (D, D), optional
        Positive semidefinite; None for the identity.
    family : {"any", "unimodal", "gaussian"}
        What is assumed of the form of a score's distribution.
    ambiguity : AmbiguitySet, optional
        In place of all these.

    Returns
    -------
    value : float
        The proven lower bound.
    gradient : ndarray of shape (J, D)

    Raises
    ------
    InvalidInputError
        For bad input, or a set whose slopes are not known (`AmbiguitySet.guarantee_slopes`).

    Examples
    --------
    >>> import copa
    >>> value, gradient = copa.lower_bound_gradient(
    ...     [[1.0, 2.0]], mean=[-0.5, 1.0], cov=[[0.1, 0.0], [0.0, 0.1]], radius=0.05
    ... )
    >>> round(value, 3), gradient.round(3)
    (0.763, array([[-0.2,  0.1]]))
    """
    known = read_set(mean, cov, radius, drift, family, ambiguity)
    plan = read_plan(points, known.dimension)
    bounds = bound_batch(known, plan[None], n_jobs=1, tolerance=SHARP)[0]
    value = float(bounds.lower)
    if value <= 0.0:
        return 0.0, np.zeros_like(plan)
    return value, lower_slope(bounds)


def lower_slope(bounds: ValidityBounds) -> Array:
    """Gradient of the lower bound of one plan, (J, D), from its bounds and their certificate.

    Of Boole's 1 - sum_j (1 - g_j), before it is cut at zero, where the bound is not larger; else of L*.
    """
    certificate = bounds.certificate
    if not isinstance(certificate, Certificate):
        raise InvalidInputError("a plan without options has no gradient")
    if is_exact(certificate.ambiguity) or (
        certificate.ambiguity.in_ball and bounds.lower > boole(bounds.option_lower) + NEGLIGIBLE
    ):
        return envelope(certificate)
    return option_slopes(certificate.ambiguity, certificate.points)


def boole(each: Array) -> Array:
    """Boole's bound 1 - sum_j (1 - g_j) that all options hold, negative where it says nothing, from (..., J)."""
    total: Array = 1.0 - (1.0 - each).sum(axis=-1)
    return total


def option_slopes(ambiguity: AmbiguitySet, points: Array) -> Array:
    """Gradients (J, D) of the guarantees of single options (J, D), each with respect to its own."""
    means, spreads = points @ ambiguity.mean, np.linalg.norm(points @ ambiguity.cov_root, axis=1)
    along = points if ambiguity.drift is None else points @ ambiguity.drift
    lengths = np.sqrt(np.maximum(np.einsum("jd,jd->j", along, points), 0.0))
    slopes = ambiguity.guarantee_slopes(means, spreads, ambiguity.radius * lengths)
    if slopes is None:
        raise InvalidInputError(
            f"the slopes of a {type(ambiguity).__name__} are not known: give it `guarantee_slopes`, or take a "
            "MomentBall or LocationSet"
        )
    by_mean, by_spread, by_reach = slopes
    by_spread = np.divide(by_spread, spreads, out=np.zeros_like(spreads), where=spreads > 0.0)
    by_reach = np.divide(ambiguity.radius * by_reach, lengths, out=np.zeros_like(lengths), where=lengths > 0.0)
    pull: Array = (points @ ambiguity.cov_root) @ ambiguity.cov_root.T
    gradient: Array = np.outer(by_mean, ambiguity.mean) + by_spread[:, None] * pull + by_reach[:, None] * along
    return gradient


def envelope(certificate: Any) -> Array:
    """Gradient of L* at a certificate's optimal pair, (J, D).

    L* depends on x_j through y_j = (F'x_j ; mu'x_j) and q_j = x_j'Q x_j, in the one term <W_j, g y_j y_j' / q_j> of the
    Lagrangian. So dL*/dy_j = 2 (g / q_j) W_j y_j and dL*/dq_j = -(g / q_j^2) y_j' W_j y_j. Complementarity,
    (M - e e' + (g / q_j) y_j y_j') W_j = 0, gives (g / q_j) W_j y_j = -W_j (M - e e') y_j / |y_j|^2, which stays finite
    at radius 0 (docs/theory.md, "Gradient").
    """
    if not isinstance(certificate, BallCertificate):
        raise InvalidInputError(f"the gradient of L* is known in a MomentBall only, got {certificate!r}")
    points, ball = certificate.points, certificate.ambiguity
    plan = certificate.aligned()
    witness = witness_matrices(plan.frames, certificate.blocks)
    target = certificate.matrix.copy()
    target[-1, -1] -= 1.0
    pull = -np.einsum("jab,jb->ja", witness @ target, plan.directions)
    slope = pull / plan.lengths[:, None]
    gradient: Array = 2.0 * (slope[:, :-1] @ (ball.cov_root @ plan.isometry).T + np.outer(slope[:, -1], ball.mean))
    along = points if ball.drift is None else points @ ball.drift
    reach = np.einsum("jd,jd->j", along, points)
    shrink = np.einsum("jn,jn->j", plan.directions, pull)
    moves = (reach > 0.0) & (ball.radius > 0.0)
    gradient[moves] -= 2.0 * (shrink[moves] / reach[moves])[:, None] * along[moves]
    return gradient
