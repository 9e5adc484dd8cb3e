"""Cells of columns on tree ensembles: the values that no tree tells apart, with the least and the greatest of each."""

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


def tested_cuts(ensembles: TreeEnsembles) -> dict[str, Array]:
    """The cuts of each column of numbers that a node tests, ascending, as positions among all of its cuts."""
    arrays = ensembles.arrays
    numeric = (arrays.kind != LEAF) & (arrays.kind != SET)
    tested = {}
    for place, name in enumerate(ensembles.columns):
        if ensembles.cuts[place] is not None:
            flags = np.zeros(len(ensembles.cuts[place]), dtype=np.bool_)
            flags[arrays.cut[numeric & (arrays.column == place)]] = True
            tested[name] = np.flatnonzero(flags)
    return tested


def number_cells(feature: Feature, cuts: Array, positions: Indices, precision: Any) -> tuple[Array, Array, Int32s]:
    """Least and greatest number and code of the cells of a column that can hold one, by the tested ones of its cuts."""
    ends = cuts[positions]
    above, below = _next_above(feature, ends, precision), _next_below(feature, ends, precision)
    least, greatest = np.append(-np.inf, above), np.append(below, np.inf)
    codes = np.append(positions, len(cuts)).astype(np.int32)
    some = least <= greatest
    return least[some], greatest[some], codes[some]


def _next_below(feature: Feature, ends: Array, precision: Any) -> Array:
    """The greatest numbers, not above the ends, that a column may hold and that have few digits, (n,)."""
    if feature.step is not None:
        near = snap(ends, feature.step, "down")
        return np.where(near > ends, multiples(np.rint(near / feature.step) - 1.0, feature.step), near)
    near = _floor(ends, feature)
    near = np.where(near > np.append(-np.inf, ends[:-1]), near, ends)
    return near if precision is None else _held(near, ends, precision, -np.inf)


def _next_above(feature: Feature, ends: Array, precision: Any) -> Array:
    """The least numbers above the ends that a column may hold and that have few digits, (n,)."""
    if feature.step is not None:
        near = snap(ends, feature.step, "up")
        return np.where(near <= ends, multiples(np.rint(near / feature.step) + 1.0, feature.step), near)
    beyond = np.nextafter(ends, np.inf)
    near = -_floor(-beyond, feature)
    near = np.where((near > ends) & (near <= np.append(ends[1:], np.inf)), near, beyond)
    return near if precision is None else _held(near, beyond, precision, np.inf)


def _floor(numbers: Array, feature: Feature) -> Array:
    """Multiples of a power of ten that is small beside a unit of effort, not above the numbers but for rounding."""
    digits = int(np.ceil(-np.log10(FINE * unit_of_effort(feature))))
    near: Array = np.floor(numbers * 10.0**digits) / 10.0**digits
    return np.where(near <= numbers, near, np.round(near - 10.0**-digits, max(digits, 0)))


def _held(near: Array, limits: Array, precision: Any, away: float) -> Array:
    """Numbers as a column of lower precision holds them, on this side of the limits."""
    held = near.astype(precision)
    printed = np.array([float(str(x)) for x in held])
    beyond = printed > limits if away < 0.0 else printed < limits
    return np.where(beyond, np.nextafter(held, precision(away)), held).astype(np.float64)


def read_cells(
    space: ActionSpace, ensembles: TreeEnsembles, tested: dict[str, Array], applicants: "Applicants", precisions: Any
) -> Cells:
    """Cells of the columns of a space, spelled as in the table of some applicants."""
    coded, sizes, least, greatest, codes = [], [], [], [], []
    for f, feature in enumerate(space.columns):
        place = ensembles.columns.index(feature.name) if feature.name in ensembles.columns else -1
        if feature.is_numeric:
            low, high, own = _of_numbers(feature, ensembles, tested, place, precisions[f])
        else:
            own = _of_levels(space, f, ensembles, place, applicants)
            low = high = np.zeros(len(own))
        coded.append(place)
        sizes.append(len(own))
        least.append(low)
        greatest.append(high)
        codes.append(own)
    return Cells(
        np.array(coded, dtype=np.int64),
        np.cumsum([0, *sizes]).astype(np.int64),
        *(np.concatenate([np.zeros(0), *parts]) for parts in (least, greatest)),
        np.concatenate([np.zeros(0, dtype=np.int32), *codes]).astype(np.int32),
    )


def _of_numbers(
    feature: Feature, ensembles: TreeEnsembles, tested: dict[str, Array], place: int, precision: Any
) -> tuple[Array, Array, Int32s]:
    """Cells of a column of numbers; those that the trees know, where they read it as values."""
    if place < 0:
        return np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int32)
    cuts = ensembles.cuts[place]
    if cuts is not None:
        return number_cells(feature, cuts, tested[feature.name], precision)
    known = [value for value in ensembles.values[place] or () if isinstance(value, (int, float))]
    numbers = np.sort(np.array([float(value) for value in known if value == value]))  # noqa: PLR0124 - NaN
    return numbers, numbers, ensembles.codes_of_values(place, numbers.tolist())


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
