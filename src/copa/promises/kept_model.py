"""`KeptModel`: a refit that keeps promises, and what it costs."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.html import facts_html
from copa._core.words import counted
from copa.promises.constrained_logistic import Solution
from copa.tables.cells import as_json

if TYPE_CHECKING:
    import pandas as pd

UNCHANGED, EXACT, WEIGHTED = METHODS = ("unchanged", "exact", "weighted")
SHOWN = 5  # dearest promises in a notebook


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
        What the promises cost: of a logistic regression, by how much they raise the objective of the fit (the summed
        log loss of the training rows, and the penalty); of another learner, the summed log loss of the training rows,
        which can also fall. NaN for a learner without probabilities.
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
        What was released, in order, with the price of the rest; of weighted rows, the rounds.
    margin : float
        Least score that was asked of a promised row.
    favourable : object
        Label that was promised.
    note : str
        What there is to say about the method; "" if nothing.
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
    """A metric of both models, in words."""
    return f"{values['kept']:.4f}, of the plain refit {values['plain']:.4f}"
