"""Encodings of common transformers, computed from the cells of a table: the same bits, without the checks of each call.

A call of a pipeline costs milliseconds before it looks at a row, and refits of a black box are called thousands of
times about the same rows. So the cells of a table are read once (`ReadTable`), and what a fitted encoder or scaler does
with them is looked up in its attributes. Other transformers, and cells that the pipeline may refuse, are left to it. Of
every pipeline the first rows are encoded both ways, and it is trusted only if all bits are the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from copa._core.arrays import Array
from copa.data.schema.columns import ReadTable
from copa.models.encoder_parts import Part, Step, is_sparse, read_parts

COMPARED = 64  # rows that a pipeline and what stands for it must agree on


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

    parts: tuple[Part, ...]
    steps: tuple[Step, ...]
    sparse: bool

    @classmethod
    def of(cls, transformers: Sequence[Any], columns: tuple[str, ...]) -> "DirectEncoder | None":
        """Read fitted transformers of a table with the given columns; None where one of them is not known here."""
        read = read_parts(transformers, columns)
        if read is None:
            return None
        sparse = is_sparse(transformers)
        return None if sparse and len(transformers) > 1 else cls(*read, sparse)

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
        if len(steps) > 1 and not hasattr(steps[-1], "feature_names_in_"):
            self._pipeline = DirectPipeline(steps[:-1], columns, named=named)
        self._trusted = False

    def probabilities(self, table: ReadTable) -> Array | None:
        """Probabilities of both labels, (N, 2); None where that is left to the estimator."""
        rows = None if self._pipeline is None else self._pipeline.encode(table)
        if rows is None:
            return None
        assert self._pipeline is not None  # noqa: S101 - it has encoded the rows
        both = np.asarray(self._classifier.predict_proba(self._pipeline.in_form(rows)), dtype=np.float64)
        if not self._trusted:
            some: Any = table.frame[self._columns].iloc[:COMPARED]
            theirs = self._estimator.predict_proba(some if self._named else some.to_numpy())
            if not np.array_equal(theirs, both[:COMPARED]):
                self._pipeline = None
                return None
            self._trusted = True
        return both
