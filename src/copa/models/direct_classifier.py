"""Probabilities of a pipeline's classifier from directly encoded rows; of a forest, tree by tree."""

from typing import Any

import numpy as np

from copa._core.arrays import Array
from copa.data.schema.columns import ReadTable
from copa.models.direct import COMPARED, DirectPipeline

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
        found = self._of_encoded(rows)
        if found is not None and not self._trusted:
            some: Any = table.frame[self._columns].iloc[:COMPARED]
            theirs = self._estimator.predict_proba(some if self._named else some.to_numpy())
            if not np.array_equal(theirs, found[:COMPARED]):
                self._pipeline = None
                return None
            self._trusted = True
        return found

    def _of_encoded(self, rows: Array) -> Array | None:
        if _is_forest(self._classifier):
            return forest_probabilities(self._classifier, rows)
        given = rows if self._pipeline is None else self._pipeline.in_form(rows)
        return np.asarray(self._classifier.predict_proba(given), dtype=np.float64)


def _is_forest(classifier: Any) -> bool:
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

    return type(classifier) in (RandomForestClassifier, ExtraTreesClassifier) and classifier.n_outputs_ == 1


def forest_probabilities(forest: Any, rows: Array) -> Array | None:
    """What `predict_proba` of a fitted forest says of encoded rows (N, k), with trees in their order, (N, 2).

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
