"""What promises cost on rows that neither model has seen: log loss, AUC and accuracy beside the plain refit."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa.models.base import best_of, unfitted

if TYPE_CHECKING:
    import pandas as pd

METRICS = ("log_loss", "auc", "accuracy")
FOLDS = 5
MOST_ROWS = 20_000  # of which all folds are fitted; beyond, one is enough


class Split(NamedTuple):
    """Positions of the rows of one fold: those to fit, and those held out."""

    fitted: npt.NDArray[np.intp]
    held_out: npt.NDArray[np.intp]


def splits(labels: npt.NDArray[Any]) -> Iterator[Split]:
    """Stratified folds of the training rows, always the same; none where a label is too rare."""
    from sklearn.model_selection import StratifiedKFold

    _, counts = np.unique(labels, return_counts=True)
    n_folds = min(FOLDS, int(counts.min()))
    if n_folds < 2:
        return
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0).split(np.zeros(len(labels)), labels)
    for k, (fitted, held_out) in enumerate(folds):
        if k == 0 or len(labels) <= MOST_ROWS:
            yield Split(fitted, held_out)


def lenient(estimator: Any) -> Any:
    """A copy whose one-hot encoders read the levels that a fold lacks."""
    from copa.uncertainty.pipeline_refits import lenient_encoders  # it imports scikit-learn

    copy = unfitted(best_of(estimator))
    return copy.set_params(**lenient_encoders(copy))


def cross_validated(labels: npt.NDArray[Any], models: Callable[[Split], Any], score: Callable[..., Any]) -> Array:
    """Mean metrics of the plain and the kept model over the folds, (2, number of metrics); NaN where there are none.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Of the training rows.
    models : callable
        Returns the plain and the kept model of a fold.
    score : callable
        Returns the metrics of a model on held-out rows.
    """
    found = [[score(model, split.held_out) for model in models(split)] for split in splits(labels)]
    return np.mean(found, axis=0) if found else np.full((2, len(METRICS)), np.nan)


def metrics_of(model: Any, rows: Any, labels: npt.NDArray[Any], classes: npt.NDArray[Any]) -> list[float]:
    """Log loss, AUC and accuracy of a model on rows; NaN for what it or the rows do not give."""
    from sklearn.metrics import roc_auc_score

    second = labels == classes[1]
    accuracy = float((np.asarray(model.predict(rows)).ravel() == labels).mean())
    loss, scores = float("nan"), None
    if hasattr(model, "predict_proba"):
        scores = np.asarray(model.predict_proba(rows))[:, 1]
        right = np.where(second, scores, 1.0 - scores)
        loss = float(-np.log(np.maximum(right, np.finfo(float).eps)).mean())
    elif hasattr(model, "decision_function"):
        scores = np.ravel(model.decision_function(rows))
    both = second.any() and not second.all()
    return [loss, float(roc_auc_score(second, scores)) if both and scores is not None else float("nan"), accuracy]


def metrics_table(numbers: Array) -> "pd.DataFrame":
    """Metrics of the plain and the kept model (2, number of metrics), and their difference, as a table."""
    import pandas as pd

    table = pd.DataFrame(numbers, index=["plain", "kept"], columns=list(METRICS))
    table.loc["difference"] = table.loc["kept"] - table.loc["plain"]
    return table
