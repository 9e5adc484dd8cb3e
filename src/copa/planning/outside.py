"""Applicants outside a range: each such column is kept as it is or brought inside, whichever gives the better result.

What such an applicant may take in the column is the own value or the range, with a gap between them, and the compiled
search knows intervals only. So the search is made with all of these columns kept, with all of them brought inside and,
where there are several, with one of them brought inside at a time; of what these find, each applicant gets the best.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from copa.arrays import Array, Indices
from copa.planning.actions import Places

Flags = npt.NDArray[np.bool_]


def keeping(places: Places, columns: Flags) -> Places:
    """The same places, in which the flagged lines (N, L) stay at the applicants' own values."""
    return replace(
        places,
        lower=np.where(columns, places.values, places.lower),
        upper=np.where(columns, places.values, places.upper),
    )


def ways_in(places: Places) -> Iterator[tuple[Indices, Places]]:
    """Yield ways to search other than keeping every value that is outside: whom they concern, and their places."""
    outside = places.outside
    concerned = np.flatnonzero(outside.any(axis=1))
    if len(concerned) == 0:
        return
    yield concerned, places.take(concerned)
    several = np.flatnonzero(outside.sum(axis=1) > 1)
    for line in range(outside.shape[1]):
        rows = several[outside[several, line]]
        if len(rows):
            others = outside[rows].copy()
            others[:, line] = False
            yield rows, keeping(places.take(rows), others)


def is_better(outcomes: tuple[Indices, Indices], values: tuple[Array, Array], costs: tuple[Array, Array]) -> Flags:
    """Whether the first of two results is better, (N,): by outcome, then a higher value, then less cost."""
    same = outcomes[0] == outcomes[1]
    equal = same & ~(values[0] != values[1])
    better: Flags = (outcomes[0] < outcomes[1]) | (same & (values[0] > values[1])) | (equal & (costs[0] < costs[1]))
    return better
