"""One cell of a table: as a person reads it and as JSON holds it, in a list of values, on a grid of steps."""

import math
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from copa._core.arrays import Array
from copa._core.words import shown, visible
from copa.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd
    from pandas.api.extensions import ExtensionArray


def cells_of(column: "pd.Series[Any] | pd.Index[Any] | ExtensionArray") -> list[Any]:
    """Return the entries of a column, decimals in its own precision: a list of float32 would hold other ones."""
    kind = getattr(column.dtype, "numpy_dtype", column.dtype)  # of pandas' and Arrow's own types
    if kind in (np.float32, np.float16):
        return list(column.to_numpy(dtype=kind, na_value=np.nan))
    return list(column)


def is_missing(value: Any) -> bool:
    """Return whether a cell holds nothing: None, NaN, NA or NaT."""
    import pandas as pd

    return bool(pd.api.types.is_scalar(value) and pd.isna(value))


def plain(value: Any) -> Any:
    """Return a number of numpy as Python's, with the decimals it was written with; other values as they are."""
    if isinstance(value, (np.datetime64, np.timedelta64)):
        import pandas as pd

        return pd.Timestamp(value) if isinstance(value, np.datetime64) else pd.Timedelta(value)
    if isinstance(value, np.floating):
        return float(str(value))  # 0.1 also in single precision
    return value.item() if isinstance(value, np.generic) else value


def as_text(value: Any, *, quoted: bool = False) -> str:
    """Return a cell as a person writes it, on one line: 18, not np.float64(18.0).

    Parameters
    ----------
    quoted : put quotes around text; without, only around text that would run into the words beside it
    """
    value = plain(value)
    if is_missing(value):
        return "missing"
    if isinstance(value, str):
        alone = bool(value) and not any(character.isspace() for character in value)
        return visible(value if alone and not quoted else f"'{value}'", lines=False)
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, tuple):
        return ", ".join(as_text(part) for part in value)
    return visible(value, lines=False)


def alone(value: Any) -> str:
    """Return a cell as text that stands by itself, so that only empty text needs quotes."""
    return visible(value, lines=False) if isinstance(value, str) and value.strip() else as_text(value)


def as_json(value: Any) -> Any:
    """Return a cell as JSON holds it: text, a number, true, false or null; points in time as ISO 8601."""
    if type(value) in (str, int, bool):  # most cells are one of these
        return value
    value = plain(value)
    if isinstance(value, (tuple, list)):
        return [as_json(part) for part in value]
    if isinstance(value, (float, Decimal)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, int):
        return value
    if is_missing(value):
        return None
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


Scalar = str | bool | int | float
LARGEST_NUMBER = 2.0**63  # of a table's whole numbers


def as_scalar(value: Any, where: str) -> Scalar:
    """Return a value as plain str, bool, int or float, or say why it is none of them."""
    if isinstance(value, np.generic):
        value = float(str(value)) if isinstance(value, np.floating) else value.item()  # 0.1 also in single precision
    if not isinstance(value, (str, bool, int, float)) or text_of(value) is None:
        raise InvalidInputError(
            f"{where} must be text, whole or decimal numbers, or true and false, got {shown(value)} "
            f"({type(value).__name__}); in a YAML file, put quotes around text"
        )
    return str(value) if isinstance(value, str) else value  # a plain str, also for numpy's


def as_scalars(values: Any, where: str) -> tuple[Scalar, ...]:
    """Return a list of values as a tuple of scalars."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InvalidInputError(f"{where} must be a list of values, got {shown(values)}")
    return tuple(as_scalar(value, where) for value in values)


def text_of(value: Any) -> str | None:
    """Text by which values of different types are matched: 1, 1.0 and "1" have the same; None for other objects."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, np.timedelta64):
        return None  # an integer to numpy, and none to anybody else
    number = float(value) if isinstance(value, np.floating) else value  # a float16 cannot be held against 2**63
    if isinstance(number, (int, float, np.integer)) and -LARGEST_NUMBER <= number <= LARGEST_NUMBER:
        return str(int(number)) if number == int(number) else str(value)  # the shortest decimals, also of a float32
    return None  # missing, infinite, or no number at all


class ValueIndex:
    """Finds the position of a value in a list of known ones.

    Numbers match by their value, true and false also as 1 and 0, text exactly. Where a value has another type than the
    list (numbers read from a file as text, or the other way round) it is matched by its text: no two entries of a
    list have the same text, so that there is never more than one match.
    """

    def __init__(self, values: tuple[Scalar, ...], where: str) -> None:
        self._exact: dict[Scalar, int] = {}
        self._text: dict[str | None, int] = {}
        for i, value in enumerate(values):
            text = text_of(value)
            if value in self._exact or text in self._text:
                first = values[self._exact.get(value, self._text.get(text, 0))]
                raise InvalidInputError(
                    f"{where} must differ in more than their type, got {shown(first)} and {shown(value)}"
                )
            self._exact[value] = i
            self._text[text] = i

    def position(self, value: Any) -> int:
        """Return the index of a value, -1 if it is not in the list."""
        text = text_of(value)
        if text is None:
            return -1
        exact = self._exact.get(value)
        return self._text.get(text, -1) if exact is None else exact


MOST_DIGITS = 9  # significant digits of a step
EXACT = 2.0**53  # whole numbers up to here are floats


@lru_cache(maxsize=2**10)
def whole_and_digits(step: float) -> tuple[int, int]:
    """Return p and q with step = p / 10**q, both whole and p as small as it can be."""
    _, digits, exponent = Decimal(repr(step)).normalize().as_tuple()
    return int("".join(map(str, digits))), -int(exponent)


def largest_exact(step: float) -> float:
    """Size below which every multiple of a step is a number of its own, printed with the decimals that it has.

    Whole numbers are exact up to 2**53, and 15 decimal digits survive any way through a float.
    """
    _, digits = whole_and_digits(step)
    return EXACT if digits <= 0 else 10.0**15 / 10.0**digits


def multiples(counts: Any, step: float) -> Array:
    """Return counts * step, each the float nearest to the decimal product.

    A quotient of two whole numbers that are floats themselves is rounded once, hence to the nearest float.
    """
    counts = np.asarray(counts, dtype=np.float64)
    whole, digits = whole_and_digits(step)
    units = counts * whole
    if 0 <= digits <= 22 and np.abs(units).max(initial=0.0) <= EXACT:
        exact: Array = units / 10.0**digits + 0.0  # no negative zero
        return exact
    products = [float(Decimal(repr(count)) * Decimal(repr(step))) for count in counts.ravel().tolist()]
    return np.array(products, dtype=np.float64).reshape(counts.shape)


def snap(values: Any, step: float, rounding: Literal["nearest", "down", "up"] = "nearest") -> Array:
    """Return the multiples of `step` nearest to the values, or the nearest that are not above or below them.

    Parameters
    ----------
    values : array_like of finite numbers, any shape
    step : float > 0
    rounding : "nearest", "down" or "up"

    Returns
    -------
    Array of the same shape; a value that is a multiple already is returned as it is
    """
    values = np.asarray(values, dtype=np.float64)
    counts = np.rint(values / step)
    snapped = multiples(counts, step)
    if rounding == "down":
        snapped = multiples(counts - (snapped > values), step)
    elif rounding == "up":
        snapped = multiples(counts + (snapped < values), step)
    return snapped
