"""Numbers that an applicant may take in one column: the range, closed and on the grid, and the values in each bin."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa.data.schema import Feature, FeatureSchema
from copa.data.schema.columns import ReadColumn, column_numbers
from copa.data.tables.cells import multiples, snap
from copa.plans.cost import unit_of_effort

if TYPE_CHECKING:
    import pandas as pd

# A number without an end gets one, this many spreads beyond the applicant's own value.
FARTHEST = 10.0
FINE = 1e-3  # of a unit of effort: how near to the edge of a bin a number without a step is put


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of one column of numbers of N applicants.

    Attributes
    ----------
    base : ndarray of shape (N,)
        Where changes are counted from: the own number, or a typical one where the cell is irregular.
    lower, upper : ndarray of shape (N,)
        Finite ends of what it may become, on the grid of the steps or the own number.
    kinds : ndarray of shape (N,)
        0 for a number, and for a missing value that stays; k for the k-th irregular entry that may be left (see
        `models.encoding.n_irregular`).
    precision : type or None
        Of a column of less than double precision.
    """

    base: Array
    lower: Array
    upper: Array
    kinds: npt.NDArray[np.int64]
    precision: Any


def read_cells(
    feature: Feature, column: ReadColumn, ends: tuple[Array, Array], typical: float, *, released: bool
) -> Cells:
    """Read the cells of a column.

    Parameters
    ----------
    feature : Feature
    column : ReadColumn
    ends : tuple of ndarray of shape (N,)
        Where the schema lets each go.
    typical : float
        A regular value on the grid.
    released : bool
        Whether the limits are taken away.
    """
    own = column.numbers
    kinds = irregular_kinds(feature, own)
    stays = np.isnan(own) & (kinds == 0)
    base = np.where((kinds > 0) | stays, typical, own)
    if released:
        ends = _natural_ends(feature, len(own))
    lower, upper = (np.where(stays, typical, end) for end in ends)
    precision = precision_of(column)
    return Cells(base, *_closed(feature, base, lower, upper, precision=precision), kinds, precision)


def irregular_kinds(feature: Feature, own: Array) -> npt.NDArray[np.int64]:
    """Number of the irregular entry that each number is, of those that may be left, from 1 on; 0 for none."""
    kinds = np.zeros(len(own), dtype=np.int64)
    if feature.immutable:
        return kinds
    for k, code in enumerate(feature.special, 1):
        kinds[own == code] = k
    if feature.missing == "may_change":
        kinds[np.isnan(own)] = len(feature.special) + 1
    return kinds


def typical_value(feature: Feature, median: float | None = None) -> float:
    """A regular value of a column on its grid: its median in the training data, else the middle of its range."""
    low = -np.inf if feature.lower is None else feature.lower
    high = np.inf if feature.upper is None else feature.upper
    if median is None or not np.isfinite(median):
        median = 0.5 * (low + high) if np.isfinite(low + high) else 0.0
    median = float(np.clip(median, low, high))
    if feature.step is None:
        return median
    first = -np.inf if np.isinf(low) else float(snap(low, feature.step, "up"))
    last = np.inf if np.isinf(high) else float(snap(high, feature.step, "down"))
    return float(np.clip(snap(median, feature.step), first, last))


def medians(schema: FeatureSchema, table: "pd.DataFrame") -> dict[str, float]:
    """Medians of the regular values of the numeric columns of a table that have irregular entries to leave."""
    by_name = {}
    for feature in schema.features:
        if feature.is_numeric and not feature.immutable and (feature.special or feature.missing == "may_change"):
            numbers = column_numbers(table[feature.name])[0]
            regular = numbers[np.isfinite(numbers) & ~np.isin(numbers, feature.special)]
            if len(regular):
                by_name[feature.name] = float(np.median(regular))
    return by_name


def read_medians(content: Mapping[str, Any]) -> dict[str, float]:
    """Read what `medians` returned from a file; a ValueError where it holds something else."""
    return {str(name): float(median) for name, median in content.get("typical", {}).items()}


def placeholder(feature: Feature, typical: float) -> float:
    """The number that stands for an irregular entry in the search: below the range, so that no option can take it."""
    unit = unit_of_effort(feature)
    return (typical - FARTHEST * unit if feature.lower is None else feature.lower) - unit


def limits_in_bins(feature: Feature, edges: Array, cells: Cells) -> tuple[Array, Array]:
    """Least and greatest values of each bin that each applicant's cell may become, (N, B) each."""
    first, last = _ends_of_bins(feature, edges, cells)
    return np.maximum(cells.lower[:, None], first), np.minimum(cells.upper[:, None], last)


def values_in_bins(feature: Feature, edges: Array, cells: Cells) -> tuple[Array, npt.NDArray[np.bool_]]:
    """The value nearest to each applicant's in each bin, (N, B), and whether there is one that it may become."""
    low, high = limits_in_bins(feature, edges, cells)
    allowed = low <= high
    return np.where(allowed, np.clip(cells.base[:, None], low, np.maximum(low, high)), 0.0), allowed


def _ends_of_bins(feature: Feature, edges: Array, cells: Cells) -> tuple[Array, Array]:
    """First and last values of bins that a column can hold, (B,) each; infinite at the outer ends."""
    if feature.step is not None:
        first, below = snap(edges, feature.step, "up"), snap(edges, feature.step, "down")
        last = multiples(np.rint(below / feature.step) - (below >= edges), feature.step)
    else:
        digits = int(np.ceil(-np.log10(FINE * unit_of_effort(feature))))
        near = np.floor(edges * 10.0**digits) / 10.0**digits
        near = np.where(near < edges, near, np.round(near - 10.0**-digits, max(digits, 0)))
        below = np.concatenate([[-np.inf], edges[:-1]])
        first, last = edges, np.where((near >= below) & (near < edges), near, np.nextafter(edges, -np.inf))
        if cells.precision is not None:
            first = _held(first, np.full(len(first), np.nan), cells.precision, np.inf)
            last = _held(last, np.full(len(last), np.nan), cells.precision, -np.inf)
    return np.concatenate([[-np.inf], first]), np.concatenate([last, [np.inf]])


def _natural_ends(feature: Feature, n: int) -> tuple[Array, Array]:
    """Ends of a numeric column without its limits: what the training rows have, as far as that is known.

    Else there are none, but nothing that is counted from zero becomes negative.
    """
    lowest = 0.0 if feature.lower is not None and feature.lower >= 0.0 else -np.inf
    ends = {"lower": lowest, "upper": np.inf} | {end: getattr(feature, end) for end in feature.observed}
    return np.full(n, ends["lower"]), np.full(n, ends["upper"])


def precision_of(column: ReadColumn) -> Any:
    """Type of a column's numbers where they are of less than double precision, else None."""
    return {"float32": np.float32, "float16": np.float16}.get(str(column.dtype).lower())


def _closed(feature: Feature, own: Array, lower: Array, upper: Array, *, precision: Any) -> tuple[Array, Array]:
    """Limits with finite ends that a number can take: on the grid of the steps, or the applicant's own value.

    Parameters
    ----------
    precision : type or None
        Of a column of less than double precision: the ends are numbers that it holds, rounded inwards.
    """
    farthest = FARTHEST * unit_of_effort(feature)
    lower = np.where(np.isfinite(lower), lower, np.minimum(own, upper) - farthest)
    upper = np.where(np.isfinite(upper), upper, np.maximum(own, lower) + farthest)
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
