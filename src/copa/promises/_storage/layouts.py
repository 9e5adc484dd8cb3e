"""Promised rows as text: their cells as a JSON list, and beside them, once for many, their columns and dtypes."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.formats import Archive, Format
from copa.data.tables.cells import cells_of
from copa.data.tables.packing import pack_entry, pack_frame, unpack_entry, unpack_frame
from copa.exceptions import DataError

if TYPE_CHECKING:
    import pandas as pd

LAYOUT = Format(
    "copa-promise-layout", what="a layout of promised rows", content="layout.json", versions=(1,), arrays=r"rows/.+"
)
NUMBERS = "iuf"


def pack_layout(rows: "pd.DataFrame") -> bytes:
    """Return the columns and dtypes of a table; the same ones give the same bytes."""
    arrays: dict[str, Any] = {}
    content = {"version": 1, "rows": pack_frame(rows.iloc[:0].reset_index(drop=True), "rows", arrays)}
    return LAYOUT.pack(Archive(content, arrays))


@lru_cache(maxsize=64)
def unpack_layout(raw: bytes) -> "pd.DataFrame":
    """Return a table without rows, of the columns and dtypes that were packed."""
    with LAYOUT.opened(raw, "the layout of promised rows") as (content, arrays, _):
        return unpack_frame(content["rows"], "rows", arrays)


def pack_cells(rows: "pd.DataFrame") -> list[list[Any]]:
    """Return each row as a list of JSON values, from which `unpack_cells` makes the same cells."""
    columns = [_packed(rows.iloc[:, k], f"column {rows.columns[k]!r}") for k in range(rows.shape[1])]
    return [list(cells) for cells in zip(*columns, strict=True)] if columns else [[] for _ in range(len(rows))]


def unpack_cells(cells: Sequence[Sequence[Any]], layout: "pd.DataFrame") -> "pd.DataFrame":
    """Return the rows that `pack_cells` packed, in the dtypes of their layout."""
    import pandas as pd

    width = layout.shape[1]
    if any(len(row) != width for row in cells):
        raise DataError(f"a promised row has another number of cells than the {width} columns of its table")
    columns = list(zip(*cells, strict=True)) if cells else [()] * width
    unpacked = {k: _unpacked(columns[k], layout.dtypes.iloc[k]) for k in range(width)}
    table = pd.DataFrame(unpacked, index=pd.RangeIndex(len(cells)))
    table.columns = layout.columns
    return table


def _packed(column: "pd.Series[Any]", what: str) -> list[Any]:
    dtype = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "iub":
        return list(column.tolist())
    if dtype == np.float64:
        numbers = column.to_numpy()
        finite = np.isfinite(numbers)
        return numbers.tolist() if finite.all() else [pack_entry(number, what) for number in numbers.tolist()]
    return [pack_entry(cell, what) for cell in cells_of(column)]


def _unpacked(cells: Sequence[Any], dtype: Any) -> "pd.Series[Any]":
    import pandas as pd

    if isinstance(dtype, np.dtype) and dtype.kind in NUMBERS and all(type(cell) in (int, float) for cell in cells):
        return pd.Series(np.array(cells, dtype=dtype))
    values = [unpack_entry(cell) for cell in cells]
    if dtype != np.dtype(object):
        return pd.Series(values, dtype=dtype)
    kept = np.empty(len(values), dtype=object)
    for k, value in enumerate(values):  # one by one: numpy would take a tuple apart
        kept[k] = value
    return pd.Series(kept, dtype=object)
