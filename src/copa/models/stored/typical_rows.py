"""Rows by which a model can be told from others, mixed from typical values of its columns: no person's is copied."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

N_ROWS = 48
SHARES = np.linspace(0.05, 0.95, 10)  # of a column of numbers, the values at these shares of its order
MOST_FREQUENT = 10  # values of any other column, if at least two people have them
SEED = 20


def typical_rows(table: "pd.DataFrame") -> "pd.DataFrame":
    """Rows of the columns' typical values, each column drawn by itself: what goes with what is not kept."""
    import pandas as pd

    rng = np.random.default_rng(SEED)
    columns = {}
    for name in table:
        places = _typical_places(table[name])
        columns[name] = table[name].iloc[rng.choice(places, N_ROWS)].reset_index(drop=True)
    return pd.DataFrame(columns, columns=table.columns)


def _typical_places(column: "pd.Series[Any]") -> Any:
    """Positions of entries that stand for a column."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if is_numeric_dtype(column.dtype) and not is_bool_dtype(column.dtype):
        known = np.flatnonzero(column.notna())
        order = known[np.argsort(column.iloc[known].to_numpy(), kind="stable")]
        return order[np.rint(SHARES * (len(order) - 1)).astype(int)] if len(order) else np.arange(1)
    try:
        codes = column.array.factorize()[0]
    except TypeError:  # lists and the like
        return np.arange(1)
    values, first, counts = np.unique(codes, return_index=True, return_counts=True)
    shared = np.flatnonzero((values >= 0) & (counts > 1))
    frequent = shared[np.argsort(-counts[shared], kind="stable")[:MOST_FREQUENT]]
    return first[frequent] if len(frequent) else np.arange(1)
