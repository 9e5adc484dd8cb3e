"""Feasible regions of applicants as the compiled search sees them: numbers, levels, and what these cost."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from copa._core.arrays import Array, Indices
from copa.data.schema.columns import Flags, ReadColumn, ReadTable
from copa.models.bins import bin_of
from copa.planner.search.arguments import Regions
from copa.planner.search.problem import ActionSpace, as_levels
from copa.planner.search.ranges import Cells, limits_in_bins, placeholder, read_cells, values_in_bins
from copa.plans.cost import unit_of_effort

if TYPE_CHECKING:
    import pandas as pd


def read_regions(space: ActionSpace, rows: "pd.DataFrame | ReadTable", *, released: bool = False) -> Regions:
    """Read the feasible regions of the applicants of a checked table.

    Parameters
    ----------
    space : ActionSpace
    rows : DataFrame or ReadTable
    released : bool
        Take all limits away, to see what stands in the way; only values that are withheld stay so.
    """
    table = ReadTable.of(rows, space.schema.names)
    limits = space.schema.limits(table)
    regions = Regions.empty(len(table), len(space.columns), len(space.numeric), space.n_directions)
    for f, feature in enumerate(space.columns):
        column = table[feature.name]
        if feature.is_numeric:
            ends, typical = limits.numeric[feature.name], space.typical_values[feature.name]
            cells = read_cells(feature, column, ends, typical, released=released)
            if feature.name in space.edges:
                _fill_bins(space, f, cells, regions)
            else:
                _fill_numbers(space, f, cells, regions)
        else:
            _fill_levels(space, f, column, limits.categorical[feature.name], regions, released=released)
    return regions


def _fill_numbers(space: ActionSpace, f: int, cells: Cells, regions: Regions) -> None:
    """Write a numeric column that enters in a straight line.

    A special code in a column of a rule stays: the search knows a rule as one that applies to all options of an
    applicant, or to none.
    """
    feature, irregular = space.columns[f], cells.kinds > 0
    regions.own[:, f] = np.where(irregular, placeholder(feature, space.typical_values[feature.name]), cells.base)
    stays = irregular & (feature.name in space.ruled)
    regions.lower[:, f] = np.where(stays, regions.own[:, f], cells.lower)
    regions.upper[:, f] = np.where(stays, regions.own[:, f], cells.upper)
    regions.reference[:, f] = cells.base
    regions.leaving[:, f] = np.where(irregular, unit_of_effort(feature), 0.0)
    regions.kinds[:, f] = cells.kinds


def _fill_bins(space: ActionSpace, f: int, cells: Cells, regions: Regions) -> None:
    """Write a numeric column whose bins are levels: each stands for the value in it that is nearest to the own.

    One that stands in a rule stays as it is: a bin has no number that is the same for everyone.
    """
    feature, levels, n_bins = space.columns[f], space.levels(f), len(space.edges[space.columns[f].name]) + 1
    irregular, everyone = cells.kinds > 0, np.arange(len(cells.base))
    own = np.where(irregular, n_bins - 1 + cells.kinds, bin_of(space.edges[feature.name], cells.base))
    regions.own[:, f] = levels[own]
    values, allowed = values_in_bins(feature, space.edges[feature.name], cells)
    regions.allowed[:, levels] = False
    regions.allowed[:, levels[:n_bins]] = allowed & (feature.name not in space.ruled)
    regions.allowed[everyone, levels[own]] = True
    regions.values[:, levels[:n_bins]] = values
    regions.values[everyone, levels[own]] = cells.base
    leaving = np.where(irregular, unit_of_effort(feature), 0.0)[:, None]
    way = np.abs(regions.values[:, levels] - cells.base[:, None]) + leaving
    regions.level_prices[:, levels] = (space.per_unit_in_bins[feature.name] * way) ** space.prices.power
    regions.level_prices[everyone, levels[own]] = 0.0


def _fill_levels(
    space: ActionSpace, f: int, column: ReadColumn, moves: Flags, regions: Regions, *, released: bool
) -> None:
    """Write a categorical column; a missing value that may change is its last level."""
    feature, (first, end) = space.columns[f], space.starts[f : f + 2].tolist()
    codes, values = column.codes(feature), feature.values or ()
    missing = column.missing & (end - first > len(values))
    own = np.where(missing, end - first - 1, np.maximum(codes, 0))
    regions.own[:, f] = first + own
    if released:
        moves = moves | np.array([value not in feature.withheld for value in values], dtype=np.bool_)
    allowed = regions.allowed[:, first:end]
    allowed[:, : len(values)], allowed[:, len(values) :] = moves, False
    allowed[(codes < 0) & ~missing] = False  # an unknown value, or a missing one that may not change, stays
    allowed[np.arange(len(codes)), own] = True
    regions.level_prices[:, first:end] = space.prices.gaps[first + own, first:end]


def standing_at(space: ActionSpace, regions: Regions, rows: Array) -> Regions:
    """The same regions for applicants who have taken up rows (N, F): changes are counted from there."""
    n, changed, prices = len(space.numeric), rows != regions.own, regions.level_prices.copy()
    numbers = changed[:, :n]
    for f, feature in space.level_columns:
        levels, own, some = space.levels(f), as_levels(rows[:, f]), changed[:, f]
        if feature.is_categorical:
            prices[np.ix_(some, levels)] = space.prices.gaps[own[some]][:, levels]
        else:
            way = np.abs(regions.values[:, levels] - regions.values[np.arange(len(rows)), own][:, None])[some]
            prices[np.ix_(some, levels)] = (space.per_unit_in_bins[feature.name] * way) ** space.prices.power
    return regions._replace(
        own=rows,
        reference=np.where(numbers, rows[:, :n], regions.reference),
        leaving=np.where(numbers, 0.0, regions.leaving),
        kinds=np.where(numbers, 0.0, regions.kinds),
        level_prices=prices,
    )


def as_written(space: ActionSpace, regions: Regions, written: "pd.DataFrame | ReadTable") -> tuple[Regions, Array]:
    """Rows of a table as the search has them, (M, F), and the regions with bins priced at the numbers written there."""
    table = ReadTable.of(written)
    rows, prices = read_regions(space, table).own, regions.level_prices.copy()
    everyone = np.arange(len(rows))
    for f, feature in space.level_columns:
        if feature.is_numeric:
            numbers = table[feature.name].numbers
            base = regions.values[everyone, as_levels(regions.own[:, f])]
            irregular = as_levels(regions.own[:, f]) > space.starts[f] + len(space.edges[feature.name])
            way = np.abs(numbers - base) + np.where(irregular, unit_of_effort(feature), 0.0)
            same = np.isnan(numbers) | (irregular & (rows[:, f] == regions.own[:, f]))
            price = (space.per_unit_in_bins[feature.name] * np.where(same, 0.0, way)) ** space.prices.power
            prices[everyone, as_levels(rows[:, f])] = price
    return regions._replace(level_prices=prices), rows


def ends_of_bins(space: ActionSpace, origins: ReadTable, rows: ReadTable) -> dict[str, tuple[Array, Array]]:
    """First and last values, (M,) each, that applicants may take in the bins of M rows, by binned column.

    Parameters
    ----------
    space : ActionSpace
    origins, rows : ReadTable
        M applicants, and a row of each.
    """
    limits, everyone, ends = space.schema.limits(origins), np.arange(len(rows)), {}
    for name, edges in space.edges.items():
        feature = space.schema[name]
        cells = read_cells(
            feature, origins[name], limits.numeric[name], space.typical_values[feature.name], released=False
        )
        low, high = limits_in_bins(feature, edges, cells)
        own = bin_of(edges, np.nan_to_num(rows[name].numbers))
        ends[name] = low[everyone, own], high[everyone, own]
    return ends


def keeping(regions: Regions, columns: Flags) -> Regions:
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
