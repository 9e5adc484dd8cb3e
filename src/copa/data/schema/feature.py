"""One column of the table: what it holds, and what may happen to it."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa._core.reading import read_flag, read_word
from copa._core.representation import short_repr
from copa._core.words import listed, require_known, shown
from copa.data.schema.field_readers import (
    NO_COUNTS,
    NO_LABELS,
    MaxChange,
    is_absent,
    optional_number,
    read_ends,
    read_labels,
    read_max_change,
    read_some_of,
    read_special,
    read_support,
    read_title,
    read_transitions,
)
from copa.data.tables.cells import MOST_DIGITS, Scalar, ValueIndex, as_scalars, largest_exact, text_of, whole_and_digits
from copa.exceptions import InvalidInputError

Kind = Literal["numeric", "integer", "ordinal", "categorical", "binary"]
Direction = Literal["both", "increase", "decrease"]
Rare = Literal["withhold", "offer"]
Missing = Literal["stay", "may_change"]

NUMERIC_KINDS = ("numeric", "integer")
CATEGORICAL_KINDS = ("ordinal", "categorical", "binary")
KINDS = NUMERIC_KINDS + CATEGORICAL_KINDS
DIRECTIONS = ("both", "increase", "decrease")
WORDS = {"direction": DIRECTIONS, "rare": ("withhold", "offer"), "missing": ("stay", "may_change")}
# Defaults that depend on the kind, and fields that mean nothing for it.
KIND_DEFAULTS = {"integer": {"step": 1.0}, "categorical": {"spread": 1.0}, "binary": {"spread": 1.0}}
FOREIGN = {
    "numeric": ("values", "allowed", "transitions", "rare", "withheld", "support"),
    "integer": ("values", "allowed", "transitions", "rare", "withheld", "support"),
    "ordinal": ("step", "special", "observed"),
    "categorical": ("step", "lower", "upper", "max_change", "special", "observed"),
    "binary": ("step", "lower", "upper", "max_change", "special", "observed"),
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
    max_change : float or mapping, optional
        How far an option may go from the applicant's own value. A number is a share of its size: 0.3 lets 2000 become
        1400 to 2600. A mapping `{"up": 500, "down": 2000}` is in raw units, for an ordinal in levels; a side that is
        left out has no limit.
    special : tuple of float
        Codes in a column of numbers that are no amounts, such as -9 for "no record". A code stays, or is left for any
        amount in the range on the step; no option moves to one.
    missing : {"stay", "may_change"}
        Whether a missing value stays missing, or may become any value that others may move to. A value that is
        there never becomes missing.
    observed : tuple of {"lower", "upper"}
        Ends of the range that were not given: they are the 1 % and the 99 % quantile of the training data, filled in
        when a planner is fitted (`FeatureSchema.with_support`).

    Notes
    -----
    `title` and `labels` are for sentences and cards only: no option, check or table depends on them.
    Staying is always possible, whatever `direction`, `step`, `allowed`, `transitions`, `max_change` and `withheld` say.
    Who leaves a special code or a missing value comes from nowhere: `direction`, `transitions` and `max_change` do not
    apply.

    Examples
    --------
    >>> from copa import Feature
    >>> income = Feature("income", "numeric", lower=0, direction="increase", step=100, title="Income (EUR)")
    >>> income.is_numeric, income.heading
    (True, 'Income (EUR)')
    >>> grade = Feature("grade", "ordinal", values=("low", "mid", "high"), transitions={"low": ["mid"]})
    >>> grade.replace(max_change={"up": 1}).max_change
    {'up': 1.0}
    >>> grade.replace(allowed=["high"]).stated()["allowed"]
    ('high',)
    """

    __repr__ = short_repr

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
    max_change: MaxChange | None = None
    special: tuple[float, ...] = ()
    missing: Missing = "stay"
    observed: tuple[str, ...] = ()
    index: ValueIndex = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidInputError(f"the name of a column must be text, got {shown(self.name)}; rename it")
        where = f"column {self.name!r}:"
        self._set("kind", read_word(self.kind, KINDS, f"{where} kind"))
        self._set("immutable", False if is_absent(self.immutable) else read_flag(self.immutable, f"{where} immutable"))
        for name, known in WORDS.items():
            given = getattr(self, name)
            self._set(name, FIELD_DEFAULTS[name] if is_absent(given) else read_word(given, known, f"{where} {name}"))
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
        ordinal, whole = self.kind == "ordinal", self.kind == "integer"
        self._set("max_change", read_max_change(self.max_change, f"{where} max_change", ordinal=ordinal))
        self._set("special", read_special(self.special, f"{where} special", whole=whole))
        self._set("observed", read_ends(self.observed, f"{where} observed"))
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
        for code in self.special:
            if self.lower is not None and self.upper is not None and self.lower <= code <= self.upper:
                raise InvalidInputError(
                    f"{where} the special code {code:g} must lie outside the range of amounts, {self.lower:g} to "
                    f"{self.upper:g}; give a lower or upper that leaves it out"
                )
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

    @cached_property
    def is_numeric(self) -> bool:
        """Return whether it is numeric or integer."""
        return self.kind in NUMERIC_KINDS

    @cached_property
    def is_categorical(self) -> bool:
        """Return whether it is ordinal, categorical or binary."""
        return self.kind in CATEGORICAL_KINDS

    @property
    def heading(self) -> str:
        """The title of the column, or its name if it has none."""
        return self.title or self.name

    def is_special(self, value: Any) -> bool:
        """Return whether a value is one of the `special` codes, and no amount."""
        if not self.special or isinstance(value, str):
            return False
        return self._codes.position(float(value) if isinstance(value, Decimal) else value) >= 0

    @cached_property
    def _codes(self) -> ValueIndex:
        return ValueIndex(self.special, f"column {self.name!r}: special")

    def label_of(self, value: Any) -> str | None:
        """Return what people call a value, in whatever type it comes; None where that is the value itself."""
        if not self.labels:
            return None
        values = self.values or tuple(self.labels)
        index = self.index if self.is_categorical else self._labelled
        position = index.position(value)
        return self.labels.get(values[position]) if position >= 0 else None

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

    @cached_property
    def texts(self) -> tuple[str | None, ...]:
        """Its values as columns of text hold them, (V,)."""
        return tuple(text_of(value) for value in self.values or ())

    @cached_property
    def moves(self) -> npt.NDArray[np.bool_]:
        """Return whether an option may go from each value to each, (V + 1, V); the last from any other entry."""
        moves = np.append(possible_moves(self), np.zeros((1, len(self.values or ())), dtype=np.bool_), axis=0)
        moves.setflags(write=False)
        return moves

    def replace(self, **changes: Any) -> "Feature":
        """Return a copy with some fields changed; defaults that belong to the old kind are forgotten."""
        require_known(changes, FIELDS, f"column {self.name!r}: field")
        given = {"observed": tuple(end for end in self.observed if end not in changes)} if self.observed else {}
        return Feature(**({"name": self.name} | self.stated() | given | changes))

    def stated(self) -> dict[str, Any]:
        """Return the fields that differ from their defaults, without the name."""
        defaults = FIELD_DEFAULTS | KIND_DEFAULTS.get(self.kind, {})
        return {name: getattr(self, name) for name in FIELDS if getattr(self, name) != defaults.get(name)}


