"""Numbers per applicant from numbers per option, where each applicant's options stand together."""

import numpy as np
import numpy.typing as npt

from copa.arrays import Array

Positions = npt.NDArray[np.intp]


def reduce_segments(operation: np.ufunc, values: Array, counts: Positions) -> Array:
    """Reduce the options of every applicant to one number.

    Parameters
    ----------
    operation : np.minimum, np.maximum, np.add
    values : (M,) one per option, the applicants' options one after another
    counts : (N,) number of options of each applicant

    Returns
    -------
    (N,) NaN where an applicant has no option
    """
    reduced = np.full(len(counts), np.nan)
    some = np.flatnonzero(counts)
    if len(some):
        starts = np.cumsum(counts) - counts
        reduced[some] = operation.reduceat(values, starts[some])
    return reduced


def segment_rows(rows: Positions, counts: Positions) -> Positions:
    """Return the positions of the options of the given applicants, one applicant after another."""
    starts = np.cumsum(counts) - counts
    chosen = counts[rows]
    first = np.repeat(starts[rows] - (np.cumsum(chosen) - chosen), chosen)
    positions: Positions = first + np.arange(len(first))
    return positions
