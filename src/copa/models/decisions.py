"""Decisions of a fitted classifier about rows, checked: any model can be given, and any may fail or answer nonsense."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa._core.words import listed, shown
from copa.exceptions import CopaError, InvalidInputError
from copa.models.base import Flags
from copa.tables.cells import text_of

LONGEST = 300  # characters of what a model raised: some put whole tables into it


def accepts(model: Any, rows: Any, favourable: Any, threshold: float | None = None, who: str = "the model") -> Flags:
    """Return which rows a model accepts: by its own `predict`, or from a threshold on.

    Parameters
    ----------
    model : object
        Fitted classifier.
    rows : DataFrame or ndarray of N rows
        In the form that the model was fitted to.
    favourable : object
        Label of those it accepts, one of `classes_`.
    threshold : float, optional
        Probability of that label (or decision value) from which on it accepts; None for `predict`.
    who : str
        What messages call the model.

    Returns
    -------
    ndarray of bool of shape (N,)

    Raises
    ------
    InvalidInputError
        If the model fails, or does not return one answer per row.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> from copa.models.decisions import accepts
    >>> accepts(DummyClassifier().fit([[0], [1], [2]], ["yes", "yes", "no"]), np.zeros((2, 1)), "yes").tolist()
    [True, True]
    """
    if threshold is None:
        return np.asarray(predicted(model, rows, who) == favourable, dtype=bool)
    return np.asarray(decision_values(model, rows, favourable, who) >= threshold, dtype=bool)


def predicted(model: Any, rows: Any, who: str = "the model") -> npt.NDArray[Any]:
    """Return what `predict` says of rows, one of the model's labels each, (N,)."""
    with refusals(model, "predict", who):
        answers = np.asarray(model.predict(rows))
    n_rows = rows.shape[0]
    if answers.shape not in ((n_rows,), (n_rows, 1)):
        raise _wrong_shape(model, "predict", answers, f"({n_rows},), one label per row", who)
    answers = answers.reshape(n_rows)
    classes = np.asarray(model.classes_).tolist()
    with refusals(model, "predict", who):  # answers that cannot be compared, such as dictionaries or pandas' NA
        foreign = [label for label in dict.fromkeys(answers.tolist()) if label not in classes]
    if foreign:
        raise InvalidInputError(
            f"{who} cannot be asked: `predict` of {type(model).__name__} returned {shown(foreign[0])}, which is none "
            f"of its labels, {listed(classes)}"
        )
    return answers


def decision_values(model: Any, rows: Any, favourable: Any, who: str = "the model") -> Array:
    """Return what a threshold is about: probabilities of the favourable label, or decision values towards it, (N,)."""
    position = np.asarray(model.classes_).tolist().index(favourable)
    n_rows = rows.shape[0]
    method = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
    if not hasattr(model, method):
        raise InvalidInputError(
            f"threshold: {type(model).__name__} has no probabilities and no decision function to compare with it"
        )
    with refusals(model, method, who):
        values = np.asarray(getattr(model, method)(rows), dtype=np.float64)
    shapes = [(n_rows, 2)] if method == "predict_proba" else [(n_rows,), (n_rows, 1)]
    if values.shape not in shapes:
        raise _wrong_shape(model, method, values, str(shapes[0]), who)
    if not np.isfinite(values).all():
        raise InvalidInputError(
            f"{who} cannot be asked: `{method}` of {type(model).__name__} returned "
            f"{shown(float(values[~np.isfinite(values)][0]))}; finite numbers are expected"
        )
    if method == "predict_proba":
        return np.asarray(values[:, position])
    return values.reshape(n_rows) if position == 1 else -values.reshape(n_rows)


def match_label(wanted: Any, labels: Any) -> Any:
    """Return the label among those given that is the wanted one, in whatever type either is written; None if none is.

    Parameters
    ----------
    wanted : object
        A label as a person, a schema or a promise names it.
    labels : iterable of object
        Labels as a model has them.

    Examples
    --------
    >>> from copa.models.decisions import match_label
    >>> match_label("1", [0, 1]), match_label(True, ["False", "True"]), match_label("good", [0, 1])
    (1, 'True', None)
    """
    text = text_of(wanted)
    return next((label for label in labels if label == wanted or (text is not None and text_of(label) == text)), None)


@contextmanager
def refusals(model: Any, method: str, who: str) -> Iterator[None]:
    """Turn whatever a model raises into one line that names the model, the method and the error."""
    try:
        yield
    except CopaError:
        raise
    except Exception as error:
        told = " ".join(str(error).split())
        told = told if len(told) <= LONGEST else f"{told[:LONGEST]} ..."
        advice = "; it must read every row that was promised (handle_unknown='ignore' in its encoders)"
        raise InvalidInputError(
            f"{who} refuses promised rows: `{method}` of {type(model).__name__} raised {type(error).__name__}: {told}"
            f"{advice if isinstance(error, (ValueError, TypeError, KeyError)) else ''}"
        ) from error


def _wrong_shape(model: Any, method: str, answers: Any, expected: str, who: str) -> InvalidInputError:
    return InvalidInputError(
        f"{who} cannot be asked: `{method}` of {type(model).__name__} returned an array of shape {answers.shape}; "
        f"expected is {expected}"
    )
