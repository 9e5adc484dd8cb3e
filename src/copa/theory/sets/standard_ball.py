"""Moments of scores as an ambiguity set, for models that are known by the scores of their refits only."""

import numpy as np

from copa._core.arrays import Array, Indices
from copa.theory.sets.ambiguity import MomentBall


def standard_ball(n_options: int, radius: float) -> MomentBall:
    """Moments of scores as an ambiguity set: the ball around theta = (1, g) where g has mean 0 and covariance I.

    An option is the point (m, r) with its mean score m and a row r of a root of the covariance of the plan's scores:
    then theta'(m, r) has the moments of its score over the refits. The ball has the shape of the covariance, so that
    its radius counts standard deviations of retraining.

    Parameters
    ----------
    n_options : int
        Most options of a plan, J.
    radius : float

    Returns
    -------
    MomentBall
        Of J + 1 dimensions.

    Examples
    --------
    >>> ball = standard_ball(n_options=2, radius=0.5)
    >>> spreads = np.array([[1.0, 0.3], [0.0, 0.4]])  # of two options, whose scores vary together
    >>> points = standard_points(np.array([2.0, 2.5]), spreads, owner=np.array([0, 0]), dimension=3)
    >>> moments = ball.option_moments(points)
    >>> (moments[0] / moments[1]).round(3)
    array([2., 5.])
    """
    mean = np.zeros(n_options + 1)
    mean[0] = 1.0
    cov = np.eye(n_options + 1)
    cov[0, 0] = 0.0
    return MomentBall(mean, cov, radius, cov)


def standard_points(mean: Array, factors: Array, owner: Indices, dimension: int) -> Array:
    """Moments of scores as points of the standard ball.

    Parameters
    ----------
    mean : ndarray of shape (M,)
        Mean scores.
    factors : ndarray of shape (K, M)
        Columns whose inner products are the covariances of the scores, within each plan.
    owner : ndarray of shape (M,)
        Position of the applicant of each option, ascending.
    dimension : int
        D of the ball.

    Returns
    -------
    ndarray of shape (M, D)
    """
    points = np.zeros((len(mean), dimension))
    points[:, 0] = mean
    for i in np.unique(owner):
        own = np.flatnonzero(owner == i)
        root = np.asarray(np.linalg.qr(factors[:, own], mode="r"))  # its columns have the same inner products
        points[own[:, None], 1 + np.arange(len(root))] = root.T
    return points
