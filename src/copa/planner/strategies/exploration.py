"""Rows near applicants, and what is known of each."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa.planner.request import Request
from copa.planner.strategies.base import Applicants
from copa.search.problem import ActionSpace, Places, unit_of_effort
from copa.search.rows import write_rows
from copa.search.run import BELOW, MET, TIMED_OUT, UNREACHABLE, Goals, Menus, search_menus
from copa.tables.steps import snap
from copa.uncertainty.ambiguity import AmbiguitySet

if TYPE_CHECKING:
    import pandas as pd


# Rows with less slack of a rule, in its size, are written out and judged exactly. Rounding to single precision can make
# more of it where columns are large: what passes here for that reason, the last judge refuses.
IN_DOUBT = 1e-6


@dataclass(frozen=True, eq=False)
class Rows:
    """M rows near N applicants, as the search has them.

    Attributes
    ----------
    owner : (M,) position of each row's applicant
    values, atoms : (M, L), (M, C)
    """

    owner: Indices
    values: Array
    atoms: Indices

    def frame(self, space: ActionSpace, applicants: Applicants) -> "pd.DataFrame":
        """The rows as a model is given them."""
        return write_rows(space, applicants.table, applicants.places, self.owner, self.values, self.atoms)

    def coordinates(self, space: ActionSpace, applicants: Applicants) -> Array:
        """The rows around their applicants, (M, 1 + A), in the units of effort.

        Coordinate 0 is 1; then a line's change, and for each value of each choice whether it is taken up (1), given up
        (-1) or neither (0). The applicant is (1, 0, ..., 0).
        """
        own = applicants.places.take(self.owner)
        n_lines = len(space.lines)
        points = np.zeros((len(self.owner), 1 + space.ends[-1]))
        points[:, 0] = 1.0
        units = np.array([unit_of_effort(feature) for feature in space.lines])
        points[:, 1 : 1 + n_lines] = (self.values - own.values) / units
        everyone = np.arange(len(points))
        for k in range(len(space.choices)):
            points[everyone, 1 + self.atoms[:, k]] += 1.0
            points[everyone, 1 + own.atoms[:, k]] -= 1.0
        return points

    def allowed(self, space: ActionSpace, applicants: Applicants) -> npt.NDArray[np.bool_]:
        """Whether the rows obey the rules and the cap on changes, (M,); their values are taken to be allowed.

        Where the slack of a rule is a matter of rounding, the rows are written out and judged as such.
        """
        own = applicants.places.take(self.owner)
        changes = (self.values != own.values).sum(axis=1) + (self.atoms != own.atoms).sum(axis=1)
        shares = space.terrain[6]
        slack = applicants.slack[self.owner] - (self.values - own.values) @ shares[:, : len(space.lines)].T
        for k in range(len(space.choices)):
            slack -= shares[:, self.atoms[:, k]].T - shares[:, own.atoms[:, k]].T
        least = slack.min(axis=1, initial=np.inf)
        good: npt.NDArray[np.bool_] = (changes <= space.cap) & (least > -IN_DOUBT)
        doubtful = np.flatnonzero(good & (least < IN_DOUBT))
        if len(doubtful):
            some = Rows(self.owner[doubtful], self.values[doubtful], self.atoms[doubtful])
            origins = applicants.origins.iloc[some.owner]
            good[doubtful] = space.schema.obeys(origins, some.frame(space, applicants))
        return good

    def eased(self, space: ActionSpace, applicants: Applicants) -> "Rows":
        """Every row with one change less, each in turn, and with each change of a line half as large."""
        own = applicants.places.take(self.owner)
        n_lines = self.values.shape[1]
        changed = np.hstack([self.values != own.values, self.atoms != own.atoms])
        rows, columns = np.nonzero(changed & (changed.sum(axis=1) > 1)[:, None])
        values, atoms = self.values[rows], self.atoms[rows]
        for position, (row, column) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True)):
            if column < n_lines:
                values[position, column] = own.values[row, column]
            else:
                atoms[position, column - n_lines] = own.atoms[row, column - n_lines]
        halved, lines = np.nonzero(changed[:, :n_lines])
        smaller = self.values[halved]
        smaller[np.arange(len(halved)), lines] = self._half_way(space, own)[halved, lines]
        return Rows(
            np.concatenate([self.owner[rows], self.owner[halved]]),
            np.concatenate([values, smaller]),
            np.concatenate([atoms, self.atoms[halved]]),
        )

    def _half_way(self, space: ActionSpace, own: Places) -> Array:
        """The lines half way back to the applicants, on the grid of the steps, (M, L)."""
        middle = 0.5 * (self.values + own.values)
        for k, feature in enumerate(space.lines):
            if feature.step is not None:
                middle[:, k] = snap(middle[:, k], feature.step)
        return np.clip(middle, own.lower, own.upper)


@dataclass(frozen=True, eq=False)
class Samples(Rows):
    """Rows with what is known of them.

    Attributes
    ----------
    points : (M, 1 + A) their coordinates around the applicants
    scores : (M,) by the model in force, which accepts from zero on
    lower : (M,) how sure each is (see `sureness`); NaN where that was not asked
    """

    points: Array
    scores: Array
    lower: Array

    def take(self, rows: npt.NDArray[np.bool_] | Indices) -> "Samples":
        """Some of the rows."""
        return Samples(*(getattr(self, f.name)[rows] for f in fields(self)))

    def joined(self, other: "Samples") -> "Samples":
        """These rows and others."""
        return Samples(*(np.concatenate([getattr(part, f.name) for part in (self, other)]) for f in fields(self)))


def sureness(ambiguity: AmbiguitySet, mean: Array, spread: Array, reach: Array) -> Array:
    """Probability that rows hold with, (M,); below zero where none can be promised, the more the less sure they are.

    Parameters
    ----------
    ambiguity : what the guarantee holds for
    mean, spread : of the rows' scores
    reach : how far the set lets the mean go
    """
    lower = ambiguity.guarantee(mean, spread, reach)
    missing: Array = (np.arctan2(mean, spread) - np.arctan2(reach, spread)) / np.pi
    return np.where(lower > 0.0, lower, np.minimum(missing, 0.0))


FEWER = 16  # applicants at a time where there is a time limit


def build_in_turns(
    space: ActionSpace, n_applicants: int, batch_size: int, build: Callable[[Indices], Menus], request: Request
) -> Menus:
    """Menus of N applicants, some of them at a time, for as long as there is time.

    Parameters
    ----------
    batch_size : applicants at a time
    build : from the positions of some to their menus; what it has not found when time is up may have been cut off
    """
    menus = Menus.empty(n_applicants, request.n_options, len(space.lines), len(space.choices))
    batch_size = batch_size if np.isinf(request.deadline) else FEWER
    for first in range(0, n_applicants, batch_size):
        if perf_counter() > request.deadline:
            break
        some = np.arange(first, min(first + batch_size, n_applicants))
        found = build(some)
        if perf_counter() > request.deadline:
            cut = found.outcomes != MET
            found.outcomes[cut], found.counts[cut] = TIMED_OUT, 0
        menus = menus.replaced(some, found)
        if request.progress is not None:
            request.progress(len(some))
    return menus


def search_one(
    space: ActionSpace,
    applicant: Applicants,
    encoded: Array,
    goal: tuple[float, float, float],
    request: Request,
    n_options: int,
) -> Menus:
    """Search the menu of one applicant.

    Parameters
    ----------
    applicant : one;  encoded : (1, D) his or her row in the coordinates of `space`
    goal : level, radius of the ball, and least score today
    """
    level, radius, floor = goal
    return search_menus(
        space,
        applicant.places,
        encoded,
        applicant.slack,
        Goals(np.array([level]), radius, -np.inf, np.array([floor])),
        n_options=n_options,
        diversity_weight=request.diversity_weight,
        multipliers=request.multipliers,
        n_jobs=1,
        deadline=request.deadline,
    )


# Where the level is out of reach, rows are taken down to this share of the highest one: only there is a choice.
ROOM = 0.9


@dataclass(frozen=True, eq=False)
class Candidates:
    """Rows of one applicant that may stand in the menu.

    Attributes
    ----------
    rows : (P,) positions among the rows tried
    points : (P, D) coordinates around the applicant
    efforts : (P,)
    """

    rows: Indices
    points: Array
    efforts: Array


def level_of_each(request: Request) -> float:
    """The level of every option that is enough for what is asked of a menu."""
    return float(enough_for_each(request, np.array([request.n_options]))[0])


def enough_for_each(request: Request, sizes: Indices) -> Array:
    """The level of every option that is enough for menus of so many, (N,): for all of J together, Boole's."""
    if request.guarantee_for == "all":
        return np.asarray(1.0 - (1.0 - request.guarantee) / sizes)
    return np.full(len(sizes), request.guarantee)


