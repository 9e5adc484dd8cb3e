"""Columns of a table as arrays and JSON, and back to the last bit.

Dtypes of NumPy, text, categories and pandas' nullable numbers are packed; what else there is (zoned times, intervals,
periods) is refused by name. `pack_values` puts arrays into a dict, under names that begin with the name given, and
returns the rest as JSON holds it; `unpack_values` reads both again, and raises where they do not fit.
"""

import datetime as dt
import json
import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.words import shown
from copa.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd


NUMPY_KINDS = "biufcmMSU"  # numbers, truth, time and text: what is made of bytes only


def pack_entries(values: Iterable[Any], what: str) -> tuple[npt.NDArray[np.int32], list[Any]]:
    """Return which of the distinct values each one is, and these as JSON; 1, 1.0 and true are distinct."""
    codes: dict[Any, int] = {}
    distinct: list[Any] = []
    positions = []
    for value in values:
        entry = value if type(value) is str else pack_entry(value, what)
        key = value if type(value) is str else (json.dumps(entry),)  # a tuple is no text
        if key not in codes:
            codes[key] = len(distinct)
            distinct.append(entry)
        positions.append(codes[key])
    return np.array(positions, dtype=np.int32), distinct


def pack_entry(value: Any, what: str) -> Any:  # noqa: PLR0911 - a line per type reads better than a table
    """Return a value as JSON; what JSON has no word for becomes a list that begins with its type."""
    import pandas as pd

    if value is None or type(value) in (str, bool, int):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else ["float", str(value)]
    if value is pd.NA or value is pd.NaT:
        return ["NA"] if value is pd.NA else ["NaT"]
    if isinstance(value, np.generic) and value.dtype.kind in NUMPY_KINDS:
        return ["numpy", value.dtype.str, value.tobytes().hex()]
    if type(value) is tuple:
        return ["tuple", [pack_entry(part, what) for part in value]]
    if type(value) in (Decimal, dt.date):
        return [type(value).__name__, str(value)]
    if type(value) in (pd.Timestamp, pd.Timedelta) and getattr(value, "tz", None) is None:
        return [type(value).__name__, int(value.asm8.astype(np.int64)), value.unit]
    raise InvalidInputError(
        f"{what} holds {shown(value)} of type {type(value).__name__}, which cannot be saved; "
        "text, numbers, true and false, dates and times without a zone can"
    )


def unpack_entry(entry: Any) -> Any:
    """Read what `pack_entry` returned; a ValueError, KeyError or TypeError says that it is none of it."""
    if not isinstance(entry, list):
        return entry
    kind, *content = entry
    return _READERS[kind](*content)


def _read_numpy(dtype: str, data: str) -> Any:
    kind = np.dtype(dtype)
    if kind.kind not in NUMPY_KINDS or kind.hasobject:
        raise ValueError(f"a value of numpy type {kind} is not one that is saved")
    if kind.itemsize == 0:  # empty text
        return kind.type()
    return np.frombuffer(bytes.fromhex(data), dtype=kind)[0]


def _read_time(kind: str, value: int, unit: str) -> Any:
    import pandas as pd

    number = np.array(value).astype(f"{'datetime' if kind == 'Timestamp' else 'timedelta'}64[{unit}]")[()]
    return getattr(pd, kind)(number)


def _read_missing(name: str) -> Any:
    import pandas as pd

    return getattr(pd, name)


_READERS: dict[str, Callable[..., Any]] = {
    "float": float,
    "NA": lambda: _read_missing("NA"),
    "NaT": lambda: _read_missing("NaT"),
    "numpy": _read_numpy,
    "tuple": lambda parts: tuple(unpack_entry(part) for part in parts),
    "Timestamp": lambda value, unit: _read_time("Timestamp", value, unit),
    "Timedelta": lambda value, unit: _read_time("Timedelta", value, unit),
    "date": dt.date.fromisoformat,
    "Decimal": Decimal,
}


Arrays = dict[str, Any]
Content = dict[str, Any]

MASKED = ("boolean", "Float32", "Float64", *(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)))


def pack_values(column: "pd.Series[Any]", name: str, arrays: Arrays, what: str) -> Content:
    """Pack a column; `what` names it where it cannot be saved."""
    kind = _kind(column.dtype)
    if kind is None:
        raise InvalidInputError(
            f"{what} has dtype {column.dtype}, which cannot be saved; convert it to numbers, text or category"
        )
    return {"kind": kind} | _KINDS[kind][0](column, name, arrays, what)


def unpack_values(content: Content, name: str, arrays: Arrays) -> "pd.Series[Any]":
    """Unpack a column, its rows numbered from 0."""
    return _KINDS[content["kind"]][1](content, name, arrays)


