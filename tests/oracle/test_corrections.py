"""The corrections against the paper's programs through a conic solver, and against brute force in the plane."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

from copa import validity_bounds
from copa.exceptions import InvalidInputError
from copa.theory.corrections import mahalanobis_correction, requirement_correction
from oracle.correction_programs import Correction, paper_mahalanobis, paper_requirement

Array = npt.NDArray[np.float64]

AGREE = 1e-6


@dataclass(frozen=True)
class Task:
    """Options, moments and limits of a correction."""

    points: Array
    mean: Array
    cov: Array
    budget: float
    margin: float
    free: npt.NDArray[np.bool_]
    lower: Array
    upper: Array

    @property
    def limits(self) -> dict[str, Array]:
        return {"fixed": ~self.free, "lower": self.lower, "upper": self.upper}

    @property
    def everything(self) -> tuple[float, Array, Array, Array]:
        """Budget, free coordinates and bounds."""
        return self.budget, self.free, self.lower, self.upper

    @property
    def only_the_budget(self) -> tuple[float, Array, Array, Array]:
        """The same of the paper's own problem, the intercept apart."""
        dimension = self.mean.size
        return self.budget, np.arange(dimension) > 0, np.full(dimension, -np.inf), np.full(dimension, np.inf)


def random_task(seed: int, *, inside_box: bool) -> Task:
    """D 2..12, J 1..3, singular covariances in two of five, about half of the coordinates with bounds near the plan."""
    rng = np.random.default_rng([33, seed])
    dim, n_options = int(rng.integers(2, 13)), int(rng.integers(1, 4))
    rank = dim if rng.random() < 0.6 else int(rng.integers(1, dim + 1))
    root = rng.standard_normal((dim, rank)) * 10.0 ** rng.uniform(-1.0, 0.0)
    mean = rng.standard_normal(dim)
    points = rng.standard_normal((n_options, dim))
    points[:, 0] = 1.0
    budget = 10.0 ** rng.uniform(-1.5, 0.5)
    # The room to the bounds is of the budget's order, and nothing in three of ten.
    room = rng.exponential(budget / 2.0, (2, dim)) * (rng.random((2, dim)) < 0.7)
    low, high = points.min(axis=0) - room[0], points.max(axis=0) + room[1]
    if not inside_box:
        low, high = points.mean(axis=0) - 3.0 * room[0], points.mean(axis=0) + 3.0 * room[1]
    bounded = rng.random((2, dim)) < (0.6 if inside_box else 0.9)
    return Task(
        points=points,
        mean=mean,
        cov=root @ root.T,
        budget=float(budget),
        margin=float(rng.choice([0.0, 0.1, 1.0, 4.0])),
        free=(rng.random(dim) < 0.8) & (np.arange(dim) > 0),
        lower=np.where(bounded[0], low, -np.inf),
        upper=np.where(bounded[1], high, np.inf),
    )


def requirement_programs(task: Task) -> list[tuple[Array, Correction]]:
    """Options with the paper's answers."""
    answers = [
        (x, paper_requirement(x, task.mean, task.margin, task.free, task.lower, task.upper)) for x in task.points
    ]
    assert {program.status for _, program in answers} <= {"optimal", "infeasible"}
    return answers


@pytest.mark.parametrize("seed", range(50))
def test_the_requirement_correction_is_the_projection(seed):
    task = random_task(seed, inside_box=False)
    for x, program in [a for a in requirement_programs(task) if a[1].status == "optimal"]:
        (ours,) = requirement_correction(x[None], task.mean, margin=task.margin, **task.limits)
        assert ours @ task.mean >= task.margin
        assert (ours - x) @ (ours - x) == pytest.approx(program.value, rel=AGREE, abs=1e-9)
        # Where a multiplier vanishes, the solver's point is known to the root of its gap only.
        np.testing.assert_allclose(ours, program.point, rtol=0.0, atol=10.0 * AGREE)


@pytest.mark.parametrize("seed", range(50))
def test_a_requirement_that_the_program_cannot_meet_is_an_error(seed):
    task = random_task(seed, inside_box=False)
    for x, _ in [a for a in requirement_programs(task) if a[1].status == "infeasible"]:
        with pytest.raises(InvalidInputError, match="option 0 can reach a score of at most"):
            requirement_correction(x[None], task.mean, margin=task.margin, **task.limits)


def test_both_kinds_of_requirements_are_among_those_compared():
    statuses = [a.status for seed in range(50) for _, a in requirement_programs(random_task(seed, inside_box=False))]
    assert statuses.count("optimal") > 30
    assert statuses.count("infeasible") > 10


@dataclass(frozen=True)
class Comparison:
    """x'S x / (mean'x)^2 of our corrected option and of the program's; infinite where no score is positive.

    They agree to 1e-6 of the ratio, so 2e-6 of its square, up to the solver's digits and the rounding errors of x'S x.
    """

    ours: float
    program: float
    rounding: float
    is_answered: bool


