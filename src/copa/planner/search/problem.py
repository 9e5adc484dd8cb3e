"""Input of the compiled search: the columns that options may change, and a model that is linear in them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa._core.representation import short_repr
from copa.data.schema import Feature, FeatureSchema
from copa.data.schema.columns import ReadColumn, ReadTable
from copa.models import Encoding
from copa.models.bins import bins_within
from copa.models.encoding import n_levels
from copa.planner.search.arguments import Regions, SearchProblem
from copa.planner.search.plausibility import Plausibility
from copa.planner.search.ranges import (
    irregular_kinds,
    placeholder,
    typical_value,
)
from copa.plans.cost import Cost, Prices, per_unit_of, prices_of, unit_of_effort
from copa.theory.sets.ambiguity import AmbiguitySet

if TYPE_CHECKING:
    import pandas as pd


# Two options are alike if no column differs by more than this share of a unit of effort: a person would do the same.
ALIKE = 0.25
NO_RULE = 1e12  # slack that nothing uses up


@dataclass(frozen=True, eq=False)
class ActionSpace:
    """Columns that options may change, with their rules and prices.

    Attributes
    ----------
    schema : FeatureSchema
        With all columns.
    columns : tuple of Feature
        Numeric ones first, then those of levels (categorical, and numeric in bins), immutable ones included.
    cost : Cost
    edges : mapping of str to ndarray
        First values of the bins of numeric columns that are levels for the search (see `Encoding`).
    typical : mapping of str to float
        Medians of the regular training values of columns that have irregular entries.
    plausibility : Plausibility, optional
        How plausible rows are; None where that is not known.
    """

    __repr__ = short_repr

    schema: FeatureSchema
    columns: tuple[Feature, ...]
    cost: Cost
    edges: Mapping[str, Array] = field(default_factory=dict)
    typical: Mapping[str, float] = field(default_factory=dict)
    plausibility: Plausibility | None = None

    @classmethod
    def build(
        cls, schema: FeatureSchema, encoding: Encoding, cost: Cost, typical: Mapping[str, float] | None = None
    ) -> "ActionSpace":
        """Put together what the encoding found for the columns of the schema."""
        numeric = [feature for feature in schema.features if feature.name in encoding.numeric]
        others = [feature for feature in schema.features if feature.name in encoding.categorical]
        return cls(schema, (*numeric, *others), cost, encoding.edges, typical or {})

    @cached_property
    def numeric(self) -> tuple[Feature, ...]:
        """Numeric columns that enter in a straight line, or smoothly: the first ones of a row."""
        return tuple(f for f in self.columns if f.is_numeric and f.name not in self.edges)

    @cached_property
    def level_columns(self) -> tuple[tuple[int, Feature], ...]:
        """Columns whose entries are levels: the last ones of a row, with their positions in it."""
        return tuple(enumerate(self.columns))[len(self.numeric) :]

    @cached_property
    def categorical(self) -> tuple[tuple[int, Feature], ...]:
        """Categorical columns, with their positions in a row."""
        return tuple((f, feature) for f, feature in self.level_columns if feature.is_categorical)

    @property
    def cap(self) -> int:
        """Most columns that an option may change."""
        return len(self.columns) if self.schema.max_changes is None else self.schema.max_changes

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """First direction of each column, and the number of directions at last, (F + 1,)."""
        sizes = [1] * len(self.numeric)
        sizes += [n_levels(feature, self.edges.get(feature.name)) for _, feature in self.level_columns]
        return np.cumsum([0, *sizes]).astype(np.int64)

    def levels(self, column: int) -> Indices:
        """Positions of the directions of a column: its levels as rows hold them."""
        return np.arange(self.starts[column], self.starts[column + 1])

    @property
    def n_directions(self) -> int:
        """Number of directions, A: one for each numeric column, and one for each level of the others."""
        return int(self.starts[-1])

    @cached_property
    def prices(self) -> Prices:
        """Prices of changes."""
        return prices_of(self.cost, self.columns, self.edges)

    @cached_property
    def alike(self) -> Array:
        """Differences up to which two values of a column count as the same in a plan, (F,): of numbers, or of ranks."""
        alike = np.zeros(len(self.columns))
        for f, feature in enumerate(self.columns):
            least = ALIKE * unit_of_effort(feature)
            if feature.name in self.edges:
                alike[f] = bins_within(self.edges[feature.name], least)
            elif feature.is_numeric or feature.kind == "ordinal":
                alike[f] = least
        return alike

    @cached_property
    def per_unit_in_bins(self) -> dict[str, float]:
        """Price of a raw unit of each binned column."""
        return {name: per_unit_of(self.cost, self.schema[name]) for name in self.edges}

    @cached_property
    def typical_values(self) -> dict[str, float]:
        """A regular value of each numeric column of the schema, on its grid."""
        return {f.name: typical_value(f, self.typical.get(f.name)) for f in self.schema.features if f.is_numeric}

    def effort(self, regions: Regions, rows: Array) -> Array:
        """Effort of rows (M, F) for the applicants of the regions, without penalties: as the search counts it."""
        steps, levels = self._steps(regions, rows), self._level_prices(regions, rows)
        total: Array = (steps**self.prices.power).sum(axis=1) + levels.sum(axis=1)
        return np.sqrt(total) if self.prices.power == 2 else total

    def search_cost(self, regions: Regions, rows: Array) -> Array:
        """Effort of rows (M, F), and what each changed column counts: what the search ranks them by, (M,)."""
        penalties = np.where(rows != regions.own, self.prices.penalties, 0.0).sum(axis=1)
        return np.asarray(self.effort(regions, rows) + penalties)

    def change_efforts(self, regions: Regions, rows: Array) -> Array:
        """Effort of each column's change by itself, (M, F): they add up to that of the row, or their squares do."""
        levels = self._level_prices(regions, rows)
        return np.hstack([self._steps(regions, rows), np.sqrt(levels) if self.prices.power == 2 else levels])

    def _steps(self, regions: Regions, rows: Array) -> Array:
        """Prices of the changes of the numeric columns, (M, L)."""
        n = len(self.numeric)
        way = np.abs(rows[:, :n] - regions.reference) + regions.leaving
        return np.asarray(np.where(rows[:, :n] == regions.own[:, :n], 0.0, way) * self.prices.per_unit)

    def _level_prices(self, regions: Regions, rows: Array) -> Array:
        """Prices of the changes of the other columns, to the power of the prices, (M, F - L)."""
        return np.take_along_axis(regions.level_prices, as_levels(rows[:, len(self.numeric) :]), axis=1)

    def plausibility_of(self, table: "pd.DataFrame | ReadTable") -> Array:
        """Plausibility of rows, (M,); NaN where it is not known."""
        return np.full(len(table), np.nan) if self.plausibility is None else self.plausibility.scores(table)

    @cached_property
    def ruled(self) -> frozenset[str]:
        """Columns of rules."""
        return frozenset(name for rule in self.schema.rules for name in rule.coefficients)

    @cached_property
    def _rule_scales(self) -> Array:
        """Size of each rule's left side: slack is measured in units of it, so that rules weigh alike, (R,)."""
        scales = []
        for rule in self.schema.rules:
            sizes = [abs(c) * unit_of_effort(self.schema[name]) for name, c in rule.coefficients.items()]
            scales.append(max(sizes))
        return np.array(scales)

    @cached_property
    def rule_shares(self) -> Array:
        """Amount that each direction takes from the slack of each rule, (R, A)."""
        shares = np.zeros((len(self.schema.rules), self.n_directions))
        for r, rule in enumerate(self.schema.rules):
            for f, feature in enumerate(self.columns):
                coefficient = rule.coefficients.get(feature.name, 0.0)
                if coefficient and feature.name not in self.edges:  # no column of bins stands in a rule
                    numbers = np.ones(1) if feature.is_numeric else feature.numbers
                    shares[r, self.starts[f] : self.starts[f] + len(numbers)] = coefficient * numbers
            shares[r] /= self._rule_scales[r]
        return shares

    def slack(self, rows: "pd.DataFrame | ReadTable") -> Array:
        """Return the slack of every rule at the applicants' own rows, (N, R), not negative where it holds."""
        table = ReadTable.of(rows)
        slack = np.empty((len(table), len(self.schema.rules)))
        for r, rule in enumerate(self.schema.rules):
            total = np.full(len(table), rule.upper)
            for name, coefficient in rule.coefficients.items():
                total -= coefficient * self._numbers(self.schema[name], table[name])
            codes = [table[name].special(self.schema[name]) for name in rule.coefficients]
            slack[:, r] = np.where(np.any(codes, axis=0), NO_RULE, total / self._rule_scales[r])
        return slack

    def _numbers(self, feature: Feature, column: ReadColumn) -> Array:
        """A column as the rules have it: an irregular entry as what stands for it in the search."""
        numbers = numbers_of(feature, column)
        if not feature.is_numeric:
            return numbers
        here = irregular_kinds(feature, numbers) > 0
        return np.where(here, placeholder(feature, self.typical_values[feature.name]), numbers)

    def slack_after(self, slack: Array, own: Array, rows: Array) -> Array:
        """Slack of the rules at rows (M, F) of applicants who stand at `own` (M, F), where it is `slack` (M, R)."""
        if not self.schema.rules:
            return slack
        shares, n = self.rule_shares, len(self.numeric)
        slack = slack - (rows[:, :n] - own[:, :n]) @ shares[:, :n].T
        for f in range(n, len(self.columns)):
            new, old = as_levels(rows[:, f]), as_levels(own[:, f])
            slack -= shares[:, new].T - shares[:, old].T
        return slack


