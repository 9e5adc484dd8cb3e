"""Strategies: one for each kind of model, by their names in settings and files."""

from collections.abc import Mapping
from inspect import isabstract
from typing import Any

from copa._core.reading import read_word
from copa._core.words import listed, shown
from copa.exceptions import InvalidInputError
from copa.planner.strategies.base import Strategy
from copa.planner.strategies.black_box import BlackBoxStrategy
from copa.planner.strategies.boundary import Boundary
from copa.planner.strategies.feature_map import FeatureMap
from copa.planner.strategies.lime import Lime
from copa.planner.strategies.linear import Linear
from copa.planner.strategies.trees import Trees

SURROGATES: dict[str, type[BlackBoxStrategy]] = {cls.kind: cls for cls in (Boundary, Lime)}


def read_surrogate(value: Any) -> type[BlackBoxStrategy]:
    """Return the strategy for black boxes of a given name, or a class of the caller's own."""
    if isinstance(value, str) and value in SURROGATES:
        return SURROGATES[value]
    if isinstance(value, type) and issubclass(value, BlackBoxStrategy) and not isabstract(value):
        return value
    raise InvalidInputError(
        f"surrogate must be one of {listed(tuple(SURROGATES))} or a complete subclass of BlackBoxStrategy, "
        f"got {shown(value)}"
    )


STORED: dict[str, type[Strategy]] = {**{cls.kind: cls for cls in (Linear, FeatureMap, Trees)}, **SURROGATES}


def stored_strategy(content: Mapping[str, Any]) -> type[Strategy]:
    """Return the strategy of a saved planner."""
    return STORED[read_word(content.get("strategy"), tuple(STORED), "the strategy of a saved planner")]
