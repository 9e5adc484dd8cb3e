"""`build_plans`: a menu of options for every applicant, by the paper's objective (paper, Section 4)."""

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from copa.arrays import LARGEST, Array, as_floats
from copa.exceptions import InvalidInputError
from copa.moments.subsets import as_generator
from copa.planning.box import Box
from copa.planning.objective import Objective, read_number
from copa.planning.starts import ascent_direction, spread_starts
from copa.workers import for_each_chunk

CHUNK = 16  # applicants per task: some thirty milliseconds of work


@dataclass(frozen=True, eq=False)
class PlanArrays:
    """Plans of N applicants.

    Attributes
    ----------
    points : (N, J, D) options. Where a plan is infeasible, its options are all the point of the box with the largest
        mean score; where it is invalid, NaN.
    objective : (N,) the paper's objective of each plan, NaN where there is none
    status : (N,) "ok" (every option obeys every constraint), "infeasible" (no point of the applicant's box reaches the
        margin) or "invalid" (the applicant's row or bounds are not usable)
    message : (N,) why a plan is not ok, else empty
    seconds : (N,) time spent, averaged over applicants that were served together
    """

    points: Array
    objective: Array
    status: npt.NDArray[np.str_]
    message: npt.NDArray[np.str_]
    seconds: Array

    def __len__(self) -> int:
        return len(self.points)


def build_plans(
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
    origins : (N, D) applicants; vectors include the intercept as coordinate 0, value 1
    mean, cov : (D,), (D, D) moments of the model's parameters
    n_options : J
    validity_weight, diversity_weight : float >= 0, the paper's lambda_1 and lambda_2
    margin : float >= 0, least mean score of an option
    fixed : boolean mask (D,) or indices of the coordinates that must not change; the intercept never does
    lower, upper : (D,) or (N, D) bounds, infinite where there are none; not looked at for fixed coordinates
    cost : "l2", the weighted Euclidean distance, or "l1", the sum of the weighted absolute changes
    cost_weights : (D,) positive, what a unit of each coordinate costs; None is 1 for all
    n_starts : starts of the search; a quarter of them, the most promising, are followed to the end
    max_iter : most steps of a descent
    random_state : None, int, Generator or RandomState; how the starts are turned, the same for all applicants
    n_jobs : threads, None for all cores; results do not depend on it

    Returns
    -------
    PlanArrays

    Raises
    ------
    InvalidInputError
        For arguments that concern the whole batch. A bad row, NaN or without its intercept, gets the status "invalid".
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
    applicants = _read_origins(origins, objective.dimension)
    box = Box.read(len(applicants), objective.dimension, fixed, lower, upper)
    task = _Task(
        objective=objective,
        margin=read_number(margin, "margin"),
        box=box,
        max_iter=_read_count(max_iter, "max_iter"),
        rng=as_generator(random_state),
        n_starts=_read_count(n_starts, "n_starts"),
        n_options=_read_count(n_options, "n_options"),
    )
    return task.run(applicants, n_jobs)


class _Task:
    """One call: what all applicants share, in the coordinates that the search works in."""

    def __init__(
        self,
        *,
        objective: Objective,
        margin: float,
        box: Box,
        max_iter: int,
        rng: np.random.Generator,
        n_starts: int,
        n_options: int,
    ) -> None:
        free = box.free
        self.objective, self.margin, self.box, self.max_iter = objective, margin, box, max_iter
        self.scale = objective.cost_weights[free]
        self.gain = objective.mean[free] / self.scale
        self.curvature = np.ascontiguousarray(
            objective.cov[np.ix_(free, free)] / self.scale[:, None] / self.scale
        )
        # A term without effect on the moves would not stop one, either: without free coordinates there is no search.
        self.spreads = spread_starts(
            rng, n_starts, n_options, self.gain, self.curvature, objective.diversity_weight
        )
        self.ascent = ascent_direction(self.gain, self.curvature)

    def run(self, applicants: Array, n_jobs: int | None) -> PlanArrays:
        """Build the plans of applicants (N, D)."""
        n_applicants, dimension = applicants.shape
        messages = np.array(
            [row or bounds for row, bounds in zip(complaints(applicants), self.box.messages, strict=True)], dtype=object
        )
        bad = messages.astype(bool)
        points = np.full((n_applicants, self.spreads.shape[1], dimension), np.nan)
        values, seconds = np.full(n_applicants, np.nan), np.zeros(n_applicants)
        feasible = np.zeros(n_applicants, dtype=bool)
        good = np.flatnonzero(~bad)

        def serve(chunk: slice) -> None:
            rows = good[chunk]
            started = perf_counter()
            points[rows], feasible[rows] = self._build(applicants[rows], rows)
            values[rows] = self.objective.of(points[rows], applicants[rows])
            seconds[rows] = (perf_counter() - started) / len(rows)

        for_each_chunk(serve, len(good), CHUNK, n_jobs)
        values[~feasible] = np.nan
        for i in np.flatnonzero(~bad & ~feasible):
            score = float(points[i, 0] @ self.objective.mean)
            messages[i] = (
                f"the largest mean score within the bounds is {score:.6g}, below the margin {self.margin:g}; "
                "free more coordinates, widen the bounds or lower the margin"
            )
        status = np.select([bad, ~feasible], ["invalid", "infeasible"], default="ok")
        return PlanArrays(points, values, status, messages.astype(np.str_), seconds)

    def _build(self, origins: Array, rows: npt.NDArray[np.intp]) -> tuple[Array, npt.NDArray[np.bool_]]:
        """Plans and feasibility of good rows."""
        # Imported here because loading the compiled kernels takes longer than importing all the rest.
        from copa.planning.kernels.batch import build_batch

        objective = self.objective
        points = np.empty((len(rows), self.spreads.shape[1], objective.dimension))
        feasible = np.empty(len(rows), dtype=bool)
        build_batch(
            origins,
            objective.mean,
            objective.cov,
            self.box.free,
            self.scale,
            self.gain,
            self.curvature,
            self.box.lower[rows],
            self.box.upper[rows],
            self.margin,
            objective.validity_weight,
            objective.diversity_weight,
            objective.manhattan,
            self.spreads,
            self.ascent,
            self.max_iter,
            points,
            feasible,
        )
        return points, feasible


def complaints(origins: Array) -> list[str]:
    """Say what is wrong with each applicant (N, D); empty where nothing is."""
    messages = []
    for row in origins:
        unusable = np.flatnonzero(~(np.abs(row) <= LARGEST))
        if unusable.size:
            i = int(unusable[0])
            messages.append(f"entries must be finite and at most {LARGEST:g} in size, got {row[i]:g} at coordinate {i}")
        elif row[0] != 1.0:
            messages.append(f"coordinate 0 is the intercept and must be 1, got {row[0]:g}; prepend a column of ones")
        else:
            messages.append("")
    return messages


def _read_origins(origins: Any, dimension: int) -> Array:
    array = as_floats(origins, "origins")
    if array.ndim != 2 or array.shape[1] != dimension:
        hint = "; for one applicant pass origins[None]" if array.shape == (dimension,) else ""
        raise InvalidInputError(f"origins must have shape (N, {dimension}) to match mean, got {array.shape}{hint}")
    return array


def _read_count(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InvalidInputError(f"{name} must be a positive integer, got {value!r}")
    return int(value)
