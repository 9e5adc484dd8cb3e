"""What is promised of rows: the moments of their scores over the retrained fits, in one ball for all applicants."""

import numpy as np

from copa.arrays import Array, Indices
from copa.bounds.ambiguity import AmbiguityBall


def standard_ball(n_options: int, radius: float) -> AmbiguityBall:
    """The ball of standardised scores: theta = (1, g) where g has mean 0 and covariance I.

    An option is the point (m, r) with its mean score m and a row r of a root of the covariance of the menu's scores:
    then theta'(m, r) has the moments of its score over the retrained fits. The ball has the shape of the covariance, so
    that its radius counts standard deviations of retraining, and is the same for every menu of up to J options.
    """
    mean = np.zeros(n_options + 1)
    mean[0] = 1.0
    cov = np.eye(n_options + 1)
    cov[0, 0] = 0.0
    return AmbiguityBall.read(mean, cov, radius, cov)


def score_points(scores: Array, owner: Indices, dimension: int) -> Array:
    """Options as points of the standard ball, from what K retrained fits say of them, (M, D).

    Parameters
    ----------
    scores : (K, M) of the options by the retrained fits
    owner : (M,) whose they are, ascending; no menu has more than D - 1 options
    """
    mean = scores.mean(axis=0)
    return standard_points(mean, (scores - mean) / np.sqrt(max(len(scores) - 1, 1)), owner, dimension)


def standard_points(mean: Array, factors: Array, owner: Indices, dimension: int) -> Array:
    """Options as points of the standard ball, (M, D).

    Parameters
    ----------
    mean : (M,) scores
    factors : (K, M) whose columns have the covariances of the scores as inner products, within each menu
    """
    points = np.zeros((len(mean), dimension))
    points[:, 0] = mean
    for i in np.unique(owner):
        own = np.flatnonzero(owner == i)
        root = np.asarray(np.linalg.qr(factors[:, own], mode="r"))  # its columns have the same inner products
        points[own[:, None], 1 + np.arange(len(root))] = root.T
    return points
