"""Menus for the applicants of a black box: found on stand-ins, chosen by what the models themselves say."""

from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from copa._core.arrays import Array, Indices
from copa._core.threads import for_each_chunk
from copa.models.surrogate import LocalFit, fit_locally
from copa.planner.deliver import Applicants, Construction
from copa.planner.request import Request
from copa.planner.strategies.black_box_state import BlackBoxPlanner, accepted_by, ask_all, readable_rows
from copa.planner.strategies.exploration import (
    Rows,
    Samples,
    build_in_turns,
    choose_menus,
    deliver_menus,
    level_of_each,
    search_one,
    sureness,
)
from copa.planner.strategies.linear import ROUNDING
from copa.plans.rates import Trials
from copa.search.neighbourhood import Draws, rows_around, rows_between
from copa.search.problem import ActionSpace
from copa.search.run import Menus

if TYPE_CHECKING:
    import pandas as pd


NEAR, FAR = 96, 192  # rows drawn around an applicant; and further ones where none of these is accepted
GATES = 16  # accepted rows towards which the boundary is looked for
HALVINGS = 4  # of the way to each
N_BESIDE = 2  # rows drawn beside each place where the boundary was met


def ask(fitted: BlackBoxPlanner, applicants: Applicants, rows: Rows) -> Samples:
    """Ask the model in force about rows."""
    points = rows.coordinates(fitted.space, applicants)
    with readable_rows():
        scores = fitted.model.scores(rows.frame(fitted.space, applicants))
    return Samples(rows.owner, rows.values, rows.atoms, points, scores, np.full(len(scores), np.nan))


def ask_beside(
    fitted: BlackBoxPlanner, applicants: Applicants, centres: Samples, draws: Draws, reach: float = 0.5
) -> Samples:
    """Ask the model in force about rows drawn beside others."""
    places = applicants.places.take(centres.owner)
    drawn = rows_around(fitted.space, places, centres.values, centres.atoms, draws, reach)
    return ask(fitted, applicants, Rows(np.repeat(centres.owner, len(draws)), *drawn))


def explore(fitted: BlackBoxPlanner, applicants: Applicants, seed: int) -> Samples:
    """Rows around each applicant; where some are accepted, rows on the boundary and beside it as well."""
    space = fitted.space
    near = Draws.make(NEAR, len(space.lines), len(space.choices), seed)
    found = _around(fitted, applicants, np.arange(len(applicants)), near, reach=1.0)
    lost = np.setdiff1d(np.arange(len(applicants)), found.owner[found.scores >= 0.0])
    if len(lost):
        far = Draws.make(FAR, len(space.lines), len(space.choices), seed + 1)
        found = found.joined(_around(fitted, applicants, lost, far, reach=4.0))
    gates = found.take(_cheapest_accepted(found, len(applicants)))
    if len(gates.owner) == 0:
        return found
    met, boundary = _halve(fitted, applicants, gates, seed)
    beside = Draws.make(N_BESIDE, len(space.lines), len(space.choices), seed + 2)
    return found.joined(met).joined(ask_beside(fitted, applicants, boundary, beside))


def _around(fitted: BlackBoxPlanner, applicants: Applicants, whose: Indices, draws: Draws, reach: float) -> Samples:
    places = applicants.places.take(whose)
    drawn = rows_around(fitted.space, places, places.values, places.atoms, draws, reach)
    return ask(fitted, applicants, Rows(np.repeat(whose, len(draws)), *drawn))


def _cheapest_accepted(samples: Samples, n_applicants: int) -> Indices:
    """Positions of up to GATES accepted rows per applicant, those that ask for least."""
    size = np.abs(samples.points[:, 1:]).sum(axis=1)
    chosen = []
    for i in range(n_applicants):
        rows = np.flatnonzero((samples.owner == i) & (samples.scores >= 0.0))
        chosen.append(rows[np.argsort(size[rows], kind="stable")[:GATES]])
    return np.concatenate(chosen) if chosen else np.zeros(0, dtype=np.int64)


