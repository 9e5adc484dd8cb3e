"""COPA by the descent of the authors' published program: projected Adam that gives up after three idle steps.

It starts from the applicant plus standard normal noise, projects onto the margin and then clips to the ranges, and
returns its last point, not its best. What `copa.build_plans` returns is the minimiser of the same objective.
"""

from dataclasses import dataclass
from time import process_time
from typing import TYPE_CHECKING

import numpy as np

from reproduction.encoding import Array
from reproduction.methods.base import Plans
from reproduction.methods.descent import Adam
from reproduction.own_seed import program_noise

if TYPE_CHECKING:
    from reproduction.case import Case

PATIENCE, IMPROVEMENT = 3, 1e-7
RATE, STEPS = 0.005, 1000
RIDGE = 1e-4  # on the diagonal of K


@dataclass(frozen=True)
class StoppedCopa:
    """The paper's objective, descended until three steps in a row bring nothing.

    Parameters
    ----------
    validity_weight, diversity_weight : the paper's lambda
    same_start : whether all applicants start with the noise that the authors' program draws with its own seed
    """

    validity_weight: float
    diversity_weight: float
    same_start: bool = False

    @property
    def name(self) -> str:
        """What the tables call it."""
        return f"COPA ({self.validity_weight:g}, {self.diversity_weight:g})"

    def plans(self, case: "Case") -> Plans:
        """Build the plans of all applicants."""
        started = process_time()
        origins, n_options = case.origins, case.settings.n_options
        if self.same_start:
            noise = np.repeat(program_noise(case)[None], len(origins), axis=0)
        else:
            rng = np.random.default_rng(case.settings.seed)
            noise = rng.standard_normal((len(origins), n_options, origins.shape[1]))
        held = np.concatenate([[0], case.fixed]).astype(int)
        noise[..., held] = 0.0
        points = self._descend(case, origins[:, None] + noise, held)
        seconds = (process_time() - started) / len(origins)
        return Plans(np.arange(len(origins)), points, np.full(len(origins), seconds))

    def _descend(self, case: "Case", start: Array, held: Array) -> Array:
        mean, cov, margin = case.moments.mean, case.moments.cov, case.settings.margin
        free = mean.copy()
        free[held] = 0.0

        def project(x: Array) -> Array:
            short = np.minimum(x @ mean - margin, 0.0)
            return np.asarray(x - short[..., None] * free / (free @ free))

        adam = Adam(project(start), RATE)
        final = adam.point.copy()
        going = np.ones(len(start), dtype=bool)
        before, idle = np.zeros(len(start)), np.zeros(len(start), dtype=int)
        for _ in range(STEPS):
            value, gradient = self.value_and_gradient(adam.point, case.origins, mean, cov)
            gradient[..., held] = 0.0
            adam.point = np.clip(project(adam.step(gradient)), 0.0, 1.0)
            adam.point[..., 0] = 1.0
            final[going] = adam.point[going]
            idle = np.where(before - value <= IMPROVEMENT, idle + 1, 0)
            before = value
            going &= idle < PATIENCE
            if not going.any():
                break
        return final

    def value_and_gradient(self, x: Array, origins: Array, mean: Array, cov: Array) -> tuple[Array, Array]:
        """Objective (n,) and gradient (n, J, D) of plans x (n, J, D)."""
        n_options = x.shape[1]
        away = x - origins[:, None]
        length = np.linalg.norm(away, axis=-1)
        gradient = away / np.maximum(length, 1e-12)[..., None] / n_options
        spread = np.sqrt(np.einsum("njd,de,nje->nj", x, cov, x))
        ratio = x @ mean / spread
        worst = ratio.argmin(axis=1)
        rows = np.arange(len(x))
        option, score, sd = x[rows, worst], (x @ mean)[rows, worst], spread[rows, worst]
        slope = mean / sd[:, None] - (score / sd**3)[:, None] * (option @ cov)
        gradient[rows, worst] -= self.validity_weight * slope
        between = x[:, :, None] - x[:, None]  # (n, J, J, D)
        distance = np.linalg.norm(between, axis=-1)
        likeness = 1.0 / (1.0 + distance) + RIDGE * np.eye(n_options)
        determinant = np.linalg.det(likeness)
        # d det = det tr(K^-1 dK), and every distance occurs twice
        weight = -2.0 * determinant[:, None, None] * np.linalg.inv(likeness) / (1.0 + distance) ** 2
        unit = between / np.maximum(distance, 1e-12)[..., None]
        gradient -= self.diversity_weight * (weight[..., None] * unit).sum(axis=2)
        value = length.mean(axis=1) - self.validity_weight * ratio.min(axis=1) - self.diversity_weight * determinant
        return value, gradient
