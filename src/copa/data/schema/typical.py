"""The typical row of a table: what most rows have in each column, one column at a time."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array
from copa.data.schema.columns import column_numbers, distinct_entries, irregular_cells
from copa.data.schema.feature import Feature
from copa.data.schema.feature_schema import FeatureSchema
from copa.data.tables.cells import is_missing, snap

if TYPE_CHECKING:
    import pandas as pd

DIGIT = 0.1  # of the power of ten of a column's spread: typical numbers are told no finer
SPREAD_QUANTILES = (0.16, 0.84)  # half of what lies between is a standard deviation of a normal law


def typical_row(
    schema: FeatureSchema, table: "pd.DataFrame", columns: Sequence[str], *, average: bool = False
) -> "pd.DataFrame":
    """Medians (or averages) of numbers and most frequent levels, as one row.

    Each cell is about its own column, and numbers are rounded: it is nobody's row. Where most cells of a column of
    numbers are missing or special codes, the most frequent of these is the typical one.

    Parameters
    ----------
    schema : FeatureSchema
    table : DataFrame
        At least one row.
    columns : sequence of str
        Columns of the table that are wanted, also such as the schema does not know.
    average : bool
        Whether numbers are averaged; otherwise their median is taken.

    Returns
    -------
    DataFrame
        One row, in the dtypes of the table.

    Examples
    --------
    >>> import pandas as pd
    >>> from copa import Feature, FeatureSchema
    >>> from copa.data.schema.typical import typical_row
    >>> table = pd.DataFrame({"amount": [1010, 2060, 4120], "housing": ["rented", "own", "own"]})
    >>> housing = Feature("housing", "categorical", values=["own", "rented"])
    >>> schema = FeatureSchema((Feature("amount", "integer"), housing))
    >>> typical_row(schema, table, ["amount", "housing"]).to_dict("records")
    [{'amount': 2100, 'housing': 'own'}]
    """
    import pandas as pd

    features = {feature.name: feature for feature in schema.features}
    cells = {name: _typical(features.get(name), table[name], average=average) for name in columns}
    return pd.DataFrame({name: pd.Series([cell], dtype=_dtype(table[name], cell)) for name, cell in cells.items()})


def _dtype(column: "pd.Series[Any]", cell: Any) -> Any:
    """The dtype of a column, unless it cannot hold the cell: a column of whole numbers has no decimals."""
    whole = column.dtype.kind in "iu" and isinstance(cell, float) and not cell.is_integer()
    return np.float64 if whole else column.dtype


def _typical(feature: Feature | None, column: "pd.Series[Any]", *, average: bool) -> Any:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    counted = is_numeric_dtype(column.dtype) and not is_bool_dtype(column.dtype)
    if not (counted if feature is None else feature.is_numeric):
        return _most_frequent(column)
    irregular = column.isna().to_numpy() if feature is None else irregular_cells(feature, column)
    if 2 * irregular.sum() > len(column):
        return _most_frequent(column[irregular])
    return _middle(feature, column_numbers(column[~irregular])[0], average=average)


def _most_frequent(column: "pd.Series[Any]") -> Any:
    """The cell that is there most often, also a missing one; of several the one that comes first in their order."""
    positions, distinct = distinct_entries(column)
    counts = np.bincount(np.where(positions < 0, len(distinct), positions), minlength=len(distinct) + 1)
    most = np.flatnonzero(counts == counts.max()).tolist()
    present = [distinct[k] for k in most if k < len(distinct)]
    return min(present, key=str) if present else next(cell for cell in column if is_missing(cell))


def _middle(feature: Feature | None, numbers: Array, *, average: bool) -> float | int:
    """The median or average of numbers, on the step of their column and no finer than their spread tells."""
    low, middle, high = np.quantile(numbers, [SPREAD_QUANTILES[0], 0.5, SPREAD_QUANTILES[1]]).tolist()
    spread = 0.5 * (high - low) or float(np.std(numbers))
    typical = float(np.quantile(numbers, 0.5, method="lower"))
    if spread > 0.0 and math.isfinite(spread):
        middle = float(np.mean(numbers)) if average else middle
        typical = float(snap(middle, DIGIT * 10.0 ** math.floor(math.log10(spread))))
    step = None if feature is None else feature.step
    if step is not None:
        typical = float(snap(typical, step))
    typical = float(np.clip(typical, numbers.min(), numbers.max()))
    return int(typical) if typical.is_integer() else typical
