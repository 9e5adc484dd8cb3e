"""The paper's methods: corrections of another method's plans (Section 3), and COPA (Section 4).

COPA comes twice: as the minimiser of its objective, and as the authors' published program leaves it, by projected Adam
that gives up after three steps without improvement.
"""

from dataclasses import dataclass
from time import process_time
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from copa import build_plans, mahalanobis_correction, requirement_correction
from reproduction.data.encoding import Array
from reproduction.methods.authors_program import program_noise
from reproduction.methods.base import Adam, Method, Plans, Space

if TYPE_CHECKING:
    from reproduction.data.case import Case

PATIENCE, IMPROVEMENT = 3, 1e-7  # of the stopped descent
RATE, STEPS = 0.005, 1000
RIDGE = 1e-4  # on the diagonal of K


@dataclass(frozen=True)
class Copa:
    """The minimiser of the paper's objective.

    Parameters
    ----------
    validity_weight, diversity_weight : float
        The paper's lambda_1 and lambda_2.
    ranges : bool
        Whether options stay within the ranges of the data, as those in the paper's examples do.
    """

    validity_weight: float
    diversity_weight: float
    ranges: bool = True

    @property
    def name(self) -> str:
        """What the tables call it."""
        return f"COPA ({self.validity_weight:g}, {self.diversity_weight:g})"

    def plans(self, case: "Case") -> Plans:
        """Build the plans of all applicants whom the ranges allow one."""
        started = process_time()
        dimension = case.encoding.dimension
        lower, upper = (np.zeros(dimension), np.ones(dimension)) if self.ranges else (None, None)
        built = build_plans(
            case.origins,
            case.moments.mean,
            case.moments.cov,
            n_options=case.settings.n_options,
            validity_weight=self.validity_weight,
            diversity_weight=self.diversity_weight,
            margin=case.settings.margin,
            fixed=case.fixed,
            lower=lower,
            upper=upper,
            random_state=case.settings.seed,
            n_jobs=1,
        )
        seconds = (process_time() - started) / max(len(built), 1)
        served = np.flatnonzero(built.status == "ok")
        return Plans(served, built.points[served], np.full(len(served), seconds))


@dataclass(frozen=True)
class Corrected:
    """Plans of another method: the requirement correction, then the Mahalanobis improvement.

    Parameters
    ----------
    base : Method
        The other method.
    """

    base: Method
    name: str = "MahalanobisCrr"

    def plans(self, case: "Case") -> Plans:
        """Correct the plans; the time is that of the correction alone."""
        given = self.base.plans(case)
        started = process_time()
        settings = case.settings
        points = correct(case, given.points, n_corrections=settings.n_corrections, budget=settings.budget)
        return Plans(given.who, points, given.seconds * 0.0 + (process_time() - started) / len(points))


def correct(case: "Case", points: "Array", *, n_corrections: int, budget: float) -> "Array":
    """Correct plans (n, J, D): every option to the margin, then the K that break first by up to the budget."""
    mean, cov = case.moments.mean, case.moments.cov
    moved = requirement_correction(points, mean, margin=case.settings.margin, fixed=case.fixed)
    if n_corrections == 0:
        return moved
    return mahalanobis_correction(
        moved,
        mean,
        cov,
        radius=case.settings.radius,
        budget=budget,
        n_corrections=n_corrections,
        fixed=case.fixed,
        n_jobs=1,
    )


@dataclass(frozen=True)
class StoppedCopa:
    """The paper's objective, descended until three steps in a row bring nothing.

    The descent starts from the applicant plus standard normal noise, projects onto the margin and then clips to the
    ranges, and returns its last point, not its best.

    Parameters
    ----------
    validity_weight, diversity_weight : float
        The paper's lambda_1 and lambda_2.
    same_start : bool
        Whether all applicants start with the noise that the authors' program draws with its own seed.
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
        fixed = Space.of(case).fixed
        noise[..., fixed] = 0.0
        points = self._descend(case, origins[:, None] + noise, fixed)
        seconds = (process_time() - started) / len(origins)
        return Plans(np.arange(len(origins)), points, np.full(len(origins), seconds))

    def _descend(self, case: "Case", start: Array, fixed: npt.NDArray[np.intp]) -> Array:
        mean, cov, margin = case.moments.mean, case.moments.cov, case.settings.margin
        free = mean.copy()
        free[fixed] = 0.0

        def project(x: Array) -> Array:
            short = np.minimum(x @ mean - margin, 0.0)
            return np.asarray(x - short[..., None] * free / (free @ free))

        adam = Adam(project(start), RATE)
        final = adam.point.copy()
        going = np.ones(len(start), dtype=bool)
        before, idle = np.zeros(len(start)), np.zeros(len(start), dtype=int)
        for _ in range(STEPS):
            value, gradient = self.value_and_gradient(adam.point, case.origins, mean, cov)
            gradient[..., fixed] = 0.0
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
