"""Single values as JSON holds them, with their types: what an object column, a label or a name is saved as."""

import datetime as dt
import json
import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from copa.exceptions import InvalidInputError
from copa.schema.names import shown

NUMPY_KINDS = "biufcmMSU"  # numbers, truth, time and text: what is made of bytes only


def pack_entries(values: Iterable[Any], what: str) -> tuple[npt.NDArray[np.int32], list[Any]]:
    """Return which of the distinct values each one is, and these as JSON; 1, 1.0 and true are distinct."""
    codes: list[int] = []
    texts: dict[str, int] = {}
    others: dict[str, int] = {}
    distinct: list[Any] = []
    for value in values:
        if type(value) is str:
            known, key, entry = texts, value, value
        else:
            entry = pack_entry(value, what)
            known, key = others, json.dumps(entry)
        if key not in known:
            known[key] = len(distinct)
            distinct.append(entry)
        codes.append(known[key])
    return np.array(codes, dtype=np.int32), distinct


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
    if type(value) is Decimal:
        return ["Decimal", str(value)]
    time = _pack_time(value)
    if time is not None:
        return time
    raise InvalidInputError(
        f"{what} holds {shown(value)} of type {type(value).__name__}, which cannot be saved; "
        "text, numbers, true and false, dates and times can"
    )


def _pack_time(value: Any) -> list[Any] | None:
    """Return a point or span of time as JSON, None for other values; a zone that is more than an offset is refused."""
    import pandas as pd

    if type(value) is pd.Timestamp:
        zone = None if value.tz is None else str(value.tz)
        return ["Timestamp", int(value.asm8.astype(np.int64)), value.unit, zone]
    if type(value) is pd.Timedelta:
        return ["Timedelta", int(value.asm8.astype(np.int64)), value.unit]
    if type(value) is dt.date:
        return ["date", value.isoformat()]
    if type(value) in (dt.datetime, dt.time) and type(value.tzinfo) in (type(None), dt.timezone):
        return [type(value).__name__, value.isoformat(), value.fold]
    return None


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


def _read_timestamp(value: int, unit: str, zone: str | None) -> Any:
    import pandas as pd

    stamp = pd.Timestamp(np.array(value).astype(f"datetime64[{unit}]")[()])
    return stamp if zone is None else stamp.tz_localize("UTC").tz_convert(zone)


def _read_timedelta(value: int, unit: str) -> Any:
    import pandas as pd

    return pd.Timedelta(np.array(value).astype(f"timedelta64[{unit}]")[()])


def _read_missing(name: str) -> Any:
    import pandas as pd

    return getattr(pd, name)


_READERS: dict[str, Callable[..., Any]] = {
    "float": float,
    "NA": lambda: _read_missing("NA"),
    "NaT": lambda: _read_missing("NaT"),
    "numpy": _read_numpy,
    "tuple": lambda parts: tuple(unpack_entry(part) for part in parts),
    "Timestamp": _read_timestamp,
    "Timedelta": _read_timedelta,
    "date": dt.date.fromisoformat,
    "datetime": lambda text, fold: dt.datetime.fromisoformat(text).replace(fold=fold),
    "time": lambda text, fold: dt.time.fromisoformat(text).replace(fold=fold),
    "Decimal": Decimal,
}
