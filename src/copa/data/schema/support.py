"""Support of a column's values: which values of a categorical one, and which numbers, too few training rows have."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.words import counted, shown
from copa.data.schema.columns import Codes, column_codes
from copa.data.schema.feature import Feature, possible_moves
from copa.data.schema.field_readers import ENDS
from copa.data.schema.inference import regular_numbers, usual_range
from copa.data.tables.cells import Scalar

if TYPE_CHECKING:
    import pandas as pd

# A value with fewer training rows is not offered: what the next model makes of it is hardly known. Of options that
# moved to values with 5 to 14 rows .72 were kept at their level, of those to values with 40 and more .94.
LEAST_ROWS = 15
MOST_NAMED = 10  # values in a sentence


def support_fields(feature: Feature, column: "pd.Series[Any]") -> dict[str, Any]:
    """Return the fields `support` and `withheld` of a categorical column for its training rows.

    Values that are withheld without a number of training rows were given by a person, and stay withheld. The others are
    found again, so that a schema which was filled in with fewer rows does not keep what they lacked.
    """
    given = {value for value in feature.withheld if value not in feature.support}
    codes = column_codes(feature, column)
    rows = np.bincount(codes[codes >= 0], minlength=len(feature.values or ()))
    few = {
        value: int(count)
        for value, count in zip(feature.values or (), rows, strict=True)
        if count < LEAST_ROWS and value not in given
    }
    out = given if feature.rare == "offer" else given | set(few)
    return {"support": few, "withheld": [value for value in feature.values or () if value in out]}


def range_fields(feature: Feature, column: "pd.Series[Any]") -> dict[str, Any]:
    """Return the fields `lower`, `upper` and `observed` of a numeric column for its training rows.

    Ends that were given stay. The others are the 1 % and the 99 % quantile of the amounts, on the step; they are left
    open where there is no amount, or none within the end that was given.
    """
    wanted = [end for end in ENDS if getattr(feature, end) is None or end in feature.observed]
    amounts = regular_numbers(feature, column)
    if not wanted or not amounts.size:
        return {}
    usual = dict(zip(ENDS, usual_range(amounts, feature.step), strict=True))
    ends = {end: usual[end] if end in wanted else getattr(feature, end) for end in ENDS}
    within = any(ends["lower"] <= code <= ends["upper"] for code in feature.special)
    if ends["lower"] > ends["upper"] or (feature.immutable and within):
        return {}
    return ends | {"observed": wanted}


def why_withheld(feature: Feature, value: Scalar) -> str:
    """Say why one of the withheld values is not offered."""
    if value not in feature.support:
        return "is withheld by the schema, and is not offered"
    return f"has {counted(feature.support[value], 'training row')}, fewer than {LEAST_ROWS}, and is not offered"


def count_withheld(feature: Feature) -> Codes:
    """Number of values that are not offered for want of support alone, (V,) by the applicant's own value."""
    given = [value for value in feature.withheld if value not in feature.support]
    counts: Codes = (possible_moves(feature.replace(withheld=given)) & ~possible_moves(feature)).sum(axis=1)
    return counts


def withheld_in_words(features: Sequence[Feature]) -> str:
    """Name the values that are not offered for want of training rows, in a sentence; "" where there are none."""
    named = [
        f"{feature.name} {shown(value)} ({feature.support[value]})"
        for feature in features
        for value in feature.withheld
        if value in feature.support
    ]
    if not named:
        return ""
    rest = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    return (
        f"{counted(len(named), 'value')} with fewer than {LEAST_ROWS} training rows will not be offered "
        f"({how_to_offer(features)}): {', '.join(named[:MOST_NAMED])}{rest}"
    )


def how_to_offer(features: Iterable[Feature]) -> str:
    """Say how values with few training rows are offered, or why `rare: offer` was of no use."""
    if any(feature.rare == "offer" and not feature.support.keys().isdisjoint(feature.withheld) for feature in features):
        return "`rare: offer` has no effect here: the model's penalty does not say how much their weights vary"
    return "`rare: offer` in the schema offers them"
