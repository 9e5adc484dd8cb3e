"""One column of the table: what it holds, and what may happen to it."""

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields
from functools import cached_property
from typing import Any, Literal

import numpy as np

from copa._core.arrays import Array
from copa._core.deprecation import renamed_property
from copa._core.reading import read_count, read_flag, read_number, read_word
from copa._core.records import FrozenMap
from copa._core.words import listed, nearest, require_known, shown
from copa.exceptions import InvalidInputError
from copa.tables.cells import (
    MOST_DIGITS,
    Scalar,
    ValueIndex,
    as_scalar,
    as_scalars,
    largest_exact,
    text_of,
    whole_and_digits,
)

NO_LABELS: FrozenMap[Scalar, str] = FrozenMap({})
NO_COUNTS: FrozenMap[Scalar, int] = FrozenMap({})


def is_absent(value: Any) -> bool:
    """Whether nothing was said: None, an empty list or an empty mapping."""
    return value is None or (isinstance(value, (list, tuple, dict, FrozenMap)) and len(value) == 0)


def optional_number(value: Any, where: str, *, positive: bool = False) -> float | None:
    """Read a finite number, or None where nothing was said."""
    if is_absent(value):
        return None
    return read_number(_as_number(value), where, least=-math.inf, positive=positive) + 0.0  # no negative zero


def _as_number(value: Any) -> Any:
    """Return the number that a text says: YAML takes 1e-3 for text, because there is no point in it."""
    with suppress(ValueError):
        return float(value) if isinstance(value, str) else value
    return value


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
            number = read_number(_as_number(key), f"{where} of numbers: a value", least=-math.inf)
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


Kind = Literal["numeric", "integer", "ordinal", "categorical", "binary"]
Direction = Literal["both", "increase", "decrease"]
Rare = Literal["withhold", "offer"]

NUMERIC_KINDS = ("numeric", "integer")
CATEGORICAL_KINDS = ("ordinal", "categorical", "binary")
KINDS = NUMERIC_KINDS + CATEGORICAL_KINDS
DIRECTIONS = ("both", "increase", "decrease")
RARE = ("withhold", "offer")
# Defaults that depend on the kind, and fields that mean nothing for it.
KIND_DEFAULTS = {"integer": {"step": 1.0}, "categorical": {"spread": 1.0}, "binary": {"spread": 1.0}}
FOREIGN = {
    "numeric": ("values", "allowed", "transitions", "rare", "withheld", "support"),
    "integer": ("values", "allowed", "transitions", "rare", "withheld", "support"),
    "ordinal": ("step",),
    "categorical": ("step", "lower", "upper"),
    "binary": ("step", "lower", "upper"),
}


