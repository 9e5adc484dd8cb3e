"""Reading the fields of a column as a caller or a file gives them."""

import math
from collections.abc import Mapping
from typing import Any

from copa._core.reading import read_count, read_number
from copa._core.records import FrozenMap
from copa._core.words import listed, nearest, require_known, shown
from copa.data.tables.casting import as_number  # YAML takes 1e-3 for text, because there is no point in it
from copa.data.tables.cells import Scalar, ValueIndex, as_scalar, as_scalars, text_of
from copa.exceptions import InvalidInputError

NO_LABELS: FrozenMap[Scalar, str] = FrozenMap({})
NO_COUNTS: FrozenMap[Scalar, int] = FrozenMap({})
SIDES = ("up", "down")
ENDS = ("lower", "upper")
MaxChange = float | Mapping[str, float]


def is_absent(value: Any) -> bool:
    """Return whether nothing was said: None, an empty list or an empty mapping."""
    return value is None or (isinstance(value, (list, tuple, dict, FrozenMap)) and len(value) == 0)


def optional_number(value: Any, where: str, *, positive: bool = False) -> float | None:
    """Read a finite number, or None where nothing was said."""
    if is_absent(value):
        return None
    return read_number(as_number(value), where, least=-math.inf, positive=positive) + 0.0  # no negative zero


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


def read_title(title: Any, where: str) -> str:
    """Read the human name of a column, "" where nothing was said."""
    return "" if is_absent(title) or title == "" else _read_words(title, where)


def read_labels(
    labels: Any, values: tuple[Scalar, ...] | None, index: ValueIndex, where: str
) -> FrozenMap[Scalar, str]:
    """Read human words for values: for some of the known ones, or for any number where none are listed."""
    if is_absent(labels):
        return NO_LABELS
    if not isinstance(labels, Mapping):
        raise InvalidInputError(f"{where} must be a mapping from a value to its words, got {shown(labels)}")
    read: dict[Scalar, str] = {}
    value: Scalar
    for key, words in labels.items():
        if values is None:
            number = read_number(as_number(key), f"{where} of numbers: a value", least=-math.inf)
            value = int(number) if number.is_integer() else number
        else:
            value = values[_position(as_scalar(key, where), values, index, where)]
        if value in read:
            raise InvalidInputError(f"{where} has two entries for {shown(value)}; keep one of them")
        read[value] = _read_words(words, f"{where} of {shown(key)}")
    return FrozenMap(read)


def read_support(support: Any, values: tuple[Scalar, ...], index: ValueIndex, where: str) -> FrozenMap[Scalar, int]:
    """Read how many training rows have a value, for some of the known ones, in their order."""
    if is_absent(support):
        return NO_COUNTS
    if not isinstance(support, Mapping):
        raise InvalidInputError(f"{where} must be a mapping from a value to its training rows, got {shown(support)}")
    read: dict[int, int] = {}
    for key, count in support.items():
        position = _position(as_scalar(key, where), values, index, where)
        if position in read:
            raise InvalidInputError(f"{where} has two entries for {shown(values[position])}; keep one of them")
        read[position] = read_count(count, f"{where} of {shown(key)}", least=0)
    return FrozenMap({values[position]: read[position] for position in sorted(read)})


def _read_words(words: Any, where: str) -> str:
    if not isinstance(words, str) or not words.strip() or len(words.splitlines()) != 1:
        raise InvalidInputError(
            f"{where} must be one line of text that is not empty, got {shown(words)}; in a YAML file, put quotes "
            "around words that could be a number, or true or false"
        )
    return str(words)


def _position(value: Scalar, values: tuple[Scalar, ...], index: ValueIndex, where: str) -> int:
    position = index.position(value)
    if position < 0:
        near = nearest(text_of(value), [str(text_of(known)) for known in values])
        advice = f"; did you mean {near!r}?" if near else ""
        raise InvalidInputError(f"{where} may only name its values {listed(values)}, got {shown(value)}{advice}")
    return position


MOST_SHARE = 10.0  # of one's own value: who writes more means units


def read_max_change(given: Any, where: str, *, ordinal: bool) -> MaxChange | None:
    """Read how far an option may go from the applicant's own value: a share of it, or units up and down."""
    if is_absent(given):
        return None
    if not isinstance(given, Mapping):
        if ordinal:
            raise InvalidInputError(
                f"{where} of an ordinal counts levels, as in {{up: 1, down: 2}}; a share means nothing, "
                f"got {shown(given)}"
            )
        share = optional_number(
            given, f"{where} (a share of the applicant's own value, or {{up: ..., down: ...}})", positive=True
        )
        if share is not None and share > MOST_SHARE:
            raise InvalidInputError(
                f"{where} is a share of the applicant's own value, 0.3 for 30 %, and at most {MOST_SHARE:g}, got "
                f"{shown(given)}; for units write {{up: {share:g}, down: {share:g}}} (--max-change "
                f"COLUMN=+{share:g}/-{share:g})"
            )
        return share
    require_known(given, SIDES, f"{where}: side")
    read = {}
    for side in SIDES:
        if not is_absent(given.get(side)):
            most = read_number(as_number(given[side]), f"{where} {side}")
            if ordinal and not most.is_integer():
                raise InvalidInputError(f"{where} {side} must be a whole number of levels, got {most:g}")
            read[side] = most + 0.0
    return FrozenMap(read) if read else None


def read_special(given: Any, where: str, *, whole: bool) -> tuple[float, ...]:
    """Read codes that are no amounts, smallest first."""
    if is_absent(given):
        return ()
    codes = [read_number(as_number(code), where, least=-math.inf) + 0.0 for code in as_scalars(given, where)]
    for code in codes:
        if whole and not code.is_integer():
            raise InvalidInputError(f"{where} of an integer must be whole numbers, got {code:g}")
    return tuple(sorted(set(codes)))


def read_ends(given: Any, where: str) -> tuple[str, ...]:
    """Read which ends of a range are meant."""
    if is_absent(given):
        return ()
    named = as_scalars(given, where)
    require_known(named, ENDS, f"{where}: end")
    return tuple(end for end in ENDS if end in named)
