"""Applicants by group, to see whether one gets surer or cheaper plans than another."""

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array
from copa.plans.wording import value_text
from copa.schema import FeatureSchema
from copa.tables.cells import is_missing, plain

if TYPE_CHECKING:
    import pandas as pd

MOST = 8  # groups; the smallest of more are put together
REST = "all others"
MISSING = "missing"
QUARTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


def compare_groups(rows: "pd.DataFrame", column: str, schema: FeatureSchema) -> "pd.DataFrame":
    """Cut applicants by a column: into its values, or into quartiles where it holds many numbers.

    Parameters
    ----------
    rows : DataFrame
        One row per applicant: "group", the value of the column; "each", "any", "all", guarantees, and "effort", of the
        cheapest option, NaN without options; "ok", whether the level is reached.
    column : str
    schema : FeatureSchema

    Returns
    -------
    DataFrame
        One row per group, indexed by its name in people's words: "size", "with_options" and "at_level" are numbers of
        applicants; "each", "any", "all" medians over those with options, and 0.0 to 1.0 the quartiles of their efforts.
    """
    values = [None if is_missing(value) else plain(value) for value in rows["group"].tolist()]
    numbers = _numbers(values)
    many = numbers is not None and len(np.unique(numbers[np.isfinite(numbers)])) > MOST
    is_cut = many and (column not in schema or schema[column].is_numeric)
    names = _quartiles(numbers) if is_cut else _by_value(values, column, schema)
    groups = rows.groupby(names, observed=False)
    counts = {"size": ("ok", "size"), "with_options": ("each", "count"), "at_level": ("ok", "sum")}
    table = groups.agg(**counts, **{kind: (kind, "median") for kind in ("each", "any", "all")})
    return table.join(groups["effort"].quantile(QUARTILES).unstack())


def _numbers(values: list[Any]) -> Any:
    """The values as numbers, NaN where missing; None where one of them is no number."""
    if any(isinstance(value, (bool, str)) for value in values):
        return None
    try:
        return np.array([np.nan if value is None else float(value) for value in values])
    except (TypeError, ValueError):
        return None


def _quartiles(numbers: Array) -> "pd.Categorical":
    """Name of each applicant's quarter; the categories are the names in order."""
    import pandas as pd

    known = np.where(np.isfinite(numbers), numbers, np.nan)
    cuts = np.unique(np.nanquantile(known, [0.25, 0.5, 0.75], method="lower"))
    names = [f"up to {cuts[0]:g}", *(f"above {a:g}, up to {b:g}" for a, b in pairwise(cuts)), f"above {cuts[-1]:g}"]
    quarters = pd.cut(known, [-np.inf, *cuts, np.inf], labels=names, ordered=False).remove_unused_categories()
    return quarters.add_categories(MISSING).fillna(MISSING) if quarters.isna().any() else quarters


def _by_value(values: list[Any], column: str, schema: FeatureSchema) -> "pd.Categorical":
    """Name of each applicant's value; the categories are in the order of the schema, or else of their frequency."""
    import pandas as pd

    own = pd.Series([MISSING if value is None else value_text(schema, column, value) for value in values], dtype=object)
    frequent = own.value_counts().sort_index().sort_values(ascending=False, kind="stable").index.tolist()
    if len(frequent) > MOST:
        frequent = [*frequent[: MOST - 1], REST]
        own = own.where(own.isin(frequent), REST)
    known = schema[column].values if column in schema else None
    position = {value_text(schema, column, value): k for k, value in enumerate(known or ())}
    return pd.Categorical(own, categories=sorted(frequent, key=lambda name: position.get(name, len(position))))
