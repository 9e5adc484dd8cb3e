"""`KeptModel`: a refit that keeps promises, and what it costs on rows that neither it nor the plain refit has seen."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa._core.html import facts_html
from copa._core.words import counted
from copa.data.tables.cells import as_json
from copa.models.base import best_of, unfitted
from copa.promises.constrained_logistic import Solution

if TYPE_CHECKING:
    import pandas as pd

UNCHANGED, EXACT, WEIGHTED = METHODS = ("unchanged", "exact", "weighted")
SHOWN = 5  # dearest promises in a notebook
METRICS = ("log_loss", "auc", "accuracy")
FOLDS = 5
MOST_ROWS = 20_000  # of which all folds are fitted; beyond, one is enough


@dataclass(frozen=True, eq=False, repr=False)
class KeptModel:
    """A fitted model that keeps promises, beside the plain refit that does not; made by `keep`.

    Parameters
    ----------
    model : object
        Fitted, of the kind that was given.
    n_broken_before, n_broken_after : int
        Promises that the plain refit breaks, and that `model` breaks, each tried on its own `predict`, or
        at the threshold.
    price : float
        Cost of the promises: of a logistic regression, the rise of the objective of the fit (the summed log loss of the
        training rows, and the penalty); of another learner, that of the summed log loss of the training rows, which can
        also fall. NaN for a learner without probabilities.
    multipliers : Series
        Price of each promise, the dearest first: the rate at which its margin raises the objective. 0 for promises that
        do not bind. Of another learner, the weight of its row.
    metrics : DataFrame
        `log_loss`, `auc` and `accuracy` on held-out rows, of "plain", "kept" and the "difference" of the two.
    plain : object
        The refit without promises, fitted.
    method : {"unchanged", "exact", "weighted"}
        Whether the model came back as it was, is the constrained optimum, or was fitted with weighted promised rows.
    weights : Series
        Weight of each promised row, as an accepted one beside the training rows, with which the ordinary fit of the
        last step gives this model. Training rows have the weight of their class and their own there.
    broken : Series
        Why promises are not kept, by id; empty where all are.
    path : DataFrame
        Promises that were released, in order, with the price of the rest; of weighted rows, the rounds.
    margin : float
        Least score that was asked of a promised row.
    favourable : object
        Label that was promised.
    note : str
        Notes on the method; "" if there are none.
    solution : Solution, optional
        Proof of the constrained optimum.
    threshold : float, optional
        At which promises are tried; None for the models' own `predict`.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from copa.promises import keep
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame(rng.normal(size=(300, 2)).round(1), columns=["income", "savings"])
    >>> y = X["income"] + X["savings"] + rng.logistic(size=300) > 0.5
    >>> kept = keep(LogisticRegression(), X, y, pd.DataFrame({"income": [0.2, 1.5], "savings": [0.1, 0.5]}))
    >>> kept
    KeptModel(LogisticRegression, exact: 1 of 2 promises broken before, 0 after; price ...)
    >>> bool(kept.model.predict(pd.DataFrame({"income": [0.2], "savings": [0.1]}))[0])
    True
    """

    model: Any
    n_broken_before: int
    n_broken_after: int
    price: float
    multipliers: "pd.Series[Any]"
    metrics: "pd.DataFrame"
    plain: Any
    method: str
    weights: "pd.Series[Any]"
    broken: "pd.Series[Any]"
    path: "pd.DataFrame"
    margin: float
    favourable: Any
    note: str = ""
    solution: Solution | None = field(default=None)
    threshold: float | None = None

    @property
    def n_promises(self) -> int:
        """Promises that were asked for."""
        return len(self.multipliers)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the models, as JSON holds it.

        Returns
        -------
        dict
            Prices in the order of `multipliers`.
        """
        prices = [
            {"promise": name, "multiplier": float(value), "weight": float(self.weights[name])}
            for name, value in self.multipliers.items()
            if value > 0.0
        ]
        metrics = {
            str(row): {name: as_json(cell) for name, cell in self.metrics.loc[row].items()}
            for row in self.metrics.index
        }
        return {
            "method": self.method,
            "model": type(self.model).__name__,
            "favourable": as_json(self.favourable),
            "margin": self.margin,
            "threshold": self.threshold,
            "n_promises": self.n_promises,
            "n_broken_before": self.n_broken_before,
            "n_broken_after": self.n_broken_after,
            "price": as_json(self.price),
            "prices": prices,
            "metrics": metrics,
            "broken": {str(name): reason for name, reason in self.broken.items()},
            "path": [{str(k): as_json(cell) for k, cell in entry.items()} for entry in self.path.to_dict("records")],
            "note": self.note,
        }

    def __repr__(self) -> str:
        price = "" if np.isnan(self.price) else f"; price {self.price:.3g}"
        return (
            f"KeptModel({type(self.model).__name__}, {self.method}: {self.n_broken_before} of "
            f"{counted(self.n_promises, 'promise')} broken before, {self.n_broken_after} after{price})"
        )

    def _repr_html_(self) -> str:
        rows = [
            ("Promises", f"{self.n_broken_before} of {self.n_promises:,} broken before, {self.n_broken_after} after"),
            ("Tried", "each promise at its promised row only"),
            (
                "Price",
                "not known" if np.isnan(self.price) else f"{self.price:.3g} in the log loss of the training rows",
            ),
            *((f"Held-out {name}", _both(self.metrics[name])) for name in self.metrics.columns),
        ]
        dear = self.multipliers[self.multipliers > 0.0].head(SHOWN)
        rows += [("Dearest promises", ", ".join(f"{name} ({value:.3g})" for name, value in dear.items()))]
        rows += [("Not kept", f"{name}: {reason}") for name, reason in self.broken.head(SHOWN).items()]
        return facts_html(f"KeptModel: {type(self.model).__name__}, {self.method}", rows, note=self.note)


