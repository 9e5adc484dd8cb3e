"""The exploration of `Boundary`: rows near the boundary, and linear surrogates of the model and its refits there."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from copa._core.arrays import Array, Indices
from copa._core.threads import for_each_chunk
from copa.data.schema import Feature
from copa.models.black_box import BlackBox, LocalFit, fit_locally
from copa.planner.search.arguments import FoundPlans
from copa.planner.search.neighbourhood import Draws, rows_around, rows_between
from copa.planner.search.problem import ActionSpace, Linearisation
from copa.planner.search.run import Goals
from copa.planner.strategies.base import ROUNDING
from copa.planner.strategies.black_box import readable_rows, score_all
from copa.planner.strategies.exploration import Exploration, level_of_each, search_one
from copa.planner.strategies.samples import Rows, Samples, signed_guarantee
from copa.plans.cost import Cost, Prices
from copa.theory.sets.ambiguity import AmbiguitySet

NEAR, FAR = 96, 192  # rows drawn around an applicant; and further ones where none of these is accepted
N_BOUNDARY_SEEDS = 16  # accepted rows towards which the boundary is looked for
HALVINGS = 4  # of the way to each
N_BESIDE = 2  # rows drawn beside each place where the boundary was met
FITTED_ROWS = 96  # nearest rows of an applicant that a surrogate is fitted to, and the refits are queried about
BESIDE = 3  # rows drawn beside each option, to see the model there
FAR_SPREAD = 0.1  # standard deviation of a score far from the boundary, relative to its mean
FRESH = 8  # rows drawn beside each option to see how true its surrogate is
DEARER = 4.0  # times the penalty for changing a column at all that linear models are searched with
WIDTH = 1.5  # of the neighbourhood, relative to the distance of the applicant from the nearest boundary


@dataclass(frozen=True, eq=False)
class ScoredByRefits(Samples):
    """Rows with the scores of all models.

    Attributes
    ----------
    refit_scores : ndarray of shape (M, K)
    """

    refit_scores: Array


@dataclass(frozen=True, eq=False)
class BoundaryExploration(Exploration[ScoredByRefits]):
    """Exploration with the slopes of linear surrogates, fitted to what the model and its refits say near the boundary.

    Attributes
    ----------
    model : BlackBox
        The model in force.
    refits : tuple of BlackBox
        Those that the search goes by.
    ambiguity : AmbiguitySet
        Of their scores.
    seed : int
        Of the rows that are drawn.
    floors : ndarray of shape (N,)
        Least score that surrogates are asked for: raised by as much as they were wrong.
    """

    n_turns: ClassVar[int] = 3

    model: BlackBox
    refits: tuple[BlackBox, ...]
    ambiguity: AmbiguitySet
    seed: int
    floors: Array = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "floors", np.zeros(len(self.applicants)))

    def start(self) -> tuple[ScoredByRefits, Rows]:
        """Find the boundary, and query the refits about the rows nearest to it."""
        evaluated = self._find_boundary()
        evaluated = self._with_refits(evaluated.take(_nearest(evaluated, len(self.applicants))))
        return evaluated, evaluated

    def evaluate(self, rows: Rows) -> ScoredByRefits:
        """Query all models about rows."""
        return self._with_refits(self.query(rows))

    def score_today(self, rows: Rows) -> Array:
        """Return the scores of rows by the model in force; the refits are not queried."""
        return self.query(rows).scores

    def evaluate_accepted(self, rows: Rows) -> ScoredByRefits:
        """Query the model in force, and the refits about those rows that it accepts."""
        samples = self.query(rows)
        return self._with_refits(samples.take(samples.scores >= 0.0))

    def visit(self, options: Rows, turn: int) -> ScoredByRefits:
        """Query all models about options and rows beside them."""
        samples = self.query(options)
        refused = samples.take(samples.scores < 0.0)
        np.maximum.at(self.floors, refused.owner, self.floors[refused.owner] - refused.scores)
        draws = Draws.make(BESIDE, self.space, self.seed + 10 + turn)
        return self._with_refits(samples.joined(self._query_beside(samples, draws)))

    def refocus(self, focus: Rows, options: ScoredByRefits) -> Rows:
        """Return the options; for an applicant without any, the focus before."""
        assert isinstance(focus, ScoredByRefits)  # noqa: S101 - as `start` and this make it
        return focus.take(~np.isin(focus.owner, options.owner)).joined(options)

    def search(self, evaluated: ScoredByRefits, focus: Rows, turn: int) -> Rows:  # noqa: ARG002 - every turn alike
        """The options of a plan for each applicant, on a surrogate fitted near the focus."""
        assert isinstance(focus, ScoredByRefits)  # noqa: S101 - as `start` and `refocus` make it
        applicants, request = self.applicants, self.request
        plans = FoundPlans.empty(len(applicants), request.n_options, len(self.space.columns))
        ambiguity = self.ambiguity
        # Where no score reaches the level, options are searched at that of one far from the boundary.
        highest = float(ambiguity.guarantee(1.0, FAR_SPREAD, ambiguity.radius * FAR_SPREAD))
        level = min(level_of_each(request) + ROUNDING, 1.0 - ROUNDING, highest)

        def work(some: slice) -> None:
            for i in range(*some.indices(len(applicants))):
                mine = evaluated.take(np.flatnonzero(evaluated.owner == i))
                if len(mine.owner) == 0:
                    continue
                linear = _linearised(self.space, fit_surrogate(mine, focus.points[focus.owner == i]))
                goals = Goals(ambiguity, np.array([level]), np.array([self.floors[i] + ROUNDING]))
                here = applicants.take([i])
                plans.put([i], search_one(linear, here, here.encoded, goals, request, self.run, request.n_options))

        for_each_chunk(work, len(applicants), 1, self.run.n_jobs, what="exploring the boundary", unit="applicants")
        owner, option = plans.positions
        return Rows(owner, plans.options[owner, option])

    def query(self, rows: Rows) -> Samples:
        """Query the model in force about rows."""
        points = rows.coordinates(self.space, self.applicants)
        with readable_rows():
            scores = self.model.scores(rows.table(self.space, self.applicants))
        return Samples(rows.owner, rows.values, points, scores, np.full(len(scores), np.nan))

    def _query_beside(self, centres: Samples, draws: Draws, scale: float = 0.5) -> Samples:
        """Query the model in force about rows drawn beside others."""
        regions = self.applicants.regions.take(centres.owner)
        drawn = rows_around(self.space, regions, centres.values, draws, scale)
        return self.query(Rows(np.repeat(centres.owner, len(draws)), drawn))

    def _with_refits(self, samples: Samples) -> ScoredByRefits:
        """Query the refits about rows too; the moments of their scores give each row its guarantee."""
        scores = score_all(self.refits, samples.table(self.space, self.applicants), self.run.n_jobs)
        mean, spread = scores.mean(axis=0), scores.std(axis=0, ddof=1)
        lower = signed_guarantee(self.ambiguity, mean, spread, self.ambiguity.radius * spread)
        return ScoredByRefits(samples.owner, samples.values, samples.points, samples.scores, lower, scores.T)

    def _find_boundary(self) -> Samples:
        """Rows around each applicant; where some are accepted, rows on the boundary and beside it as well."""
        seed, everyone = self.seed, np.arange(len(self.applicants))
        samples = self._query_around(everyone, Draws.make(NEAR, self.space, seed), scale=1.0)
        lost = np.setdiff1d(everyone, samples.owner[samples.scores >= 0.0])
        if len(lost):
            samples = samples.joined(self._query_around(lost, Draws.make(FAR, self.space, seed + 1), scale=4.0))
        seeds = samples.take(_cheapest_accepted(samples, len(self.applicants)))
        if len(seeds.owner) == 0:
            return samples
        met = self._halve(seeds)
        beside = Draws.make(N_BESIDE, self.space, seed + 2)
        return samples.joined(*met, self._query_beside(met[-1], beside))

    def _query_around(self, whose: Indices, draws: Draws, scale: float) -> Samples:
        regions = self.applicants.regions.take(whose)
        drawn = rows_around(self.space, regions, regions.own, draws, scale)
        return self.query(Rows(np.repeat(whose, len(draws)), drawn))

    def _halve(self, seeds: Samples) -> list[Samples]:
        """Bisect between applicants and accepted rows: the rows met, turn by turn."""
        draws = Draws.make(N_BOUNDARY_SEEDS, self.space, self.seed + 3)
        rank = np.arange(len(seeds.owner)) - np.searchsorted(seeds.owner, seeds.owner)  # of each within its applicant
        order = draws.order[rank % N_BOUNDARY_SEEDS]
        regions = self.applicants.regions.take(seeds.owner)
        low, high = np.zeros(len(seeds.owner)), np.ones(len(seeds.owner))
        met: list[Samples] = []
        for _ in range(HALVINGS):
            share = 0.5 * (low + high)
            met.append(self.query(Rows(seeds.owner, rows_between(self.space, regions, seeds.values, share, order))))
            accepted = met[-1].scores >= 0.0
            high, low = np.where(accepted, share, high), np.where(accepted, low, share)
        return met

    def fidelity(self, evaluated: ScoredByRefits, options: ScoredByRefits) -> Array:
        """Share of fresh rows near the options that the surrogate accepts or refuses as the model does, (N,)."""
        shares = np.full(len(self.applicants), np.nan)
        fresh = self._query_beside(options, Draws.make(FRESH, self.space, self.seed + 99))
        for i in np.unique(options.owner):
            mine = evaluated.take(np.flatnonzero(evaluated.owner == i))
            fit = fit_surrogate(mine, options.points[options.owner == i])
            near = fresh.owner == i
            shares[i] = np.mean((fit.scores(fresh.points[near])[0] >= 0.0) == (fresh.scores[near] >= 0.0))
        return shares


def _cheapest_accepted(samples: Samples, n_applicants: int) -> Indices:
    """Positions of up to N_BOUNDARY_SEEDS accepted rows per applicant, those with the least changes."""
    size = samples.sizes
    chosen = []
    for i in range(n_applicants):
        rows = np.flatnonzero((samples.owner == i) & (samples.scores >= 0.0))
        chosen.append(rows[np.argsort(size[rows], kind="stable")[:N_BOUNDARY_SEEDS]])
    return np.concatenate(chosen) if chosen else np.zeros(0, dtype=np.int64)


def _nearest(samples: Samples, n_applicants: int) -> Indices:
    """Positions of the FITTED_ROWS rows of each applicant nearest to the boundary, in score and in distance."""
    distance = samples.sizes
    chosen = []
    for i in range(n_applicants):
        rows = np.flatnonzero(samples.owner == i)
        scale = max(float(np.median(distance[rows])), 1e-9)
        urgency = distance[rows] / scale + np.abs(samples.scores[rows])
        chosen.append(rows[np.argsort(urgency, kind="stable")[:FITTED_ROWS]])
    return np.concatenate(chosen) if chosen else np.zeros(0, dtype=np.int64)


def fit_surrogate(evaluated: ScoredByRefits, centres: Array) -> LocalFit:
    """Fit a linear surrogate of every model to the rows near some centres (P, D)."""
    distance = np.abs(evaluated.points[:, None] - centres[None]).sum(axis=2).min(axis=1)
    width = WIDTH * max(float(np.median(np.abs(centres[:, 1:]).sum(axis=1))), 1.0)
    nearness = np.exp(-((distance / width) ** 2)) / (1.0 + np.abs(evaluated.scores))
    return fit_locally(evaluated.points, np.vstack([evaluated.scores, evaluated.refit_scores.T]), nearness)


def _linearised(space: ActionSpace, fit: LocalFit) -> Linearisation:
    """The mean and the covariance of the surrogates, around the applicant."""
    others = fit.weights[1:]
    cov = np.cov(others, rowvar=False) + fit.cov
    return Linearisation.around(space, others.mean(axis=0), cov, fit.weights[0])


@dataclass(frozen=True)
class FewerChanges(Cost):
    """Another cost, with a higher penalty for changing a column at all."""

    cost: Cost

    def prices(self, columns: Sequence[Feature]) -> Prices:
        """Those of the other cost, the penalties multiplied."""
        prices = self.cost.prices(columns)
        return prices._replace(penalties=DEARER * prices.penalties)


def sparing(space: ActionSpace) -> ActionSpace:
    """The action space as black boxes are searched in it."""
    return replace(space, cost=FewerChanges(space.cost))