def choose_menus(
    space: ActionSpace, applicants: Applicants, samples: Samples, request: Request
) -> tuple[Menus, Indices]:
    """The menus of N applicants from the rows that were tried, and the positions of all their options among these."""
    menus = Menus.empty(len(applicants), request.n_options, len(space.lines), len(space.choices))
    here = applicants.places.take(samples.owner)
    efforts = space.effort(here, samples.values[:, None], samples.atoms[:, None])[:, 0]
    good = samples.allowed(space, applicants) & (samples.scores >= 0.0)
    everyone = [np.zeros(0, dtype=np.int64)]
    for i in range(len(applicants)):
        rows = np.flatnonzero(good & (samples.owner == i))
        menus.highest[i] = samples.lower[rows].max(initial=0.0)
        n_options, level = _size_and_level(request, menus.highest[i])
        found = candidates(samples.take(rows), efforts[rows], level)
        menu = rows[choose(found, n_options, request.diversity_weight)]
        menus.outcomes[i] = UNREACHABLE if len(menu) == 0 else MET if menus.highest[i] >= level else BELOW
        menus.counts[i] = len(menu)
        for values, atoms in ((menus.values, menus.atoms), (menus.relaxed_values, menus.relaxed_atoms)):
            values[i, : len(menu)], atoms[i, : len(menu)] = samples.values[menu], samples.atoms[menu]
        everyone.append(menu)
    return menus, np.concatenate(everyone)


