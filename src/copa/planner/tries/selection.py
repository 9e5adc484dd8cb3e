"""The menu from all rows met: accepted by the model itself, sure, cheap, different, none asking for too much."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from copa.arrays import Array, Indices
from copa.planner.delivery import Applicants
from copa.planner.request import Request
from copa.planner.tries.samples import Samples
from copa.planning.actions import ActionSpace
from copa.planning.menus import BELOW, MET, UNREACHABLE, Menus

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
