"""A typical accepted row, used as reference for reasons."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from copa.data.schema import FeatureSchema
from copa.data.schema.typical import typical_row
from copa.models.base import TRAINING_ROWS, Model, reading_rows
from copa.models.refits.versions import scores_of

if TYPE_CHECKING:
    import pandas as pd

FEWEST = 5  # rows of a part of the accepted ones: what is typical of fewer is too close to a single person's row


def accepted_row(model: Model, schema: FeatureSchema, table: "pd.DataFrame") -> "pd.DataFrame | None":
    """Return a typical row among those that a model accepts, which is accepted itself.

    Where columns are rarely high together, the medians of the accepted rows may be declined. Then the medians of the
    half with the highest scores are tried, of a quarter, and so on; after them the averages of all, of a half, ...

    Parameters
    ----------
    model : Model
    schema : FeatureSchema
    table : DataFrame
        Rows, also such as the model declines.

    Returns
    -------
    DataFrame or None
        One row; None where fewer than two rows are accepted, or none of the typical rows is.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from copa import Feature, FeatureSchema
    >>> from copa.models.linear import LinearModel
    >>> from copa.planner.search.accepted import accepted_row
    >>> table = pd.DataFrame({"income": [10, 20, 30, 40, 50, 60]})
    >>> model = LogisticRegression().fit(table, table["income"] > 25)
    >>> schema = FeatureSchema([Feature("income", "integer")])
    >>> accepted_row(LinearModel.read(model, table.columns), schema, table).to_dict("records")
    [{'income': 45}]
    """
    with reading_rows(*TRAINING_ROWS):
        accepted = table[model.accepts(table)]
    if len(accepted) < 2:
        return None
    typical = typical_row(schema, accepted, model.columns)
    if is_accepted(model, typical):
        return typical
    best = accepted.iloc[np.argsort(-scores_of(model, accepted), kind="stable")]
    for average in (False, True):
        for size in _sizes(len(best)):
            typical = typical_row(schema, best.iloc[:size], model.columns, average=average)
            if is_accepted(model, typical):
                return typical
    return None


def is_accepted(model: Model, row: "pd.DataFrame") -> bool:
    """Return whether a model accepts one row, by its answer and by its score."""
    return bool(model.accepts(row)[0]) and bool(scores_of(model, row)[0] >= 0.0)


def _sizes(n: int) -> Iterator[int]:
    """Yield n, half of it, a quarter, and so on."""
    yield n
    while (n := n // 2) >= FEWEST:
        yield n
