"""Boxes of models that are only queried, checked once more: row by row where a box has few rows, else by many draws."""

from time import perf_counter

import numpy as np

from copa._core.arrays import Array, Indices
from copa.search.box_search import Holds
from copa.search.boxes import Boxes, Counts

SEED = 1  # of the draws: other ones than those that the boxes were found with
MARGIN = 0.25  # share of each side that a box gives up where its rows can only be drawn
SMALLER = (0.25, 0.5, 0.5, 0.75)  # shares that it gives up where one of them fails; then it is the option alone
BEYOND = 0.1  # draws go so far beyond the ends, and are put there: what fails, fails there first


def check_boxes(boxes: Boxes, holds: Holds, *, n_rows: int, deadline: float = np.inf) -> tuple[Boxes, Counts]:
    """Boxes of whose rows all hold, or of so many drawn ones all.

    Parameters
    ----------
    boxes : Boxes
        Of M options, as the search found them.
    holds : callable
        Whether rows hold: takes options (P,) and their numbers (P, L).
    n_rows : int
        A box with so many rows or fewer is checked completely, of others so many rows are drawn.
    deadline : float
        As `time.perf_counter` counts; what is not checked by then is the option alone.

    Returns
    -------
    boxes : Boxes
    n_points : ndarray of shape (M,)
        Rows that were evaluated of each box, all of them holding.
    """
    n_points = np.ones(len(boxes), dtype=np.int64)
    pending = np.flatnonzero((boxes.down + boxes.up).any(axis=1))
    boxes = boxes.shrunk(pending[_sizes(boxes)[pending] > n_rows], MARGIN)
    shares = np.clip(
        np.random.default_rng(SEED).uniform(-BEYOND, 1.0 + BEYOND, (n_rows, boxes.values.shape[1])), 0.0, 1.0
    )
    for share in (*SMALLER, 1.0):
        pending = pending[(boxes.down + boxes.up)[pending].any(axis=1)]
        if len(pending) == 0:
            break
        if perf_counter() > deadline:
            boxes = boxes.shrunk(pending, 1.0)
            break
        which, counts = _rows(boxes, pending, n_rows, shares)
        good = holds(which, boxes.numbers_at(which, counts))
        failed = np.unique(which[~good])
        n_points[pending] = np.bincount(which, minlength=len(boxes))[pending]
        n_points[failed] = 1
        boxes = boxes.shrunk(failed, share)
        pending = failed
    return boxes, n_points


def _sizes(boxes: Boxes) -> Array:
    """How many rows each box has, (M,), as a decimal number: there may be very many."""
    sizes: Array = (boxes.down + boxes.up + 1.0).prod(axis=1)
    return sizes


def _rows(boxes: Boxes, which: Indices, n_rows: int, shares: Array) -> tuple[Indices, Counts]:
    """The option of each row that is to be checked, (P,), and its place in the box, (P, L)."""
    sizes, places = _sizes(boxes), []
    for m in which.tolist():
        sides = (boxes.down + boxes.up)[m] + 1
        if sizes[m] <= n_rows:
            grid = np.unravel_index(np.arange(int(sizes[m])), tuple(sides.tolist()))
            places.append(np.stack(grid, axis=1) - boxes.down[m])
        else:
            places.append(boxes.counts_inside(np.full(n_rows, m), shares))
    return np.repeat(which, [len(part) for part in places]), np.concatenate(places).astype(np.int64)
