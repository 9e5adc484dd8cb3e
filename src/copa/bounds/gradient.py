"""How the lower bound changes with the options: the envelope formula."""

from typing import Any

import numpy as np

from copa._core.arrays import Array
from copa.bounds.canonical import read_plan, witness_matrices
from copa.bounds.certificate import BallCertificate
from copa.bounds.validity import bound_batch
from copa.exceptions import InvalidInputError
from copa.uncertainty.ambiguity import MomentBall

# The witness is the gradient, and where L* is flat in it its error is the root of the gap: ask for as small a gap as
# double precision gives.
SHARP = 1e-12


def lower_bound_gradient(points: Any, mean: Any, cov: Any, radius: Any, drift: Any = None) -> tuple[float, Array]:
    """Lower bound L* of one plan and its gradient with respect to the options.

    Where L* = 0 the gradient is zero. Where an optimal witness is not unique (duplicate options, for one) L* may have a
    kink, and the vector returned is not promised to be a derivative.

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

    Returns
    -------
    value : float
        The proven lower bound.
    gradient : ndarray of shape (J, D)

    Examples
    --------
    >>> import copa
    >>> value, gradient = copa.lower_bound_gradient(
    ...     [[1.0, 2.0]], mean=[-0.5, 1.0], cov=[[0.1, 0.0], [0.0, 0.1]], radius=0.05
    ... )
    >>> round(value, 3), gradient.round(3)
    (0.763, array([[-0.2,  0.1]]))
    """
    ball = MomentBall.read(mean, cov, radius, drift)
    plan = read_plan(points, ball.dimension)
    bounds = bound_batch(ball, plan[None], n_jobs=1, tolerance=SHARP)[0]
    value = float(bounds.lower)
    if value <= 0.0:
        return 0.0, np.zeros_like(plan)
    return value, envelope(bounds.certificate)


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
