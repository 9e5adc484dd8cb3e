"""Trees over encoded columns, followed back to the raw columns.

A raw number goes through functions that never fall, so a threshold on what they return is one on the number: the
largest double that still goes left. A value has its numbers in the encoded columns, so a test is a set of values.
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from copa._core.arrays import Array
from copa.models.black_box import BlackBox
from copa.models.encoder_parts import LevelCodes, Numbers, Step, is_sparse, read_parts
from copa.models.trees.nodes import CategorySet, Ensemble, Flags, Ints, Nodes, NotTreesError, breadth_first
from copa.models.trees.readers import read_classifier

if TYPE_CHECKING:
    import pandas as pd

LARGEST = float(np.finfo(np.float64).max)


class NumberSource(NamedTuple):
    """The raw column of numbers behind an encoded column."""

    name: str
    encode: Callable[[Array], Array]  # of values (M,)


class ValueSource(NamedTuple):
    """The raw column of values behind an encoded column."""

    name: str
    values: tuple[Hashable, ...]
    encode: Callable[[Sequence[Hashable]], Array]  # of values, and behind them of an unknown and of a missing one


class ValueTest(NamedTuple):
    """What a node asks of a value."""

    source: ValueSource
    threshold: float
    category_set: CategorySet | None
    missing_left: bool


@dataclass(frozen=True, eq=False)
class FoldedEnsemble:
    """A tree ensemble over raw columns.

    Attributes
    ----------
    ensemble : Ensemble
    nodes : Nodes
        Level by level; of those that test numbers the thresholds are raw ones.
    columns : ndarray of shape (M,)
        Position of the raw column that a node tests, among those of the model; -1 in a leaf.
    tests : ndarray of shape (M,)
        Position of what a node asks of a value; -1 in a leaf and for a number.
    value_tests : tuple of ValueTest
    """

    ensemble: Ensemble
    nodes: Nodes
    columns: Ints
    tests: Ints
    value_tests: tuple[ValueTest, ...]


def fold(model: BlackBox, X: "pd.DataFrame") -> FoldedEnsemble:
    """Read a model's trees, and follow them back to the raw columns; NotTreesError where that is not exact."""
    from sklearn.pipeline import Pipeline

    steps = [model.estimator]
    while type(steps[-1]) is Pipeline:
        inner = steps.pop()
        steps += [step for _, step in inner.steps if step is not None and not _is_passed(step)]
    *encoders, classifier = steps
    parts = read_parts(encoders, model.columns)
    if parts is None:
        names = ", ".join(type(encoder).__name__ for encoder in encoders)
        raise NotTreesError(f"what its encoders do with single columns is not known ({names})")
    rows = None if encoders else X[list(model.columns)]
    ensemble, categories = read_classifier(classifier, model.position, rows, sparse=is_sparse(encoders))
    nodes = breadth_first(ensemble.nodes)
    sources = _Sources(parts, model.columns, categories, X)
    return _folded(ensemble, nodes, sources, model.columns)


def _is_passed(step: Any) -> bool:
    return isinstance(step, str) and step == "passthrough"


class _Sources:
    """The raw columns behind encoded columns."""

    def __init__(
        self,
        parts: tuple[tuple[Any, ...], tuple[Step, ...]],
        columns: tuple[str, ...],
        categories: Mapping[int, Mapping[Hashable, int]],
        X: "pd.DataFrame",
    ) -> None:
        self._parts, self._steps = parts
        self._columns, self._categories, self._table = columns, categories, X

    def of(self, column: int, members: frozenset[int]) -> NumberSource | ValueSource:
        """The source of an encoded column, in which these members are listed in sets, if any."""
        first = 0
        for part in self._parts:
            if column < first + part.width:
                return self._of_part(part, column, column - first, members)
            first += part.width
        raise NotTreesError(f"its trees test column {column}, and its encoders return {first} of them")

    def _of_part(self, part: Any, column: int, place: int, members: frozenset[int]) -> NumberSource | ValueSource:
        steps: list[tuple[Step, int]] = [(step, column) for step in self._steps]
        own = self._categories.get(column)
        if not isinstance(part, Numbers):
            name, codes = part.codes(place)
            return ValueSource(name, tuple(codes.numbers), partial(_encoded_values, codes, steps, own))
        name = part.names[place]
        steps = [*((step, place) for step in part.steps), *steps]
        if own is None and not members:
            return NumberSource(name, partial(_encoded_numbers, steps))
        if own is None or any(not is_same(step) for step, _ in steps):
            if any(not is_same(step) for step, _ in steps):
                raise NotTreesError(f"column {name!r} is scaled, and its trees take it for categories")
            own = {member: member for member in members}
        codes = LevelCodes({value: float(code) for value, code in own.items()}, math.nan, math.nan)
        return ValueSource(name, tuple(own), partial(_encoded_values, codes, [], None))


def is_same(step: Step) -> bool:
    """Return whether a step returns what it is given."""
    some = np.array([-1.5, 0.0, 2.0, 7.0])
    return np.array_equal(step.at(some, np.zeros(4, dtype=np.int64)), some)


def _encoded_numbers(steps: Sequence[tuple[Step, int]], values: Array) -> Array:
    with np.errstate(all="ignore"):
        for step, column in steps:
            values = step.at(values, np.full(len(values), column))
    return values


def _encoded_values(
    codes: LevelCodes,
    steps: Sequence[tuple[Step, int]],
    own: Mapping[Hashable, int] | None,
    values: Sequence[Hashable],
) -> Array:
    """Encoded numbers of values, of an unknown and of a missing one; NaN where one is missing or cannot be read."""
    unknown = math.nan if codes.unknown is None else codes.unknown
    missing = math.nan if codes.missing is None else codes.missing
    numbers = np.array([*(codes.numbers.get(value, unknown) for value in values), unknown, missing])
    numbers = _encoded_numbers(steps, numbers)
    if own is None:
        return numbers
    return np.array([float(own.get(number, math.nan)) for number in numbers.tolist()])


