"""Folded trees of several models as arrays over the codes of the same raw columns."""

import math
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from copa._core.arrays import Array
from copa.models.black_box import TIE, BlackBox, log_odds
from copa.models.trees.arrays import (
    BITS,
    LEAF,
    MISSING_LEFT,
    MISSING_RIGHT,
    MOST_COLUMNS,
    MOST_NODES,
    SET,
    Links,
    TreeArrays,
    Words,
)
from copa.models.trees.folding import FoldedEnsemble, goes_left
from copa.models.trees.nodes import Ints, NotTreesError


class Coding(NamedTuple):
    """How the raw columns that trees test are coded."""

    columns: tuple[str, ...]
    cuts: tuple[Array | None, ...]  # of numbers, ascending
    values: tuple[dict[Hashable, int] | None, ...]  # code of each value

    def n_codes(self) -> Ints:
        """Number of codes of each column."""
        sizes = [len(v or ()) + 2 if c is None else len(c) + 2 for c, v in zip(self.cuts, self.values, strict=True)]
        return np.array(sizes, dtype=np.int64)


def coding_of(models: Sequence[FoldedEnsemble], names: tuple[str, ...]) -> Coding:
    """The columns that any of the models tests, with all of their thresholds or values."""
    columns, cuts, values = [], [], []
    for place, name in enumerate(names):
        numbers: list[Array] = []
        codes: dict[Hashable, int] = {}
        for folded in models:
            numbers.append(np.unique(folded.nodes.threshold[(folded.columns == place) & (folded.tests < 0)]))
            for source in {id(test.source): test.source for test in folded.value_tests}.values():
                if source.name == name:
                    for value in source.values:
                        codes.setdefault(value, len(codes))
        cut = np.unique(np.concatenate(numbers))
        if codes and len(cut):
            raise NotTreesError(f"column {name!r} is taken for numbers and for categories")
        if codes or len(cut):
            columns.append(name)
            cuts.append(None if codes else cut)
            values.append(codes or None)
    return Coding(tuple(columns), tuple(cuts), tuple(values))


def assemble(models: Sequence[FoldedEnsemble], names: tuple[str, ...], coding: Coding) -> TreeArrays:
    """The trees of all models, one behind another, over codes."""
    n_codes = coding.n_codes()
    sets = _Sets()
    parts, first_trees, first_nodes, n_trees, n_nodes = [], [0], [np.zeros(1, dtype=np.int64)], 0, 0
    for folded in models:
        nodes = folded.nodes
        kind, column, cut = _tests(folded, names, coding, sets)
        children = (nodes.left + n_nodes, nodes.right + n_nodes)
        parts.append((kind, column, cut, *children, nodes.value))
        n_trees += nodes.n_trees
        first_trees.append(n_trees)
        first_nodes.append(nodes.first[1:] + n_nodes)
        n_nodes += len(nodes.feature)
    if n_nodes > np.iinfo(np.int32).max:
        raise NotTreesError(f"its refits have {n_nodes:,} nodes, more than can be numbered")
    largest = max((int(np.diff(folded.nodes.first).max(initial=0)) for folded in models), default=0)
    if largest > MOST_NODES or len(n_codes) > MOST_COLUMNS:
        raise NotTreesError(
            f"it has a tree of {largest:,} nodes, over {len(n_codes):,} columns: more than is scored here"
        )
    kind, column, cut, left, right, value = (np.concatenate(one) for one in zip(*parts, strict=True))
    return TreeArrays(
        ensembles=np.array(first_trees, dtype=np.int64),
        roots=np.concatenate(first_nodes).astype(np.int64),
        kind=kind.astype(np.uint8),
        column=column.astype(np.int32),
        cut=cut.astype(np.int32),
        left=left.astype(np.int32),
        right=right.astype(np.int32),
        value=np.ascontiguousarray(value, dtype=np.float64),
        sets=sets.words(),
        n_codes=n_codes,
    )


def _tests(folded: FoldedEnsemble, names: tuple[str, ...], coding: Coding, sets: "_Sets") -> tuple[Any, Any, Any]:
    """Kind, coded column and cut of each node of a model."""
    nodes, places = folded.nodes, {name: k for k, name in enumerate(coding.columns)}
    own_place = np.array([places.get(name, 0) for name in names] + [0])
    column, inner = own_place[folded.columns], folded.columns >= 0
    numeric = inner & (folded.tests < 0)
    kind = np.where(numeric, np.where(nodes.missing_left, MISSING_LEFT, MISSING_RIGHT), np.where(inner, SET, LEAF))
    cut = np.zeros(len(kind), dtype=np.int64)
    for place, cuts in enumerate(coding.cuts):
        if cuts is not None:
            own = numeric & (column == place)
            cut[own] = np.searchsorted(cuts, nodes.threshold[own])
    if folded.value_tests:
        positions = np.array(_positions_of_sets(folded, coding, places, sets))
        cut[kind == SET] = positions[folded.tests[kind == SET]]
    return kind, column, cut


def _positions_of_sets(folded: FoldedEnsemble, coding: Coding, places: dict[str, int], sets: "_Sets") -> list[int]:
    encoded: dict[int, Array] = {}
    positions = []
    for test in folded.value_tests:
        place = places[test.source.name]
        if id(test.source) not in encoded:
            values = coding.values[place]
            encoded[id(test.source)] = test.source.encode(tuple(values or ()))
        positions.append(sets.position(goes_left(folded.ensemble, test, encoded[id(test.source)])))
    return positions


class _Sets:
    """Distinct sets of codes as words of bits, one behind another."""

    def __init__(self) -> None:
        self._positions: dict[bytes, int] = {}
        self._size = 0

    def position(self, members: Any) -> int:
        """Position of the first word of a set, which is added if it is new."""
        n_words = -(-len(members) // BITS)
        padded = np.zeros(n_words * BITS, dtype=np.bool_)
        padded[: len(members)] = members
        words = np.packbits(padded, bitorder="little").tobytes()
        if words not in self._positions:
            self._positions[words] = self._size
            self._size += n_words
        return self._positions[words]

    def words(self) -> Words:
        """All words."""
        return np.frombuffer(b"".join(self._positions), dtype="<u8").astype(np.uint64)


def links_of(models: Sequence[BlackBox], ensembles: Sequence[FoldedEnsemble]) -> Links:
    """How the sums of leaves become the scores that the models have."""
    limit = [float(log_odds(np.array([1.0]), model.clip)[0]) for model in models]
    threshold = [0.0 if m.threshold is None else math.log(m.threshold / (1.0 - m.threshold)) for m in models]
    tie = [-TIE if m.threshold is None and m.position == 1 else 0.0 for m in models]
    own = [folded.ensemble for folded in ensembles]
    sign = [-1.0 if m.position == 0 and not e.is_probability else 1.0 for m, e in zip(models, own, strict=True)]
    return Links(
        base=np.array([e.base for e in own]),
        divisor=np.array([e.divisor for e in own]),
        is_single=np.array([e.sums_single for e in own]),
        is_probability=np.array([e.is_probability for e in own]),
        sign=np.array(sign),
        limit=np.array(limit),
        threshold=np.array(threshold),
        tie=np.array(tie),
    )