def _size_and_level(request: Request, highest: float) -> tuple[int, float]:
    """How many options to promise, and at which level each: fewer, where all of so many together are out of reach."""
    levels = enough_for_each(request, np.arange(1, request.n_options + 1))
    reached = np.flatnonzero(levels <= highest)
    n_options = int(reached[-1]) + 1 if len(reached) else request.n_options
    return n_options, float(levels[n_options - 1])


def candidates(samples: Samples, efforts: Array, level: float) -> Candidates:
    """Good rows of one applicant that reach the level, or nearly the highest one in reach, each once."""
    highest = samples.lower.max(initial=-1.0)
    least = level if highest >= level else highest - (1.0 - ROOM) * abs(highest)
    sure = np.flatnonzero(samples.lower >= least)
    _, first = np.unique(samples.points[sure], axis=0, return_index=True)
    sure = sure[np.sort(first)]
    kept = sure[~_asks_for_more(samples.points[sure])]
    return Candidates(kept, samples.points[kept], efforts[kept])


def _asks_for_more(points: Array) -> npt.NDArray[np.bool_]:
    """Whether a row asks for all that another row asks for, and for something else besides, (P,)."""
    change = points[:, 1:]
    other = change[:, None]
    # Row k is within row i where every change of k is a change of i in the same direction and not larger.
    within = ((other * change[None] >= change[None] ** 2 - 1e-12) | (change[None] == 0.0)).all(axis=2)
    differs = (np.abs(other - change[None]) > 1e-12).any(axis=2)
    more: npt.NDArray[np.bool_] = (within & differs).any(axis=1)
    return more


def choose(found: Candidates, n_options: int, weight: float) -> Indices:
    """Positions of the menu among the rows tried: greedy, then exchanges of one row for another, cheapest first.

    The criterion is that of the linear planner: mean effort in units of the cheapest, plus weight (1 - det K).
    """
    if len(found.rows) == 0:
        return found.rows
    unit = max(float(found.efforts.min()), 1e-9)
    kernel = 1.0 / (1.0 + np.abs(found.points[:, None] - found.points[None]).sum(axis=2) / unit)
    menu = [int(np.argmin(found.efforts))]
    while len(menu) < min(n_options, len(found.rows)):
        others = [k for k in range(len(found.rows)) if k not in menu]
        values = _values(np.array([[*menu, k] for k in others]), found.efforts / unit, kernel, weight)
        menu.append(others[int(np.argmin(values))])
    for _ in range(n_options):
        before = list(menu)
        for j in range(len(menu)):
            others = [menu[j], *(k for k in range(len(found.rows)) if k not in menu)]
            trials = np.array([[*menu[:j], k, *menu[j + 1 :]] for k in others])
            menu[j] = others[int(np.argmin(_values(trials, found.efforts / unit, kernel, weight)))]
        if menu == before:
            break
    chosen = np.array(menu)
    menu_rows: Indices = found.rows[chosen[np.argsort(found.efforts[chosen], kind="stable")]]
    return menu_rows


def _values(menus: npt.NDArray[np.int64], costs: Array, kernel: Array, weight: float) -> Array:
    """The criterion for several menus (T, J), as (T,)."""
    likeness = np.linalg.det(kernel[menus[:, :, None], menus[:, None, :]])
    value: Array = costs[menus].mean(axis=1) + weight * (1.0 - likeness)
    return value
