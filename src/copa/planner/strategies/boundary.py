"""Black boxes with surrogates fitted at the boundary: searched on these, chosen by what the refits themselves say."""

from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from copa._core.arrays import Array, Indices
from copa._core.formats import Archive
from copa._core.threads import for_each_chunk, progress_bar
from copa.exceptions import InvalidInputError
from copa.models.black_box import BlackBox, LocalFit, fit_locally
from copa.planner.settings import Execution, FitSettings
from copa.planner.strategies.base import ROUNDING, Applicants, Found, write_options
from copa.planner.strategies.black_box import (
    BlackBoxStrategy,
    accepted_by,
    readable_rows,
    require_readable,
    score_all,
)
from copa.planner.strategies.exploration import (
    Rows,
    Samples,
    build_in_turns,
    choose_plans,
    level_of_each,
    search_one,
    sureness,
)
from copa.planner.strategies.storage import pack_refits, unpack_refits
from copa.plans.rates import HeldOutRates
from copa.plans.request import PlanRequest
from copa.search._kernels.arguments import FoundPlans
from copa.search.neighbourhood import Draws, rows_around, rows_between
from copa.search.problem import ActionSpace
from copa.search.run import Goals
from copa.uncertainty.radius import fresh_data_radius
from copa.uncertainty.score_retraining import draw_samples, require_clonable, retrain, score_points

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd


N_MODELS = 40  # refits for the moments where nothing is said
HELD_OUT_SHARE = 0.5  # further refits, as a share of those for the moments
FRESH = 8  # rows drawn beside each option to see how true its surrogate is
BATCH_SIZE = 256  # applicants whose rows the models are queried about in one call


@dataclass(frozen=True, eq=False, kw_only=True)
class Boundary(BlackBoxStrategy):
    """A black box whose guarantees rest on refits; the radius counts standard deviations of retraining.

    Linear surrogates of the model and of its refits are fitted near the boundary, and again where they were wrong.

    Attributes
    ----------
    retrained : tuple of BlackBox
        Fits of the same model to resampled data: the moments of the next models' scores come from them.
    held_out : tuple of BlackBox
        Further fits, by which the options are tried and nothing is chosen.
    """

    kind: ClassVar[str] = "boundary"
    subject: ClassVar[str] = "scores"

    retrained: tuple[BlackBox, ...]
    held_out: tuple[BlackBox, ...]

    @classmethod
    def learn(
        cls, model: BlackBox, space: ActionSpace, X: "pd.DataFrame", y: Any, settings: FitSettings
    ) -> dict[str, Any]:
        """Retrain the model."""
        n_models = N_MODELS if settings.n_models is None else settings.n_models
        require_clonable(model)
        if y is None:
            raise InvalidInputError("y is needed to retrain the model: how its answers vary is what a promise rests on")
        target = (model.read_labels(y, len(X)) == model.favourable).astype(np.float64)
        n_held_out = max(2, round(HELD_OUT_SHARE * n_models))
        samples = draw_samples(target, n_models + n_held_out, np.random.default_rng(settings.seed))
        with progress_bar(len(samples), "retraining", settings.progress, unit="fit") as advance:
            fits = retrain(model, X, y, samples, seed=settings.seed + 1, n_jobs=settings.n_jobs, advance=advance)
        require_readable([model, *fits], space, X)
        radius, source = settings.radius, "given"
        if isinstance(radius, str):
            radius = fresh_data_radius(n_models)
            source = (
                f"for a model trained on fresh data, known from {n_models} refits: {radius:.3g} standard deviations"
            )
        refits = {"retrained": fits[:n_models], "held_out": fits[n_models:]}
        return {"radius": float(radius), "radius_source": source, **refits}

    def points(
        self,
        rows: "pd.DataFrame",
        owner: Indices,
        n_options: int,
        n_jobs: int | None = None,
        encoded: Array | None = None,  # noqa: ARG002 - a score is not enough
    ) -> Array:
        """Rows as points of the ambiguity set, by the moments of their scores over the refits."""
        return score_points(score_all(self.retrained, rows, n_jobs), owner, n_options + 1)

    def build(self, applicants: Applicants, request: PlanRequest, run: Execution) -> Found:
        """Search plans on surrogates, and choose among the rows met by what the models say of them."""
        fidelity = np.full(len(applicants), np.nan)

        def build(some: Indices) -> FoundPlans:
            found, fidelity[some] = _plans(self, applicants.take(some), request, run)
            return found

        plans = build_in_turns(self.space, len(applicants), BATCH_SIZE, build, request.n_options, run)
        return Found(plans, write_options(self, applicants, plans, run.n_jobs), fidelity=fidelity)

    def expected_rates(self, options: "pd.DataFrame", owner: Indices, found: Found, n_jobs: int | None) -> HeldOutRates:
        """Shares of the held-out refits that accept the options delivered."""
        assert found.fidelity is not None  # noqa: S101 - `build` says it of every applicant
        accepted = accepted_by(self.held_out, options, n_jobs)
        return HeldOutRates.count(accepted, owner, len(found.fidelity), found.fidelity)

    def pack_refits(self, rows: "pd.DataFrame") -> tuple[list[int], dict[str, bytes]]:
        """The numbers of retrained and held-out refits, and the refits."""
        return [len(self.retrained), len(self.held_out)], pack_refits([*self.retrained, *self.held_out], rows)

    @classmethod
    def unpack_learned(cls, archive: Archive, model: BlackBox, path: "str | Path") -> dict[str, Any]:
        """The refits."""
        fits, n_retrained = unpack_refits(archive, model, path)
        return {"retrained": fits[:n_retrained], "held_out": fits[n_retrained:]}


