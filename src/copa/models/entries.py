"""One value of a choice, in the type of another entry of its column."""

from typing import TYPE_CHECKING, Any

import numpy as np

from copa.schema.values import text_of

if TYPE_CHECKING:
    from copa.schema import Feature


def spell_like(feature: "Feature", code: int, own: Any) -> Any:
    """One of the feature's values in the type of the entry that it replaces: 3 beside 1, "3" beside "1"."""
    values = feature.values or ()
    value, here = values[code], feature.index.position(own)
    if here < 0:  # a missing entry, or another sample of the type
        here = code
    if isinstance(own, str):
        return value if isinstance(values[here], str) else text_of(value)
    truth = isinstance(own, (bool, np.bool_))
    number = number_behind(feature, code, truth=truth)
    if number is None or not isinstance(own, (bool, int, float, np.generic)) or own != own:  # noqa: PLR0124 - NaN
        return value
    if truth and number in (0.0, 1.0):
        return bool(number)
    decimal = isinstance(own, (float, np.floating)) or not number.is_integer()
    return number if decimal else int(number)


def number_behind(feature: "Feature", code: int, *, truth: bool) -> float | None:
    """The number that a column of numbers holds where it means one of the feature's values; None if there is none.

    Parameters
    ----------
    truth : whether the column holds true and false: they may be spelled as text in the schema
    """
    if truth:
        for answer in (False, True):
            if feature.index.position(answer) == code:
                return float(answer)
    try:
        number = float((feature.values or ())[code])
    except ValueError:  # text that is no number
        return None
    return number if feature.index.position(number) == code else None  # "01" is not 1
