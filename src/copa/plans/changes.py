"""What an option changes in an applicant's row."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

Flags = npt.NDArray[np.bool_]


class Change(NamedTuple):
    """A column that an option changes, its value today and its new value."""

    column: str
    before: Any
    after: Any


def changed_cells(own: "pd.DataFrame", new: "pd.DataFrame") -> Flags:
    """Say where two tables of the same shape and columns differ, row by row whatever their labels are.

    Returns
    -------
    (M, C) flags; a missing cell is the same as another missing one
    """
    flags = np.zeros(new.shape, dtype=np.bool_)
    for k in range(new.shape[1]):
        flags[:, k] = _differs(own.iloc[:, k], new.iloc[:, k])
    return flags


def _differs(own: "pd.Series[Any]", new: "pd.Series[Any]") -> Flags:
    if own.dtype == new.dtype and isinstance(own.dtype, np.dtype) and own.dtype.kind in "biufmM":
        before, after = own.to_numpy(), new.to_numpy()
        both_missing = (before != before) & (after != after)  # noqa: PLR0124 - so are NaN and NaT
        plain: Flags = (before != after) & ~both_missing
        return plain
    own, new = own.reset_index(drop=True), new.reset_index(drop=True)
    if own.dtype != new.dtype:  # categoricals of different categories, and the like, compare as plain objects only
        own, new = own.astype(object), new.astype(object)
    lacks, lacking = own.isna().to_numpy(dtype=np.bool_), new.isna().to_numpy(dtype=np.bool_)
    flags: Flags = lacks != lacking
    there = np.flatnonzero(~(lacks | lacking))
    flags[there] = (own.iloc[there] != new.iloc[there]).to_numpy(dtype=np.bool_)
    return flags