NEAR, FAR = 96, 192  # rows drawn around an applicant; and further ones where none of these is accepted
N_BOUNDARY_SEEDS = 16  # accepted rows towards which the boundary is looked for
HALVINGS = 4  # of the way to each
N_BESIDE = 2  # rows drawn beside each place where the boundary was met


def query(strategy: Boundary, applicants: Applicants, rows: Rows) -> Samples:
    """Query the model in force about rows."""
    points = rows.coordinates(strategy.space, applicants)
    with readable_rows():
        scores = strategy.model.scores(rows.frame(strategy.space, applicants))
    return Samples(rows.owner, rows.values, points, scores, np.full(len(scores), np.nan))


def query_beside(
    strategy: Boundary, applicants: Applicants, centres: Samples, draws: Draws, reach: float = 0.5
) -> Samples:
    """Query the model in force about rows drawn beside others."""
    regions = applicants.regions.take(centres.owner)
    drawn = rows_around(strategy.space, regions, centres.values, draws, reach)
    return query(strategy, applicants, Rows(np.repeat(centres.owner, len(draws)), drawn))


def explore(strategy: Boundary, applicants: Applicants, seed: int) -> Samples:
    """Rows around each applicant; where some are accepted, rows on the boundary and beside it as well."""
    space = strategy.space
    near = Draws.make(NEAR, space, seed)
    found = _around(strategy, applicants, np.arange(len(applicants)), near, reach=1.0)
    lost = np.setdiff1d(np.arange(len(applicants)), found.owner[found.scores >= 0.0])
    if len(lost):
        far = Draws.make(FAR, space, seed + 1)
        found = found.joined(_around(strategy, applicants, lost, far, reach=4.0))
    seeds = found.take(_cheapest_accepted(found, len(applicants)))
    if len(seeds.owner) == 0:
        return found
    met, boundary = _halve(strategy, applicants, seeds, seed)
    beside = Draws.make(N_BESIDE, space, seed + 2)
    return found.joined(met).joined(query_beside(strategy, applicants, boundary, beside))


def _around(strategy: Boundary, applicants: Applicants, whose: Indices, draws: Draws, reach: float) -> Samples:
    regions = applicants.regions.take(whose)
    drawn = rows_around(strategy.space, regions, regions.own, draws, reach)
    return query(strategy, applicants, Rows(np.repeat(whose, len(draws)), drawn))


def _cheapest_accepted(samples: Samples, n_applicants: int) -> Indices:
    """Positions of up to N_BOUNDARY_SEEDS accepted rows per applicant, those with the least changes."""
    size = np.abs(samples.points[:, 1:]).sum(axis=1)
    chosen = []
    for i in range(n_applicants):
        rows = np.flatnonzero((samples.owner == i) & (samples.scores >= 0.0))
        chosen.append(rows[np.argsort(size[rows], kind="stable")[:N_BOUNDARY_SEEDS]])
    return np.concatenate(chosen) if chosen else np.zeros(0, dtype=np.int64)


