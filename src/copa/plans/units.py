"""What people call columns, cells and amounts: titles, labels, and numbers with the unit that their title names."""

import math
import re
from decimal import Decimal
from typing import Any

from copa.schema import Feature, FeatureSchema
from copa.tables.cells import alone, plain

# A title that ends in its unit, as "duration (months)" does.
_WITH_UNIT = re.compile(r"^(?P<name>.*\S)\s*\((?P<unit>[^()]+)\)$")


def heading(schema: FeatureSchema, column: Any) -> str:
    """What people call a column."""
    return schema[column].heading if column in schema else str(column)


def value_text(schema: FeatureSchema, column: Any, value: Any) -> str:
    """What people call a value of a column."""
    label = schema[column].label_of(value) if column in schema else None
    return alone(value if label is None else label)


def name_and_unit(title: str) -> tuple[str, str]:
    """Split a title into the name and the unit in parentheses at its end, "" where there is none.

    Examples
    --------
    >>> from copa.plans.units import name_and_unit
    >>> name_and_unit("duration (months)"), name_and_unit("housing")
    (('duration', 'months'), ('housing', ''))
    """
    found = _WITH_UNIT.match(title)
    return (found["name"], found["unit"]) if found else (title, "")


def amount_text(feature: Feature | None, number: Any) -> str:
    """A number of a column as people write it, with the unit that the title names: "4,300 DM", "12 months".

    Numbers with labels have their label; what is no number is said as `value_text` says it.

    Examples
    --------
    >>> from copa import Feature
    >>> from copa.plans.units import amount_text
    >>> amount_text(Feature("duration", "integer", title="duration (months)"), 12)
    '12 months'
    >>> amount_text(Feature("amount", "integer", title="credit amount (DM)"), 4300.0)
    '4,300 DM'
    """
    label = None if feature is None else feature.label_of(number)
    if label is not None:
        return alone(label)
    value = plain(number)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if feature is None or not feature.is_numeric or not is_number or feature.is_special(value):
        return alone(number)
    unit = name_and_unit(feature.heading)[1]
    digits = f"{int(value):,}" if float(value).is_integer() else f"{Decimal(repr(float(value))):,f}"
    return f"{digits} {unit}" if unit else digits
