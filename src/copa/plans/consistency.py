"""Reading the parts of a batch: one place where lengths, shapes and words are checked."""

from typing import Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa._core.records import Positions
from copa._core.words import STATUSES, listed, shown
from copa.exceptions import InvalidInputError

PER_APPLICANT = ("lower", "upper", "any_lower", "gap", "relaxed_lower", "highest_level", "seconds")
PER_OPTION = ("effort", "relaxed_effort", "option_lower", "option_weights")
PROBABILITIES = ("lower", "upper", "any_lower", "option_lower")


def read_only(array: Any) -> Any:
    """Return a view of an array that cannot be written through; the caller's own stays as it is."""
    view = array.view()
    view.setflags(write=False)
    return view


def read_numbers(value: Any, name: str, length: int, per: str) -> Array:
    """Read one number per applicant or per option."""
    array = np.asarray(value)
    if array.shape != (length,) or array.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"{name} must hold one number per {per}, shape ({length},), got {array.dtype} of shape {array.shape}"
        )
    array = array.astype(np.float64, copy=False)
    if name in PROBABILITIES and not ((array >= 0.0) & (array <= 1.0)).all():
        wrong = array[~((array >= 0.0) & (array <= 1.0))][0]
        raise InvalidInputError(f"{name} must hold probabilities, from 0 to 1, got {wrong}")
    return read_only(array)  # type: ignore[no-any-return]


def read_texts(value: Any, name: str, length: int) -> npt.NDArray[np.object_]:
    """Read one text per applicant, as Python's own: a long one does not make room for all the others as well."""
    array = np.asarray(value).astype(object)
    if array.shape != (length,) or not all(isinstance(text, str) for text in array.tolist()):
        raise InvalidInputError(f"{name} must hold one text per applicant, shape ({length},), got {array.shape}")
    return read_only(array)  # type: ignore[no-any-return]


def read_status(value: Any, length: int) -> npt.NDArray[np.str_]:
    """Read one known status per applicant."""
    texts = read_texts(value, "status", length)
    unknown = sorted(set(texts.tolist()) - set(STATUSES))
    if unknown:
        raise InvalidInputError(f"status must be one of {listed(STATUSES)}, got {shown(unknown[0])}")
    return read_only(texts.astype(np.str_))  # type: ignore[no-any-return]


def read_flags(value: Any, name: str, length: int) -> npt.NDArray[np.bool_]:
    """Read true or false per option."""
    array = np.asarray(value)
    if array.shape != (length,) or array.dtype != np.bool_:
        raise InvalidInputError(
            f"{name} must hold true or false per option, shape ({length},), got {array.dtype} of shape {array.shape}"
        )
    return read_only(array)  # type: ignore[no-any-return]


def read_owner(value: Any, n_applicants: int, n_options: int) -> Positions:
    """Read the position of the applicant of each option: in order, so that a menu stands together."""
    owner = np.asarray(value)
    if owner.shape != (n_options,) or (owner.size and owner.dtype.kind not in "iu"):
        raise InvalidInputError(
            f"owner must hold one position per option, shape ({n_options},), got {owner.dtype} of shape {owner.shape}"
        )
    owner = owner.astype(np.intp)
    if owner.size and (owner[0] < 0 or owner[-1] >= n_applicants or (np.diff(owner) < 0).any()):
        raise InvalidInputError(
            f"owner must hold positions of applicants, 0 to {n_applicants - 1}, in ascending order, got {shown(owner)}"
        )
    return read_only(owner)  # type: ignore[no-any-return]


def read_option_points(value: Any, n_options: int, dimension: int) -> Array:
    """Read the options as the model sees them."""
    points = np.asarray(value, dtype=np.float64)
    if points.shape != (n_options, dimension):
        raise InvalidInputError(
            f"points must have one row per option and one column per parameter, shape ({n_options}, {dimension}), "
            f"got {points.shape}"
        )
    return read_only(points)  # type: ignore[no-any-return]


def require_same_columns(applicants: Any, options: Any) -> None:
    """Raise if the two tables are no tables, or differ in their columns."""
    import pandas as pd

    for name, table in (("applicants", applicants), ("options", options)):
        if not isinstance(table, pd.DataFrame):
            raise InvalidInputError(f"{name} must be a pandas DataFrame, got {type(table).__name__}")
    if not applicants.columns.is_unique:
        twice = applicants.columns[applicants.columns.duplicated()][0]
        raise InvalidInputError(f"applicants have more than one column {shown(twice)}; rename one of them")
    if list(applicants.columns) != list(options.columns):
        raise InvalidInputError(
            f"options must have the columns of the applicants, {listed(list(applicants.columns))}, "
            f"got {listed(list(options.columns))}"
        )
