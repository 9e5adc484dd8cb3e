"""Cells of columns on tree ensembles: the values that no tree tells apart, with the least and the greatest of each."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array, Indices
from copa.data.schema import Feature
from copa.data.tables.cells import multiples, snap
from copa.models.trees import TreeEnsembles
from copa.models.trees.arrays import LEAF, SET, Int32s
from copa.planner.search.problem import ActionSpace
from copa.planner.search.ranges import FINE
from copa.plans.cost import unit_of_effort

if TYPE_CHECKING:
    from copa.planner.strategies.applicants import Applicants


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of all columns of a space, see `TreeProblem`."""

    coded: Indices  # (F,)
    first: Indices  # (F + 1,)
    least: Array
    greatest: Array
    codes: Int32s


CellsOfColumn = tuple[Array, Array, Int32s]  # least and greatest number of each, and its code


def number_cells(space: ActionSpace, ensembles: TreeEnsembles, precisions: tuple[Any, ...]) -> dict[str, CellsOfColumn]:
    """Cells of the numeric columns of a space; `precisions` as in `precision_of`."""
    tested = _tested_cuts(ensembles)
    cells = {}
    for feature, precision in zip(space.numeric, precisions, strict=True):
        place = place_of(ensembles, feature)
        cuts = ensembles.cuts[place] if place >= 0 else None
        if place < 0:
            cells[feature.name] = np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int32)
        elif cuts is not None:
            cells[feature.name] = _between_cuts(feature, cuts, tested[place], precision)
        else:
            cells[feature.name] = _known_numbers(ensembles, place)
    return cells


def place_of(ensembles: TreeEnsembles, feature: Feature) -> int:
    """Place of a column among those that the trees test; -1 for none."""
    return ensembles.columns.index(feature.name) if feature.name in ensembles.columns else -1


def _tested_cuts(ensembles: TreeEnsembles) -> dict[int, Indices]:
    """The finite cuts of each column of numbers that a node tests, ascending, as positions among all of its cuts."""
    arrays = ensembles.arrays
    numeric = (arrays.kind != LEAF) & (arrays.kind != SET)
    tested = {}
    for place, cuts in enumerate(ensembles.cuts):
        if cuts is not None:
            flags = np.zeros(len(cuts), dtype=np.bool_)
            flags[arrays.cut[numeric & (arrays.column == place)]] = True
            tested[place] = np.flatnonzero(flags & np.isfinite(cuts))
    return tested


def _between_cuts(feature: Feature, cuts: Array, positions: Indices, precision: Any) -> CellsOfColumn:
    """Cells between the tested ones of a column's cuts, those that can hold a number."""
    ends = cuts[positions]
    above, below = _next_above(feature, ends, precision), _next_below(feature, ends, precision)
    least, greatest = np.append(-np.inf, above), np.append(below, np.inf)
    codes = np.append(positions, len(cuts)).astype(np.int32)
    some = least <= greatest
    return least[some], greatest[some], codes[some]


def _known_numbers(ensembles: TreeEnsembles, place: int) -> CellsOfColumn:
    """A cell for each number that the trees know, where they read numbers as values."""
    known = [value for value in ensembles.values[place] or () if isinstance(value, (int, float))]
    numbers = np.sort(np.array([float(value) for value in known if value == value]))  # noqa: PLR0124 - NaN
    return numbers, numbers, ensembles.codes_of_values(place, numbers.tolist())


def _next_below(feature: Feature, ends: Array, precision: Any) -> Array:
    """The greatest numbers, not above the ends, that a column may hold, with few digits if possible, (n,)."""
    if feature.step is not None:
        near = snap(ends, feature.step, "down")
        return np.where(near > ends, multiples(np.rint(near / feature.step) - 1.0, feature.step), near)
    if precision is not None:
        return _held(ends, precision, -np.inf)
    near = _floor(ends, feature)
    return np.where(near > np.append(-np.inf, ends[:-1]), near, ends)


def _next_above(feature: Feature, ends: Array, precision: Any) -> Array:
    """The least numbers above the ends that a column may hold, with few digits if possible, (n,)."""
    if feature.step is not None:
        near = snap(ends, feature.step, "up")
        return np.where(near <= ends, multiples(np.rint(near / feature.step) + 1.0, feature.step), near)
    beyond = np.nextafter(ends, np.inf)
    if precision is not None:
        return _held(beyond, precision, np.inf)
    near = -_floor(-beyond, feature)
    return np.where((near > ends) & (near <= np.append(ends[1:], np.inf)), near, beyond)


def _floor(numbers: Array, feature: Feature) -> Array:
    """Multiples of a power of ten that is small beside a unit of effort, not above the numbers but for rounding."""
    digits = int(np.ceil(-np.log10(FINE * unit_of_effort(feature))))
    near: Array = np.floor(numbers * 10.0**digits) / 10.0**digits
    return np.where(near <= numbers, near, np.round(near - 10.0**-digits, max(digits, 0)))


def _held(limits: Array, precision: Any, away: float) -> Array:
    """The numbers nearest to the limits, on one side of them, that a column of lower precision holds."""
    held = limits.astype(precision)
    printed = np.array([float(str(x)) for x in held])
    beyond = (printed > limits) | (held > limits) if away < 0.0 else (printed < limits) | (held < limits)
    return np.where(beyond, np.nextafter(held, precision(away)), held).astype(np.float64)


def read_cells(
    space: ActionSpace, ensembles: TreeEnsembles, of_numbers: Mapping[str, CellsOfColumn], applicants: "Applicants"
) -> Cells:
    """Cells of all columns of a space, levels spelled as in the table of some applicants."""
    parts = []
    for f, feature in enumerate(space.columns):
        if feature.is_numeric:
            parts.append(of_numbers[feature.name])
        else:
            codes = _of_levels(space, f, ensembles, place_of(ensembles, feature), applicants)
            parts.append((np.zeros(len(codes)), np.zeros(len(codes)), codes))
    least, greatest, codes = (np.concatenate([part[k] for part in parts] or [np.zeros(0)]) for k in range(3))
    return Cells(
        np.array([place_of(ensembles, feature) for feature in space.columns], dtype=np.int64),
        np.cumsum([0, *(len(part[2]) for part in parts)]).astype(np.int64),
        least,
        greatest,
        codes.astype(np.int32),
    )


def _of_levels(space: ActionSpace, f: int, ensembles: TreeEnsembles, place: int, applicants: "Applicants") -> Int32s:
    """Codes of the levels of a column; of those beyond its values, which nobody moves to, that of a missing cell."""
    codes = np.zeros(int(space.starts[f + 1] - space.starts[f]), dtype=np.int32)
    if place < 0:
        return codes
    codes[:] = ensembles.arrays.n_codes[place] - 1
    words = applicants.spelled(space, f)
    if ensembles.cuts[place] is not None:
        codes[: len(words)] = ensembles.codes_of_numbers(place, np.array([float(word) for word in words]))
    else:
        codes[: len(words)] = ensembles.codes_of_values(place, words)
    return codes
