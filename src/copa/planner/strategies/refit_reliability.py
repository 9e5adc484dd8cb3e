"""What models on other rows keep of the scores of chosen options: measured on halves of the data.

All refits of a planner share today's rows, and its options are chosen where these flatter them. So the search's refits
are fitted inside halves of the data, in splits: options are chosen by some refits of one half, as a plan would be, and
what the half's other refits say of them is compared with what the refits inside the other half say.
"""

from typing import TYPE_CHECKING

import numpy as np

from copa._core.arrays import Array, Indices
from copa.models.black_box import BlackBox
from copa.planner.strategies.black_box import score_all
from copa.search.neighbourhood import Draws, rows_around
from copa.search.problem import ActionSpace, read_regions
from copa.search.rows import make_room, write_rows

if TYPE_CHECKING:
    import pandas as pd

PER_SIDE = 5  # refits inside a half, where there are enough: two of them judge what the others chose
N_APPLICANTS, N_ROWS = 60, 30  # for whom options are chosen, among so many rows around each
RATIO = 3.0  # of mean and spread that an option is chosen for: Cantelli's at a level of 0.9
FEW = 3  # refits of a half of which only one judges
LEAST = 0.01  # reliability below which nothing is said any more
# Refits on two thirds of a half vary around the fit to all of it by half the variance of a fit to such a half; those on
# thirds of it would by twice this variance.
WITHIN_HALVES = 4.0


def n_sides(n_models: int) -> int:
    """Into how many halves of the rows, two of each split, so many refits are put."""
    return 2 * max(1, n_models // (2 * PER_SIDE))


def measure_reliability(
    model: BlackBox, refits: tuple[BlackBox, ...], space: ActionSpace, X: "pd.DataFrame", seed: int, n_jobs: int | None
) -> float:
    """The share of chosen options' scores that models on other rows keep, in (0, 1], see `RefitScores`.

    Parameters
    ----------
    model : BlackBox
        The model in force.
    refits : tuple of BlackBox
        As `draw_thirds_in_halves` has their rows, `n_sides` of their number.
    space : ActionSpace
    X : DataFrame
        The training data.
    seed : int
    n_jobs : int or None
    """
    good = np.flatnonzero([not message for message in space.schema.check(X)])
    declined = good[~model.accepts(X.iloc[good])][:N_APPLICANTS] if len(good) else good
    if len(declined) == 0:
        return 1.0
    people = make_room(space, X.iloc[declined])
    regions = read_regions(space, people)
    owner = np.repeat(np.arange(len(people)), N_ROWS)
    rows = rows_around(space, regions, regions.own, Draws.make(N_ROWS, space, seed))
    effort = space.effort(regions.own[owner], rows)
    scores = score_all(refits, write_rows(space, people, regions.own, owner, rows), n_jobs)
    sides = n_sides(len(refits))
    return compare_halves([scores[side::sides] for side in range(sides)], effort, owner)


def compare_halves(scores: list[Array], effort: Array, owner: Indices) -> float:
    """The reliability from the scores of rows by the refits inside each half.

    Two refits of a half, each pair in turn, judge what the others of that half chose; so does the other half.

    Parameters
    ----------
    scores : list of ndarray of shape (G, M)
        Halves 2 i and 2 i + 1 are those of one split.
    effort : ndarray of shape (M,)
    owner : ndarray of shape (M,)
        The applicant of each row.
    """
    here = elsewhere = 0.0
    for side, own in enumerate(scores):
        for one in range(len(own)):
            judges = [one, (one + 1) % len(own)] if len(own) > FEW else [one]
            others = np.delete(own, judges, axis=0) if len(own) > 1 else own  # one alone judges its own choice
            chosen = choose_rows(others, effort, owner)
            here += own[judges][:, chosen].mean(axis=0).sum()
            elsewhere += scores[side ^ 1][:, chosen].mean(axis=0).sum()
    kept = elsewhere / here if here > 0.0 else 0.0
    # Twice the rows: errors have half the variance beside the same differences between rows (Spearman and Brown).
    return float(np.clip(2.0 * kept / (1.0 + max(kept, 0.0)), LEAST, 1.0))


def choose_rows(scores: Array, effort: Array, owner: Indices) -> Indices:
    """The cheapest row of each applicant that the refits are sure of, else the surest one with a positive mean."""
    mean = scores.mean(axis=0)
    spread = np.sqrt(WITHIN_HALVES * scores.var(axis=0, ddof=1)) if len(scores) > 1 else np.zeros(len(mean))
    ratio = np.where(mean > 0.0, mean / np.maximum(spread, 1e-9), -1.0)
    sure = ratio >= RATIO
    order = np.lexsort((np.where(sure, effort, -ratio), ~sure, owner))
    first = order[np.unique(owner[order], return_index=True)[1]]
    return np.asarray(first[mean[first] > 0.0])
