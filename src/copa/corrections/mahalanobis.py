"""Mahalanobis correction: more score per standard deviation within a budget (paper, Section 3.2)."""

from difflib import get_close_matches
from typing import Any

import numpy as np
import numpy.typing as npt

from copa.arrays import Array
from copa.bounds.ambiguity import AmbiguityBall
from copa.bounds.batch import CertificateList, bound_plans
from copa.corrections.arguments import heaviest, read_length, read_plans
from copa.corrections.limits import Limits
from copa.corrections.ratio import Moments, raise_ratios
from copa.exceptions import InvalidInputError
from copa.workers import count_threads, for_each_chunk

MOMENTS = ("nominal", "worst_case")
EPS = float(np.finfo(np.float64).eps)


def mahalanobis_correction(  # noqa: PLR0913 - all but three by keyword
    points: Any,
    mean: Any,
    cov: Any,
    *,
    radius: float = 0.01,
    drift: Any = None,
    budget: float = 0.1,
    n_corrections: int | None = None,
    fixed: Any = None,
    lower: Any = None,
    upper: Any = None,
    moments: str = "nominal",
    n_jobs: int | None = None,
) -> Array:
    """Move the options that break first to where their score is largest relative to its standard deviation.

    Maximises mean'x / sqrt(x'cov x) over |x - x_j| <= budget in the free coordinates and their bounds. An option whose
    score the mean makes negative is treated alike; if no score within the budget is positive, it moves to the highest.
    An option of which the score is certain (variance zero) and positive stays where it is.

    Parameters
    ----------
    points : (J, D) one plan, or (N, J, D) a batch; coordinate 0 is the intercept
    mean, cov : (D,), (D, D) nominal mean and covariance of the model's parameters
    radius, drift : the ball in which the weights of the options, and worst-case moments, are computed
    budget : float >= 0, how far each option may move (Euclidean; the paper's Delta)
    n_corrections : how many options of a plan may move, those with the largest weights (the paper's K); None for all
    fixed : (D,) mask or list of coordinates that must not move; the intercept never does
    lower, upper : (D,) bounds of the free coordinates, or (N, D) with one row per plan; None is no bound
    moments : "nominal", or "worst_case" for the mean and covariance of the distribution that attains the lower bound
    n_jobs : threads for a batch, None for all cores; results do not depend on it

    Returns
    -------
    points of the same shape

    Raises
    ------
    InvalidInputError
        For bad input, an option outside its bounds included (`requirement_correction` brings it into them).
    """
    ball = AmbiguityBall.read(mean, cov, radius, drift)
    plans, single = read_plans(points, ball.dimension)
    budget = read_length(budget, "budget")
    limits = Limits.read(len(plans), ball.dimension, fixed, lower, upper)
    limits.require_inside(plans, single=single)
    if n_jobs is not None:
        count_threads(n_jobs)
    _require_moments_name(moments)
    if moments == "nominal" and n_corrections is None:
        moving = np.ones(plans.shape[:2], dtype=bool)
        corrected = raise_ratios(plans, moving, Moments.of_ball(ball), limits, budget, n_jobs)
    else:
        bounds = bound_plans(plans, ball, n_jobs)
        moving = heaviest(bounds.weights, n_corrections)
        if moments == "nominal":
            corrected = raise_ratios(plans, moving, Moments.of_ball(ball), limits, budget, n_jobs)
        else:
            certificates = CertificateList(plans, ball, bounds.proofs)
            corrected = _raise_worst_ratios(plans, moving, certificates, limits, budget, n_jobs)
    return corrected[0] if single else corrected


def _require_moments_name(moments: Any) -> None:
    """Raise for an unknown name of moments, with the nearest known one."""
    if isinstance(moments, str) and moments in MOMENTS:
        return
    near = get_close_matches(str(moments), MOMENTS, n=1, cutoff=0.0)
    raise InvalidInputError(
        f"moments must be one of {', '.join(map(repr, MOMENTS))}, got {moments!r}; did you mean {near[0]!r}?"
    )


def _raise_worst_ratios(
    plans: Array,
    moving: npt.NDArray[np.bool_],
    certificates: CertificateList,
    limits: Limits,
    budget: float,
    n_jobs: int | None,
) -> Array:
    """Move options of each plan to their largest ratio under the plan's own worst case."""
    corrected = plans.copy()

    def work(chunk: slice) -> None:
        for n in range(chunk.start, chunk.stop):
            worst = certificates[n].worst_case()
            # Its covariance is a difference of second moments: semidefinite up to rounding relative to those.
            values, vectors = np.linalg.eigh(worst.cov)
            floor = len(values) * EPS * (values[-1] + float(worst.mean @ worst.mean))
            root = vectors * np.sqrt(np.where(values > floor, values, 0.0))
            own = Limits(limits.free, limits.lower[n : n + 1], limits.upper[n : n + 1])
            mine = slice(n, n + 1)
            corrected[mine] = raise_ratios(
                plans[mine], moving[mine], Moments.scaled(worst.mean, root), own, budget, n_jobs=1
            )

    for_each_chunk(work, len(plans), 1, n_jobs)
    return corrected
