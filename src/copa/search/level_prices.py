"""Prices of columns for the search, where bins and irregular entries are levels that a `Cost` does not know of."""

from collections.abc import Mapping, Sequence

import numpy as np

from copa._core.arrays import Array
from copa.models.encoding import n_irregular, n_levels
from copa.schema import Feature
from copa.search._kernels.arguments import Prices
from copa.search.cost import Cost, read_prices, unit_of_effort


def per_unit_of(cost: Cost, feature: Feature) -> float:
    """What a raw unit of a numeric column costs."""
    return float(read_prices(cost.prices((feature,)), 1, 1, 1).per_unit[0])


def prices_of(cost: Cost, columns: Sequence[Feature], edges: Mapping[str, Array]) -> Prices:
    """Prices of columns, numeric ones first, then those of levels (see `ActionSpace`).

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
    """Middles of bins; the outer ones are taken to be a unit of effort wide."""
    unit = unit_of_effort(feature)
    ends = np.concatenate([[edges[0] - unit], edges, [edges[-1] + unit]])
    middles: Array = 0.5 * (ends[1:] + ends[:-1])
    return middles