def compare(x: Array, ours: Array, mean: Array, cov: Array, limits: tuple[float, Array, Array, Array]) -> Comparison:
    budget, free, lower, upper = limits
    assert np.linalg.norm(ours - x) <= budget * (1.0 + 1e-9)
    assert (ours[free] >= lower[free]).all()
    assert (ours[free] <= upper[free]).all()
    program = paper_mahalanobis(x, mean, cov, budget, free, lower, upper)
    score = float(ours @ mean)
    return Comparison(
        ours=float(ours @ cov @ ours) / score**2 if score > 1e-9 else np.inf,
        program=program.value if program.status == "optimal" else np.inf,
        rounding=1e-14 * float(np.abs(ours) @ np.abs(cov) @ np.abs(ours)) / max(score**2, 1e-18),
        is_answered=program.status in {"optimal", "infeasible"},
    )


def assert_mahalanobis(corrected, points, mean, cov, limits) -> None:
    compared = [compare(x, ours, mean, cov, limits) for x, ours in zip(points, corrected, strict=True)]
    assert all(c.is_answered for c in compared)
    assert_agree(compared)


def assert_agree(compared: list[Comparison]) -> None:
    for c in compared:
        assert c.ours == pytest.approx(c.program, rel=2.0 * AGREE, abs=1e-8 + c.rounding)


@pytest.mark.parametrize("seed", range(40))
def test_the_mahalanobis_correction_solves_the_papers_program(seed):
    task = random_task(seed, inside_box=True)
    corrected = mahalanobis_correction(task.points, task.mean, task.cov, budget=task.budget)
    assert_mahalanobis(corrected, task.points, task.mean, task.cov, task.only_the_budget)


@pytest.mark.parametrize("seed", range(60))
def test_the_mahalanobis_correction_solves_the_papers_program_with_limits(seed):
    task = random_task(seed, inside_box=True)
    corrected = mahalanobis_correction(task.points, task.mean, task.cov, budget=task.budget, **task.limits)
    assert_mahalanobis(corrected, task.points, task.mean, task.cov, task.everything)


@pytest.mark.slow
def test_the_mahalanobis_correction_solves_many_programs_with_limits():
    answered = 0
    for seed in range(60, 1000):
        task = random_task(seed, inside_box=True)
        corrected = mahalanobis_correction(task.points, task.mean, task.cov, budget=task.budget, **task.limits)
        pairs = zip(task.points, corrected, strict=True)
        compared = [c for x, y in pairs if (c := compare(x, y, task.mean, task.cov, task.everything)).is_answered]
        assert_agree(compared)
        answered += len(compared) == len(task.points)
    assert answered >= 930  # of 940; what the solver cannot answer is nothing to compare with


@pytest.mark.parametrize("seed", range(20))
def test_worst_case_moments_solve_the_papers_program_with_them(seed):
    task = random_task(seed, inside_box=True)
    # Inside the cone, as the paper presupposes: otherwise the worst mean rejects an option and sits on its boundary.
    turned = task.points * np.sign(task.points @ task.mean)[:, None]
    mean = task.mean + turned.sum(axis=0) / len(turned)
    points = turned[(turned @ mean) > 0.3]
    cov = 0.01 * task.cov
    worst = validity_bounds(points, mean, cov, 0.05).certificate.worst_case()
    corrected = mahalanobis_correction(
        points, mean, cov, radius=0.05, budget=task.budget, fixed=~task.free, moments="worst_case"
    )
    _, _, lower, upper = task.only_the_budget
    assert_mahalanobis(corrected, points, worst.mean, worst.cov, (task.budget, task.free, lower, upper))


def grid_best(point, mean, cov, budget, lower, upper, n_steps=1201):
    """Largest ratio over a fine polar grid of the ball in two free coordinates, clipped to the box."""
    angle = np.linspace(0.0, 2.0 * np.pi, n_steps)
    length = budget * np.linspace(0.0, 1.0, 301)
    moves = np.stack([np.outer(length, np.cos(angle)), np.outer(length, np.sin(angle))], axis=-1).reshape(-1, 2)
    # The bounds themselves belong to the grid: clipping keeps a move inside the ball.
    moves = np.clip(moves, lower[1:] - point[1:], upper[1:] - point[1:])
    candidates = np.column_stack([np.full(len(moves), point[0]), point[1:] + moves])
    scores = candidates @ mean
    spreads = np.sqrt(np.einsum("nd,de,ne->n", candidates, cov, candidates))
    return (scores / spreads).max()


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("boxed", [False, True], ids=["ball", "ball and box"])
def test_no_point_of_a_fine_grid_is_better(seed, boxed):
    rng = np.random.default_rng([41, seed])
    point = np.array([1.0, *rng.standard_normal(2)])
    mean = rng.standard_normal(3)
    mean *= np.sign(point @ mean)
    root = rng.standard_normal((3, 3))
    cov = root @ root.T
    room = rng.exponential(0.1, (2, 3)) if boxed else np.full((2, 3), np.inf)
    lower, upper = point - room[0], point + room[1]
    (ours,) = mahalanobis_correction(point[None], mean, cov, budget=0.3, lower=lower, upper=upper)
    ratio = (ours @ mean) / np.sqrt(ours @ cov @ ours)
    best = grid_best(point, mean, cov, 0.3, lower, upper)
    assert ratio >= best * (1.0 - 1e-12)
    # A step of the grid is 0.3 % of the budget: it comes as close as this.
    assert ratio <= best * (1.0 + 1e-3)
