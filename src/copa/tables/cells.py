"""One cell of a table, as a person reads it and as JSON holds it."""

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.words import visible

if TYPE_CHECKING:
    import pandas as pd
    from pandas.api.extensions import ExtensionArray


def cells_of(column: "pd.Series[Any] | pd.Index[Any] | ExtensionArray") -> list[Any]:
    """Return the entries of a column, decimals in its own precision: a list of float32 would hold other ones."""
    kind = getattr(column.dtype, "numpy_dtype", column.dtype)  # of pandas' and Arrow's own types
    if kind in (np.float32, np.float16):
        return list(column.to_numpy(dtype=kind, na_value=np.nan))
    return list(column)


def is_missing(value: Any) -> bool:
    """Whether a cell holds nothing: None, NaN, NA or NaT."""
    import pandas as pd

    return bool(pd.api.types.is_scalar(value) and pd.isna(value))


def plain(value: Any) -> Any:
    """Return a number of numpy as Python's, with the decimals it was written with; other values as they are."""
    if isinstance(value, (np.datetime64, np.timedelta64)):
        import pandas as pd

        return pd.Timestamp(value) if isinstance(value, np.datetime64) else pd.Timedelta(value)
    if isinstance(value, np.floating):
        return float(str(value))  # 0.1 also in single precision
    return value.item() if isinstance(value, np.generic) else value


def as_text(value: Any, *, quoted: bool = False) -> str:
    """Return a cell as a person writes it, on one line: 18, not np.float64(18.0).

    Parameters
    ----------
    quoted : put quotes around text; without, only around text that would run into the words beside it
    """
    value = plain(value)
    if is_missing(value):
        return "missing"
    if isinstance(value, str):
        alone = bool(value) and not any(character.isspace() for character in value)
        return visible(value if alone and not quoted else f"'{value}'", lines=False)
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, tuple):
        return ", ".join(as_text(part) for part in value)
    return visible(value, lines=False)


def alone(value: Any) -> str:
    """Return a cell as text that stands by itself, so that only empty text needs quotes."""
    return visible(value, lines=False) if isinstance(value, str) and value.strip() else as_text(value)


def as_json(value: Any) -> Any:
    """Return a cell as JSON holds it: text, a number, true, false or null; points in time as ISO 8601."""
    if type(value) in (str, int, bool):  # most cells are one of these
        return value
    value = plain(value)
    if isinstance(value, (tuple, list)):
        return [as_json(part) for part in value]
    if isinstance(value, (float, Decimal)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, int):
        return value
    if is_missing(value):
        return None
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