@dataclass(frozen=True, eq=False)
class Linearisation:
    """A model whose encoded rows are sums over the columns of an action space, and the moments of its parameters.

    Attributes
    ----------
    space : ActionSpace
    directions : ndarray of shape (A, D)
        What a raw unit of each numeric column, then each level of each other one, adds to the encoded vector.
    mean, cov, drift : ndarray of shape (D,), (D, D), (D, D)
        Moments of the parameters, and shape of the ambiguity set.
    theta : ndarray of shape (D,)
        Parameters in force.
    irregular : mapping of str to ndarray of shape (K, D)
        What leaving an irregular entry for zero adds to the encoded vector; columns not named add nothing.
    """

    space: ActionSpace
    directions: Array
    mean: Array
    cov: Array
    drift: Array
    theta: Array
    irregular: Mapping[str, Array] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        space: ActionSpace,
        directions: Array,
        ambiguity: AmbiguitySet,
        theta: Array,
        irregular: Mapping[str, Array] | None = None,
    ) -> "Linearisation":
        """Take the moments of an ambiguity set."""
        drift = np.eye(ambiguity.dimension) if ambiguity.drift is None else ambiguity.drift
        return cls(space, directions, ambiguity.mean, ambiguity.cov, drift, theta, irregular or {})

    @classmethod
    def around(cls, space: ActionSpace, mean: Array, cov: Array, theta: Array) -> "Linearisation":
        """A model in local coordinates around an applicant, who is (1, 0, ..., 0) there (see `Rows.coordinates`)."""
        scales = np.ones(space.n_directions)
        scales[: len(space.numeric)] = [1.0 / unit_of_effort(feature) for feature in space.numeric]
        directions = np.hstack([np.zeros((len(scales), 1)), np.diag(scales)])
        return cls(space, directions, mean, cov, cov, theta)

    @cached_property
    def problem(self) -> SearchProblem:
        """Arguments of the compiled search that all applicants share; its `stop` is never set."""
        space = self.space
        return SearchProblem(
            starts=space.starts,
            cov_gram=np.ascontiguousarray(self.directions @ self.cov @ self.directions.T),
            drift_gram=np.ascontiguousarray(self.directions @ self.drift @ self.directions.T),
            means=self.directions @ self.mean,
            scores=self.directions @ self.theta,
            rules=space.rule_shares,
            steps=np.array([feature.step or 0.0 for feature in space.numeric]),
            cap=space.cap,
            stop=np.zeros(1, dtype=np.int64),
        )


def as_levels(entries: Array) -> Indices:
    """Entries of columns of levels as positions of directions."""
    return entries.astype(np.int64)


def numbers_of(feature: Feature, column: ReadColumn) -> Array:
    """A column as numbers for the rules: of a categorical one, the numbers behind its levels."""
    if feature.is_numeric:
        return column.numbers
    return feature.numbers[column.codes(feature)]
