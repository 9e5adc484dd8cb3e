"""Checking what the planner was told, before any work."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from copa.exceptions import InvalidInputError
from copa.schema.names import hint, listed, shown


def read_word(value: Any, known: Sequence[str], name: str) -> str:
    """One of the known words, or an error with the nearest one."""
    if value not in known:
        raise InvalidInputError(f"{name} must be one of {listed(known)}, got {shown(value)}; {hint(value, known)}")
    return str(value)


def read_share(value: Any, name: str) -> float:
    """A probability in (0, 1)."""
    if not _is_number(value) or not 0.0 < value < 1.0:
        raise InvalidInputError(f"{name} must be a probability, above 0 and below 1, got {shown(value)}")
    return float(value)


def read_count(value: Any, name: str, least: int = 1) -> int:
    """A whole number of at least `least`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < least:
        raise InvalidInputError(f"{name} must be a whole number of at least {least}, got {shown(value)}")
    return int(value)


def read_amount(value: Any, name: str) -> float:
    """A finite number, not negative."""
    if not _is_number(value) or not 0.0 <= value < np.inf:
        raise InvalidInputError(f"{name} must be a finite number of at least 0, got {shown(value)}")
    return float(value)


def read_time_limit(value: Any) -> float:
    """Seconds, infinite where no limit is given."""
    if value is None:
        return np.inf
    if not _is_number(value) or not value > 0.0:
        raise InvalidInputError(f"time_limit must be a number of seconds above 0, or None, got {shown(value)}")
    return float(value)


def read_radius(value: Any) -> Any:
    """A radius, or the word "auto"."""
    if isinstance(value, str):
        return read_word(value, ("auto",), "radius, if it is not a number,")
    return read_amount(value, "radius")


def read_drift(value: Any) -> Any:
    """The shape of the ball: "auto", "cov", None or a matrix (checked where it is used)."""
    return read_word(value, ("auto", "cov"), "drift, if it is not a matrix,") if isinstance(value, str) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, (bool, np.bool_))