def _halve(fitted: BlackBoxPlanner, applicants: Applicants, gates: Samples, seed: int) -> tuple[Samples, Samples]:
    """Look for the boundary between applicants and accepted rows: all rows met on the way, and the last ones."""
    draws = Draws.make(GATES, len(fitted.space.lines), len(fitted.space.choices), seed + 3)
    order = draws.order[_rank_within(gates.owner) % GATES]
    places = applicants.places.take(gates.owner)
    low, high = np.zeros(len(gates.owner)), np.ones(len(gates.owner))
    met: list[Samples] = []
    for _ in range(HALVINGS):
        share = 0.5 * (low + high)
        values, atoms = rows_between(fitted.space, places, gates.values, gates.atoms, share, order)
        met.append(ask(fitted, applicants, Rows(gates.owner, values, atoms)))
        accepted = met[-1].scores >= 0.0
        high, low = np.where(accepted, share, high), np.where(accepted, low, share)
    everything = met[0]
    for some in met[1:]:
        everything = everything.joined(some)
    return everything, met[-1]


def _rank_within(owner: Indices) -> Indices:
    """The how-many-th row of its applicant each row is; rows of one applicant stand together."""
    first = np.searchsorted(owner, owner, side="left")
    return np.arange(len(owner)) - first


ROUNDS = 3
FITTED_ROWS = 96  # nearest rows of an applicant that a stand-in is fitted to, and the retrained fits are asked about
BESIDE = 3  # rows drawn beside each option, to see the model there
WIDTH = 1.5  # of the neighbourhood, relative to the distance of the applicant from the nearest boundary


@dataclass(frozen=True, eq=False)
class Evidence:
    """Rows near applicants with what all models say of them."""

    samples: Samples
    retrained: Array  # (K, M)

    @classmethod
    def ask(cls, fitted: BlackBoxPlanner, applicants: Applicants, samples: Samples, n_jobs: int | None) -> "Evidence":
        """Ask the retrained fits about rows, and see from the moments of their scores how surely each holds."""
        scores = ask_all(fitted.retrained, samples.frame(fitted.space, applicants), n_jobs)
        spread = scores.std(axis=0, ddof=1)
        lower = sureness(fitted.ball, scores.mean(axis=0), spread, fitted.ball.radius * spread)
        return cls(replace(samples, lower=lower), scores)

    def joined(self, other: "Evidence") -> "Evidence":
        """These rows and others."""
        return Evidence(self.samples.joined(other.samples), np.concatenate([self.retrained, other.retrained], axis=1))

    def take(self, rows: Indices) -> "Evidence":
        """Some of the rows."""
        return Evidence(self.samples.take(rows), self.retrained[:, rows])


def gather(fitted: BlackBoxPlanner, applicants: Applicants, request: Request) -> Evidence:
    """All rows met in ROUNDS of searching, with the options found among them."""
    seed = fitted.seed
    known = explore(fitted, applicants, seed)
    nearest = _nearest(known, _sizes(known), len(applicants))
    evidence = Evidence.ask(fitted, applicants, known.take(nearest), request.n_jobs)
    focus = evidence.samples
    floors = np.zeros(len(applicants))
    for turn in range(ROUNDS):
        if perf_counter() > request.deadline:
            break
        menus = _search_all(fitted, applicants, evidence, focus, floors, request)
        owner, option = np.nonzero(np.arange(menus.values.shape[1]) < menus.counts[:, None])
        if len(owner) == 0:
            break
        found = ask(fitted, applicants, Rows(owner, menus.values[owner, option], menus.atoms[owner, option]))
        refused = found.scores < 0.0
        np.maximum.at(floors, found.owner[refused], floors[found.owner[refused]] - found.scores[refused])
        draws = Draws.make(BESIDE, len(fitted.space.lines), len(fitted.space.choices), seed + 10 + turn)
        beside = ask_beside(fitted, applicants, found, draws)
        evidence = evidence.joined(Evidence.ask(fitted, applicants, found.joined(beside), request.n_jobs))
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
    fitted: BlackBoxPlanner, applicants: Applicants, evidence: Evidence, focus: Samples, floors: Array, request: Request
) -> Menus:
    """A menu for each applicant on a stand-in fitted near the focus."""
    space = fitted.space
    menus = Menus.empty(len(applicants), request.n_options, len(space.lines), len(space.choices))
    level = min(level_of_each(request) + ROUNDING, 1.0 - ROUNDING)

    def work(some: slice) -> None:
        for i in range(*some.indices(len(applicants))):
            mine = evidence.take(np.flatnonzero(evidence.samples.owner == i))
            if len(mine.samples.owner) == 0:
                continue
            fit = stand_in(mine, focus.points[focus.owner == i])
            here, goal = applicants.take([i]), (level, fitted.ball.radius, floors[i] + ROUNDING)
            menus.put(i, search_one(_local(space, fit), here, here.encoded, goal, request, request.n_options))

    for_each_chunk(work, len(applicants), 1, request.n_jobs)
    return menus


