"""Derivatives of transformers in a row (the chain rule) and side by side (stacked)."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from copa.arrays import Array
from copa.models.feature_maps.dispatch import tangents_of


def chain_tangents(steps: Iterable[Any], rows: Any, tangents: Array) -> Array:
    """Tangents (N, P, C) of the last step's output."""
    previous = None
    for step in steps:
        if previous is not None:
            rows = previous.transform(rows)
        tangents = tangents_of(step, rows, tangents)
        previous = step
    return tangents


def pipeline_tangents(transformer: Any, rows: Any, tangents: Array) -> Array:
    """Pipeline: the chain rule over its steps."""
    steps = [step for _, step in transformer.steps if not _is_word(step, "passthrough")]
    return chain_tangents(steps, rows, tangents)


def union_tangents(transformer: Any, rows: Any, tangents: Array) -> Array:
    """FeatureUnion: the tangents of its parts, one below the other, each times its weight."""
    weights = transformer.transformer_weights or {}
    blocks = [np.zeros((len(tangents), 0, tangents.shape[2]))]
    for name, part in transformer.transformer_list:
        if not _is_word(part, "drop"):
            block = tangents if _is_word(part, "passthrough") else tangents_of(part, rows, tangents)
            blocks.append(weights.get(name, 1.0) * block)
    return np.concatenate(blocks, axis=1)


def _is_word(step: Any, word: str) -> bool:
    return step is None or (isinstance(step, str) and step == word)
