"""The plain refit of a classifier or pipeline, taken apart: fitted encoders, encoded rows, and the last step."""

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, as_floats
from copa._core.words import shown
from copa.exceptions import InvalidInputError
from copa.models.base import best_of, unfitted

if TYPE_CHECKING:
    import pandas as pd

REFIT = "the refitted model"  # in messages


@dataclass(frozen=True, eq=False)
class PlainRefit:
    """A fit without promises, of which the last step can be fitted again.

    Parameters
    ----------
    pipelines : tuple
        Pipelines around the last step, from the outside in, with their fitted encoders; none for a classifier alone.
    classifier : object
        The last step, fitted.
    named : bool
        Whether the model is given tables; plain arrays else.
    encoded : object
        Training rows as the last step is given them: array, sparse matrix or table.
    labels : ndarray of shape (n,)
        Their labels.
    row_weights : ndarray of shape (n,) or None
        Their weights, where some were given.
    """

    pipelines: tuple[Any, ...]
    classifier: Any
    named: bool
    encoded: Any
    labels: npt.NDArray[Any]
    row_weights: Array | None

    @classmethod
    def fit(
        cls, estimator: Any, table: "pd.DataFrame", labels: npt.NDArray[Any], row_weights: Array | None, *, named: bool
    ) -> "PlainRefit":
        """Fit a copy of an estimator as its own `fit` does: the encoders first, then the last step.

        Parameters
        ----------
        estimator : object
            Classifier or pipeline; it stays as it is.
        table : DataFrame of n rows
            Training rows.
        labels : ndarray of shape (n,)
            Their labels.
        row_weights : ndarray of shape (n,) or None
            Their weights, for the last step.
        named : bool
            Whether to give the model tables.
        """
        inner = unfitted(best_of(estimator))
        rows: Any = table if named else table.to_numpy()
        pipelines = []
        while hasattr(inner, "steps"):
            outer = copy(inner)
            if len(inner.steps) > 1:
                head = inner[:-1]
                rows = head.fit_transform(rows, labels)
                outer.steps = [*head.steps, inner.steps[-1]]
            pipelines.append(outer)
            inner = inner.steps[-1][1]
        weights = {} if row_weights is None else {"sample_weight": row_weights}
        return cls(tuple(pipelines), inner.fit(rows, labels, **weights), named, rows, labels, row_weights)

    @property
    def model(self) -> Any:
        """The whole model, fitted."""
        return self.assembled(self.classifier)

    def assembled(self, classifier: Any) -> Any:
        """Return the whole model with another last step."""
        model = classifier
        for pipeline in reversed(self.pipelines):
            outer = copy(pipeline)
            outer.steps = [*pipeline.steps[:-1], (pipeline.steps[-1][0], model)]
            model = outer
        return model

    def encode(self, rows: "pd.DataFrame") -> Any:
        """Return promised rows as the last step is given them, or say which one the encoders refuse."""
        try:
            return self._transformed(rows)
        except (ValueError, TypeError, KeyError) as error:
            raise self._refusal(rows, error) from error

    def _transformed(self, rows: "pd.DataFrame") -> Any:
        encoded: Any = rows if self.named else rows.to_numpy()
        for pipeline in self.pipelines:
            if len(pipeline.steps) > 1:
                encoded = pipeline[:-1].transform(encoded)
        return encoded

    def _refusal(self, rows: "pd.DataFrame", error: Exception) -> InvalidInputError:
        """Name the first row that is refused, by halving."""
        first, end = 0, len(rows)
        while end - first > 1:
            middle = (first + end) // 2
            try:
                self._transformed(rows.iloc[first:middle])
                first = middle
            except (ValueError, TypeError, KeyError) as cause:
                end, error = middle, cause
        reason = " ".join(str(error).split())
        return InvalidInputError(
            f"promise {shown(rows.index[first])}: the encoder of the refitted model refuses its row: {reason}; give "
            "the encoder all levels (categories=...), or handle_unknown='ignore'"
        )


def as_matrix(encoded: Any) -> Array:
    """Encoded rows as an array of floats, whatever they came in."""
    dense = encoded.toarray() if hasattr(encoded, "toarray") else encoded
    return as_floats(dense, "the encoded rows")


def stacked(encoded: Any, more: Any) -> Any:
    """Encoded rows of the same kind, one below the other."""
    import pandas as pd

    if hasattr(encoded, "toarray"):
        from scipy import sparse

        return sparse.vstack([encoded, more], format="csr")
    if isinstance(encoded, pd.DataFrame):
        return pd.concat([encoded, more], ignore_index=True)
    return np.concatenate([encoded, more])
