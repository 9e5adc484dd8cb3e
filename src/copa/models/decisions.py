"""Decisions of a fitted classifier about rows, checked: any model can be given, and any may answer nonsense."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Flags
from copa._core.words import listed, shown
from copa.data.tables.cells import text_of
from copa.exceptions import CopaError, InvalidInputError

THE_MODEL = "the model"
LONGEST = 300  # characters of what a model raised: some put whole tables into it


def accepts(model: Any, rows: Any, label: Any, threshold: float | None = None, who: str | None = None) -> Flags:
    """Return which rows a model gives a label: by its own `predict`, or from a threshold on.

    Parameters
    ----------
    model : object
        Fitted classifier.
    rows : DataFrame or ndarray of N rows
        In the form that the model was fitted to.
    label : object
        One of `classes_`.
    threshold : float, optional
        Probability of that label (or decision value) from which on it accepts; None for `predict`.
    who : str, optional
        What messages call the model where it cannot read promised rows; None leaves the error to the model.

    Returns
    -------
    ndarray of bool of shape (N,)

    Raises
    ------
    InvalidInputError
        If the model does not return one answer per row, or fails and `who` is given.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> from copa.models.decisions import accepts
    >>> accepts(DummyClassifier().fit([[0], [1], [2]], ["yes", "yes", "no"]), np.zeros((2, 1)), "yes").tolist()
    [True, True]
    """
    if threshold is None:
        return np.asarray(predicted(model, rows, who) == label, dtype=bool)
    return np.asarray(decision_values(model, rows, label, who) >= threshold, dtype=bool)


def predicted(model: Any, rows: Any, who: str | None = None) -> npt.NDArray[Any]:
    """Return what `predict` says of rows, one of the model's labels each, (N,)."""
    with _named(model, "predict", who):
        answers = np.asarray(model.predict(rows))
    n_rows = rows.shape[0]
    if answers.shape not in ((n_rows,), (n_rows, 1)):
        raise _wrong_shape(model, "predict", answers, f"({n_rows},), one label per row", who)
    answers = answers.reshape(n_rows)
    classes = np.asarray(model.classes_).tolist()
    # Answers may not be comparable, such as dictionaries or pandas' NA.
    with refusals(model, "predict", who or THE_MODEL):
        foreign = [label for label in dict.fromkeys(answers.tolist()) if label not in classes]
    if foreign:
        raise InvalidInputError(
            f"{who or THE_MODEL} cannot be asked: `predict` of {type(model).__name__} returned {shown(foreign[0])}, "
            f"which is none of its labels, {listed(classes)}"
        )
    return answers


def decision_values(model: Any, rows: Any, label: Any, who: str | None = None) -> Array:
    """Return what a threshold is about: probabilities of a label, or decision values towards it, (N,)."""
    position = np.asarray(model.classes_).tolist().index(label)
    n_rows = rows.shape[0]
    method = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
    if not hasattr(model, method):
        raise InvalidInputError(
            f"threshold: {type(model).__name__} has no probabilities and no decision function to compare with it"
        )
    with _named(model, method, who):
        values = np.asarray(getattr(model, method)(rows), dtype=np.float64)
    shapes = [(n_rows, 2)] if method == "predict_proba" else [(n_rows,), (n_rows, 1)]
    if values.shape not in shapes:
        raise _wrong_shape(model, method, values, str(shapes[0]), who)
    if not np.isfinite(values).all():
        raise InvalidInputError(
            f"{who or THE_MODEL} cannot be asked: `{method}` of {type(model).__name__} returned "
            f"{shown(float(values[~np.isfinite(values)][0]))}; finite numbers are expected"
        )
    if method == "predict_proba":
        return np.asarray(values[:, position])
    return values.reshape(n_rows) if position == 1 else -values.reshape(n_rows)


def match_label(wanted: Any, labels: Any) -> Any:
    """Return the label among those given that is the wanted one, in whatever type either is written; None if none is.

    Blanks around a label do not count.

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
    text = _bare(wanted)
    return next((label for label in labels if label == wanted or (text is not None and _bare(label) == text)), None)


def _bare(label: Any) -> str | None:
    """Return a label as text, without blanks around it; None for what has no text."""
    text = text_of(label)
    return None if text is None else text.strip()


def _named(model: Any, method: str, who: str | None) -> AbstractContextManager[None]:
    return nullcontext() if who is None else refusals(model, method, who)


@contextmanager
def refusals(model: Any, method: str, who: str) -> Iterator[None]:
    """Turn whatever a model raises into one line that names the model, the method and the error."""
    try:
        yield
    except CopaError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())
        reason = reason if len(reason) <= LONGEST else f"{reason[:LONGEST]} ..."
        advice = "; it must read every row that was promised (handle_unknown='ignore' in its encoders)"
        raise InvalidInputError(
            f"{who} refuses a row: `{method}` of {type(model).__name__} raised {type(error).__name__}: {reason}"
            f"{advice if isinstance(error, (ValueError, TypeError, KeyError)) else ''}"
        ) from error


def _wrong_shape(model: Any, method: str, answers: Any, expected: str, who: str | None) -> InvalidInputError:
    return InvalidInputError(
        f"{who or THE_MODEL} cannot be asked: `{method}` of {type(model).__name__} returned an array of shape "
        f"{answers.shape}; expected is {expected}"
    )
