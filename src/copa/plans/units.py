"""Words for columns, cells and amounts: titles, labels, and numbers with the unit that their title names."""

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from copa.data.schema import Feature, FeatureSchema
from copa.data.tables.cells import alone, plain
from copa.plans.cost import Cost

N_EXAMPLES = 2  # amounts in an example of what effort means

# A title that ends in its unit, as "duration (months)" does.
_WITH_UNIT = re.compile(r"^(?P<name>.*\S)\s*\((?P<unit>[^()]+)\)$")


def heading(schema: FeatureSchema, column: Any) -> str:
    """Return the title of a column."""
    return schema[column].heading if column in schema else str(column)


def value_text(schema: FeatureSchema, column: Any, value: Any) -> str:
    """Return the label of a value of a column, or the value as text."""
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
    parts = _WITH_UNIT.match(title)
    return (parts["name"], parts["unit"]) if parts else (title, "")


def amount_text(feature: Feature | None, number: Any) -> str:
    """Return a number of a column as people write it, with the unit that the title names: "4,300 DM", "12 months".

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


def effort_words(schema: FeatureSchema, columns: Sequence[Any], cost: Cost) -> str:
    """Explain an effort of 1 by examples from columns, the best ones first; "" where no column has one.

    The schema has the spreads and weights that the efforts were computed with. Numbers are preferred, two of them are
    given.

    Examples
    --------
    >>> from copa import Feature, FeatureSchema
    >>> from copa.plans.units import effort_words
    >>> from copa.plans.cost import L1
    >>> schema = FeatureSchema(
    ...     [
    ...         Feature("amount", "integer", title="credit amount (DM)", spread=4316.0),
    ...         Feature("months", "integer", title="duration (months)", spread=12.1),
    ...     ]
    ... )
    >>> effort_words(schema, ["amount", "months"], L1())
    'Effort 1 is, for example, about 4,300 DM of credit amount or about 12 months of duration.'
    """
    features = [schema[column] for column in columns if column in schema]
    numeric = [(feature, _one_effort(feature, cost)) for feature in features if feature.is_numeric]
    amounts = [
        f"about {amount_text(feature, amount)} of {name_and_unit(feature.heading)[0]}"
        for feature, amount in numeric
        if math.isfinite(amount) and (amount >= 1.0 or feature.kind != "integer")
    ][:N_EXAMPLES]
    if amounts:
        return f"Effort 1 is, for example, {' or '.join(amounts)}."
    for feature in features:
        gaps = cost.prices([feature]).gaps
        if feature.is_categorical and len(gaps) > 1 and gaps[0, 1] > 0.0:
            effort = gaps[0, 1] ** (1.0 / cost.prices([feature]).power)
            step = "a step of" if feature.kind == "ordinal" else "another value of"
            return f"For example, {step} {feature.heading} is an effort of {effort:.2g}."
    return ""


def _one_effort(feature: Feature, cost: Cost) -> float:
    """Return the amount of a numeric column that an effort of 1 is, to two digits; infinite where it costs nothing."""
    price = float(cost.prices([feature]).per_unit[0])
    return float(f"{1.0 / price:.2g}") if price > 0.0 else math.inf
