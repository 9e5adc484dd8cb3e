"""`build_plans`: a plan for every applicant, by the paper's objective (paper, Section 4)."""

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import LARGEST, Array, as_floats
from copa._core.box import Box
from copa._core.reading import read_count, read_number
from copa._core.representation import short_repr
from copa._core.solve_time import require_few_options
from copa._core.threads import for_each_chunk
from copa.exceptions import InvalidInputError
from copa.models.refits.retraining import as_generator
from copa.theory.objective.descents import PlanSearch
from copa.theory.objective.objective import Objective

CHUNK = 16  # applicants per task: some thirty milliseconds of work


@dataclass(frozen=True, eq=False)
class PlanArrays:
    """Plans of N applicants.

    Attributes
    ----------
    points : ndarray of shape (N, J, D)
        Options. Where a plan is infeasible, its options are all the point of the box with the largest mean score; where
        it is invalid, NaN.
    objective : ndarray of shape (N,)
        The paper's objective of each plan, NaN where there is none.
    status : ndarray of str of shape (N,)
        "ok" (every option obeys every constraint), "infeasible" (no point of the applicant's box reaches the margin) or
        "invalid" (the applicant's row or bounds are not usable).
    message : ndarray of str of shape (N,)
        Why a plan is not ok, else empty.
    seconds : ndarray of shape (N,)
        Time spent, averaged over applicants that were served together.

    Examples
    --------
    >>> import copa
    >>> mean, cov = [-0.5, 1.0, 2.0], [[0.1, 0.0, 0.0], [0.0, 0.2, 0.0], [0.0, 0.0, 0.4]]
    >>> applicants = [[1.0, 0.1, 0.1], [1.0, -9.0, 0.0]]
    >>> plans = copa.build_plans(applicants, mean, cov, n_options=2, fixed=[1], upper=[1.0, 1.0, 0.5])
    >>> len(plans), plans.status.tolist()
    (2, ['ok', 'infeasible'])
    >>> print(plans.message[1].split(";")[0])
    the largest mean score within the bounds is -8.5, below the margin 0.1
    """

    __repr__ = short_repr

    points: Array
    objective: Array
    status: npt.NDArray[np.str_]
    message: npt.NDArray[np.str_]
    seconds: Array

    def __len__(self) -> int:
        return len(self.points)


