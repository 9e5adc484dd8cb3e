"""Columns of plain numbers, judged as arrays: the verdicts of `violations`, where floats cannot say anything else.

A judge by decimals as they are printed (`violations.exact`) and one by floats agree on which of two numbers is greater:
of two floats of double precision the greater has the greater decimals, and so have whole numbers up to 2^53 against any
float. Differences of whole numbers are whole, and so are multiples of them. What else there is to compute with floats,
steps that are not whole or differences of them, is left to exact arithmetic.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa.data.schema.columns import Flags
from copa.data.schema.feature import Feature
from copa.data.schema.violations import exact

if TYPE_CHECKING:
    import pandas as pd

# Of whole numbers, and of the parts of a share of them: differences, and multiples of these, are then exact as well.
LARGEST, MOST_PARTS = 2.0**40, 2**20
Whole = npt.NDArray[np.int64]


def judge_numbers(
    feature: Feature, origins: "pd.Series[Any]", options: "pd.Series[Any]", owner: Indices | None = None
) -> tuple[Flags, Flags] | None:
    """Return whether the numbers of a column are allowed, and whether they are changes, (M,) both.

    Those of the applicants are in the rows `owner` (M,) of `origins`, or in the same rows.

    Returns
    -------
    tuple of ndarray or None
        None where that takes exact arithmetic, or a column is none of plain numbers.
    """
    own, new = _plain(feature, origins), _plain(feature, options)
    if own is None or new is None:
        return None
    own = own if owner is None else own[owner]
    changed: Flags = own != new
    if feature.immutable:
        return ~changed, changed
    if not _is_exact(feature, whole=own.dtype.kind == "i" and new.dtype.kind == "i"):
        return None
    return _allowed(feature, own, new) | ~changed, changed


def _allowed(feature: Feature, own: Whole | Array, new: Whole | Array) -> Flags:
    """Return whether an applicant at `own` may change to `new`, (M,)."""
    fine = np.ones(len(new), dtype=np.bool_)
    if feature.lower is not None:
        fine &= new >= feature.lower
    if feature.upper is not None:
        fine &= new <= feature.upper
    most = feature.max_change if isinstance(feature.max_change, Mapping) else {}
    for side, barred, way in (("up", "decrease", new - own), ("down", "increase", own - new)):
        if feature.direction == barred:
            fine &= way <= 0
        if most.get(side) is not None:
            fine &= way <= most[side]
    if feature.max_change is not None and not isinstance(feature.max_change, Mapping):
        share = exact(feature.max_change)
        fine &= np.abs(new - own) * share.denominator <= share.numerator * np.abs(own)
    if feature.step is not None:
        fine &= new % int(feature.step) == 0
    return fine


def _is_exact(feature: Feature, *, whole: bool) -> bool:
    """Return whether arrays of floats decide as decimals do for a column, of whole numbers or others."""
    if not whole:
        return feature.step is None and feature.max_change is None
    step = 1.0 if feature.step is None else float(feature.step)
    share = Fraction(0)
    if feature.max_change is not None and not isinstance(feature.max_change, Mapping):
        share = exact(feature.max_change)
    return step.is_integer() and step <= LARGEST and max(share.numerator, share.denominator) <= MOST_PARTS


def _plain(feature: Feature, column: "pd.Series[Any]") -> Whole | Array | None:
    """A column of whole numbers, or of double precision, all of them finite; None for any other."""
    if not feature.is_numeric or feature.special or not isinstance(column.dtype, np.dtype):
        return None
    cells: npt.NDArray[Any] = column.to_numpy()
    if column.dtype.kind == "i" and ((cells >= -LARGEST) & (cells <= LARGEST)).all():
        return cells.astype(np.int64)
    return cells if column.dtype == np.float64 and np.isfinite(cells).all() else None
