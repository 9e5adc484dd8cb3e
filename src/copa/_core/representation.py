"""Short representations of records, for a notebook or a terminal: what a thing is, never a wall of numbers."""

from dataclasses import MISSING, Field, fields
from typing import Any

import numpy as np

from copa._core.words import shown

LONGEST = 280  # characters; what does not fit is left out
FEW = 5  # numbers of an array that are shown


def short_repr(record: Any) -> str:
    """The `__repr__` of a dataclass: its fields in short, without those at their defaults; arrays by their shapes.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from copa._core.representation import short_repr
    >>> @dataclass
    ... class Moments:
    ...     mean: np.ndarray
    ...     cov: np.ndarray
    ...     label: str = ""
    ...     __repr__ = short_repr
    >>> Moments(np.array([0.123456, 2.0]), np.eye(60))
    Moments(mean=[0.123456, 2], cov=array of shape (60, 60))
    """
    parts, length = [], len(type(record).__name__) + 2
    for field in fields(record):
        value = getattr(record, field.name, None)
        if not field.repr or _is_default(field, value):
            continue
        part = f"{field.name}={in_short(value)}"
        length += len(part) + 2
        if length > LONGEST:
            parts.append("...")
            break
        parts.append(part)
    return f"{type(record).__name__}({', '.join(parts)})"


def in_short(value: Any) -> str:
    """A value as part of a short representation: six digits of numbers, the size of arrays and tables."""
    if isinstance(value, np.ndarray) and (value.ndim != 1 or value.size > FEW):
        return f"array of shape {value.shape}" if value.ndim else in_short(value.item())
    if isinstance(value, np.ndarray):
        return f"[{', '.join(in_short(entry) for entry in value.tolist())}]"
    if isinstance(value, (float, np.floating)):
        return f"{float(value):.6g}"
    if type(value).__module__.partition(".")[0] == "pandas" and hasattr(value, "shape"):
        return f"{type(value).__name__} of shape {value.shape}"
    text = shown(value)
    return " ".join(text.split())


def _is_default(field: "Field[Any]", value: Any) -> bool:
    if value is None:
        return True
    if field.default is MISSING or isinstance(value, np.ndarray):
        return False
    return type(value) is type(field.default) and bool(value == field.default)