def _both(values: "pd.Series[Any]") -> str:
    """Return a metric of both models, in words."""
    return f"{values['kept']:.4f}, of the plain refit {values['plain']:.4f}"


class Split(NamedTuple):
    """Positions of the rows of one fold: those to fit, and those held out."""

    fitted: npt.NDArray[np.intp]
    held_out: npt.NDArray[np.intp]


def splits(labels: npt.NDArray[Any]) -> Iterator[Split]:
    """Yield stratified folds of the training rows, always the same; none where a label is too rare."""
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
    """Return a copy whose one-hot encoders read the levels that a fold lacks."""
    from copa.models.refits.pipeline_refits import lenient_encoders  # it imports scikit-learn

    copy = unfitted(best_of(estimator))
    return copy.set_params(**lenient_encoders(copy))


def cross_validated(labels: npt.NDArray[Any], models: Callable[[Split], Any], score: Callable[..., Any]) -> Array:
    """Return mean metrics of the plain and the kept model over the folds, (2, number of metrics); NaN without folds.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Of the training rows.
    models : callable
        Returns the plain and the kept model of a fold.
    score : callable
        Returns the metrics of a model on held-out rows.
    """
    metrics = [[score(model, split.held_out) for model in models(split)] for split in splits(labels)]
    return np.mean(metrics, axis=0) if metrics else np.full((2, len(METRICS)), np.nan)


def metrics_of(model: Any, rows: Any, labels: npt.NDArray[Any], classes: npt.NDArray[Any]) -> list[float]:
    """Return log loss, AUC and accuracy of a model on rows; NaN for what it or the rows do not give."""
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
    """Return metrics of the plain and the kept model (2, number of metrics), and their difference, as a table."""
    import pandas as pd

    table = pd.DataFrame(numbers, index=["plain", "kept"], columns=list(METRICS))
    table.loc["difference"] = table.loc["kept"] - table.loc["plain"]
    return table
