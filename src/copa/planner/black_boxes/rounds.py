"""Search on a stand-in, ask the model, fit the stand-in again where it was wrong: until the options really hold."""

from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from copa.arrays import Array, Indices
from copa.models.surrogate import LocalFit, fit_locally
from copa.planner.black_boxes.samples import ask, ask_beside, explore
from copa.planner.black_boxes.state import BlackBoxPlanner, ask_all
from copa.planner.construction import ROUNDING
from copa.planner.delivery import Applicants
from copa.planner.request import Request
from copa.planner.tries.samples import Rows, Samples, sureness
from copa.planner.tries.searching import search_one
from copa.planner.tries.selection import level_of_each
from copa.planning.actions import ActionSpace
from copa.planning.menus import Menus
from copa.planning.neighbourhood import Draws
from copa.workers import for_each_chunk

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
        lower = sureness(scores.mean(axis=0), spread, fitted.ball.radius * spread)
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
