"""Columns of plans: one entry per applicant or one per option, declared and checked once."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, Self

import numpy as np

from copa._core.records import Positions
from copa._core.words import STATUSES, listed, shown
from copa.exceptions import InvalidInputError

APPLICANT, OPTION = "applicant", "option"

Reader = Callable[[Any, str, int, str], Any]  # takes a value, its name, the length and what there is one of for each


def per_applicant(read: Reader) -> dict[str, Any]:
    """Metadata of a field that is a column with one entry per applicant, (N,)."""
    return {"per": APPLICANT, "read": read}


def per_option(read: Reader) -> dict[str, Any]:
    """Metadata of a field that is a column with one entry per option, (M,)."""
    return {"per": OPTION, "read": read}


class Columns:
    """Base class of dataclasses with a column store per applicant (N) and one per option (M).

    A field is a column if its metadata are those of `per_applicant` or `per_option`; checking, selecting and
    concatenating follow from that.
    """

    @classmethod
    def names(cls, per: str) -> list[str]:
        """Names of the columns along an axis, "applicant" or "option"."""
        return [f.name for f in fields(cls) if f.metadata.get("per") == per]  # type: ignore[arg-type]

    def read_columns(self, n_applicants: int, n_options: int) -> None:
        """Check every column and make it read-only; the caller's own stays as it is."""
        lengths = {APPLICANT: n_applicants, OPTION: n_options}
        for f in fields(self):  # type: ignore[arg-type]
            if f.metadata:
                per = f.metadata["per"]
                read = f.metadata["read"](getattr(self, f.name), f.name, lengths[per], per)
                object.__setattr__(self, f.name, _read_only(read) if isinstance(read, np.ndarray) else read)

    def taken(self, applicants: Positions, options: Positions) -> dict[str, Any]:
        """Return the columns of some applicants and some options, by name."""
        rows = {APPLICANT: applicants, OPTION: options}
        return {name: _take(getattr(self, name), rows[per]) for per in rows for name in self.names(per)}

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> dict[str, Any]:
        """Return the columns of parts put one after another, by name."""
        names = [*cls.names(APPLICANT), *cls.names(OPTION)]
        return {name: _concat([getattr(part, name) for part in parts]) for name in names}


def _take(column: Any, rows: Positions) -> Any:
    return column[rows] if isinstance(column, np.ndarray) else column.iloc[rows]


def _concat(columns: Sequence[Any]) -> Any:
    import pandas as pd

    return np.concatenate(columns) if isinstance(columns[0], np.ndarray) else pd.concat(columns)


def _read_only(array: Any) -> Any:
    view = array.view()
    view.setflags(write=False)
    return view


def _array_reader(kinds: str, dtype: Any, what: str) -> Reader:
    """Return a reader of arrays with one entry for each."""

    def read(value: Any, name: str, length: int, per: str) -> Any:
        array = np.asarray(value)
        if array.shape != (length,) or (length and array.dtype.kind not in kinds):
            got = f"{array.dtype} of shape {array.shape}"
            raise InvalidInputError(f"{name} must hold {what} per {per}, shape ({length},), got {got}")
        return array.astype(dtype, copy=False)

    return read


read_numbers = _array_reader("biuf", np.float64, "one number")
read_flags = _array_reader("b", np.bool_, "true or false")
read_positions = _array_reader("iu", np.intp, "one position")


def read_probabilities(value: Any, name: str, length: int, per: str) -> Any:
    """Read one probability for each."""
    array = read_numbers(value, name, length, per)
    wrong = array[~((array >= 0.0) & (array <= 1.0))]
    if len(wrong):
        raise InvalidInputError(f"{name} must hold probabilities, from 0 to 1, got {wrong[0]}")
    return array


def read_shares(value: Any, name: str, length: int, per: str) -> Any:
    """Read one share for each, NaN where it is not known; None for all of them unknown."""
    array = read_numbers(np.full(length, np.nan) if value is None else value, name, length, per)
    wrong = array[(array < 0.0) | (array > 1.0)]
    if len(wrong):
        raise InvalidInputError(f"{name} must hold shares, from 0 to 1, or NaN, got {wrong[0]}")
    return array


def read_texts(value: Any, name: str, length: int, per: str) -> Any:
    """Read one text for each, as Python's own: a long one does not make room for all the others as well."""
    array = np.asarray(value).astype(object)
    if array.shape != (length,) or not all(isinstance(text, str) for text in array.tolist()):
        raise InvalidInputError(f"{name} must hold one text per {per}, shape ({length},), got {array.shape}")
    return array


def read_statuses(value: Any, name: str, length: int, per: str) -> Any:
    """Read one known status for each."""
    texts = read_texts(value, name, length, per)
    unknown = sorted(set(texts.tolist()) - set(STATUSES))
    if unknown:
        raise InvalidInputError(f"{name} must be one of {listed(STATUSES)}, got {shown(unknown[0])}")
    return texts.astype(np.str_)


def read_points(value: Any, name: str, length: int, per: str) -> Any:  # noqa: ARG001 - of every reader
    """Read points; the batch knows their shape."""
    return np.asarray(value, dtype=np.float64)


def read_cells(value: Any, name: str, length: int, per: str) -> Any:  # noqa: ARG001 - of every reader
    """Leave numbers for each cell to the batch, which knows the columns."""
    return value


def read_applicants(value: Any, name: str, length: int, per: str) -> Any:  # noqa: ARG001 - of every reader
    """Read the applicants' table, which has each column once."""
    if not value.columns.is_unique:
        twice = value.columns[value.columns.duplicated()][0]
        raise InvalidInputError(f"{name} have more than one column {shown(twice)}; rename one of them")
    return value


def read_options(value: Any, name: str, length: int, per: str) -> Any:  # noqa: ARG001 - of every reader
    """Read the table of options, whose rows are numbered from 0 to M - 1."""
    import pandas as pd

    numbered = pd.RangeIndex(length)
    return value if value.index.identical(numbered) else value.set_axis(numbered)


def require_table(value: Any, name: str) -> None:
    """Raise if a value is not a table."""
    import pandas as pd

    if not isinstance(value, pd.DataFrame):
        raise InvalidInputError(f"{name} must be a pandas DataFrame, got {type(value).__name__}")
