"""One column of a table as arrays and JSON, and back to the last bit, whatever its dtype.

`pack_values` puts arrays into a dict, under names that begin with the name given, and returns the rest as JSON holds
it; `unpack_values` reads both again, and raises where they do not fit.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from copa.exceptions import InvalidInputError
from copa.plans.entries import pack_entries, unpack_entry

if TYPE_CHECKING:
    import pandas as pd

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

    by_type = {
        pd.CategoricalDtype: "category",
        pd.StringDtype: "text",
        pd.DatetimeTZDtype: "zoned",
        pd.IntervalDtype: "interval",
    }
    if isinstance(dtype, np.dtype):
        return "object" if dtype.kind == "O" else "plain"
    return "masked" if str(dtype) in MASKED else by_type.get(type(dtype))


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


def _pack_zoned(column: Any, name: str, arrays: Arrays, what: str) -> Content:  # noqa: ARG001 - all have one signature
    arrays[name] = column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
    return {"zone": str(column.dt.tz)}


def _unpack_zoned(content: Content, name: str, arrays: Arrays) -> Any:
    import pandas as pd

    return pd.Series(arrays[name]).dt.tz_localize("UTC").dt.tz_convert(content["zone"])


def _pack_interval(column: Any, name: str, arrays: Arrays, what: str) -> Content:
    ends = {side: getattr(column.array, side).to_series() for side in ("left", "right")}
    packed = {side: pack_values(end, f"{name}/{side}", arrays, what) for side, end in ends.items()}
    return {"closed": column.dtype.closed, **packed}


def _unpack_interval(content: Content, name: str, arrays: Arrays) -> Any:
    import pandas as pd

    left, right = (unpack_values(content[side], f"{name}/{side}", arrays) for side in ("left", "right"))
    return pd.Series(pd.arrays.IntervalArray.from_arrays(left, right, closed=content["closed"]))


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
    "zoned": (_pack_zoned, _unpack_zoned),
    "interval": (_pack_interval, _unpack_interval),
    "masked": (_pack_masked, _unpack_masked),
    "plain": (_pack_plain, _unpack_plain),
    "object": (_pack_object, _unpack_object),
}
