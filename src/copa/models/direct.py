"""Encodings of common transformers, computed from the cells of a table: the same bits, without the checks of each call.

A call of a pipeline costs milliseconds before it looks at a row, and refits of a black box are called thousands of
times about the same rows. So the cells of a table are read once (`ReadTable`), and what a fitted encoder or scaler does
with them is looked up in its attributes. Other transformers, and cells that the pipeline may refuse, are left to it. Of
every pipeline the first rows are encoded both ways, and it is trusted only if all bits are the same.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from copa._core.arrays import Array, Indices
from copa.data.schema.columns import ReadTable

COMPARED = 64  # rows that a pipeline and what stands for it must agree on
NOWHERE, UNKNOWN = -1, -2  # columns of a value that is encoded by zeros, and of one that an encoder has not met
Step = Callable[[Array], Array]


def plain_numbers(table: ReadTable, names: tuple[str, ...]) -> Array | None:
    """Return columns of whole numbers or of double precision as floats, (N, C); None where one is any other."""
    kinds = [table[name].dtype for name in names]
    if not all(isinstance(kind, np.dtype) and (kind.kind in "iu" or kind == np.float64) for kind in kinds):
        return None
    return np.stack([table[name].numbers for name in names], axis=1)


def plain_entries(table: ReadTable, names: tuple[str, ...]) -> tuple[Indices, list[tuple[int, Any]]] | None:
    """Return which of a list of entries, each with the place of its column, the rows hold, (N, C).

    None where a cell is missing, or is no text or whole number.
    """
    columns = [table[name].entries for name in names]
    cells = [(k, entry) for k, (_, distinct) in enumerate(columns) for entry in distinct]
    if not all(issubclass(kind, (str, int, np.integer)) for kind in {type(entry) for _, entry in cells}):
        return None
    first = np.cumsum([0, *[len(distinct) for _, distinct in columns]])
    positions = np.stack([own for own, _ in columns], axis=1)
    return None if (positions < 0).any() else (positions + first[:-1], cells)


@dataclass(frozen=True)
class _Numbers:
    """Columns of numbers, through functions of single entries."""

    names: tuple[str, ...]
    steps: tuple[Step, ...]

    def encode(self, table: ReadTable) -> Array | None:
        rows: Array | None = table.block(plain_numbers, self.names)
        if rows is None:
            return None
        for step in self.steps:
            rows = step(rows)
        return rows if np.isfinite(rows).all() else None


@dataclass(frozen=True)
class _OneHot:
    """Columns of values, each a block of zeros and at most a one."""

    names: tuple[str, ...]
    places: tuple[dict[Hashable, int], ...]  # column of each value among all
    width: int
    ignores_unknown: bool

    def encode(self, table: ReadTable) -> Array | None:
        entries = table.block(plain_entries, self.names)
        if entries is None:
            return None
        positions, cells = entries
        columns = np.array([self.places[k].get(entry, UNKNOWN) for k, entry in cells], dtype=np.int64)[positions]
        if not self.ignores_unknown and (columns == UNKNOWN).any():
            return None
        rows, (here, which) = np.zeros((len(columns), self.width)), np.nonzero(columns >= 0)
        rows[here, columns[here, which]] = 1.0
        return rows


@dataclass(frozen=True)
class DirectEncoder:
    """Substitute for the transformers of a pipeline.

    Attributes
    ----------
    parts : tuple
        Blocks of columns, side by side.
    steps : tuple of callable
        Functions of single entries that follow.
    sparse : bool
        Whether the transformers return a sparse matrix.
    """

    parts: tuple[_Numbers | _OneHot, ...]
    steps: tuple[Step, ...]
    sparse: bool

    @classmethod
    def of(cls, transformers: Sequence[Any], columns: tuple[str, ...]) -> "DirectEncoder | None":
        """Read fitted transformers of a table with the given columns; None where one of them is not known here."""
        from sklearn.compose import ColumnTransformer
        from sklearn.preprocessing import OneHotEncoder

        parts: tuple[_Numbers | _OneHot, ...] | None = (_Numbers(columns, ()),)
        others, sparse = list(transformers), False
        if others and type(others[0]) is ColumnTransformer:
            first = others.pop(0)
            parts, sparse = _parts_of(first, columns), bool(first.sparse_output_)
        elif others and type(others[0]) is OneHotEncoder:
            first = others.pop(0)
            part = _one_hot(first, columns)
            parts, sparse = None if part is None else (part,), bool(first.sparse_output)
        steps = [_step_of(other) for other in others]
        known = [step for step in steps if step is not None]
        if parts is None or len(known) < len(steps) or (sparse and others):
            return None
        return cls(parts, tuple(known), sparse)

    def encode(self, table: ReadTable) -> Array | None:
        """Encode the rows of a table, (N, k); None where that is left to the pipeline."""
        blocks = []
        for part in self.parts:
            block = part.encode(table)
            if block is None:
                return None
            blocks.append(block)
        rows: Array = np.hstack(blocks)
        for step in self.steps:
            rows = step(rows)
        return rows


def _parts_of(transformer: Any, names: tuple[str, ...]) -> tuple[_Numbers | _OneHot, ...] | None:
    """The blocks of a fitted ColumnTransformer; None where one of them is not known here."""
    if transformer.transformer_weights:
        return None
    parts = []
    for _, inner, columns in transformer.transformers_:
        if isinstance(inner, str) and inner == "drop":
            continue
        chosen = names_of(columns, names)
        if chosen == ():
            continue  # never fitted
        part = None if chosen is None else _part_of(inner, chosen)
        if part is None:
            return None
        parts.append(part)
    return tuple(parts) or None


def names_of(columns: Any, names: tuple[str, ...]) -> tuple[str, ...] | None:
    """Names of columns that are listed by name or by position; None for any other way to say which."""
    if isinstance(columns, (str, slice)) or callable(columns) or not hasattr(columns, "__iter__"):
        return None
    listed = list(columns)
    if all(isinstance(name, str) for name in listed):
        return tuple(str(name) for name in listed)
    if all(isinstance(k, (int, np.integer)) and not isinstance(k, bool) for k in listed):
        return tuple(names[k] for k in listed)
    return None


def _part_of(transformer: Any, names: tuple[str, ...]) -> _Numbers | _OneHot | None:
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder

    if type(transformer) is OneHotEncoder:
        return _one_hot(transformer, names)
    inner = [step for _, step in transformer.steps] if type(transformer) is Pipeline else [transformer]
    steps = [_step_of(step) for step in inner]
    known = [step for step in steps if step is not None]
    return _Numbers(names, tuple(known)) if len(known) == len(steps) else None


def _one_hot(encoder: Any, names: tuple[str, ...]) -> _OneHot | None:
    """A fitted OneHotEncoder; None where values are grouped, or are neither text nor whole numbers."""
    grouped = encoder.min_frequency is not None or encoder.max_categories is not None
    if grouped or encoder.handle_unknown == "warn" or encoder.dtype is not np.float64:
        return None
    places, width = [], 0
    dropped = [None] * len(encoder.categories_) if encoder.drop_idx_ is None else encoder.drop_idx_.tolist()
    for categories, without in zip(encoder.categories_, dropped, strict=True):
        values = categories.tolist()
        if not all(isinstance(value, (str, int)) for value in values):
            return None
        kept = [value for k, value in enumerate(values) if k != without]
        places.append(dict.fromkeys(values, NOWHERE) | {value: width + k for k, value in enumerate(kept)})
        width += len(kept)
    return _OneHot(names, tuple(places), width, encoder.handle_unknown != "error" and encoder.drop is None)


def _step_of(transformer: Any) -> Step | None:
    """A transformer of single entries as the function that it is; None for any other."""
    from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

    kind = type(transformer)
    if transformer == "passthrough" or (kind is FunctionTransformer and transformer.func is None):
        return np.asarray
    if kind is StandardScaler:
        centre = transformer.mean_ if transformer.with_mean else None
        return _Standardised(centre, transformer.scale_ if transformer.with_std else None)
    if kind is RobustScaler:
        centre = transformer.center_ if transformer.with_centering else None
        return _Standardised(centre, transformer.scale_ if transformer.with_scaling else None)
    if kind is MaxAbsScaler and not getattr(transformer, "clip", False):
        return _Standardised(None, transformer.scale_)
    if kind is MinMaxScaler and not transformer.clip:
        return _Stretched(transformer.scale_, transformer.min_)
    return None


@dataclass(frozen=True, eq=False)
class _Standardised:
    """Entries minus a centre, divided by a scale."""

    centre: Array | None
    scale: Array | None

    def __call__(self, rows: Array) -> Array:
        moved = rows if self.centre is None else rows - self.centre
        return moved if self.scale is None else moved / self.scale


@dataclass(frozen=True, eq=False)
class _Stretched:
    """Entries times a scale, plus the least."""

    scale: Array
    least: Array

    def __call__(self, rows: Array) -> Array:
        stretched: Array = rows * self.scale + self.least
        return stretched


class DirectPipeline:
    """Encoded rows of a pipeline without calling it, once it has shown that they are the same.

    Parameters
    ----------
    transformers : sequence
        Fitted, all steps before the classifier.
    columns : tuple of str
        Those that the first of them is given.
    named : bool
        Whether it is given a DataFrame.
    """

    def __init__(self, transformers: Sequence[Any], columns: tuple[str, ...], *, named: bool) -> None:
        self._encoder = DirectEncoder.of(transformers, columns)
        self._transformers, self._columns, self._named = tuple(transformers), list(columns), named
        self._trusted = False

    def encode(self, table: ReadTable) -> Array | None:
        """Rows as the classifier sees them, (N, k), dense; None where that is left to the pipeline."""
        if self._encoder is None or len(table) == 0:
            return None
        rows = self._encoder.encode(table)
        if rows is not None and not self._trusted:
            if not self._agrees(table, rows):
                self._encoder = None
                return None
            self._trusted = True
        return rows

    def in_form(self, rows: Array) -> Any:
        """Rows that were encoded here in the form that the transformers return: a sparse matrix, or as they are."""
        if self._encoder is None or not self._encoder.sparse:
            return rows
        from scipy.sparse import csr_matrix

        return csr_matrix(rows)

    def _agrees(self, table: ReadTable, rows: Array) -> bool:
        """Return whether the transformers themselves make the same of the first rows; an error is theirs to raise."""
        theirs: Any = table.frame[self._columns].iloc[:COMPARED]
        try:
            theirs = theirs if self._named else theirs.to_numpy()
            for step in self._transformers:
                theirs = step.transform(theirs)
        except Exception:  # noqa: BLE001 - whatever they have against the rows, they say it when they are called
            return False
        theirs = theirs.toarray() if hasattr(theirs, "toarray") else np.asarray(theirs)
        whole = theirs.dtype.kind in "iu" and not self._transformers  # numbers as they are, which a classifier casts
        return (whole or theirs.dtype == np.float64) and np.array_equal(theirs, rows[:COMPARED])


LARGEST = float(np.finfo(np.float32).max)  # forests read rows in single precision


class DirectClassifier:
    """Probabilities of a fitted classifier or pipeline without its checks of every call, once they were the same.

    Parameters
    ----------
    estimator : object
        Fitted, with `predict_proba`.
    columns : tuple of str
    named : bool
        As in `DirectPipeline`.
    """

    def __init__(self, estimator: Any, columns: tuple[str, ...], *, named: bool) -> None:
        from sklearn.pipeline import Pipeline

        steps = [estimator]
        if type(estimator) is Pipeline:
            steps = [step for _, step in estimator.steps if step not in ("passthrough", None)]
        self._estimator, self._classifier = estimator, steps[-1]
        self._columns, self._named = list(columns), named
        self._pipeline: DirectPipeline | None = None
        # A bare classifier is called as it is, and one that knows columns by name wants them.
        if _is_forest(steps[-1]) or (len(steps) > 1 and not hasattr(steps[-1], "feature_names_in_")):
            self._pipeline = DirectPipeline(steps[:-1], columns, named=named)
        self._trusted = False

    def probabilities(self, table: ReadTable) -> Array | None:
        """Probabilities of both labels, (N, 2); None where that is left to the estimator."""
        rows = None if self._pipeline is None else self._pipeline.encode(table)
        if rows is None:
            return None
        both = self._of_encoded(rows)
        if both is not None and not self._trusted:
            some: Any = table.frame[self._columns].iloc[:COMPARED]
            theirs = self._estimator.predict_proba(some if self._named else some.to_numpy())
            if not np.array_equal(theirs, both[:COMPARED]):
                self._pipeline = None
                return None
            self._trusted = True
        return both

    def _of_encoded(self, rows: Array) -> Array | None:
        if _is_forest(self._classifier):
            return forest_probabilities(self._classifier, rows)
        given = rows if self._pipeline is None else self._pipeline.in_form(rows)
        return np.asarray(self._classifier.predict_proba(given), dtype=np.float64)


def _is_forest(classifier: Any) -> bool:
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

    return type(classifier) in (RandomForestClassifier, ExtraTreesClassifier) and classifier.n_outputs_ == 1


def forest_probabilities(forest: Any, rows: Array) -> Array | None:
    """Probabilities (N, 2) of encoded rows (N, k), as `predict_proba` of a forest gives them with its trees in order.

    Parameters
    ----------
    forest : RandomForestClassifier or ExtraTreesClassifier
    rows : ndarray of shape (N, k)

    Returns
    -------
    ndarray of shape (N, 2) or None
        None where a number is beyond single precision.
    """
    if not np.abs(rows).max(initial=0.0) <= LARGEST:
        return None
    single = np.ascontiguousarray(rows, dtype=np.float32)
    total = np.zeros((len(rows), len(forest.classes_)))
    for tree in forest.estimators_:
        total += tree.tree_.predict(single)
    total /= len(forest.estimators_)
    return total
