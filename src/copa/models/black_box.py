"""Any classifier with probabilities, taken as it is: what it says of raw rows, as a score that accepts from zero on."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa._core.words import hint, require_text, shown
from copa.exceptions import InvalidInputError
from copa.models.calibration import thawed

if TYPE_CHECKING:
    import pandas as pd

# Probabilities are cut off before their logarithms are taken, as close to 0 and 1 as the model itself tells them apart.
COARSEST, FINEST = 1e-3, 1e-9
TIE = 1e-9  # what is missing to a score where the other label wins a tie
LOOKED_AT = 2000  # rows of the data at most, to see how close


@dataclass
class Calls:
    """How often a model was asked, and about how many rows."""

    calls: int = 0
    rows: int = 0


@dataclass(frozen=True, eq=False)
class BlackBox:
    """A fitted binary classifier that is only asked for its probabilities.

    Attributes
    ----------
    estimator : the classifier or pipeline
    columns : raw columns, in the model's order
    named : whether the estimator was fitted to a DataFrame, and so wants one
    favourable : the label a person wants
    position : of the favourable label in `classes_`
    threshold : probability from which on the model accepts; None where `predict` decides
    sharpest : where probabilities are cut off, and at 1 minus it
    asked : calls of the model so far
    typical : rows by which it can be told from other models, see `typical_rows`; None where nobody asked for them
    """

    estimator: Any
    columns: tuple[str, ...]
    named: bool
    favourable: Any
    position: int
    threshold: float | None
    sharpest: float = COARSEST
    asked: Calls = field(default_factory=Calls, repr=False)
    typical: "pd.DataFrame | None" = field(default=None, repr=False)

    @classmethod
    def read(cls, estimator: Any, columns: Any, *, threshold: Any = None, favourable: Any = None) -> "BlackBox":
        """Take a fitted classifier, or say at once why it cannot be used.

        Parameters
        ----------
        estimator : fitted classifier with `predict_proba` and two classes; of a search over settings, the best one
        columns : names of the raw columns that it is given
        threshold : probability of the favourable label from which on it accepts; None: what `predict` says
        favourable : label; None for `classes_[1]`
        """
        estimator = thawed(getattr(estimator, "best_estimator_", estimator))
        _require_probabilities(estimator)
        classes = list(getattr(estimator, "classes_", ()))
        if len(classes) != 2:
            raise InvalidInputError(
                f"the model must be fitted and choose between 2 classes, it has {len(classes)}; for more outcomes, "
                "fit a model of the favourable one against the rest"
            )
        position = 1 if favourable is None else _position(classes, favourable)
        named = getattr(estimator, "feature_names_in_", None)
        used = require_text(columns if named is None else named)
        given = [str(name) for name in columns]
        for name in used:
            if name not in given:
                raise InvalidInputError(f"the model needs column {name!r}, which the table lacks; {hint(name, given)}")
        if threshold is not None and not (isinstance(threshold, (int, float)) and 0.0 < threshold < 1.0):
            raise InvalidInputError(
                f"threshold is a probability of the favourable label, in (0, 1), got {shown(threshold)}"
            )
        return cls(estimator, used, named is not None, classes[position], position, threshold)

    def replaced(self, estimator: Any) -> "BlackBox":
        """The same for another fit of the model, whose calls are counted together with this one's."""
        return replace(self, estimator=estimator)

    def sharpened(self, frame: "pd.DataFrame") -> "BlackBox":
        """The same, with probabilities cut off at half of the smallest one that the model has for raw rows.

        A forest says 0 and 1 where all trees agree: what is between its smallest share of votes and 0 is not known. A
        network's probabilities mean something down to where single precision ends, and far from its boundary a cut
        would make all rows look alike.
        """
        some = frame.iloc[np.linspace(0, len(frame) - 1, min(LOOKED_AT, len(frame))).astype(int)]
        chance = np.asarray(self.estimator.predict_proba(self.as_input(some)), dtype=np.float64)[:, self.position]
        away = np.minimum(chance, 1.0 - chance)
        smallest = float(away[away > 0.0].min(initial=1.0))
        return replace(self, sharpest=float(np.clip(0.5 * smallest, FINEST, COARSEST)))

    def as_input(self, frame: "pd.DataFrame") -> Any:
        """The raw columns in the form that the estimator was fitted to."""
        rows = frame[list(self.columns)]
        return rows if self.named else rows.to_numpy()

    def scores(self, frame: "pd.DataFrame") -> Array:
        """Log-odds of the favourable label beyond those of the threshold, (N,): accepted from zero on.

        Where `predict` decides, the threshold is one half, and of two labels as probable as each other it takes the
        first.
        """
        if len(frame) == 0:
            return np.zeros(0)
        self.asked.calls += 1
        self.asked.rows += len(frame)
        chance = np.asarray(self.estimator.predict_proba(self.as_input(frame)), dtype=np.float64)[:, self.position]
        cut = 0.5 if self.threshold is None else self.threshold
        scores = log_odds(chance, self.sharpest) - float(np.log(cut / (1.0 - cut)))
        if self.threshold is None and self.position == 1:
            scores[scores == 0.0] = -TIE
        return scores

    def accepts(self, frame: "pd.DataFrame") -> npt.NDArray[np.bool_]:
        """What the estimator itself says of raw rows, (N,)."""
        if len(frame) == 0:
            return np.zeros(0, dtype=bool)
        self.asked.calls += 1
        self.asked.rows += len(frame)
        rows = self.as_input(frame)
        if self.threshold is None:
            return np.asarray(np.asarray(self.estimator.predict(rows)) == self.favourable)
        return np.asarray(self.estimator.predict_proba(rows)[:, self.position] >= self.threshold)


def log_odds(chance: Array, sharpest: float) -> Array:
    """Logarithm of the odds of probabilities, finite also at 0 and 1."""
    cut = np.clip(chance, sharpest, 1.0 - sharpest)
    odds: Array = np.log(cut) - np.log1p(-cut)
    return odds


def _require_probabilities(estimator: Any) -> None:
    from sklearn.pipeline import Pipeline

    if isinstance(estimator, type):
        raise InvalidInputError(f"the model must be a fitted classifier, got the class {estimator.__name__}")
    if not hasattr(estimator, "predict_proba") or not hasattr(estimator, "predict"):
        last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        raise InvalidInputError(
            f"the model must be linear or have predict_proba, and {type(last).__name__} is neither; fit it with "
            "probabilities, or wrap it in CalibratedClassifierCV"
        )


def _position(classes: list[Any], favourable: Any) -> int:
    for k, label in enumerate(classes):
        if label == favourable:
            return k
    labels = " and ".join(shown(label) for label in classes)
    raise InvalidInputError(f"favourable must be a label of the model, {labels}, got {shown(favourable)}")
