"""Effort of a change. A new cost is a new subclass of `Cost`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from copa._core.arrays import Array, as_floats, require_finite
from copa._core.reading import is_whole
from copa._core.words import listed, shown
from copa.data.schema import Feature
from copa.exceptions import InvalidInputError
from copa.models.encoding import n_irregular, n_levels

# What changing a column at all counts, in units of effort (a spread): a person would rather do fewer things. Greedy
# steps find better rows with it, too: against 0.05, options for German credit change 5 columns and not 6, at .94 of the
# effort.
CHANGE_PENALTY = 0.5


class Prices(NamedTuple):
    """What a change costs: (sum over columns of price ** power) ** (1 / power), plus a penalty per column changed."""

    per_unit: Array  # (L,) of a raw unit of a numeric column
    gaps: Array  # (A, A) between two levels of a column, to the `power`
    penalties: Array  # (F,) of changing a column at all
    power: int  # 1: prices add up; 2: their squares do


class Cost(ABC):
    """Effort of a change: (sum over columns of price ** power) ** (1 / power), plus a penalty per column changed.

    The search ranks rows with the penalties; the effort that people are shown leaves them out. A subclass returns, for
    the columns that may change, `Prices`: `per_unit` of each numeric column, `gaps` between any two levels (to the
    `power`), `penalties` of changing a column at all, and `power`, 1 for sums or 2 for sums of squares.

    Examples
    --------
    Changes of categories cost twice as much as `L1` makes them:

    >>> import numpy as np
    >>> from copa import Feature
    >>> from copa.plans.cost import L1, Cost
    >>> class DearLevels(Cost):
    ...     def prices(self, columns):
    ...         prices = L1().prices(columns)
    ...         return prices._replace(gaps=2.0 * prices.gaps)
    >>> columns = [Feature("age", "numeric", spread=10.0), Feature("grade", "ordinal", values=("a", "b", "c"))]
    >>> own, row = np.array([30.0, 1.0]), np.array([35.0, 3.0])  # the levels are numbered after the numeric columns
    >>> [float(cost.distance(cost.prices(columns), own, row)) for cost in (L1(), DearLevels())]
    [2.5, 4.5]
    """

    @property
    def name(self) -> str:
        """Name of the cost in files and reports."""
        return type(self).__name__.lower()

    @abstractmethod
    def prices(self, columns: Sequence[Feature]) -> Prices:
        """Return the prices of the columns that may change.

        Parameters
        ----------
        columns : sequence of Feature
            Numeric ones first, then categorical ones.

        Returns
        -------
        Prices
        """

    def distance(self, prices: Prices, rows: Array, others: Array) -> Array:
        """Effort between rows, penalties left out: what the compiled search computes, in NumPy.

        Parameters
        ----------
        prices : Prices
            As `prices` returned them.
        rows, others : ndarray of shape (..., F)
            They broadcast.
        """
        n_numeric = prices.per_unit.size
        steps = np.abs(rows[..., :n_numeric] - others[..., :n_numeric]) * prices.per_unit
        levels = (part[..., n_numeric:].astype(np.int64) for part in (rows, others))
        total: Array = (steps**prices.power).sum(axis=-1) + prices.gaps[tuple(levels)].sum(axis=-1)
        return np.sqrt(total) if prices.power == 2 else total

    def effort(self, prices: Prices, own: Array, rows: Array) -> Array:
        """Effort of rows for applicants who stand at `own`, penalties included: what the search ranks by.

        Parameters
        ----------
        prices : Prices
            As `prices` returned them.
        own, rows : ndarray of shape (..., F)
            They broadcast.
        """
        penalties: Array = np.where(rows != own, prices.penalties, 0.0).sum(axis=-1)
        return self.distance(prices, own, rows) + penalties


class L1(Cost):
    """Sum of the changes, each in spreads of its column.

    Examples
    --------
    >>> import numpy as np
    >>> from copa import Feature
    >>> from copa.plans.cost import L1
    >>> columns = [Feature("income", "numeric", spread=500.0), Feature("debt", "numeric", spread=100.0)]
    >>> float(L1().distance(L1().prices(columns), np.array([2000.0, 900.0]), np.array([3500.0, 500.0])))
    7.0
    """

    def prices(self, columns: Sequence[Feature]) -> Prices:
        """Weight over spread per raw unit; between levels see `level_gaps`."""
        return spread_prices(columns, 1)


class L2(Cost):
    """Root of the sum of the squared changes, each in spreads of its column.

    Examples
    --------
    >>> import numpy as np
    >>> from copa import Feature
    >>> from copa.plans.cost import L2
    >>> columns = [Feature("income", "numeric", spread=500.0), Feature("debt", "numeric", spread=100.0)]
    >>> float(L2().distance(L2().prices(columns), np.array([2000.0, 900.0]), np.array([3500.0, 500.0])))
    5.0
    """

    def prices(self, columns: Sequence[Feature]) -> Prices:
        """Weight over spread per raw unit; between levels see `level_gaps`."""
        return spread_prices(columns, 2)


COSTS: dict[str, type[Cost]] = {"l1": L1, "l2": L2}


def read_cost(cost: "str | Cost") -> Cost:
    """Read a cost, given by its name or as itself.

    Examples
    --------
    >>> read_cost("l2").name
    'l2'
    """
    if isinstance(cost, Cost):
        return cost
    if not (isinstance(cost, str) and cost in COSTS):
        raise InvalidInputError(f"cost must be one of {listed(list(COSTS))}, or a Cost, got {shown(cost)}")
    return COSTS[cost]()


def read_prices(prices: Prices, n_numeric: int, n_columns: int, n_directions: int) -> Prices:
    """Check what a `Cost` returned for some columns, in the shapes that the compiled search needs.

    `n_directions` counts numeric columns and levels.
    """
    if not isinstance(prices, Prices):
        raise InvalidInputError(f"a cost must return Prices, got {shown(prices)}")
    if not is_whole(prices.power) or prices.power not in {1, 2}:
        raise InvalidInputError(f"power of the prices must be 1 or 2, got {shown(prices.power)}")
    shapes = {"per_unit": (n_numeric,), "gaps": (n_directions, n_directions), "penalties": (n_columns,)}
    arrays = {}
    for name, shape in shapes.items():
        array = as_floats(getattr(prices, name), f"{name} of the prices")
        if array.shape != shape:
            raise InvalidInputError(f"{name} of the prices must have shape {shape}, got {array.shape}")
        require_finite(array, f"{name} of the prices")
        if (array < 0.0).any():
            raise InvalidInputError(f"{name} of the prices must not be negative, got {array.min():g}")
        arrays[name] = array
    return Prices(**arrays, power=int(prices.power))


def spread_prices(columns: Sequence[Feature], power: int) -> Prices:
    """Return prices by which a unit of effort is a spread of a column, times its weight."""
    numeric = [feature for feature in columns if feature.is_numeric]
    blocks = [level_gaps(feature) ** power for feature in columns if feature.is_categorical]
    first, size = len(numeric), len(numeric) + sum(len(block) for block in blocks)
    gaps = np.zeros((size, size))
    for block in blocks:
        gaps[first : first + len(block), first : first + len(block)] = block
        first += len(block)
    per_unit = np.array([feature.weight / unit_of_effort(feature) for feature in numeric])
    penalties = CHANGE_PENALTY * np.array([feature.weight for feature in columns])
    return Prices(per_unit, gaps, penalties, power)


def unit_of_effort(feature: Feature) -> float:
    """Return one unit of effort in a column, in raw units (or ranks)."""
    if feature.spread is not None:
        return feature.spread
    if feature.lower is not None and feature.upper is not None and feature.upper > feature.lower:
        return (feature.upper - feature.lower) / 4.0  # a range is about four standard deviations wide
    return 1.0


def level_gaps(feature: Feature) -> Array:
    """Return the effort between the levels of a column (V, V): by ranks for an ordinal, else one for every change."""
    n_levels = len(feature.values or ())
    ranks = np.arange(n_levels, dtype=np.float64)
    apart = np.abs(ranks[:, None] - ranks) if feature.kind == "ordinal" else 1.0 - np.eye(n_levels)
    gaps: Array = feature.weight * apart / unit_of_effort(feature)
    return gaps


def per_unit_of(cost: Cost, feature: Feature) -> float:
    """Return the price of a raw unit of a numeric column."""
    return float(read_prices(cost.prices((feature,)), 1, 1, 1).per_unit[0])


def prices_of(cost: Cost, columns: Sequence[Feature], edges: Mapping[str, Array]) -> Prices:
    """Return the prices of columns, numeric ones first, then those of levels (see `ActionSpace`).

    The cost is asked about columns as the schema has them. To leave an irregular entry costs a unit of effort, and bins
    are as far from each other as their middles.
    """
    numbers = [feature for feature in columns if feature.is_numeric]
    others = [feature for feature in columns if feature.is_categorical]
    asked = (*numbers, *others)
    sizes = [len(feature.values or ()) for feature in others]
    prices = read_prices(cost.prices(asked), len(numbers), len(asked), len(numbers) + sum(sizes))
    if not edges and not any(n_irregular(feature) for feature in others):
        return prices
    position = {feature.name: k for k, feature in enumerate(asked)}
    first = dict(zip((f.name for f in others), np.cumsum([len(numbers), *sizes]).tolist(), strict=False))
    lines = [feature for feature in numbers if feature.name not in edges]
    blocks = []
    for feature in columns[len(lines) :]:
        block = np.full((n_levels(feature, edges.get(feature.name)),) * 2, feature.weight**prices.power)
        if feature.is_numeric:
            inside = prices.per_unit[position[feature.name]] * _middles(feature, edges[feature.name])
            block[: len(inside), : len(inside)] = np.abs(inside[:, None] - inside) ** prices.power
        else:
            start, size = first[feature.name], len(feature.values or ())
            block[:size, :size] = prices.gaps[start : start + size, start : start + size]
        np.fill_diagonal(block, 0.0)
        blocks.append(block)
    total = len(lines) + sum(len(block) for block in blocks)
    gaps, start = np.zeros((total, total)), len(lines)
    for block in blocks:
        gaps[start : start + len(block), start : start + len(block)] = block
        start += len(block)
    per_unit = np.array([prices.per_unit[position[feature.name]] for feature in lines])
    penalties = np.array([prices.penalties[position[feature.name]] for feature in columns])
    return Prices(per_unit, gaps, penalties, prices.power)


def _middles(feature: Feature, edges: Array) -> Array:
    """Return the middles of bins; the outer ones are taken to be a unit of effort wide."""
    unit = unit_of_effort(feature)
    ends = np.concatenate([[edges[0] - unit], edges, [edges[-1] + unit]])
    middles: Array = 0.5 * (ends[1:] + ends[:-1])
    return middles
