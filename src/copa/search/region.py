"""Feasible regions: where applicants stand, and how far each column may go."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa.schema import Feature
from copa.schema.columns import column_codes, column_numbers
from copa.search._kernels.arguments import Regions
from copa.search.cost import unit_of_effort
from copa.search.problem import ActionSpace
from copa.tables.cells import snap

if TYPE_CHECKING:
    import pandas as pd

# A number without an end gets one, this many spreads beyond the applicant's own value.
FARTHEST = 10.0


def read_regions(space: ActionSpace, table: "pd.DataFrame", *, released: bool = False) -> Regions:
    """Read the feasible regions of the applicants of a checked table.

    Parameters
    ----------
    space : ActionSpace
    table : DataFrame
    released : bool
        Take all limits away, to see what stands in the way.
    """
    n, n_numeric = len(table), len(space.numeric)
    rows = np.empty((n, len(space.columns)))
    lower, upper = np.empty((n, n_numeric)), np.empty((n, n_numeric))
    limits = space.schema.limits(table)
    for f, feature in enumerate(space.numeric):
        own = column_numbers(table[feature.name])[0]
        ends = _natural_ends(feature, n) if released else limits.numeric[feature.name]
        own, ends = _known(own), (_known(ends[0]), _known(ends[1]))
        rows[:, f] = own
        lower[:, f], upper[:, f] = _closed(feature, own, *ends, precision=_precision(table[feature.name]))
    allowed = np.ones((n, len(space.directions)), dtype=np.bool_)
    for f, feature in space.categorical:
        codes = column_codes(feature, table[feature.name])
        rows[:, f] = space.starts[f] + np.maximum(codes, 0)
        flags = allowed[:, space.starts[f] : space.starts[f + 1]]
        if not released:
            flags[:] = limits.categorical[feature.name]
        flags[codes < 0] = np.arange(flags.shape[1]) == 0
    return Regions(rows, lower, upper, allowed)


def keeping(regions: Regions, columns: npt.NDArray[np.bool_]) -> Regions:
    """The same regions, in which the flagged numeric columns (N, L) stay as they are."""
    lower = np.where(columns, regions.numbers, regions.lower)
    return regions._replace(lower=lower, upper=np.where(columns, regions.numbers, regions.upper))


def ways_in(regions: Regions) -> Iterator[tuple[Indices, Regions]]:
    """Yield ways to search other than keeping every number that is outside: whom they concern, and their regions."""
    outside = regions.outside
    concerned = np.flatnonzero(outside.any(axis=1))
    if len(concerned) == 0:
        return
    yield concerned, regions.take(concerned)
    several = np.flatnonzero(outside.sum(axis=1) > 1)
    for column in range(outside.shape[1]):
        rows = several[outside[several, column]]
        if len(rows):
            others = outside[rows].copy()
            others[:, column] = False
            yield rows, keeping(regions.take(rows), others)


def _natural_ends(feature: Feature, n: int) -> tuple[Array, Array]:
    """Ends of a numeric column without its limits: none, but nothing that is counted from zero becomes negative."""
    lowest = 0.0 if feature.lower is not None and feature.lower >= 0.0 else -np.inf
    return np.full(n, lowest), np.full(n, np.inf)


def _known(numbers: Array) -> Array:
    """Zero for a missing number: only immutable columns may lack one, and there it stands for staying as it is."""
    return np.nan_to_num(numbers, nan=0.0, posinf=np.inf, neginf=-np.inf)


def _precision(column: "pd.Series[Any]") -> Any:
    """Type of a column's numbers where they are of less than double precision, else None."""
    return {"float32": np.float32, "float16": np.float16}.get(str(column.dtype).lower())


def _closed(feature: Feature, own: Array, lower: Array, upper: Array, *, precision: Any) -> tuple[Array, Array]:
    """Limits with finite ends that a number can take: on the grid of the steps, or the applicant's own value.

    Parameters
    ----------
    precision : type or None
        Of a column of less than double precision: the ends are numbers that it holds, rounded inwards.
    """
    reach = FARTHEST * unit_of_effort(feature)
    lower = np.where(np.isfinite(lower), lower, np.minimum(own, upper) - reach)
    upper = np.where(np.isfinite(upper), upper, np.maximum(own, lower) + reach)
    may_stay = (lower <= own) & (own <= upper)
    if feature.step is not None:
        first, last = snap(lower, feature.step, "up"), snap(upper, feature.step, "down")
    elif precision is not None:
        first, last = _held(lower, own, precision, np.inf), _held(upper, own, precision, -np.inf)
    else:
        first, last = lower, upper
    lower = np.where(may_stay, np.minimum(first, own), first)
    upper = np.where(may_stay, np.maximum(last, own), last)
    stuck = lower > upper  # nothing that the column can hold lies in the range
    return np.where(stuck, own, lower), np.where(stuck, own, upper)


def _held(ends: Array, own: Array, precision: Any, inwards: float) -> Array:
    """Ends of a range as numbers of a lower precision whose printed decimals are not beyond them."""
    with np.errstate(over="ignore"):
        near = ends.astype(precision)
    printed = np.array([float(str(x)) for x in near])
    beyond = printed < ends if inwards > 0.0 else printed > ends
    held = np.where(beyond, np.nextafter(near, precision(inwards)), near).astype(np.float64)
    return np.where(np.isfinite(held) & (ends != own), held, ends)
