"""Reading the fields of a feature from a caller or a file: one meaning for None, an empty list and a missing entry."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from copa.exceptions import InvalidInputError
from copa.schema.frozen_map import FrozenMap
from copa.schema.names import hint, listed, shown
from copa.schema.values import Scalar, ValueIndex, as_scalar, as_scalars


def is_absent(value: Any) -> bool:
    """Whether nothing was said: None, an empty list or an empty mapping."""
    return value is None or (isinstance(value, (list, tuple, dict, FrozenMap)) and len(value) == 0)


def read_choice(value: Any, known: tuple[str, ...], where: str) -> str:
    """Read one of a few words."""
    if not isinstance(value, str) or value not in known:
        raise InvalidInputError(f"{where} must be one of {listed(known)}, got {shown(value)}; {hint(value, known)}")
    return value


def read_flag(value: Any, where: str) -> bool:
    """Read true or false."""
    if is_absent(value):
        return False
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidInputError(f"{where} must be true or false, got {shown(value)}")
    return bool(value)


def read_number(value: Any, where: str, *, positive: bool = False) -> float | None:
    """Read a finite number, or None where nothing was said.

    Text is read too: YAML takes 1e-3 for text, because there is no point in it.
    """
    if is_absent(value):
        return None
    try:
        number = math.nan if isinstance(value, (bool, np.bool_)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or (positive and number <= 0.0):
        raise InvalidInputError(f"{where} must be a {'positive' if positive else 'finite'} number, got {shown(value)}")
    return number + 0.0  # no negative zero


def read_values(values: Any, where: str) -> tuple[Scalar, ...] | None:
    """Read the known values of a choice."""
    return None if is_absent(values) else as_scalars(values, where)


def read_some_of(some: Any, values: tuple[Scalar, ...], index: ValueIndex, where: str) -> tuple[Scalar, ...] | None:
    """Read some of the known values, in whatever type they were written, and return them as they are known."""
    if is_absent(some):
        return None
    positions = dict.fromkeys(_position(value, values, index, where) for value in as_scalars(some, where))
    return tuple(values[position] for position in positions)


def read_transitions(
    transitions: Any, values: tuple[Scalar, ...], index: ValueIndex, where: str
) -> FrozenMap[Scalar, tuple[Scalar, ...]] | None:
    """Read from which value one may go to which others; entries that say nothing are left out."""
    if is_absent(transitions):
        return None
    if not isinstance(transitions, Mapping):
        raise InvalidInputError(f"{where} must be a mapping from a value to a list of values, got {shown(transitions)}")
    read: dict[Scalar, tuple[Scalar, ...]] = {}
    for origin, targets in transitions.items():
        value = values[_position(as_scalar(origin, where), values, index, where)]
        some = read_some_of(targets, values, index, f"{where} from {shown(origin)}")
        if value in read:
            raise InvalidInputError(f"{where} has two entries for {shown(value)}; put them into one")
        if some is not None:
            read[value] = some
    return FrozenMap(read) if read else None


def _position(value: Scalar, values: tuple[Scalar, ...], index: ValueIndex, where: str) -> int:
    position = index.position(value)
    if position < 0:
        raise InvalidInputError(f"{where} may only name its values {listed(values)}, got {shown(value)}")
    return position