def stand_in(evidence: Evidence, centres: Array) -> LocalFit:
    """A linear stand-in for every model, fitted to the rows near some centres (P, D)."""
    points = evidence.samples.points
    distance = np.abs(points[:, None] - centres[None]).sum(axis=2).min(axis=1)
    width = WIDTH * max(float(np.median(np.abs(centres[:, 1:]).sum(axis=1))), 1.0)
    nearness = np.exp(-((distance / width) ** 2)) / (1.0 + np.abs(evidence.samples.scores))
    return fit_locally(points, np.vstack([evidence.samples.scores, evidence.retrained]), nearness)


def _local(space: ActionSpace, fit: LocalFit) -> ActionSpace:
    """The action space with the moments of the stand-ins."""
    others = fit.weights[1:]
    cov = np.cov(others, rowvar=False) + fit.cov
    return replace(space, mean=others.mean(axis=0), cov=cov, drift=cov, theta=fit.weights[0])


FRESH = 8  # rows drawn beside each option to see how true its stand-in is
TOGETHER = 256  # applicants whose rows the models are asked about in one call


def construct_for_black_box(fitted: BlackBoxPlanner, applicants: Applicants, request: Request) -> Construction:
    """Build the menus of applicants, and bound what is delivered."""
    fidelity = np.full(len(applicants), np.nan)

    def build(some: Indices) -> Menus:
        found, fidelity[some] = _menus(fitted, applicants.take(some), request)
        return found

    menus = build_in_turns(fitted.space, len(applicants), TOGETHER, build, request)

    def points(rows: Rows, table: "pd.DataFrame") -> Array:
        return fitted.points(table, rows.owner, request.n_jobs)

    made = deliver_menus(fitted, applicants, menus, request, points)
    return _tried(fitted, applicants, made, fidelity, request)


def _menus(fitted: BlackBoxPlanner, applicants: Applicants, request: Request) -> tuple[Menus, Array]:
    """Search, choose, try every option with less, and choose again; and how true the stand-ins are."""
    evidence = gather(fitted, applicants, request)
    menus, chosen = choose_menus(fitted.space, applicants, evidence.samples, request)
    lighter = evidence.samples.take(chosen).eased(fitted.space, applicants)
    if len(lighter.owner):
        known = ask(fitted, applicants, lighter)
        evidence = evidence.joined(Evidence.ask(fitted, applicants, known, request.n_jobs))
        menus, chosen = choose_menus(fitted.space, applicants, evidence.samples, request)
    return menus, _fidelity(fitted, applicants, evidence, evidence.samples.take(chosen))


def _fidelity(fitted: BlackBoxPlanner, applicants: Applicants, evidence: Evidence, options: Samples) -> Array:
    """Share of fresh rows near the options of which the stand-in says what the model says, (N,); NaN without any."""
    shares = np.full(len(applicants), np.nan)
    space = fitted.space
    draws = Draws.make(FRESH, len(space.lines), len(space.choices), fitted.seed + 99)
    fresh = ask_beside(fitted, applicants, options, draws)
    for i in np.unique(options.owner):
        mine = evidence.take(np.flatnonzero(evidence.samples.owner == i))
        fit = stand_in(mine, options.points[options.owner == i])
        near = fresh.owner == i
        shares[i] = np.mean((fit.scores(fresh.points[near])[0] >= 0.0) == (fresh.scores[near] >= 0.0))
    return shares


def _tried(
    fitted: BlackBoxPlanner, applicants: Applicants, made: Construction, fidelity: Array, request: Request
) -> Construction:
    """Delivered menus with what the held-out fits say of them."""
    held_out = accepted_by(fitted.held_out, made.delivered.options, request.n_jobs)
    return replace(made, trials=Trials.count(held_out, made.delivered.owner, len(applicants), fidelity))
