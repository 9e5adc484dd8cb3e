"""The corrections of the paper's Section 3 as convex programs, with fixed coordinates and bounds added.

Independent of `copa` on purpose: these are what its corrections are tested against and its benchmarks compare with.
"""

import warnings
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

# Tried in turn until Clarabel says "optimal": the last digits are not within reach for every instance.
TOLERANCES = (1e-11, 1e-10, 1e-9, 1e-8)


@dataclass(frozen=True)
class Correction:
    """A corrected option, the program's value and the solver's own word on it."""

    point: Array | None
    value: float
    status: str


def paper_requirement(x: Array, mean: Array, margin: float, free: Array, lower: Array, upper: Array) -> Correction:
    """Section 3.1: the point nearest to x (D,) with mean'x >= margin, and its squared distance; `free` may move."""
    point = cp.Variable(x.size)
    constraints = [mean @ point >= margin, *_limits(point, 1.0, x, free, lower, upper)]
    value, status = _solve(cp.Problem(cp.Minimize(cp.sum_squares(point - x)), constraints))
    return Correction(point.value, value, status)


@dataclass(frozen=True)
class ConicProgram:
    """A problem with the variables that its answer x = v / t is read from."""

    problem: cp.Problem
    v: cp.Variable
    t: cp.Variable


def mahalanobis_program(
    x: Array, mean: Array, cov: Array, budget: float, free: Array, lower: Array, upper: Array
) -> ConicProgram:
    """Section 3.2, the conic program of the theorem: min v'S v with |v - t x| <= budget t and v'mean = 1.

    Fixed coordinates are v = t x, bounds are t lower <= v <= t upper. Infeasible if no score within reach is positive.
    """
    values, vectors = np.linalg.eigh(cov)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    v, t = cp.Variable(x.size), cp.Variable(nonneg=True)
    constraints = [cp.norm(v - t * x) <= budget * t, mean @ v == 1, *_limits(v, t, x, free, lower, upper)]
    return ConicProgram(cp.Problem(cp.Minimize(cp.sum_squares(root.T @ v)), constraints), v, t)


def paper_mahalanobis(
    x: Array, mean: Array, cov: Array, budget: float, free: Array, lower: Array, upper: Array
) -> Correction:
    """Solve `mahalanobis_program`; the value is x'S x / (mean'x)^2 at the corrected option."""
    program = mahalanobis_program(x, mean, cov, budget, free, lower, upper)
    value, status = _solve(program.problem)
    v, t = program.v.value, program.t.value
    return Correction(None if v is None else v / t, value, status)


def _limits(
    v: cp.Variable, t: cp.Variable | float, x: Array, free: Array, lower: Array, upper: Array
) -> list[cp.Constraint]:
    """Constraints that x = v / t has its fixed coordinates where they were and the free ones in their bounds."""
    fixed = np.flatnonzero(~free)
    low, high = np.flatnonzero(free & np.isfinite(lower)), np.flatnonzero(free & np.isfinite(upper))
    constraints = [v[fixed] == t * x[fixed]]
    constraints += [v[low] >= t * lower[low]] if low.size else []
    constraints += [v[high] <= t * upper[high]] if high.size else []
    return constraints


def _solve(problem: cp.Problem) -> tuple[float, str]:
    for tolerance in TOLERANCES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an inaccurate solution is tried again, or reported by its status
            problem.solve(
                solver=cp.CLARABEL, tol_gap_abs=tolerance, tol_gap_rel=tolerance, tol_feas=tolerance, max_iter=300
            )
        if problem.status in {"optimal", "infeasible"}:
            break
    return float(problem.value), problem.status
