"""Tables as arrays and JSON, and back to the last bit: columns with their dtypes, labels of rows and columns."""

from typing import TYPE_CHECKING, Any

from copa.plans.columns import Arrays, Content, pack_values, unpack_values
from copa.plans.entries import pack_entry, unpack_entry

if TYPE_CHECKING:
    import pandas as pd


def pack_frame(frame: "pd.DataFrame", name: str, arrays: Arrays) -> Content:
    """Pack a table: its arrays go into `arrays`, under names that begin with `name`, the rest is returned."""
    return {
        "index": _pack_index(frame.index, f"{name}/index", arrays),
        "columns": _pack_index(frame.columns, f"{name}/columns", arrays),
        "cells": [
            pack_values(frame.iloc[:, k], f"{name}/{k}", arrays, f"column {frame.columns[k]!r}")
            for k in range(frame.shape[1])
        ],
    }


def unpack_frame(content: Content, name: str, arrays: Arrays) -> "pd.DataFrame":
    """Unpack a table; raises where the parts do not fit."""
    import pandas as pd

    index = _unpack_index(content["index"], f"{name}/index", arrays)
    columns = _unpack_index(content["columns"], f"{name}/columns", arrays)
    cells = [unpack_values(packed, f"{name}/{k}", arrays) for k, packed in enumerate(content["cells"])]
    if any(len(column) != len(index) for column in cells):
        raise ValueError("a column has another length than the index")
    frame = pd.DataFrame(dict(enumerate(cells)), index=pd.RangeIndex(len(index)))
    frame.index, frame.columns = index, columns
    return frame


def _pack_index(index: "pd.Index[Any]", name: str, arrays: Arrays) -> Content:
    import pandas as pd

    names = [pack_entry(label, "the name of an index") for label in index.names]
    if isinstance(index, pd.RangeIndex):
        return {"kind": "range", "names": names, "range": [index.start, index.stop, index.step]}
    levels = [index.get_level_values(k) for k in range(index.nlevels)]
    packed = [pack_values(level.to_series(), f"{name}/{k}", arrays, "the index") for k, level in enumerate(levels)]
    timed = isinstance(index, (pd.DatetimeIndex, pd.TimedeltaIndex))
    return {
        "kind": "many" if isinstance(index, pd.MultiIndex) else "one",
        "names": names,
        "levels": packed,
        "freq": index.freqstr if timed else None,
    }


def _unpack_index(content: Content, name: str, arrays: Arrays) -> "pd.Index[Any]":
    import pandas as pd

    names = [unpack_entry(entry) for entry in content["names"]]
    if content["kind"] == "range":
        return pd.RangeIndex(*content["range"], name=names[0])
    levels = [unpack_values(level, f"{name}/{k}", arrays) for k, level in enumerate(content["levels"])]
    indices = [pd.Index(level, dtype=level.dtype) for level in levels]
    if content["kind"] == "many":
        return pd.MultiIndex.from_arrays(indices, names=names)
    index = indices[0].rename(names[0])
    if content["freq"] is not None:
        index.freq = content["freq"]
    return index
