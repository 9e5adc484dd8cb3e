"""A fitted model that is asked about promised rows: its own `predict` decides, its scores say how clearly."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Flags
from copa._core.words import listed, shown
from copa.exceptions import InvalidInputError
from copa.models.base import Model, best_of, read_classes, read_columns, read_threshold
from copa.models.black_box import BlackBox
from copa.models.decisions import accepts, match_label, refusals
from copa.models.linear import LinearModel, is_linear
from copa.models.refits.versions import scores_of

if TYPE_CHECKING:
    import pandas as pd

CANDIDATE, IN_FORCE = "the candidate", "the model in force"


@dataclass(frozen=True, eq=False)
class DecidingModel(Model):
    """A fitted binary classifier of any kind, as the gate asks it.

    Attributes
    ----------
    role : str
        What messages call it, such as "the candidate".
    """

    role: str = CANDIDATE

    @classmethod
    def read(
        cls, estimator: Any, columns: Any, *, threshold: Any = None, favourable: Any = None, role: str = CANDIDATE
    ) -> "DecidingModel":
        """Take a fitted classifier with `predict`, or say why it cannot be asked about rows with these columns.

        Parameters
        ----------
        estimator : object
            Fitted classifier or pipeline.
        columns : sequence of str
            Of the promised rows.
        threshold : float, optional
            Probability of the favourable label (or decision value) from which on it accepts; None for what its own
            `predict` says.
        favourable : object, optional
            The label that was promised; None takes True of true and false.
        role : str
            What messages call it.
        """
        if not hasattr(estimator, "predict"):
            raise InvalidInputError(
                f"{role} must be a fitted classifier with `predict`, got {shown(type(estimator).__name__)}"
            )
        fitted = best_of(estimator)
        try:
            classes, _ = read_classes(fitted, None)
            used, named = read_columns(fitted, columns)
            scored = hasattr(fitted, "predict_proba") or hasattr(fitted, "decision_function")
            cut = read_threshold(threshold, probability=hasattr(fitted, "predict_proba"))
        except InvalidInputError as error:
            raise InvalidInputError(f"{role} cannot be asked about these promises: {error}") from error
        if cut is not None and not scored:
            raise InvalidInputError(f"threshold={cut:g}: {role} has no probabilities and no decision function")
        refusal = (
            f"{role} chooses between {listed(classes.tolist())}, and {shown(favourable)} was promised; it must have "
            "the labels of the model that the promises were made with"
        )
        position = classes.tolist().index(promised_label(favourable, classes, refusal))
        return cls(fitted, used, named, classes, position, cut, role)

    def accepts(self, frame: "pd.DataFrame") -> Flags:
        """Return what the model itself says of raw rows, (N,); an error in one line where it refuses them."""
        if len(frame) == 0:
            return np.zeros(0, dtype=bool)
        return accepts(self.estimator, self.as_input(frame), self.favourable, self.threshold, self.role)

    @cached_property
    def scoring(self) -> LinearModel | BlackBox | None:
        """Return the model with its scores; None for one that has neither parameters nor probabilities."""
        read: Any = LinearModel.read if is_linear(self.estimator) else BlackBox.read
        try:
            scored: LinearModel | BlackBox = read(
                self.estimator, self.columns, threshold=self.threshold, favourable=self.favourable
            )
        except InvalidInputError:
            return None
        return scored

    @property
    def has_scores(self) -> bool:
        """Return whether the model says how clearly it accepts a row."""
        return self.scoring is not None

    @property
    def unit(self) -> str:
        """Return the unit of the scores."""
        linear = isinstance(self.scoring, LinearModel) and not hasattr(self.scoring.classifier, "predict_proba")
        return "decision values" if linear else "log-odds"

    def scores(self, frame: "pd.DataFrame") -> Array:
        """Return the scores of raw rows, (N,): above 0 the model accepts; NaN where it has none."""
        if self.scoring is None:
            return np.full(len(frame), np.nan)
        method = "transform" if isinstance(self.scoring, LinearModel) else "predict_proba"
        with refusals(self.estimator, method, self.role):
            return scores_of(self.scoring, frame)


def model_and_threshold(model: Any, threshold: float | None = None) -> tuple[Any, float | None]:
    """Return a model and the threshold at which it accepts; a planner stands for its model and knows its threshold."""
    if not hasattr(model, "strategy_") or not hasattr(model, "model"):
        return model, threshold
    return model.model, model.threshold if threshold is None else threshold


def promised_label(favourable: Any, classes: npt.NDArray[Any], refusal: str, labels: Any = None) -> Any:
    """Return the label among two classes that was promised, whatever type it is written in; of true and false, true.

    Parameters
    ----------
    favourable : object
        The label as the promises or a caller name it; None where nobody does.
    classes : ndarray of shape (2,)
    refusal : str
        Message of the error where it is none of the classes.
    labels : array_like, optional
        Labels of training rows, whose shares the error for None names.
    """
    if favourable is None:
        from copa.planner.labels import is_truth, shares_in_words

        if is_truth(classes):
            return classes[1]
        raise InvalidInputError(
            f"favourable must say which label was promised, {shares_in_words(classes, labels)}: give "
            f"favourable={shown(classes[1])} or favourable={shown(classes[0])}"
        )
    label = match_label(favourable, classes)
    if label is None:
        raise InvalidInputError(refusal)
    return label
