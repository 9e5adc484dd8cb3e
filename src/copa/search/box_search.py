"""Boxes of rows that hold, for models of which nothing but answers is known: drawn from, and cut where a row fails.

What is found is likely and not proven: of a box only the rows that were drawn are known to hold.
"""

from collections.abc import Callable
from time import perf_counter

import numpy as np

from copa._core.arrays import Array, Indices
from copa.search.boxes import Boxes, Counts, Flags

Holds = Callable[[Indices, Array], Flags]  # of options (P,) with other numbers (P, L), (P,)

SEED = 0  # of the draws, which are the same for everyone
N_TURNS = 6
CORNER_COLUMNS = 4  # whose corners are all tried; those of further columns are drawn
KEPT = 0.75  # of the way to a row that fails


def search_boxes(
    boxes: Boxes, holds: Holds, *, n_draws: int, n_turns: int = N_TURNS, deadline: float = np.inf
) -> tuple[Boxes, Counts]:
    """Boxes in which no row was found that fails.

    Each turn evaluates corners and drawn rows of the boxes, the whole room at first, and cuts a box so that none of the
    rows that fail is in it. A box of which all rows hold is done; one that is not done in time, or when the turns are
    over, is the option alone.

    Parameters
    ----------
    boxes : Boxes
        Of M options, yet without extent.
    holds : callable
        Whether rows hold: takes options (P,) and their numbers (P, L).
    n_draws : int
        Rows drawn from a box in each turn, beside its corners.
    n_turns : int
    deadline : float
        As `time.perf_counter` counts.

    Returns
    -------
    boxes : Boxes
    n_points : ndarray of shape (M,)
        Rows of the box that were evaluated in the last turn, the option alone included.
    """
    down, up = boxes.below.copy(), boxes.above.copy()
    n_points = np.ones(len(boxes), dtype=np.int64)
    pending = np.flatnonzero((down + up).any(axis=1))
    draws = np.random.default_rng(SEED).random((n_turns, n_draws, boxes.values.shape[1]))
    for turn in range(n_turns):
        if len(pending) == 0 or perf_counter() > deadline:
            break
        tried = boxes.reaching(down, up)
        shares = _shares(tried, pending, draws[turn])
        counts = tried.counts_inside(np.repeat(pending[:, None], shares.shape[1], axis=1), shares)
        which = np.repeat(pending, shares.shape[1])
        rows = counts.reshape(len(which), -1)
        fails = ~holds(which, boxes.numbers_at(which, rows)).reshape(len(pending), -1)
        clean = ~fails.any(axis=1)
        n_points[pending[clean]] = shares.shape[1]
        pending, fails, counts = pending[~clean], fails[~clean], counts[~clean]
        down[pending], up[pending] = _cut(boxes, pending, counts, fails, down[pending], up[pending])
        pending = pending[(down + up)[pending].any(axis=1)]
    down[pending] = up[pending] = 0
    return boxes.reaching(down, up), n_points


def _shares(boxes: Boxes, which: Indices, draws: Array) -> Array:
    """Where in their boxes rows of some options are tried, (K, P, L): at corners, then where they are drawn."""
    wide = (boxes.down + boxes.up)[which] > 0
    rank = np.cumsum(wide, axis=1) - 1
    n_corners = 2 ** min(int(wide.sum(axis=1).max(initial=0)), CORNER_COLUMNS)
    bits = (np.arange(n_corners)[:, None] >> (rank % CORNER_COLUMNS)[:, None, :]) & 1
    drawn = np.broadcast_to(draws, (len(which), *draws.shape))
    return np.concatenate([bits.astype(np.float64), drawn], axis=1)


def _cut(boxes: Boxes, which: Indices, counts: Counts, fails: Flags, down: Counts, up: Counts) -> tuple[Counts, Counts]:
    """Ends (K, L) of boxes without the rows (K, P, L) that fail, nearest first; each takes from one column.

    It is a column in which the row lies towards the applicant, if there is one, and the one in which it is furthest.
    """
    down, up, everyone = down.copy(), up.copy(), np.arange(len(which))
    sides = np.where(counts > 0, boxes.above[which][:, None], boxes.below[which][:, None])
    shares = np.abs(counts) / np.maximum(sides, 1)
    inward = (counts != 0) & ((counts > 0) != boxes.rises[which][:, None])
    order = np.argsort(np.where(fails, shares.max(axis=2), np.inf), axis=1, kind="stable")
    for k in range(int(fails.sum(axis=1).max(initial=0))):
        row = order[:, k]
        here = counts[everyone, row]
        still = fails[everyone, row] & (here >= -down).all(axis=1) & (here <= up).all(axis=1)
        column = np.argmax(shares[everyone, row] + inward[everyone, row], axis=1)
        end = here[everyone, column]
        cut = np.floor(KEPT * np.abs(end)).astype(np.int64)
        higher, lower = np.flatnonzero(still & (end > 0)), np.flatnonzero(still & (end < 0))
        up[higher, column[higher]] = np.minimum(cut[higher], end[higher] - 1)
        down[lower, column[lower]] = np.minimum(cut[lower], -end[lower] - 1)
        itself = np.flatnonzero(still & (end == 0))  # the option alone fails: nothing is known
        up[itself] = down[itself] = 0
    return down, up
