"""The derivative of a whole pipeline with respect to raw columns of a table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from copa.arrays import Array
from copa.exceptions import InvalidInputError
from copa.models.feature_maps.chains import chain_tangents
from copa.models.feature_maps.inputs import numeric_columns
from copa.schema.names import hint

if TYPE_CHECKING:
    import pandas as pd

# Rows differentiated at a time: the factors of products of many columns take more room than the answer.
BLOCK = 256


def raw_jacobian(transformers: Sequence[Any], frame: "pd.DataFrame", columns: Sequence[str]) -> Array:
    """Derivative of the encoded vector with respect to raw numeric columns, the other columns held.

    Parameters
    ----------
    transformers : fitted transformers, applied in this order
        The steps of a pipeline before its classifier: `LinearModel.transformers`.
    frame : DataFrame with N rows
        The model's raw columns. Where the first transformer was fitted to a DataFrame, it may have more columns and in
        any order; else its columns are those of the array that it was fitted to.
    columns : C names of columns that hold numbers

    Returns
    -------
    ndarray of shape (N, D - 1, C)
        Entry (n, d, c): what one unit of column c, by its slope, adds to encoded column d of row n. The encoded columns
        are those of `LinearModel.encode`, without the leading 1.
    """
    if not hasattr(frame, "iloc") or frame.ndim != 2 or len(frame) == 0:
        raise InvalidInputError(f"raw_jacobian needs a DataFrame with at least one row, got {_shown(frame)}")
    names = getattr(transformers[0], "feature_names_in_", None) if transformers else None
    rows = frame if names is None else _in_order(frame, names)
    places = _places(rows, columns)
    moves = np.eye(rows.shape[1])[:, places]
    blocks = []
    for start in range(0, len(rows), BLOCK):
        block = rows.iloc[start : start + BLOCK]
        given = block if names is not None or not transformers else block.to_numpy()
        blocks.append(chain_tangents(transformers, given, np.broadcast_to(moves, (len(block), *moves.shape))))
    return np.concatenate(blocks)


def _in_order(frame: "pd.DataFrame", names: Any) -> "pd.DataFrame":
    """The columns that the first transformer was fitted to."""
    for name in names:
        if name not in frame.columns:
            known = [str(column) for column in frame.columns]
            raise InvalidInputError(f"the model needs column {name!r}, which the table lacks; {hint(name, known)}")
    return frame[list(names)]


def _places(rows: "pd.DataFrame", columns: Sequence[str]) -> list[int]:
    """Positions of the named columns, all of them numbers."""
    if isinstance(columns, str):
        raise InvalidInputError(f"columns must be a list of names, got the text {columns!r}; write [{columns!r}]")
    known = [str(name) for name in rows.columns]
    numeric = set(numeric_columns(rows))
    places = []
    for name in columns:
        if name not in known:
            raise InvalidInputError(f"the model has no column {name!r}; {hint(name, known)}")
        place = known.index(name)
        if place not in numeric:
            raise InvalidInputError(
                f"column {name!r} holds {rows.dtypes.iloc[place]} values; only columns of numbers have a derivative, "
                "leave it out of columns to hold it"
            )
        places.append(place)
    return places


def _shown(frame: Any) -> str:
    return f"{type(frame).__name__} of shape {getattr(frame, 'shape', '()')}"
