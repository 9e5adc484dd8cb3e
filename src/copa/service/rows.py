"""Reading applicants from JSON into tables: the dtype of a cell never depends on another applicant of the request."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.words import hint, shown
from copa.data.tables.casting import INTEGER, NUMBER, TEXT, TRUTH, kinds_of, read_cell, template_of

if TYPE_CHECKING:
    import pandas as pd


LARGEST = 2**63 - 1  # of whole numbers
EXPECTED = {INTEGER: "a whole number", NUMBER: "a number", TRUTH: "true or false", TEXT: "text"}
SIGNS = {int: "i", bool: "b", float: "f", type(None): "f"}


class RowError(ValueError):
    """An applicant that cannot be read; the message says why."""


@dataclass(frozen=True, eq=False)
class Table:
    """Some of the applicants of a request, whose columns have the same dtypes.

    Attributes
    ----------
    positions : list of int
        Which of the applicants they are.
    frame : DataFrame
    """

    positions: list[int]
    frame: "pd.DataFrame"


class RowReader:
    """Reads applicants for a planner.

    Parameters
    ----------
    template : DataFrame
        Columns that applicants must have, in their dtypes; its rows do not matter.
    """

    def __init__(self, template: "pd.DataFrame") -> None:
        self.kinds = kinds_of(template)
        self._text = template_of({"text": TEXT})["text"].dtype

    def tables(
        self, applicants: Sequence[Mapping[str, Any]], labels: Sequence[Any]
    ) -> tuple[list[Table], dict[int, str]]:
        """Read applicants into as many tables as there are sets of dtypes among them, nearly always one.

        What one applicant leaves out must not change the type of what another one has.

        Parameters
        ----------
        applicants : sequence of mapping
            From a column to its value, as JSON has them.
        labels : sequence
            What the rows are called.

        Returns
        -------
        tables : list of Table
        messages : dict of int to str
            What is wrong with those that cannot be read.
        """
        groups: dict[str, list[int]] = {}
        values: dict[int, list[Any]] = {}
        messages: dict[int, str] = {}
        for i, applicant in enumerate(applicants):
            try:
                values[i] = self._read(applicant)
            except RowError as error:
                messages[i] = str(error)
                continue
            groups.setdefault(self._signature(values[i]), []).append(i)
        found = [
            Table(some, self._frame(signs, [values[i] for i in some], [labels[i] for i in some]))
            for signs, some in groups.items()
        ]
        return found, messages

    def signature(self, applicant: Mapping[str, Any]) -> str:
        """Return a letter for the dtype of each column; raise a `RowError` if the applicant cannot be read."""
        return self._signature(self._read(applicant))

    def _read(self, applicant: Mapping[str, Any]) -> list[Any]:
        """Return the values of an applicant, in the order of the columns."""
        if applicant.keys() != self.kinds.keys():
            for name in applicant:
                if name not in self.kinds:
                    raise RowError(f"column {shown(name)} is not known; {hint(name, list(self.kinds))}")
            missing = [name for name in self.kinds if name not in applicant]
            raise RowError(f"column {shown(missing[0])} is missing; null says that there is no value")
        return [_value(name, kind, applicant[name]) for name, kind in self.kinds.items()]

    def _signature(self, values: list[Any]) -> str:
        """Return a letter for the dtype of each column that holds the values."""
        return "".join(_sign(kind, value) for kind, value in zip(self.kinds.values(), values, strict=True))

    def _frame(self, signs: str, rows: list[list[Any]], labels: list[Any]) -> "pd.DataFrame":
        import pandas as pd

        dtypes: dict[str, Any] = {"i": np.int64, "f": np.float64, "b": np.bool_, "o": object}
        columns = {  # arrays: a series for each column costs as much as all of this
            name: pd.array(list(cells), self._text) if sign == "t" else np.array(cells, dtypes[sign])
            for name, sign, cells in zip(self.kinds, signs, zip(*rows, strict=True), strict=True)
        }
        return pd.DataFrame(columns, pd.Index(labels, tupleize_cols=False))


def _value(name: str, kind: str, cell: Any) -> Any:
    if cell is None or isinstance(cell, (bool, str, int, float)):
        if isinstance(cell, str) and not cell.isascii() and not _is_text(cell):
            raise RowError(f"column {shown(name)}: {shown(cell)} is no text: it holds half of a character")
        if isinstance(cell, float) and not math.isfinite(cell):
            raise RowError(f"column {shown(name)}: must be a finite number, got {shown(cell)}")
        value = read_cell(kind, cell)
        if kind == INTEGER and isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON knows one kind of numbers
        if not isinstance(value, int) or abs(value) <= LARGEST:
            return value
    raise RowError(f"column {shown(name)}: must be {EXPECTED[kind]}, or null, got {shown(cell)}")


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _sign(kind: str, value: Any) -> str:
    """Return the letter of the dtype that holds a value in a column of a kind; objects where it is not of the kind."""
    if kind == TEXT:
        return "t"
    sign = SIGNS.get(type(value), "o")
    if kind == TRUTH:
        return "b" if sign == "b" else "o"
    return "f" if kind == NUMBER and sign == "i" else sign
