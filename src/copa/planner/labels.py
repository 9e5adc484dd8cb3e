"""Labels of a model: the one that a person wants, and a warning of a model no better than the more frequent label."""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.words import listed, shown
from copa.data.tables.cells import Scalar
from copa.exceptions import InvalidInputError, WeakModelWarning
from copa.models.base import TRAINING_ROWS, Model, best_of, reading_rows
from copa.models.decisions import match_label

if TYPE_CHECKING:
    import pandas as pd

    from copa.data.schema import FeatureSchema

STANDARD_ERRORS = 2.0  # by which the mean of the two recalls must exceed a half to count as better than chance


def read_favourable(given: Any, schema: "FeatureSchema | None", model: Any, y: Any = None) -> Any:
    """Return the label that a person wants: the one given, else the schema's, else True of true and false.

    It is None where the model is no fitted classifier of two classes: reading the model says so. Labels `y` are only
    for the message of the error that asks for the label.
    """
    classes = getattr(best_of(model), "classes_", None)
    if given is not None or classes is None or len(classes) != 2:
        return given
    classes = np.asarray(classes)
    if schema is not None and schema.favourable is not None:
        return _label_like(schema.favourable, classes)
    if is_truth(classes) or (y is not None and classes[1] == 1 and is_truth(np.asarray(y).ravel())):
        return classes[1]  # some models turn true and false into 1 and 0
    raise InvalidInputError(
        f"favourable must say which label an applicant wants, {shares_in_words(classes, y)}: give "
        f"favourable={shown(classes[1])} or favourable={shown(classes[0])} to RecoursePlanner, or write `favourable:` "
        "and the label into the schema"
    )


def is_truth(labels: Any) -> bool:
    """Return whether labels are true and false, of which an applicant wants the first."""
    array = np.asarray(labels)
    return array.dtype == np.bool_ or all(isinstance(label, (bool, np.bool_)) for label in array.tolist())


def shares_in_words(classes: Any, y: Any = None) -> str:
    """Return the two labels in words, with their shares of the rows where these are known."""
    if y is None:
        return " or ".join(shown(label) for label in classes)
    labels = np.asarray(y)
    return " or ".join(f"{shown(label)} ({(labels == label).mean():.1%} of the rows)" for label in classes)


def _label_like(favourable: Scalar, classes: Any) -> Any:
    """Return the model's label that the schema names, whatever types they are written in."""
    label = match_label(favourable, classes)
    if label is not None:
        return label
    raise InvalidInputError(
        f"the schema says favourable: {shown(favourable)}, and the labels of the model are {listed(list(classes))}"
    )


def warn_if_weak(model: Model, X: "pd.DataFrame", labels: Any) -> None:
    """Warn of a model that is no better than the more frequent answer on the rows given."""
    weakness = weakness_of(model, X, labels)
    if weakness:
        warnings.warn(weakness, WeakModelWarning, stacklevel=3)


def weakness_of(model: Model, X: "pd.DataFrame", labels: Any) -> str:
    """Say that a model's decisions on rows are no better than the more frequent of their labels, (n,); else ""."""
    with reading_rows(*TRAINING_ROWS):
        accepted = model.accepts(X)
    answers = model.classes[np.where(accepted, model.position, 1 - model.position)]
    return weakness_in_words(answers, labels, model.threshold)


def weakness_in_words(answers: Any, labels: Any, threshold: float | None = None) -> str:
    """Say that a model's answers are no better than the more frequent label; "" where they are.

    A model that weighs the rarer label more (`class_weight="balanced"`) may be right less often on purpose. It counts
    as better if it finds the rows of both labels more often than chance does.
    """
    right = np.asarray(answers) == np.asarray(labels)
    classes, codes, counts = np.unique(np.asarray(labels), return_inverse=True, return_counts=True)
    accuracy, most = float(right.mean()), float(counts.max() / counts.sum())
    recalls = np.bincount(codes, weights=right) / counts
    error = np.sqrt((recalls * (1.0 - recalls) / counts).sum()) / len(classes)
    if accuracy > most or recalls.mean() > 0.5 + STANDARD_ERRORS * error:
        return ""
    return (
        f"the model{'' if threshold is None else f', at its threshold of {threshold:g},'} is no better than always "
        f"answering {shown(classes[np.argmax(counts)])}: it is right on {accuracy:.1%} of the rows given, which it may "
        f"have been fitted to, and that answer is right on {most:.1%}. Its plans follow noise; find "
        f"{'' if threshold is None else 'another threshold, or '}columns that tell the labels apart first"
    )