def _halve(strategy: Boundary, applicants: Applicants, seeds: Samples, seed: int) -> tuple[Samples, Samples]:
    """Look for the boundary between applicants and accepted rows: all rows met on the way, and the last ones."""
    draws = Draws.make(N_BOUNDARY_SEEDS, strategy.space, seed + 3)
    order = draws.order[_rank_within(seeds.owner) % N_BOUNDARY_SEEDS]
    regions = applicants.regions.take(seeds.owner)
    low, high = np.zeros(len(seeds.owner)), np.ones(len(seeds.owner))
    met: list[Samples] = []
    for _ in range(HALVINGS):
        share = 0.5 * (low + high)
        values = rows_between(strategy.space, regions, seeds.values, share, order)
        met.append(query(strategy, applicants, Rows(seeds.owner, values)))
        accepted = met[-1].scores >= 0.0
        high, low = np.where(accepted, share, high), np.where(accepted, low, share)
    everything = met[0]
    for some in met[1:]:
        everything = everything.joined(some)
    return everything, met[-1]


def _rank_within(owner: Indices) -> Indices:
    """Rank of each row within its applicant; the rows of one applicant stand together."""
    first = np.searchsorted(owner, owner, side="left")
    return np.arange(len(owner)) - first


ROUNDS = 3
FITTED_ROWS = 96  # nearest rows of an applicant that a surrogate is fitted to, and the refits are queried about
BESIDE = 3  # rows drawn beside each option, to see the model there
WIDTH = 1.5  # of the neighbourhood, relative to the distance of the applicant from the nearest boundary


@dataclass(frozen=True, eq=False)
class Evidence:
    """Rows near applicants with what all models say of them."""

    samples: Samples
    retrained: Array  # (K, M)

    @classmethod
    def query(cls, strategy: Boundary, applicants: Applicants, samples: Samples, n_jobs: int | None) -> "Evidence":
        """Query the refits about rows, and see from the moments of their scores how surely each holds."""
        scores = score_all(strategy.retrained, samples.frame(strategy.space, applicants), n_jobs)
        spread = scores.std(axis=0, ddof=1)
        lower = sureness(strategy.ambiguity(1), scores.mean(axis=0), spread, strategy.radius * spread)
        return cls(replace(samples, lower=lower), scores)

    def joined(self, other: "Evidence") -> "Evidence":
        """These rows and others."""
        return Evidence(self.samples.joined(other.samples), np.concatenate([self.retrained, other.retrained], axis=1))

    def take(self, rows: Indices) -> "Evidence":
        """Some of the rows."""
        return Evidence(self.samples.take(rows), self.retrained[:, rows])


def gather(strategy: Boundary, applicants: Applicants, request: PlanRequest, run: Execution) -> Evidence:
    """All rows met in ROUNDS of searching, with the options found among them."""
    seed = strategy.seed
    known = explore(strategy, applicants, seed)
    nearest = _nearest(known, _sizes(known), len(applicants))
    evidence = Evidence.query(strategy, applicants, known.take(nearest), run.n_jobs)
    focus = evidence.samples
    floors = np.zeros(len(applicants))
    for turn in range(ROUNDS):
        if perf_counter() > run.deadline:
            break
        plans = _search_all(strategy, applicants, evidence, focus, floors, request, run)
        owner, option = plans.positions
        if len(owner) == 0:
            break
        found = query(strategy, applicants, Rows(owner, plans.options[owner, option]))
        refused = found.scores < 0.0
        np.maximum.at(floors, found.owner[refused], floors[found.owner[refused]] - found.scores[refused])
        draws = Draws.make(BESIDE, strategy.space, seed + 10 + turn)
        beside = query_beside(strategy, applicants, found, draws)
        evidence = evidence.joined(Evidence.query(strategy, applicants, found.joined(beside), run.n_jobs))
        focus = focus.take(~np.isin(focus.owner, owner)).joined(found)
    return evidence


def _sizes(samples: Samples) -> Array:
    sizes: Array = np.abs(samples.points[:, 1:]).sum(axis=1)
    return sizes