FIELDS = tuple(f.name for f in fields(Feature) if f.init and f.name != "name")
FIELD_DEFAULTS = {f.name: f.default for f in fields(Feature) if f.name in FIELDS and f.default is not MISSING}


def possible_targets(feature: Feature) -> npt.NDArray[np.bool_]:
    """Flag the values (V,) of a categorical column that an option may move to, wherever it comes from."""
    values = feature.values or ()
    targets = np.array([value not in feature.withheld for value in values], dtype=np.bool_)
    if feature.allowed is not None:
        targets &= np.array([value in feature.allowed for value in values])
    if feature.lower is not None or feature.upper is not None:
        targets &= feature.numbers >= (-np.inf if feature.lower is None else feature.lower)
        targets &= feature.numbers <= (np.inf if feature.upper is None else feature.upper)
    return targets


def possible_moves(feature: Feature) -> npt.NDArray[np.bool_]:
    """Flag the moves (V, V) from one value of a categorical column to another that an option may make."""
    values = feature.values or ()
    stay = np.eye(len(values), dtype=np.bool_)
    if feature.immutable:
        return stay
    moves = np.tile(possible_targets(feature), (len(values), 1))
    for origin, targets in (feature.transitions or {}).items():
        moves[feature.index.position(origin)] &= np.array([value in targets for value in values])
    if feature.direction == "increase":
        moves = np.triu(moves)
    if feature.direction == "decrease":
        moves = np.tril(moves)
    if isinstance(feature.max_change, Mapping):
        ranks = np.arange(len(values))
        upwards = ranks - ranks[:, None]
        moves &= (upwards <= feature.max_change.get("up", np.inf)) & (
            -upwards <= feature.max_change.get("down", np.inf)
        )
    result: npt.NDArray[np.bool_] = moves | stay
    return result
