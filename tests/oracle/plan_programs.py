"""The paper's plan construction (Section 4) given to a general nonlinear solver, in plain NumPy and SciPy."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Construction:
    """One applicant's problem, in full vectors; `free` lists what may change, `cost` is "l2" or "l1"."""

    origin: Array
    mean: Array
    cov: Array
    validity_weight: float
    diversity_weight: float
    margin: float
    free: list[int]
    lower: Array
    upper: Array
    cost: str = "l2"
    cost_weights: Array | None = None

    def distances(self, first: Array, second: Array) -> Array:
        """Costs between points (..., D)."""
        weights = np.ones(self.mean.size) if self.cost_weights is None else self.cost_weights
        return np.linalg.norm(weights * (first - second), ord=1 if self.cost == "l1" else 2, axis=-1)

    def ratios(self, plan: Array) -> Array:
        """Mean score over standard deviation of every option."""
        return plan @ self.mean / np.sqrt(np.einsum("jd,de,je->j", plan, self.cov, plan))

    def objective(self, plan: Array) -> float:
        """The paper's, written down."""
        similarity = 1.0 / (1.0 + self.distances(plan[:, None], plan[None]))
        spread = self.validity_weight * self.ratios(plan).min() + self.diversity_weight * np.linalg.det(similarity)
        return float(self.distances(plan, self.origin).mean() - spread)

    def violation(self, plan: Array) -> float:
        """Largest violation of a constraint."""
        held = np.setdiff1d(np.arange(self.mean.size), self.free)
        return max(
            float((self.margin - plan @ self.mean).max()),
            float((self.lower - plan)[:, self.free].max(initial=-np.inf)),
            float((plan - self.upper)[:, self.free].max(initial=-np.inf)),
            float(np.abs(plan - self.origin)[:, held].max(initial=0.0)),
        )


def solve_with_slsqp(problem: Construction, n_options: int, n_starts: int, seed: int) -> tuple[float, Array]:
    """Least objective that SLSQP reaches from random starts among its points that obey the constraints to 1e-9.

    The minimum over the options becomes a level below every ratio; derivatives are numerical.
    """
    rng = np.random.default_rng(seed)
    free = problem.free
    size = n_options * len(free)
    bounds = [(problem.lower[i], problem.upper[i]) for _ in range(n_options) for i in free] + [(None, None)]

    def plan_of(unknowns: Array) -> Array:
        plan = np.tile(problem.origin, (n_options, 1))
        plan[:, free] = unknowns[:size].reshape(n_options, len(free))
        return plan

    def value(unknowns: Array) -> float:
        plan = plan_of(unknowns)
        similarity = 1.0 / (1.0 + problem.distances(plan[:, None], plan[None]))
        bonus = problem.diversity_weight * np.linalg.det(similarity) + problem.validity_weight * unknowns[-1]
        return float(problem.distances(plan, problem.origin).mean() - bonus)

    def slacks(unknowns: Array) -> Array:
        plan = plan_of(unknowns)
        return np.concatenate([problem.ratios(plan) - unknowns[-1], plan @ problem.mean - problem.margin])

    least, best = np.inf, np.tile(problem.origin, (n_options, 1))
    for _ in range(n_starts):
        start = np.tile(problem.origin[free], n_options) + rng.standard_normal(size) * rng.choice([0.3, 1.0])
        start = np.clip(start, [b[0] for b in bounds[:-1]], [b[1] for b in bounds[:-1]])
        level = float(problem.ratios(plan_of(start)).min())
        result = minimize(
            value,
            np.append(start, level),
            method="SLSQP",
            bounds=bounds,
            constraints={"type": "ineq", "fun": slacks},
            options={"maxiter": 500, "ftol": 1e-12},
        )
        plan = plan_of(result.x)
        if problem.violation(plan) <= 1e-9 and problem.objective(plan) < least:
            least, best = problem.objective(plan), plan
    return least, best