@dataclass(frozen=True)
class Feature:
    """A column, its kind, and where an option may move it.

    None, an empty list and a field left out mean the same.

    Parameters
    ----------
    name : str
        The column's name in the table.
    kind : {"numeric", "integer", "ordinal", "categorical", "binary"}
        The first two hold numbers, the others levels from a list of `values`.
    immutable : bool
        Whether no option changes it.
    lower, upper : float, optional
        Range of numbers, or of an ordinal whose values are numbers: a value that an option changes must lie in it.
    direction : {"both", "increase", "decrease"}
        Where an option may go, seen from the applicant; for an ordinal or a binary along the order of `values`.
    step : float, optional
        New numbers are multiples of it. 1 for integers, unless said otherwise.
    values : tuple, optional
        Known values of an ordinal, categorical or binary column; for an ordinal in their order.
    allowed : tuple, optional
        Values that an option may move to; all of them if nothing is said.
    transitions : mapping, optional
        From a value to those an option may go to. A value without an entry may go to every allowed one.
    weight : float
        How much a unit of effort costs, compared with other columns.
    spread : float, optional
        What a unit of effort is: numbers in raw units, ordinals in ranks; 1 change for the other kinds.
    title : str
        What people call the column; its own name if nothing is said.
    labels : mapping
        What people call its values, where that is not the value itself: from a value to words.
    rare : {"withhold", "offer"}
        Whether values with too little support, fewer than 15 training rows, are offered to those who do not have them.
    withheld : tuple
        Values that no option moves to: those with too little support, filled in when a planner is fitted
        (`FeatureSchema.with_support`), and any that are given.
    support : mapping
        From each value with too little support to its number of training rows; filled in when a planner is fitted.

    Notes
    -----
    `title` and `labels` are for sentences and cards only: no option, check or table depends on them.
    Staying is always possible, whatever `direction`, `step`, `allowed`, `transitions` and `withheld` say.

    Examples
    --------
    >>> from copa import Feature
    >>> income = Feature("income", "numeric", lower=0, direction="increase", step=100, title="Income (EUR)")
    >>> income.is_numeric, income.heading
    (True, 'Income (EUR)')
    >>> grade = Feature("grade", "ordinal", values=("low", "mid", "high"), transitions={"low": ["mid"]})
    >>> grade.replace(allowed=["high"]).stated()["allowed"]
    ('high',)
    """

    name: str
    kind: Kind
    immutable: bool = False
    lower: float | None = None
    upper: float | None = None
    direction: Direction = "both"
    step: float | None = None
    values: tuple[Scalar, ...] | None = None
    allowed: tuple[Scalar, ...] | None = None
    transitions: Mapping[Scalar, tuple[Scalar, ...]] | None = None
    weight: float = 1.0
    spread: float | None = None
    title: str = ""
    labels: Mapping[Scalar, str] = NO_LABELS
    rare: Rare = "withhold"
    withheld: tuple[Scalar, ...] = ()
    support: Mapping[Scalar, int] = NO_COUNTS
    index: ValueIndex = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidInputError(f"the name of a column must be text, got {shown(self.name)}; rename it")
        where = f"column {self.name!r}:"
        self._set("kind", read_word(self.kind, KINDS, f"{where} kind"))
        for name, read in (("immutable", read_flag), ("direction", _read_direction), ("rare", _read_rare)):
            given = getattr(self, name)
            self._set(name, FIELD_DEFAULTS[name] if is_absent(given) else read(given, f"{where} {name}"))
        for name in ("lower", "upper", "step", "weight", "spread"):
            positive = name not in ("lower", "upper")
            self._set(name, optional_number(getattr(self, name), f"{where} {name}", positive=positive))
        self._set("weight", 1.0 if self.weight is None else self.weight)
        values = None if is_absent(self.values) else as_scalars(self.values, f"{where} values")
        index = ValueIndex(values or (), f"{where} values")
        self._set("values", values)
        self._set("index", index)
        self._set("allowed", read_some_of(self.allowed, values or (), index, f"{where} allowed"))
        self._set("transitions", read_transitions(self.transitions, values or (), index, f"{where} transitions"))
        self._set("title", read_title(self.title, f"{where} title"))
        self._set("labels", read_labels(self.labels, values, index, f"{where} labels"))
        self._set("withheld", read_some_of(self.withheld, values or (), index, f"{where} withheld") or ())
        self._set("support", read_support(self.support, values or (), index, f"{where} support"))
        for name, default in KIND_DEFAULTS.get(self.kind, {}).items():
            self._set(name, default if getattr(self, name) is None else getattr(self, name))
        self._require_what_the_kind_needs(where)
        self._require_range_and_step(where)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _require_what_the_kind_needs(self, where: str) -> None:
        """Raise if a field is missing that the kind needs, or one is given that means nothing for it."""
        for name in FOREIGN[self.kind]:
            if getattr(self, name) != FIELD_DEFAULTS[name]:
                raise InvalidInputError(f"{where} {name} means nothing for kind {self.kind!r}; leave it out")
        if self.kind == "categorical" and self.direction != "both":
            raise InvalidInputError(
                f"{where} direction {self.direction!r} needs an order, and a categorical has none; "
                "make it ordinal, or use allowed or transitions"
            )
        if self.is_categorical and self.values is None:
            raise InvalidInputError(f"{where} values must be given for kind {self.kind!r}")
        if self.kind == "binary" and len(self.values or ()) != 2:
            raise InvalidInputError(
                f"{where} a binary has two values, got {listed(self.values or ())}; change its kind"
            )

    def _require_range_and_step(self, where: str) -> None:
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise InvalidInputError(f"{where} lower must not be above upper, got {self.lower:g} and {self.upper:g}")
        if self.is_categorical and (self.lower is not None or self.upper is not None):
            self.require_numbers("a range (lower, upper)")
        if self.step is None:
            return
        if self.kind == "integer" and not self.step.is_integer():
            raise InvalidInputError(f"{where} step of an integer must be a whole number, got {self.step:g}")
        if whole_and_digits(self.step)[0] >= 10**MOST_DIGITS:
            raise InvalidInputError(
                f"{where} step must be a decimal number of at most {MOST_DIGITS} digits, like 0.25, got {self.step!r}"
            )
        largest = largest_exact(self.step)
        for name, end in (("lower", self.lower), ("upper", self.upper)):
            if end is not None and abs(end) >= largest and not self.immutable:
                raise InvalidInputError(
                    f"{where} {name} must be smaller than {largest:.16g}, where multiples of {self.step:g} are exact, "
                    f"got {end:.17g}; rescale the column, or make it immutable"
                )

    @property
    def is_numeric(self) -> bool:
        """Whether it is numeric or integer."""
        return self.kind in NUMERIC_KINDS

    @property
    def is_categorical(self) -> bool:
        """Whether it is ordinal, categorical or binary."""
        return self.kind in CATEGORICAL_KINDS

    is_line = renamed_property("is_line", "is_numeric")
    is_choice = renamed_property("is_choice", "is_categorical")

    @property
    def heading(self) -> str:
        """What people call the column: its title, or its name if it has none."""
        return self.title or self.name

    def label_of(self, value: Any) -> str | None:
        """Return what people call a value, in whatever type it comes; None where that is the value itself."""
        if not self.labels:
            return None
        known = self.values or tuple(self.labels)
        index = self.index if self.is_categorical else self._labelled
        position = index.position(value)
        return self.labels.get(known[position]) if position >= 0 else None

    @cached_property
    def _labelled(self) -> ValueIndex:
        return ValueIndex(tuple(self.labels), f"column {self.name!r}: labels")

    def require_numbers(self, purpose: str) -> None:
        """Raise if the values are not numbers (true and false count as 1 and 0)."""
        texts = [value for value in self.values or () if isinstance(value, str)]
        if texts or self.values is None:
            got = f"has the value {shown(texts[0])}" if texts else f"is {self.kind} and has no list of values"
            raise InvalidInputError(f"column {self.name!r}: {purpose} needs values that are numbers, but it {got}")

    @cached_property
    def numbers(self) -> Array:
        """Its values as numbers, (V,); an error if they are text."""
        self.require_numbers("taking them as numbers")
        numbers = np.array([float(value) for value in self.values or ()])
        numbers.setflags(write=False)
        return numbers

    def replace(self, **changes: Any) -> "Feature":
        """Return a copy with some fields changed; defaults that belong to the old kind are forgotten."""
        require_known(changes, FIELDS, f"column {self.name!r}: field")
        return Feature(**({"name": self.name} | self.stated() | changes))

    def stated(self) -> dict[str, Any]:
        """Return the fields that differ from their defaults, without the name."""
        defaults = FIELD_DEFAULTS | KIND_DEFAULTS.get(self.kind, {})
        return {name: getattr(self, name) for name in FIELDS if getattr(self, name) != defaults.get(name)}


FIELDS = tuple(f.name for f in fields(Feature) if f.init and f.name != "name")
FIELD_DEFAULTS = {f.name: f.default for f in fields(Feature) if f.name in FIELDS and f.default is not MISSING}


def _read_direction(value: Any, where: str) -> str:
    return read_word(value, DIRECTIONS, where)


def _read_rare(value: Any, where: str) -> str:
    return read_word(value, RARE, where)
