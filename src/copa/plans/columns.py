"""Columns of a batch of plans: what there is one entry for, and what an entry may be."""

from collections.abc import Callable
from typing import Any

import numpy as np

from copa._core.words import STATUSES, listed, shown
from copa.exceptions import InvalidInputError

APPLICANT, OPTION = "applicant", "option"
CELLS, PARAMETERS = "column of the table", "parameter"  # of an option, in columns that hold several entries of each
UNKNOWN: Any = None  # default of a column that may be left out, which is read as NaN

Reader = Callable[[Any, str, tuple[int, ...], str], Any]  # of a value, its name, its shape and what it has entries for


def per_applicant(read: Reader | None = None) -> dict[str, Any]:
    """Metadata of a field that is a column with one entry per applicant, (N,); tables have no reader of their own."""
    return {"per": APPLICANT, "read": read}


def per_option(read: Reader | None = None, also_per: str = "") -> dict[str, Any]:
    """Metadata of a field that is a column with one entry per option, (M,), or with one per option and something."""
    return {"per": OPTION, "read": read, "also_per": also_per}


def read_column(value: Any, name: str, shape: tuple[int, ...], metadata: Any) -> Any:
    """Check a column by the metadata of its field and return it read-only; the caller's own stays as it is."""
    whose = " and ".join(filter(None, [metadata["per"], metadata.get("also_per")]))
    view = metadata["read"](value, name, shape, whose).view()
    view.setflags(write=False)
    return view


def _array_reader(kinds: str, dtype: Any, what: str) -> Reader:
    """Return a reader of arrays of certain kinds of dtypes."""

    def read(value: Any, name: str, shape: tuple[int, ...], whose: str) -> Any:
        array = np.asarray(value)
        if array.shape != shape or (array.size and array.dtype.kind not in kinds):
            got = f"{array.dtype} of shape {array.shape}"
            raise InvalidInputError(f"{name} must hold {what} per {whose}, shape {shape}, got {got}")
        return array.astype(dtype, copy=False)

    return read


read_numbers = _array_reader("biuf", np.float64, "one number")
read_flags = _array_reader("b", np.bool_, "true or false")
read_positions = _array_reader("iu", np.intp, "one position")


def read_probabilities(value: Any, name: str, shape: tuple[int, ...], whose: str) -> Any:
    """Read one probability for each."""
    array = read_numbers(value, name, shape, whose)
    wrong = array[~((array >= 0.0) & (array <= 1.0))]
    if len(wrong):
        raise InvalidInputError(f"{name} must hold probabilities, from 0 to 1, got {wrong[0]}")
    return array


def read_known_numbers(value: Any, name: str, shape: tuple[int, ...], whose: str) -> Any:
    """Read one number for each, NaN where it is not known; None for all of them unknown."""
    return np.full(shape, np.nan) if value is None else read_numbers(value, name, shape, whose)


def read_shares(value: Any, name: str, shape: tuple[int, ...], whose: str) -> Any:
    """Read one share for each, NaN where it is not known; None for all of them unknown."""
    array = read_known_numbers(value, name, shape, whose)
    wrong = array[(array < 0.0) | (array > 1.0)]
    if len(wrong):
        raise InvalidInputError(f"{name} must hold shares, from 0 to 1, or NaN, got {wrong[0]}")
    return array


def read_texts(value: Any, name: str, shape: tuple[int, ...], whose: str) -> Any:
    """Read one text for each, as Python's own: a long one does not make room for all the others as well."""
    array = np.asarray(value).astype(object)
    if array.shape != shape or not all(isinstance(text, str) for text in array.tolist()):
        raise InvalidInputError(f"{name} must hold one text per {whose}, shape {shape}, got {array.shape}")
    return array


def read_statuses(value: Any, name: str, shape: tuple[int, ...], whose: str = APPLICANT) -> Any:
    """Read one known status for each."""
    texts = read_texts(value, name, shape, whose)
    unknown = sorted(set(texts.tolist()) - set(STATUSES))
    if unknown:
        raise InvalidInputError(f"{name} must be one of {listed(STATUSES)}, got {shown(unknown[0])}")
    return texts.astype(np.str_)
