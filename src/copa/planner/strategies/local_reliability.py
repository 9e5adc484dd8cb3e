"""Reliability within one applicant's limits: halves of the data choose rows for them, and the other halves judge."""

import math
from dataclasses import replace
from time import perf_counter

import numpy as np

from copa._core.arrays import Array, Indices
from copa._core.threads import for_each_chunk, stopping_at
from copa._kernels import compare_halves
from copa.models.refits.reliability import reliability_of_sums
from copa.planner.search.arguments import Agreement, GoalArrays, Halves, Regions, take_rows
from copa.planner.search.problem import Linearisation
from copa.planner.search.regions import keeping
from copa.planner.search.rows import left_entries
from copa.planner.search.run import CHUNK, starts_of
from copa.planner.strategies.applicants import Applicants
from copa.theory.sets.families import Family

N_LOCAL = 24  # halves that choose for each applicant: both of twelve splits
LEVEL, RADIUS = 0.9, 1.645  # that rows are chosen at, whatever the planner is asked for


def local_reliability(
    linear: Linearisation,
    halves: Array,
    applicants: Applicants,
    floor: float,
    laws: Family,
    *,
    n_jobs: int | None = None,
    deadline: float = np.inf,
) -> Array:
    """Estimate how reliable the scores of options are that can be chosen for each applicant, (N,).

    A half of the rows takes a row for certain if its score is at least (k + RADIUS) sqrt(2) standard deviations of
    retraining, with the ratio k of the family at LEVEL: parameters of half of the rows vary by sqrt(2) times as much.
    Where no half finds such a row the reliability is 0: nothing shows what a choice would be worth.

    Parameters
    ----------
    linear : Linearisation
        Its covariance is that of retraining.
    halves : ndarray of shape (K, D)
        Refits on complementary halves, which stand next to each other.
    applicants : Applicants
        N of them.
    floor : float
        Least score of an accepted row.
    laws : Family
    n_jobs : int, optional
    deadline : float
        Value of `perf_counter` after which nobody's turn comes; the reliability is then 0.
    """
    run = (floor, (laws.ratio(LEVEL) + RADIUS) * math.sqrt(2.0), n_jobs, deadline)
    regions, encoded, slack = applicants.regions, applicants.encoded, applicants.slack
    irregular = regions.kinds > 0.0
    b = reliability_of_sums(*_compare(linear, halves, keeping(regions, irregular), encoded, slack, run))
    some = np.flatnonzero((irregular & (regions.lower < regions.upper)).any(axis=1))
    if len(some):  # who may leave an irregular entry may choose from there too
        left = regions.take(some)
        begin = encoded[some] + left_entries(linear, left, irregular[some])
        b[some] = np.maximum(b[some], reliability_of_sums(*_compare(linear, halves, left, begin, slack[some], run)))
    return b


def pooled_reliability(
    linear: Linearisation, halves: Array, applicants: Applicants, floor: float, laws: Family
) -> float:
    """Estimate how reliable the scores of options are on average over applicants, which is less noisy than for one."""
    run = (floor, (laws.ratio(LEVEL) + RADIUS) * math.sqrt(2.0), 1, np.inf)
    regions = keeping(applicants.regions, applicants.regions.kinds > 0.0)
    found = _compare(linear, halves, regions, applicants.encoded, applicants.slack, run)
    return float(reliability_of_sums(found.chosen.sum(), found.asked.sum()))


def _compare(
    linear: Linearisation,
    halves: Array,
    regions: Regions,
    encoded: Array,
    slack: Array,
    run: tuple[float, float, int | None, float],
) -> Agreement:
    """Compare halves for applicants who stand at encoded rows (N, D); least score, ratio, threads and deadline."""
    (floor, ratio, n_jobs, deadline), n, linear = run, len(encoded), replace(linear, drift=linear.cov)
    starts = starts_of(linear, encoded, slack)
    scores = (encoded[:, None] @ halves.T)[:, 0]  # one product per row: the same to the last bit in any batch
    by_halves = Halves(np.ascontiguousarray(halves @ linear.directions.T), scores)
    a, ones = np.full(n, 1.0 / math.hypot(1.0, ratio)), np.ones(n)
    goals = GoalArrays(a, ratio * a, 0.0 * a, floor * ones, ones, 0.0 * ones, -np.inf, moves_spread=False)
    found = Agreement(np.zeros(n), np.zeros(n))

    def work(some: slice) -> None:
        if perf_counter() > deadline:
            return
        problem = linear.problem._replace(stop=stop)
        here = by_halves._replace(scores=by_halves.scores[some])
        inputs = take_rows(regions, some), take_rows(starts, some), take_rows(goals, some)
        compare_halves(problem, linear.space.prices, *inputs, here, take_rows(found, some))

    with stopping_at(deadline) as stop:
        for_each_chunk(work, n, CHUNK, n_jobs, in_kernels=True)
    return found


def pairs_of_splits(halves: Array) -> Array:
    """Return the refits that are kept for `local_reliability`: the first splits, whose halves stand together."""
    kept: Indices = np.arange(min(N_LOCAL, len(halves) - len(halves) % 2))
    return halves[kept]