def _nearest(samples: Samples, distance: Array, n_applicants: int) -> Indices:
    """Positions of the FITTED_ROWS rows of each applicant nearest to the boundary, in score and in distance."""
    chosen = []
    for i in range(n_applicants):
        rows = np.flatnonzero(samples.owner == i)
        scale = max(float(np.median(distance[rows])), 1e-9)
        urgency = distance[rows] / scale + np.abs(samples.scores[rows])
        chosen.append(rows[np.argsort(urgency, kind="stable")[:FITTED_ROWS]])
    return np.concatenate(chosen) if chosen else np.zeros(0, dtype=np.int64)


def _search_all(
    strategy: Boundary,
    applicants: Applicants,
    evidence: Evidence,
    focus: Samples,
    floors: Array,
    request: PlanRequest,
    run: Execution,
) -> FoundPlans:
    """A plan for each applicant on a surrogate fitted near the focus."""
    space = strategy.space
    plans = FoundPlans.empty(len(applicants), request.n_options, len(space.columns))
    level, ambiguity = min(level_of_each(request) + ROUNDING, 1.0 - ROUNDING), strategy.ambiguity(1)

    def work(some: slice) -> None:
        for i in range(*some.indices(len(applicants))):
            mine = evidence.take(np.flatnonzero(evidence.samples.owner == i))
            if len(mine.samples.owner) == 0:
                continue
            fit = fit_surrogate(mine, focus.points[focus.owner == i])
            here, goals = applicants.take([i]), Goals(ambiguity, np.array([level]), np.array([floors[i] + ROUNDING]))
            local = _local(space, fit)
            plans.put([i], search_one(local, here, here.encoded, goals, request, run, request.n_options))

    for_each_chunk(work, len(applicants), 1, run.n_jobs)
    return plans


def fit_surrogate(evidence: Evidence, centres: Array) -> LocalFit:
    """A linear surrogate for every model, fitted to the rows near some centres (P, D)."""
    points = evidence.samples.points
    distance = np.abs(points[:, None] - centres[None]).sum(axis=2).min(axis=1)
    width = WIDTH * max(float(np.median(np.abs(centres[:, 1:]).sum(axis=1))), 1.0)
    nearness = np.exp(-((distance / width) ** 2)) / (1.0 + np.abs(evidence.samples.scores))
    return fit_locally(points, np.vstack([evidence.samples.scores, evidence.retrained]), nearness)


def _local(space: ActionSpace, fit: LocalFit) -> ActionSpace:
    """The action space with the moments of the surrogates."""
    others = fit.weights[1:]
    cov = np.cov(others, rowvar=False) + fit.cov
    return replace(space, mean=others.mean(axis=0), cov=cov, drift=cov, theta=fit.weights[0])


def _plans(
    strategy: Boundary, applicants: Applicants, request: PlanRequest, run: Execution
) -> tuple[FoundPlans, Array]:
    """Search, choose, try every option with less, and choose again; and how true the surrogates are."""
    evidence = gather(strategy, applicants, request, run)
    plans, chosen = choose_plans(strategy.space, applicants, evidence.samples, request)
    lighter = evidence.samples.take(chosen).eased(strategy.space, applicants)
    if len(lighter.owner):
        known = query(strategy, applicants, lighter)
        evidence = evidence.joined(Evidence.query(strategy, applicants, known, run.n_jobs))
        plans, chosen = choose_plans(strategy.space, applicants, evidence.samples, request)
    return plans, _fidelity(strategy, applicants, evidence, evidence.samples.take(chosen))


def _fidelity(strategy: Boundary, applicants: Applicants, evidence: Evidence, options: Samples) -> Array:
    """Share of fresh rows near the options of which the surrogate says what the model says, (N,); NaN without any."""
    shares = np.full(len(applicants), np.nan)
    space = strategy.space
    draws = Draws.make(FRESH, space, strategy.seed + 99)
    fresh = query_beside(strategy, applicants, options, draws)
    for i in np.unique(options.owner):
        mine = evidence.take(np.flatnonzero(evidence.samples.owner == i))
        fit = fit_surrogate(mine, options.points[options.owner == i])
        near = fresh.owner == i
        shares[i] = np.mean((fit.scores(fresh.points[near])[0] >= 0.0) == (fresh.scores[near] >= 0.0))
    return shares
