"""The model in force: a fitted binary classifier, its raw columns, the label a person wants, a threshold."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Flags, require_unmasked
from copa._core.reading import is_number
from copa._core.words import hint, require_text, shown
from copa.data.schema.columns import ReadTable
from copa.exceptions import CopaError, InvalidInputError
from copa.models.decisions import accepts

if TYPE_CHECKING:
    import pandas as pd

TRAINING_ROWS = ("a row of X", "give the rows that it was fitted to, without those that it cannot read")


@contextmanager
def reading_rows(what: str, advice: str) -> Iterator[None]:
    """Name the rows, and what to do, where a model cannot read them: models raise what they like."""
    try:
        yield
    except CopaError:
        raise
    except Exception as error:
        raise InvalidInputError(f"the model cannot read {what} ({type(error).__name__}: {error}); {advice}") from error


@dataclass(frozen=True, eq=False)
class Model(ABC):
    """A fitted binary classifier as the planner reads it.

    Attributes
    ----------
    estimator : object
        The classifier or pipeline; of a search over settings, the best one.
    columns : tuple of str
        Raw columns, in the model's order.
    named : bool
        Whether the estimator was fitted to a DataFrame, and so wants one.
    classes : ndarray of shape (2,)
        Its labels.
    position : int
        Of the favourable label in `classes`.
    threshold : float or None
        Probability of the favourable label (or decision value) from which on the model accepts; None where `predict`
        decides.
    """

    estimator: Any
    columns: tuple[str, ...]
    named: bool
    classes: npt.NDArray[Any]
    position: int
    threshold: float | None

    @classmethod
    @abstractmethod
    def read(cls, estimator: Any, columns: Any, *, threshold: Any = None, favourable: Any = None) -> Self:
        """Take a fitted estimator, or say at once why it cannot be used.

        Parameters
        ----------
        estimator : object
            Fitted classifier or pipeline with two classes, or a finished search over settings.
        columns : sequence of str
            Names of the raw columns that it is given.
        threshold : float, optional
            Probability of the favourable label from which on it accepts; of a classifier without probabilities, a value
            of its decision function. None for what `predict` says.
        favourable : object, optional
            The label a person wants; None for `classes_[1]`.

        Returns
        -------
        Model
        """

    @property
    def favourable(self) -> Any:
        """The label a person wants."""
        return self.classes[self.position]

    def as_input(self, frame: "pd.DataFrame") -> Any:
        """Return the raw columns in the form that the estimator was fitted to."""
        rows = frame[list(self.columns)]
        return rows if self.named else rows.to_numpy()

    def accepts(self, frame: "pd.DataFrame") -> Flags:
        """Return what the estimator itself says of raw rows, (N,)."""
        if len(frame) == 0:
            return np.zeros(0, dtype=bool)
        return accepts(self.estimator, self.as_input(frame), self.favourable, self.threshold)

    def accepts_directly(self, rows: "pd.DataFrame | ReadTable") -> Flags:
        """Return what `accepts` says, by the shortest way there is, (N,): of rows that nobody is given."""
        return self.accepts(rows.frame if isinstance(rows, ReadTable) else rows)

    def read_labels(self, y: Any, n_rows: int) -> npt.NDArray[Any]:
        """Return the labels of training rows, or say which one the model does not know.

        Parameters
        ----------
        y : array_like of shape (n_rows,)
        n_rows : int
            Rows of the table that they belong to.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        labels = labels_of_rows(y, n_rows)
        unknown = ~np.isin(labels, self.classes)
        if unknown.any():
            row = int(np.argmax(unknown))
            classes = " and ".join(repr(label) for label in self.classes.tolist())
            raise InvalidInputError(f"y must hold the model's labels, {classes}, got {shown(labels[row])} in row {row}")
        return labels


def labels_of_rows(y: Any, n_rows: int) -> npt.NDArray[Any]:
    """Return labels (n_rows,) as an array, or raise if there is not one for each row."""
    require_unmasked(y, "y")
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise InvalidInputError(f"y must have shape ({n_rows},), one label per row of X, got {labels.shape}")
    return labels


def thawed(estimator: Any) -> Any:
    """The estimator inside scikit-learn's FrozenEstimator, whose own `fit` does nothing; any other as it is."""
    while type(estimator).__name__ == "FrozenEstimator":  # by name: scikit-learn has it from 1.6 on
        estimator = estimator.estimator
    return estimator