def _kind(dtype: Any) -> str | None:
    import pandas as pd

    if isinstance(dtype, np.dtype):
        return "object" if dtype.kind == "O" else "plain"
    if str(dtype) in MASKED:
        return "masked"
    return {pd.CategoricalDtype: "category", pd.StringDtype: "text"}.get(type(dtype))


def _pack_category(column: Any, name: str, arrays: Arrays, what: str) -> Content:
    arrays[name] = column.cat.codes.to_numpy()
    categories = pack_values(column.cat.categories.to_series(), f"{name}/categories", arrays, what)
    return {"ordered": bool(column.cat.ordered), "categories": categories}


def _unpack_category(content: Content, name: str, arrays: Arrays) -> Any:
    import pandas as pd

    categories = unpack_values(content["categories"], f"{name}/categories", arrays)
    labels = pd.Index(categories, dtype=categories.dtype)
    return pd.Series(pd.Categorical.from_codes(arrays[name], labels, ordered=content["ordered"]))


def _pack_text(column: Any, name: str, arrays: Arrays, what: str) -> Content:  # noqa: ARG001 - all have one signature
    import pandas as pd

    codes, distinct = column.array.factorize()
    arrays[name] = codes.astype(np.int32)
    na = column.dtype.na_value is pd.NA
    return {"storage": column.dtype.storage, "na": na, "distinct": [str(text) for text in distinct]}


def _unpack_text(content: Content, name: str, arrays: Arrays) -> Any:
    import pandas as pd

    missing = pd.NA if content["na"] else np.nan
    texts = _decoded(arrays[name], content["distinct"], missing)
    return pd.Series(texts, dtype=_text_dtype(content["storage"], na=content["na"]))


def _text_dtype(storage: str, *, na: bool) -> Any:
    """The dtype of text, as far as the pandas at hand has it."""
    import pandas as pd

    for where in (storage, "python"):
        try:
            return pd.StringDtype(where) if na else pd.StringDtype(where, na_value=np.nan)
        except ImportError:  # the storage is a library that is not installed; what is stored is the same
            continue
        except TypeError:  # an older pandas, which holds such text as objects
            return np.dtype(object)
    raise ValueError(f"text in storage {storage!r} is not known")


def _pack_masked(column: Any, name: str, arrays: Arrays, what: str) -> Content:  # noqa: ARG001 - all have one signature
    numbers = column.dtype.numpy_dtype
    arrays[name] = column.to_numpy(dtype=numbers, na_value=numbers.type(0))
    arrays[f"{name}/missing"] = column.isna().to_numpy(dtype=np.bool_)
    return {"dtype": str(column.dtype)}


def _unpack_masked(content: Content, name: str, arrays: Arrays) -> Any:
    import pandas as pd

    if content["dtype"] not in MASKED:
        raise ValueError(f"{content['dtype']!r} is no dtype with missing values")
    return pd.Series(arrays[name]).astype(content["dtype"]).mask(pd.Series(arrays[f"{name}/missing"]))


def _pack_plain(column: Any, name: str, arrays: Arrays, what: str) -> Content:  # noqa: ARG001 - all have one signature
    arrays[name] = column.to_numpy()
    return {}


def _unpack_plain(content: Content, name: str, arrays: Arrays) -> Any:  # noqa: ARG001 - all have one signature
    import pandas as pd

    return pd.Series(arrays[name])


def _pack_object(column: Any, name: str, arrays: Arrays, what: str) -> Content:
    arrays[name], distinct = pack_entries(column.to_numpy(), what)
    return {"distinct": distinct}


def _unpack_object(content: Content, name: str, arrays: Arrays) -> Any:
    import pandas as pd

    return pd.Series(_decoded(arrays[name], [unpack_entry(entry) for entry in content["distinct"]]), dtype=object)


def _decoded(codes: Any, distinct: list[Any], missing: Any = None) -> Any:
    """Return the values that the codes stand for; -1 is a missing one."""
    table = np.empty(len(distinct) + 1, dtype=object)
    for k, value in enumerate(distinct):  # one by one: numpy would take a tuple apart
        table[k] = value
    table[-1] = missing
    return table[codes]


_KINDS: dict[str, tuple[Callable[..., Content], Callable[..., Any]]] = {
    "category": (_pack_category, _unpack_category),
    "text": (_pack_text, _unpack_text),
    "masked": (_pack_masked, _unpack_masked),
    "plain": (_pack_plain, _unpack_plain),
    "object": (_pack_object, _unpack_object),
}


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
