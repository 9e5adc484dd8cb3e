"""Derivatives of ColumnTransformer: one block per inner transformer, at the columns it was given."""

from typing import Any

import numpy as np
import numpy.typing as npt

from copa.arrays import Array
from copa.exceptions import InvalidInputError
from copa.models.feature_maps.differences import difference_tangents
from copa.models.feature_maps.dispatch import tangents_of
from copa.models.feature_maps.inputs import as_table, columns_of

Positions = npt.NDArray[np.intp]


def columns_tangents(transformer: Any, rows: Any, tangents: Array) -> Array:
    """Output tangents (N, P, C), block by block; columns that no inner transformer uses have no effect."""
    table = as_table(rows)
    weights = transformer.transformer_weights or {}
    blocks = [np.zeros((len(table), 0, tangents.shape[2]))]
    for name, inner, columns in transformer.transformers_:
        positions = _positions(transformer, columns, table)
        if positions.size == 0 or (isinstance(inner, str) and inner == "drop"):
            continue
        part, moves = columns_of(table, positions), tangents[:, positions]
        if np.isscalar(columns):
            block = _vector_tangents(inner, part, moves)
        else:
            block = moves if isinstance(inner, str) else tangents_of(inner, part, moves)
        blocks.append(weights.get(name, 1.0) * block)
    return np.concatenate(blocks, axis=1)


def _vector_tangents(inner: Any, part: Any, moves: Array) -> Array:
    """Tangents for a column named by itself, which is handed over as a vector."""
    return difference_tangents(
        lambda rows: inner.transform(columns_of(rows, 0)), part, moves, name=type(inner).__name__
    )


def _positions(transformer: Any, columns: Any, table: Any) -> Positions:
    """Where the columns of one inner transformer are in the table."""
    names = getattr(transformer, "feature_names_in_", None)
    fitted = _fitted_positions(columns, transformer.n_features_in_, names)
    if names is None or not hasattr(table, "columns"):
        return fitted
    # A DataFrame is read by name: the order may differ, and there may be more columns.
    places = {name: place for place, name in enumerate(table.columns)}
    missing = [name for name in names[fitted] if name not in places]
    if missing:
        raise InvalidInputError(f"the rows lack column {missing[0]!r}, which the ColumnTransformer was fitted to")
    return np.array([places[name] for name in names[fitted]], dtype=np.intp)


def _fitted_positions(columns: Any, n_columns: int, names: Any) -> Positions:
    """From names, positions, a mask or a slice of either to positions at fit."""
    everything = np.arange(n_columns)
    if isinstance(columns, slice):
        if not any(isinstance(end, str) for end in (columns.start, columns.stop)):
            return everything[columns]
        order = [str(name) for name in names]
        start = 0 if columns.start is None else order.index(columns.start)
        stop = n_columns if columns.stop is None else order.index(columns.stop) + 1  # names include the last one
        return everything[start : stop : columns.step]
    chosen = np.atleast_1d(np.asarray(columns if np.isscalar(columns) else list(columns)))
    if chosen.size == 0:
        return everything[:0]
    if chosen.dtype.kind in "biu":
        return np.asarray(everything[chosen], dtype=np.intp)
    order = [str(name) for name in names]
    return np.array([order.index(str(name)) for name in chosen], dtype=np.intp)
