"""Applicants as a strategy receives them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array, Indices
from copa.data.schema import Feature, FeatureSchema
from copa.data.schema.columns import ReadColumn, ReadTable
from copa.data.tables.cells import EXACT
from copa.models.base import Model
from copa.models.spelling import CategoryWords, spell_levels
from copa.planner.search.arguments import Regions
from copa.planner.search.problem import ActionSpace

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Applicants:
    """Applicants whose rows are good, as the table, the search and the model see them.

    Attributes
    ----------
    table : ReadTable
        Where the search begins, one row each.
    origins : ReadTable
        The applicants as they are, whom the constraints are about; other rows than those of `table` where a search
        begins at an option (`search_from_options`).
    regions : Regions
        What each may change.
    encoded : ndarray of shape (N, D)
    slack : ndarray of shape (N, R)
        Of the rules.
    reliability : ndarray of shape (N,), optional
        Of the scores of options within each applicant's limits; None where it is not known for each.
    """

    table: ReadTable
    origins: ReadTable
    regions: Regions
    encoded: Array
    slack: Array
    reliability: Array | None = None
    _words: dict[tuple[str, ...], Any] = field(default_factory=dict, init=False, repr=False)

    def take(self, rows: Any) -> "Applicants":
        """Return some of the applicants."""
        table = self.table.take(rows)
        origins = table if self.origins is self.table else self.origins.take(rows)
        reliability = None if self.reliability is None else self.reliability[rows]
        return Applicants(table, origins, self.regions.take(rows), self.encoded[rows], self.slack[rows], reliability)

    def words(self, space: ActionSpace, names: tuple[str, ...]) -> tuple[list[tuple[int, Any]], Indices] | None:
        """Return the values that options may hold in columns, as they are spelled there, each with its column's place.

        With them, where those of each column that may change begin. None where that depends on more than the column.
        """
        if names not in self._words:
            self._words[names] = _words(space, self.table, names)
        words: tuple[list[tuple[int, Any]], Indices] | None = self._words[names]
        return words

    def spelled(self, space: ActionSpace, column: int) -> Sequence[Any]:
        """Return the values of a column of levels, as options of the first applicant hold them."""
        feature = space.columns[column]
        own = self.table[feature.name]
        words = _spelled(feature, own)
        if words is None and len(self):
            codes = np.arange(len(feature.values or ()))
            words = spell_levels(feature, codes, own.series.iloc[np.zeros(len(codes), dtype=np.int64)]).tolist()
        return words or ()

    def __len__(self) -> int:
        return len(self.encoded)


def _words(
    space: ActionSpace, table: ReadTable, names: tuple[str, ...]
) -> tuple[list[tuple[int, Any]], Indices] | None:
    """Return the words of `Applicants.words`."""
    features = {feature.name: feature for feature in space.columns}
    cells: list[tuple[int, Any]] = []
    first = []
    for k, name in enumerate(names):
        if name in features:
            spelled = _spelled(features[name], table[name])
            if spelled is None:
                return None
            first.append(len(cells))
            cells += [(k, word) for word in spelled]
    return cells, np.array(first, dtype=np.int64)


def _spelled(feature: Feature, column: ReadColumn) -> Sequence[Any] | None:
    """Values of a feature as `spell_levels` writes them into a column; None where that depends on its cells."""
    import pandas as pd

    values, dtype = feature.values or (), column.dtype
    if feature.is_numeric:
        return None
    if isinstance(dtype, pd.StringDtype):
        return feature.texts
    if isinstance(dtype, pd.CategoricalDtype):
        words = CategoryWords(feature, dtype)
        return [words[code] for code in range(len(values))]
    if dtype == np.int64:
        return values if all(type(value) is int and abs(value) < EXACT for value in values) else None
    text = dtype == np.object_ and all(isinstance(cell, str) for cell in [*values, *column.entries[1]])
    return values if text else None


def declined_rows(schema: FeatureSchema, model: Model, X: "pd.DataFrame", n: int) -> Indices:
    """Positions of up to n declined rows that the schema finds good, spread over the table."""
    good = np.flatnonzero(np.array([not message for message in schema.check(X)], dtype=bool))
    declined = good[~model.accepts(X.iloc[good])] if len(good) else good
    return declined[np.unique(np.linspace(0, len(declined) - 1, n).astype(int))] if len(declined) else declined
