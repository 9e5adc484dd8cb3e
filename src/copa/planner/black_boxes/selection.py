"""The menu from all rows met: accepted by the model itself, sure, cheap, different, none asking for too much."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from copa.arrays import Array, Indices
from copa.planner.black_boxes.rounds import Evidence

# Where the level is out of reach, rows are taken down to this share of the highest one: only there is a choice.
ROOM = 0.9


@dataclass(frozen=True, eq=False)
class Candidates:
    """Rows of one applicant that may stand in the menu.

    Attributes
    ----------
    rows : (P,) positions in the evidence
    points : (P, D) in local coordinates
    efforts : (P,);  lower : (P,) probability that each holds with
    """

    rows: Indices
    points: Array
    efforts: Array
    lower: Array


def candidates(
    evidence: Evidence, allowed: npt.NDArray[np.bool_], efforts: Array, lower: Array, level: float
) -> Candidates:
    """Rows of one applicant that the model accepts and that reach the level, or nearly the highest one in reach.

    Parameters
    ----------
    evidence : of one applicant;  allowed : (M,) whether rules and the cap on changes hold
    efforts, lower : (M,)
    """
    good = np.flatnonzero(allowed & (evidence.samples.scores >= 0.0))
    highest = lower[good].max(initial=0.0)
    good = good[lower[good] >= (level if highest >= level else ROOM * highest)]
    points = evidence.samples.points[good]
    _, first = np.unique(points, axis=0, return_index=True)
    good, points = good[np.sort(first)], points[np.sort(first)]
    kept = ~_asks_for_more(points)
    return Candidates(good[kept], points[kept], efforts[good[kept]], lower[good[kept]])


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
    """Positions in the evidence of the menu: greedy, then exchanges of one row for another, cheapest first.

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
