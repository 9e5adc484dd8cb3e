"""What models on other rows keep of the scores of chosen options: measured on halves of the data.

All refits of a planner share today's rows, and its options are chosen where these flatter them. So the refits are
fitted inside halves of the data, in splits: options are chosen by the search's refits of one half, much as a plan would
be, and what the held-out refits of that half say of them is compared with what those of the other half say.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from copa._core.arrays import Array, Indices
from copa.data.schema.columns import ReadTable
from copa.models.black_box import BlackBox
from copa.models.refits.reliability import reliability
from copa.planner.search.neighbourhood import Draws, rows_around
from copa.planner.search.problem import ActionSpace
from copa.planner.search.regions import read_regions
from copa.planner.search.rows import make_room, write_rows
from copa.planner.strategies.applicants import declined_rows

if TYPE_CHECKING:
    import pandas as pd

PER_SIDE = 6  # refits of the search inside a half, where there are enough
N_APPLICANTS, N_ROWS = 40, 20  # for whom options are chosen, among so many rows around each
RATIO = 3.0  # of mean and spread that an option is chosen for: Cantelli's at a level of 0.9
LEAST = 0.01  # reliability below which nothing is said any more
# Refits on two thirds of a half vary around the fit to all of it by half the variance of a fit to such a half; those on
# thirds of it would by twice this variance.
WITHIN_HALVES = 4.0


def n_sides(n_models: int) -> int:
    """Into how many halves of the rows, two of each split, so many refits are put."""
    return 2 * max(1, n_models // (2 * PER_SIDE))


def measure_reliability(
    model: BlackBox,
    score_searching: Callable[[ReadTable], Array],
    score_judging: Callable[[ReadTable], Array],
    n_searching: int,
    space: ActionSpace,
    X: "pd.DataFrame",
    *,
    seed: int,
) -> float:
    """The share of chosen options' scores that models on other rows keep, in (0, 1], see `RefitScores`.

    Parameters
    ----------
    model : BlackBox
        The model in force.
    score_searching, score_judging : callable
        Scores of raw rows by refits that choose, and by refits that do not, (K, M); k of either in half k % `n_sides`
        (see `draw_thirds_in_halves`).
    n_searching : int
        Number of the former.
    space : ActionSpace
    X : DataFrame
        The training data.
    seed : int
        Of the rows that are drawn.
    """
    declined = declined_rows(space.schema, model, X, N_APPLICANTS)
    if len(declined) == 0:
        return LEAST  # nothing is known of what a choice is worth
    people, sides = make_room(space, ReadTable(X.iloc[declined])), n_sides(n_searching)
    regions = read_regions(space, people)
    owner = np.repeat(np.arange(len(people)), N_ROWS)
    rows = rows_around(space, regions, regions.own, Draws.make(N_ROWS, space, seed))
    table, effort = write_rows(space, people, regions, owner, rows), space.effort(regions.take(owner), rows)
    scores = score_searching(table)
    chosen = [choose_rows(scores[side::sides], effort, owner) for side in range(sides)]
    met = np.unique(np.concatenate(chosen))
    judged = score_judging(table.take(met))
    by_side = [judged[side::sides] for side in range(sides)]
    return compare_halves(by_side, [np.searchsorted(met, rows) for rows in chosen])


def compare_halves(scores: list[Array], chosen: list[Indices]) -> float:
    """The reliability from what the held-out refits of each half say of rows.

    Parameters
    ----------
    scores : list of ndarray of shape (G, M)
        Halves 2 i and 2 i + 1 are those of one split.
    chosen : list of ndarray
        Positions of the rows that were chosen in each half.
    """
    here = [own[:, rows].mean(axis=0) for own, rows in zip(scores, chosen, strict=True)]
    others = [scores[side ^ 1] for side in range(len(scores))]
    elsewhere = [other[:, rows].mean(axis=0) for other, rows in zip(others, chosen, strict=True)]
    return max(reliability(np.concatenate(here), np.concatenate(elsewhere)), LEAST)


def choose_rows(scores: Array, effort: Array, owner: Indices) -> Indices:
    """The cheapest row of each applicant that the refits are sure of, else the surest one with a positive mean."""
    mean = scores.mean(axis=0)
    spread = np.sqrt(WITHIN_HALVES * scores.var(axis=0, ddof=1)) if len(scores) > 1 else np.zeros(len(mean))
    ratio = np.where(mean > 0.0, mean / np.maximum(spread, 1e-9), -1.0)
    sure = ratio >= RATIO
    order = np.lexsort((np.where(sure, effort, -ratio), ~sure, owner))
    first = order[np.unique(owner[order], return_index=True)[1]]
    return np.asarray(first[mean[first] > 0.0])