def unfitted(estimator: Any) -> Any:
    """Return a clone of the estimator in which nothing is frozen: what is not fitted again does not vary."""
    from sklearn.base import clone

    copy = clone(thawed(estimator))
    parts = copy.get_params().items()
    return copy.set_params(**{name: clone(thawed(part)) for name, part in parts if thawed(part) is not part})


def best_of(estimator: Any) -> Any:
    """The best estimator of a finished search over settings; any other as it is."""
    return getattr(estimator, "best_estimator_", estimator)


def refuse_own_threshold(estimator: Any, favourable: Any) -> None:
    """Raise for a classifier with a threshold of its own, saying how it is planned for.

    What it accepts is not what its probabilities say at one half, and a search for a threshold takes minutes in each
    of many refits.

    Parameters
    ----------
    estimator : object
        Fitted classifier or pipeline.
    favourable : object
        The label a person wants.
    """
    place, inner = "model", thawed(best_of(estimator))
    while hasattr(inner, "steps"):
        place, inner = f"{place}[-1]", thawed(best_of(inner.steps[-1][1]))
    name = type(inner).__name__
    if name not in ("FixedThresholdClassifier", "TunedThresholdClassifierCV") or not hasattr(inner, "estimator_"):
        return
    given: Any = inner.best_threshold_ if hasattr(inner, "best_threshold_") else inner.threshold
    if inner.response_method == "decision_function" or not hasattr(inner.estimator_, "predict_proba"):
        raise InvalidInputError(
            f"{name} decides at a value of the decision function; choose a threshold of the probability "
            "(response_method='predict_proba'), and give RecoursePlanner the classifier inside and threshold=..."
        )
    cut = 0.5 if given == "auto" else float(given)
    wanted = inner.classes_[1] if getattr(inner, "pos_label", None) is None else inner.pos_label
    cut = cut if favourable is None or favourable == wanted else 1.0 - cut
    inside = "model.estimator_" if place == "model" else f"a pipeline with {place}.estimator_ as its last step"
    raise InvalidInputError(
        f"{name} decides at a threshold of its own; give what is inside and the threshold: "
        f"RecoursePlanner({inside}, threshold={cut:.6g}, ...)"
    )


def read_columns(estimator: Any, given: Any) -> tuple[tuple[str, ...], bool]:
    """Names of the columns that an estimator uses, and whether it knows them by name; raise where one is lacking."""
    names = getattr(estimator, "feature_names_in_", None)
    used, there = require_text(given if names is None else names), [str(name) for name in given]
    for name in used:
        if name not in there:
            raise InvalidInputError(f"the model needs column {name!r}, which the table lacks; {hint(name, there)}")
    n_columns = getattr(estimator, "n_features_in_", len(used))
    if names is None and n_columns != len(used):
        raise InvalidInputError(f"the model was fitted to {n_columns} columns, got {len(used)}: {', '.join(used[:8])}")
    return used, names is not None


def read_classes(classifier: Any, favourable: Any) -> tuple[npt.NDArray[Any], int]:
    """The two labels of a classifier, and the position of the favourable one; None stands for the second."""
    classes = getattr(classifier, "classes_", None)
    if classes is None:
        raise InvalidInputError(f"{type(classifier).__name__} is not a fitted classifier: it has no classes_")
    classes = np.asarray(classes)
    if len(classes) != 2:
        raise InvalidInputError(
            f"the model must choose between 2 classes, it has {len(classes)}; for more outcomes, fit a model of the "
            "favourable one against the rest"
        )
    for position in (1, 0):
        if favourable is None or classes[position] == favourable:
            return classes, position
    labels = " and ".join(shown(label) for label in classes)
    raise InvalidInputError(f"favourable must be a label of the model, {labels}, got {shown(favourable)}")


def read_threshold(threshold: Any, *, probability: bool) -> float | None:
    """A probability of the favourable label, or a decision value; None where nothing is said."""
    if threshold is None:
        return None
    if not is_number(threshold):
        raise InvalidInputError(f"threshold must be a number or None, got {shown(threshold)}")
    if probability and not 0.0 < threshold < 1.0:
        raise InvalidInputError(
            f"threshold is a probability of the favourable label, in (0, 1), got {shown(threshold)}"
        )
    if not np.isfinite(threshold):
        raise InvalidInputError(f"threshold must be finite, got {shown(threshold)}")
    return float(threshold)
