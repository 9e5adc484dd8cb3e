"""Groups of rows by a column: its values, or quarters where it holds many numbers; groups of applicants compared."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array
from copa.data.schema import FeatureSchema
from copa.data.tables.cells import is_missing, plain
from copa.plans.units import value_text

if TYPE_CHECKING:
    import pandas as pd

MOST = 8  # groups; the smallest of more are put together
REST = "all others"
MISSING = "missing"
LEAST_GROUP = 20  # people and plans; the medians of fewer say little about a group
QUARTILES = (0.25, 0.5, 0.75)


def compare_groups(rows: "pd.DataFrame", column: str, schema: FeatureSchema) -> "pd.DataFrame":
    """Group applicants by a column: by its values, or by quarters where it holds many numbers.

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
        applicants; "each", "any", "all" medians over those with options, and 0.0 to 1.0 the quartiles of their efforts;
        "comparable", whether there are enough people and plans to compare the group with others.
    """
    values = [None if is_missing(value) else plain(value) for value in rows["group"].tolist()]
    numbers = _numbers(values)
    is_cut = numbers is not None and len(np.unique(numbers[np.isfinite(numbers)])) > MOST
    is_cut &= column not in schema or schema[column].is_numeric
    groups = rows.groupby(quarters(numbers, MISSING) if is_cut else _by_value(values, column, schema), observed=True)
    counts = {"size": ("ok", "size"), "with_options": ("each", "count"), "at_level": ("ok", "sum")}
    table = groups.agg(**counts, **{kind: (kind, "median") for kind in ("each", "any", "all")})
    enough = (table["size"] >= LEAST_GROUP) & (table["with_options"] >= LEAST_GROUP)
    return table.join(groups["effort"].quantile((0.0, *QUARTILES, 1.0)).unstack()).assign(comparable=enough)


def quarters(numbers: Any, missing: str) -> "pd.Categorical":
    """Name the quarter of each number; the cuts are numbers that are there, and equal numbers are never parted.

    Parameters
    ----------
    numbers : ndarray of shape (N,)
        At least one of them finite.
    missing : str
        Name for what is no number, the last category.
    """
    cuts = np.unique(np.quantile(numbers[np.isfinite(numbers)], QUARTILES, method="lower"))
    names = [f"up to {cuts[0]:g}", *(f"above {a:g}, up to {b:g}" for a, b in pairwise(cuts)), f"above {cuts[-1]:g}"]
    return bands(numbers, [-np.inf, *cuts, np.inf], names, missing, right=True)


def bands(numbers: Any, edges: Sequence[float], names: list[str], missing: str, *, right: bool) -> "pd.Categorical":
    """Name the interval that each number lies in, upper ends included if `right`; `missing` is the last category."""
    import pandas as pd

    intervals = pd.cut(numbers, edges, labels=names, right=right, ordered=False)
    return intervals.add_categories(missing).fillna(missing)


def _numbers(values: list[Any]) -> Array | None:
    """Return the values as numbers, NaN where missing; None where one of them is no number."""
    if any(isinstance(value, (bool, str)) for value in values):
        return None
    try:
        return np.array([np.nan if value is None else float(value) for value in values])
    except (TypeError, ValueError):
        return None


def _by_value(values: list[Any], column: str, schema: FeatureSchema) -> "pd.Categorical":
    """Name the value of each applicant; the categories are in the order of the schema, or else of their frequency."""
    import pandas as pd

    names = pd.Series(
        [MISSING if value is None else value_text(schema, column, value) for value in values], dtype=object
    )
    frequent = names.value_counts().sort_index().sort_values(ascending=False, kind="stable").index.tolist()
    if len(frequent) > MOST:
        frequent = [*frequent[: MOST - 1], REST]
        names = names.where(names.isin(frequent), REST)
    order = schema[column].values if column in schema else None
    position = {value_text(schema, column, value): k for k, value in enumerate(order or ())}
    return pd.Categorical(names, categories=sorted(frequent, key=lambda name: position.get(name, len(position))))
