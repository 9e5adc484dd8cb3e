"""The Mahalanobis correction, against the paper's conic program.

The baseline is the program of the paper's theorem for one option, the intercept fixed, built with cvxpy and solved by
Clarabel at its default tolerance; so all times are per option. Ours is the complete `mahalanobis_correction` of one
plan of five options, checks and decomposition of the covariance included, and of a batch of plans, on one core. In a
box about half of the free steps leave it, and the baseline has the bounds as constraints. The difference is the
largest of the ratios mean'x / sqrt(x'S x) that the two sides reach, relative to it.
"""

import warnings
from itertools import islice

import cvxpy as cp
import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.plans import draw_points, questions
from benchmarks.reporting import Row
from benchmarks.timing import taking_turns
from copa._core.arrays import Array
from copa.theory.corrections import mahalanobis_correction
from oracle.correction_programs import mahalanobis_program

N_OPTIONS, DIMENSION, BUDGET = 5, 16, 0.1
ROOM = 0.02  # from the plan to its box: a fifth of the budget


def run(*, quick: bool) -> list[Row]:
    n_plans, rounds, n_batch = (2, 1, 200) if quick else (5, 3, 2000)
    with threadpool_limits(1):
        return [row for boxed in (False, True) for row in _compare(n_plans, rounds, n_batch, boxed=boxed)]


def _compare(n_plans: int, rounds: int, n_batch: int, *, boxed: bool) -> list[Row]:
    place = "in a box" if boxed else "no box"
    rng = np.random.default_rng(0)
    ones, batches, papers, differences, optimal = [], [], [], [], 0
    for question in islice(questions(N_OPTIONS, DIMENSION), n_plans):
        mean, cov = question.mean, question.cov
        batch = draw_points(rng, mean, rng.uniform(0.3, 0.6, (n_batch, N_OPTIONS)))
        batch[0] = question.points
        low, high = _box(batch, boxed=boxed)
        measured = taking_turns(
            {
                "paper": (lambda b=batch, m=mean, c=cov, lo=low, hi=high: _paper(b[0], m, c, lo[0], hi[0]), 1),
                "one": (lambda b=batch, m=mean, c=cov, lo=low, hi=high: _ours(b[0], m, c, lo[0], hi[0]), 30),
                "batch": (lambda b=batch, m=mean, c=cov, lo=low, hi=high: _ours(b, m, c, lo, hi), 1),
            },
            rounds,
        )
        answers, statuses = measured["paper"].result
        optimal += statuses.count("optimal")
        expected = _ratios(answers, mean, cov)
        for name in ("one", "batch"):
            reached = _ratios(measured[name].result.reshape(-1, N_OPTIONS, DIMENSION)[0], mean, cov)
            differences.append(float(np.abs(reached / expected - 1.0).max()))
        papers.append(measured["paper"].seconds / N_OPTIONS)
        ones.append(measured["one"].seconds / N_OPTIONS)
        batches.append(measured["batch"].seconds / (N_OPTIONS * n_batch))
    shared = {
        "baseline": "paper's program, build and solve",
        "baseline_seconds": float(np.median(papers)),
        "at_least": 100.0 if not boxed and max(differences) <= 1e-6 else None,
        "status": f"{optimal} of {n_plans * N_OPTIONS} optimal",
        "accuracy": f"ratios differ by {max(differences):.0e}",
    }
    size = f"J = {N_OPTIONS}, D = {DIMENSION}"
    return [
        Row(name=f"an option of one plan, {place}", size=size, seconds=float(np.median(ones)), **shared),
        Row(
            name=f"an option of a batch, {place}",
            size=f"N = {n_batch:,}, {size}",
            seconds=float(np.median(batches)),
            **shared,
        ),
    ]


def _box(batch: Array, *, boxed: bool) -> tuple[Array, Array]:
    """Bounds (N, D) around each plan, infinite without a box."""
    room = ROOM if boxed else np.inf
    return batch.min(axis=1) - room, batch.max(axis=1) + room


def _ours(points: Array, mean: Array, cov: Array, low: Array, high: Array) -> Array:
    return mahalanobis_correction(points, mean, cov, budget=BUDGET, lower=low, upper=high, n_jobs=1)


def _paper(points: Array, mean: Array, cov: Array, low: Array, high: Array) -> tuple[Array, list[str]]:
    """Corrected options (J, D) and the solver's word on each."""
    free = np.arange(mean.size) > 0
    answers, statuses = [], []
    for x in points:
        program = mahalanobis_program(x, mean, cov, BUDGET, free, low, high)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an inaccurate solution shows in the status
            program.problem.solve(solver=cp.CLARABEL)
        answers.append(program.v.value / program.t.value)
        statuses.append(program.problem.status)
    return np.array(answers), statuses


def _ratios(points: Array, mean: Array, cov: Array) -> Array:
    return points @ mean / np.sqrt(np.einsum("jd,de,je->j", points, cov, points))