def build_plans(  # noqa: PLR0913 - the contract of the array core: all but three by keyword
    origins: Any,
    mean: Any,
    cov: Any,
    *,
    n_options: int = 5,
    validity_weight: float = 0.5,
    diversity_weight: float = 5.0,
    margin: float = 0.1,
    fixed: Any = None,
    lower: Any = None,
    upper: Any = None,
    cost: str = "l2",
    cost_weights: Any = None,
    n_starts: int = 4,
    max_iter: int = 60,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> PlanArrays:
    """Build a plan of J options for every applicant that minimises the paper's objective (paper, Eq. for COPA).

    Every option x has mean score mean'x >= margin, keeps the fixed coordinates as they are and stays in its box. The
    objective (see `plan_objective`) is not convex: a plan is the best that descents from several starts lead to, and
    one of J equal options where no spread is worth its cost. It is the same for an applicant whoever else is in the
    batch.

    Parameters
    ----------
    origins : array_like of shape (N, D)
        Applicants; vectors include the intercept as coordinate 0, value 1.
    mean : array_like of shape (D,)
    cov : array_like of shape (D, D)
        Mean and covariance of the model's parameters.
    n_options : int
        Options of a plan, J, at most 79: the largest plan whose bounds are proven in any dimension
        (`copa._core.solve_time`).
    validity_weight, diversity_weight : float
        The paper's lambda_1 and lambda_2, at least 0.
    margin : float
        Least mean score of an option, at least 0.
    fixed : array_like of shape (D,) or (K,), optional
        Mask, or list of the coordinates, that must not change; the intercept never does.
    lower, upper : array_like of shape (D,) or (N, D), optional
        Bounds of the free coordinates, for all or with one row per applicant; infinite where there are none.
    cost : {"l2", "l1"}
        The weighted Euclidean distance, or the sum of the weighted absolute changes.
    cost_weights : array_like of shape (D,), optional
        What a unit of each coordinate costs, positive; None is 1 for all.
    n_starts : int
        Starts of the search; a quarter of them, the most promising one included, are followed to the end.
    max_iter : int
        Most steps of a descent.
    random_state : int, Generator or RandomState, optional
        How the starts are turned, the same for all applicants.
    n_jobs : int, optional
        Threads, None for all cores; results do not depend on it.

    Returns
    -------
    PlanArrays

    Raises
    ------
    InvalidInputError
        For arguments that concern the whole batch. A bad row, NaN or without its intercept, gets the status "invalid".

    Examples
    --------
    >>> import copa
    >>> mean, cov = [-0.5, 1.0, 2.0], [[0.1, 0.0, 0.0], [0.0, 0.2, 0.0], [0.0, 0.0, 0.4]]
    >>> plans = copa.build_plans([[1.0, 0.1, 0.1]], mean, cov, n_options=2, random_state=0)
    >>> plans.points[0].round(2)
    array([[ 1.  , -0.21,  1.53],
           [ 1.  ,  1.1 ,  0.45]])
    >>> plans.objective.round(3)
    array([-4.203])
    """
    objective = Objective.read(
        mean,
        cov,
        validity_weight=validity_weight,
        diversity_weight=diversity_weight,
        cost=cost,
        cost_weights=cost_weights,
    )
    if objective.validity_weight > 0.0 and not objective.cov.any():
        raise InvalidInputError(
            "cov must not be zero: without doubt about the parameters every option's validity is infinite; "
            "set validity_weight=0 to build plans by cost and diversity"
        )
    count = read_count(n_options, "n_options")
    require_few_options(count)
    applicants = _read_origins(origins, objective.dimension)
    box = Box.read(len(applicants), objective.dimension, fixed, lower, upper)
    search = PlanSearch(
        objective,
        read_number(margin, "margin"),
        box.free,
        n_options=count,
        n_starts=read_count(n_starts, "n_starts"),
        max_iter=read_count(max_iter, "max_iter"),
        rng=as_generator(random_state),
    )
    return _serve(applicants, search, box, n_jobs)


def _serve(applicants: Array, search: PlanSearch, box: Box, n_jobs: int | None) -> PlanArrays:
    """Build the plans of those applicants (N, D) whose rows are good, and say what is wrong with the others."""
    pairs = zip(applicants, box.messages, strict=True)
    messages = np.array([_wrong_row(row) or bounds for row, bounds in pairs], dtype=object)
    bad = messages.astype(bool)
    points = np.full((len(applicants), search.n_options, applicants.shape[1]), np.nan)
    values, seconds = np.full(len(applicants), np.nan), np.zeros(len(applicants))
    feasible = np.zeros(len(applicants), dtype=bool)
    good = np.flatnonzero(~bad)

    def serve(chunk: slice) -> None:
        started = perf_counter()
        rows = good[chunk]
        plans, feasible[rows] = search.build(applicants[rows], box.lower[rows], box.upper[rows])
        points[rows] = plans
        values[rows] = np.where(feasible[rows], search.objective.of(plans, applicants[rows]), np.nan)
        seconds[rows] = (perf_counter() - started) / len(rows)

    for_each_chunk(serve, len(good), CHUNK, n_jobs, in_kernels=True, what="building plans", unit="plans")
    for i in np.flatnonzero(~bad & ~feasible):
        messages[i] = (
            f"the largest mean score within the bounds is {points[i, 0] @ search.objective.mean:.6g}, below the margin "
            f"{search.margin:g}; free more coordinates, widen the bounds or lower the margin"
        )
    status = np.select([bad, ~feasible], ["invalid", "infeasible"], default="ok")
    return PlanArrays(points, values, status, messages.astype(np.str_), seconds)


def _wrong_row(row: Array) -> str:
    """Say what is wrong with an applicant's row (D,); empty if nothing is."""
    unusable = np.flatnonzero(~(np.abs(row) <= LARGEST))
    if unusable.size:
        i = int(unusable[0])
        return f"entries must be finite and at most {LARGEST:g} in size, got {row[i]:g} at coordinate {i}"
    if row[0] != 1.0:
        return f"coordinate 0 is the intercept and must be 1, got {row[0]:g}; prepend a column of ones"
    return ""


def _read_origins(origins: Any, dimension: int) -> Array:
    array = as_floats(origins, "origins")
    if array.ndim != 2 or array.shape[1] != dimension:
        hint = "; for one applicant pass origins[None]" if array.shape == (dimension,) else ""
        raise InvalidInputError(f"origins must have shape (N, {dimension}) to match mean, got {array.shape}{hint}")
    return array
