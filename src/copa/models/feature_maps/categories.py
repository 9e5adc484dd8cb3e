"""Derivatives of encoders of categories, and of imputers."""

from typing import Any

import numpy as np

from copa.arrays import Array
from copa.models.feature_maps.inputs import as_table
from copa.models.feature_maps.scalers import require_width


def category_tangents(transformer: Any, rows: Any, tangents: Array) -> Array:
    """OneHotEncoder, OrdinalEncoder, TargetEncoder, KBinsDiscretizer: zero, as they act on categories.

    A category does not move by a small step; nor does the bin of a number, except at the edge of a bin.
    """
    width = transformer.transform(rows).shape[1]
    return np.zeros((len(tangents), width, tangents.shape[2]))


def imputer_tangents(transformer: Any, rows: Any, tangents: Array) -> Array:
    """SimpleImputer: a value that is there is passed on; one that is filled in does not move, nor do indicators.

    Columns without any value at fit are left out by the imputer, unless it keeps them; they have no row here either.
    """
    import pandas as pd

    require_width(transformer, rows)
    there = ~_missing(as_table(rows), transformer.missing_values)
    kept = np.arange(there.shape[1])
    if not transformer.keep_empty_features:
        kept = kept[~pd.isna(transformer.statistics_)]
    n_indicators = len(transformer.indicator_.features_) if transformer.add_indicator else 0
    indicators = np.zeros((len(tangents), n_indicators, tangents.shape[2]))
    return np.concatenate([tangents[:, kept] * there[:, kept, None], indicators], axis=1)


def _missing(table: Any, mark: Any) -> Any:
    import pandas as pd

    return np.asarray(pd.isna(table) if pd.isna(mark) else table == mark, dtype=bool)
