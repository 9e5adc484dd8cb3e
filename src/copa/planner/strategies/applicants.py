"""Applicants as a strategy is given them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array, Indices
from copa.models.base import Model
from copa.schema import FeatureSchema
from copa.search._kernels.arguments import Regions
from copa.search.regions import read_regions
from copa.search.rows import make_room

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner.strategies.base import Strategy


@dataclass(frozen=True, eq=False)
class Applicants:
    """Applicants whose rows are good, as the table, the search and the model see them.

    Attributes
    ----------
    table : DataFrame
        Where the search begins, one row each.
    origins : DataFrame
        The applicants as they are, whom the constraints are about; other rows than those of `table` where a search
        begins at an option (`search_from_options`).
    regions : Regions
        What each may change.
    encoded : ndarray of shape (N, D)
    slack : ndarray of shape (N, R)
        Of the rules.
    """

    table: "pd.DataFrame"
    origins: "pd.DataFrame"
    regions: Regions
    encoded: Array
    slack: Array

    @classmethod
    def read(cls, strategy: "Strategy", table: "pd.DataFrame", encoded: Array | None = None) -> "Applicants":
        """Read a checked table; an error, before any search, where it has no room for what options may hold.

        Parameters
        ----------
        strategy : Strategy
        table : DataFrame
        encoded : ndarray, optional
            What `strategy.encode` says of it.
        """
        table = make_room(strategy.space, table)
        regions = read_regions(strategy.space, table)
        return cls(table, table, regions, strategy.start(table, encoded), strategy.space.slack(table))

    def take(self, rows: Any) -> "Applicants":
        """Some of the applicants."""
        table = self.table.iloc[rows]
        origins = table if self.origins is self.table else self.origins.iloc[rows]
        return Applicants(table, origins, self.regions.take(rows), self.encoded[rows], self.slack[rows])

    def __len__(self) -> int:
        return len(self.encoded)


def reference_applicants(strategy: "Strategy", X: "pd.DataFrame", n: int) -> Applicants:
    """Up to n declined rows of the training data that the schema finds good, spread over the table."""
    few = declined_rows(strategy.schema, strategy.model, X, n)
    return Applicants.read(strategy, X.iloc[few].reset_index(drop=True))


def declined_rows(schema: FeatureSchema, model: Model, X: "pd.DataFrame", n: int) -> Indices:
    """Positions of up to n declined rows that the schema finds good, spread over the table."""
    good = np.flatnonzero(np.array([not message for message in schema.check(X)], dtype=bool))
    declined = good[~model.accepts(X.iloc[good])] if len(good) else good
    return declined[np.unique(np.linspace(0, len(declined) - 1, n).astype(int))] if len(declined) else declined