def _folded(ensemble: Ensemble, nodes: Nodes, sources: _Sources, columns: tuple[str, ...]) -> FoldedEnsemble:
    places = {name: k for k, name in enumerate(columns)}
    threshold, missing_left = nodes.threshold.copy(), nodes.missing_left.copy()
    column, tests = np.full(len(threshold), -1), np.full(len(threshold), -1)
    value_tests: list[ValueTest] = []
    order = np.argsort(nodes.feature, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(nodes.feature[order])) + 1):
        feature = int(nodes.feature[own[0]]) if len(own) else -1
        if feature < 0:
            continue
        sets = [nodes.category_sets[k] for k in np.unique(nodes.category_set[own]).tolist() if k >= 0]
        source = sources.of(feature, frozenset().union(*(one.members for one in sets)))
        column[own] = places[source.name]
        if isinstance(source, NumberSource):
            threshold[own], missing_left[own] = _raw_tests(ensemble, source, threshold[own], missing_left[own])
        else:
            tests[own] = _add_value_tests(value_tests, source, nodes, own)
    nodes = nodes._replace(threshold=threshold, missing_left=missing_left)
    return FoldedEnsemble(ensemble, nodes, column, tests, tuple(value_tests))


def _add_value_tests(value_tests: list[ValueTest], source: ValueSource, nodes: Nodes, own: Ints) -> Ints:
    """Add the tests that some nodes make of a column of values; return the position of each node's."""
    sets, missing_left = nodes.category_set[own], nodes.missing_left[own]
    thresholds = np.where(sets < 0, nodes.threshold[own], 0.0)
    asked = np.stack([sets, missing_left, thresholds.view(np.int64)])
    order = np.lexsort(asked)
    is_new = np.append(True, (np.diff(asked[:, order]) != 0).any(axis=0))
    first, place = len(value_tests), np.zeros(len(own), dtype=np.int64)
    place[order] = np.cumsum(is_new) - 1
    for node in order[is_new].tolist():
        category_set = nodes.category_sets[sets[node]] if sets[node] >= 0 else None
        value_tests.append(ValueTest(source, float(thresholds[node]), category_set, bool(missing_left[node])))
    return first + place


def _as_read(ensemble: Ensemble, encoded: Array) -> Array:
    """Encoded numbers as the classifier reads them."""
    with np.errstate(over="ignore"):
        numbers = encoded.astype(np.float32).astype(np.float64) if ensemble.reads_single else encoded
    return np.where(np.abs(numbers) <= ensemble.smallest, 0.0, numbers)


def goes_left(ensemble: Ensemble, test: ValueTest, encoded: Array) -> Flags:
    """Return which encoded values go left at a test."""
    numbers = _as_read(ensemble, encoded)
    gone = np.isnan(numbers) | ((numbers == 0.0) & ensemble.zero_is_missing)
    if test.category_set is None:
        left = numbers <= test.threshold
    else:
        members, inside_left = test.category_set
        left = np.isin(numbers, list(members)) == inside_left
        gone |= (numbers < 0.0) & ensemble.unknown_is_missing
    return np.where(gone, test.missing_left, left)


def _raw_tests(ensemble: Ensemble, source: NumberSource, thresholds: Array, missing_left: Flags) -> tuple[Array, Flags]:
    """Largest raw number that goes left at each threshold of an encoded column, and whether a missing one does."""
    if ensemble.zero_is_missing:
        raise NotTreesError(f"column {source.name!r} is in sparse rows, in which zero counts as missing")

    def encoded(values: Array) -> Array:
        return _as_read(ensemble, source.encode(values))

    probes = encoded(np.array([-LARGEST, -1.0, 0.0, 1.0, LARGEST, math.nan]))
    if (np.diff(probes[:5]) < 0.0).any():
        raise NotTreesError(f"column {source.name!r} is turned round by its encoders")
    if not math.isnan(probes[5]):
        missing_left = probes[5] <= thresholds
    distinct, place = np.unique(thresholds, return_inverse=True)
    return largest_below(encoded, distinct)[place], missing_left


def largest_below(function: Callable[[Array], Array], bounds: Array) -> Array:
    """Largest double at which a function that never falls is up to each bound; -inf where there is none."""
    if _keeps(function, bounds):
        return bounds
    least, most = np.full(len(bounds), _rank(np.array(-LARGEST))), np.full(len(bounds), _rank(np.array(LARGEST)))
    none, every = function(_number(least)) > bounds, function(_number(most)) <= bounds
    while (least + 1 < most).any():  # their difference may be 2^64: nothing here overflows
        middle = (least & most) + ((least ^ most) >> 1)
        up_to = function(_number(middle)) <= bounds
        least, most = np.where(up_to, middle, least), np.where(up_to, most, middle)
    return np.where(none, -np.inf, np.where(every, np.inf, _number(least)))


def _keeps(function: Callable[[Array], Array], bounds: Array) -> bool:
    """Return whether a function returns these numbers, and those next to them, as they are."""
    around = np.concatenate([bounds, np.nextafter(bounds, np.inf)])
    return np.array_equal(function(around), around)


def _rank(numbers: Array) -> Ints:
    """Whole numbers in the order of doubles."""
    bits = np.asarray(numbers, dtype=np.float64).view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits, bits)


def _number(ranks: Ints) -> Array:
    return np.where(ranks < 0, np.int64(-(2**63)) - ranks, ranks).view(np.float64)
