"""What options may change, as the compiled search sees it: columns, directions, rules and prices."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa.models import Encoding, LinearModel
from copa.models.bins import bin_of, bins_within
from copa.models.encoding import n_levels
from copa.schema import Feature, FeatureSchema
from copa.schema.columns import Flags, column_codes, column_numbers
from copa.search._kernels.arguments import Prices, Regions, SearchProblem
from copa.search.cost import Cost, unit_of_effort
from copa.search.level_prices import per_unit_of, prices_of
from copa.search.ranges import Cells, irregular_kinds, read_cells, stand_in, typical_value, values_in_bins

if TYPE_CHECKING:
    import pandas as pd


# Two options are alike if no column differs by more than this share of a unit of effort: a person would do the same.
ALIKE = 0.25


@dataclass(frozen=True, eq=False)
class ActionSpace:
    """Columns that options may change, for a model, a schema and moments of the model's parameters.

    Attributes
    ----------
    schema : FeatureSchema
        With all columns.
    columns : tuple of Feature
        Numeric ones first, then those of levels (categorical, and numeric in bins), immutable ones included.
    directions : ndarray of shape (A, D)
        What a raw unit of each numeric column, then each level of each other one, adds to the encoded vector.
    mean, cov, drift : ndarray of shape (D,), (D, D), (D, D)
        Moments of the parameters, and shape of the ambiguity set.
    theta : ndarray of shape (D,)
        Parameters in force.
    cost : Cost
    edges : mapping of str to ndarray
        First values of the bins of numeric columns that are levels for the search (see `Encoding`).
    irregular : mapping of str to ndarray of shape (K, D)
        What leaving an irregular entry for zero adds to the encoded vector; columns not named add nothing.
    typical : mapping of str to float
        Medians of the regular training values of columns that have irregular entries.
    """

    schema: FeatureSchema
    columns: tuple[Feature, ...]
    directions: Array
    mean: Array
    cov: Array
    drift: Array
    theta: Array
    cost: Cost
    edges: Mapping[str, Array] = field(default_factory=dict)
    irregular: Mapping[str, Array] = field(default_factory=dict)
    typical: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def build(
        cls,
        schema: FeatureSchema,
        encoding: Encoding,
        model: LinearModel,
        *,
        mean: Array,
        cov: Array,
        drift: Array | None,
        cost: Cost,
        typical: Mapping[str, float] | None = None,
    ) -> "ActionSpace":
        """Put together what the encoding found for the columns of the schema."""
        numeric = [feature for feature in schema.features if feature.name in encoding.numeric]
        categorical = [feature for feature in schema.features if feature.name in encoding.categorical]
        blocks = [encoding.numeric[f.name][None] for f in numeric] + [encoding.categorical[f.name] for f in categorical]
        directions = np.concatenate(blocks) if blocks else np.zeros((0, mean.size))
        shape = np.eye(mean.size) if drift is None else drift
        return cls(
            schema,
            (*numeric, *categorical),
            directions,
            mean,
            cov,
            shape,
            model.theta,
            cost,
            encoding.edges,
            encoding.irregular,
            typical or {},
        )

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

    @cached_property
    def problem(self) -> SearchProblem:
        """What the compiled search is given; it never stops by itself."""
        return SearchProblem(
            starts=self.starts,
            cov_gram=np.ascontiguousarray(self.directions @ self.cov @ self.directions.T),
            drift_gram=np.ascontiguousarray(self.directions @ self.drift @ self.directions.T),
            means=self.directions @ self.mean,
            scores=self.directions @ self.theta,
            rules=self._rule_shares,
            steps=np.array([feature.step or 0.0 for feature in self.numeric]),
            cap=self.cap,
            stop=np.zeros(1, dtype=np.int64),
        )

    @cached_property
    def prices(self) -> Prices:
        """What changes cost."""
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
        """What a raw unit of each binned column costs."""
        return {name: per_unit_of(self.cost, self.schema[name]) for name in self.edges}

    def typical_of(self, feature: Feature) -> float:
        """A regular value of a numeric column, on its grid."""
        return typical_value(feature, self.typical.get(feature.name))

    def effort(self, regions: Regions, rows: Array) -> Array:
        """Effort of rows (M, F) for the applicants of the regions, without penalties: as the search counts it."""
        n, prices = len(self.numeric), self.prices
        way = np.abs(rows[:, :n] - regions.reference) + regions.leaving
        steps = np.where(rows[:, :n] == regions.own[:, :n], 0.0, way) * prices.per_unit
        levels = np.take_along_axis(regions.level_prices, as_levels(rows[:, n:]), axis=1)
        total: Array = (steps**prices.power).sum(axis=1) + levels.sum(axis=1)
        return np.sqrt(total) if prices.power == 2 else total

    @cached_property
    def _rule_scales(self) -> Array:
        """Size of each rule's left side: slack is measured in units of it, so that rules weigh alike, (R,)."""
        scales = []
        for rule in self.schema.rules:
            sizes = [abs(c) * unit_of_effort(self.schema[name]) for name, c in rule.coefficients.items()]
            scales.append(max(sizes))
        return np.array(scales)

    @cached_property
    def _rule_shares(self) -> Array:
        """What each direction takes from the slack of each rule, (R, A)."""
        shares = np.zeros((len(self.schema.rules), len(self.directions)))
        for r, rule in enumerate(self.schema.rules):
            for f, feature in enumerate(self.columns):
                coefficient = rule.coefficients.get(feature.name, 0.0)
                if coefficient and feature.name not in self.edges:  # no column of bins stands in a rule
                    numbers = np.ones(1) if feature.is_numeric else feature.numbers
                    shares[r, self.starts[f] : self.starts[f] + len(numbers)] = coefficient * numbers
            shares[r] /= self._rule_scales[r]
        return shares

    def slack(self, table: "pd.DataFrame") -> Array:
        """Slack of every rule at the applicants' own rows, (N, R), not negative where it holds."""
        slack = np.empty((len(table), len(self.schema.rules)))
        for r, rule in enumerate(self.schema.rules):
            total = np.full(len(table), rule.upper)
            for name, coefficient in rule.coefficients.items():
                total -= coefficient * self._numbers(self.schema[name], table[name])
            slack[:, r] = total / self._rule_scales[r]
        return slack

    def _numbers(self, feature: Feature, column: "pd.Series[Any]") -> Array:
        """A column as the rules have it: an irregular entry as what stands for it in the search."""
        numbers = numbers_of(feature, column)
        if not feature.is_numeric:
            return numbers
        here = irregular_kinds(feature, numbers) > 0
        return np.where(here, stand_in(feature, self.typical_of(feature)), numbers)

    def slack_after(self, slack: Array, own: Array, rows: Array) -> Array:
        """Slack of the rules at rows (M, F) of applicants who stand at `own` (M, F), where it is `slack` (M, R)."""
        shares, n = self.problem.rules, len(self.numeric)
        slack = slack - (rows[:, :n] - own[:, :n]) @ shares[:, :n].T
        for f in range(n, len(self.columns)):
            new, old = as_levels(rows[:, f]), as_levels(own[:, f])
            slack -= shares[:, new].T - shares[:, old].T
        return slack


def as_levels(entries: Array) -> Indices:
    """Entries of columns of levels as positions of directions."""
    return entries.astype(np.int64)


def numbers_of(feature: Feature, column: "pd.Series[Any]") -> Array:
    """A column as numbers for the rules: of a categorical one, the numbers behind its levels."""
    if feature.is_numeric:
        return column_numbers(column)[0]
    return feature.numbers[column_codes(feature, column)]


def read_regions(space: ActionSpace, table: "pd.DataFrame", *, released: bool = False) -> Regions:
    """Read the feasible regions of the applicants of a checked table.

    Parameters
    ----------
    space : ActionSpace
    table : DataFrame
    released : bool
        Take all limits away, to see what stands in the way; only values that are withheld stay so.
    """
    limits = space.schema.limits(table)
    regions = Regions.empty(len(table), len(space.columns), len(space.numeric), len(space.directions))
    for f, feature in enumerate(space.columns):
        column = table[feature.name]
        if feature.is_numeric:
            ends, typical = limits.numeric[feature.name], space.typical_of(feature)
            cells = read_cells(feature, column, ends, typical, released=released)
            if feature.name in space.edges:
                _fill_bins(space, f, cells, regions)
            else:
                _fill_numbers(space, f, cells, regions)
        else:
            _fill_levels(space, f, column, limits.categorical[feature.name], regions, released=released)
    return regions


def _fill_numbers(space: ActionSpace, f: int, cells: Cells, regions: Regions) -> None:
    """Write a numeric column that enters in a straight line."""
    feature, irregular = space.columns[f], cells.kinds > 0
    regions.own[:, f] = np.where(irregular, stand_in(feature, space.typical_of(feature)), cells.base)
    regions.lower[:, f], regions.upper[:, f] = cells.lower, cells.upper
    regions.reference[:, f] = cells.base
    regions.leaving[:, f] = np.where(irregular, unit_of_effort(feature), 0.0)
    regions.kinds[:, f] = cells.kinds


def _fill_bins(space: ActionSpace, f: int, cells: Cells, regions: Regions) -> None:
    """Write a numeric column whose bins are levels: each stands for the value in it that is nearest to the own."""
    feature, levels, n_bins = space.columns[f], space.levels(f), len(space.edges[space.columns[f].name]) + 1
    irregular, everyone = cells.kinds > 0, np.arange(len(cells.base))
    own = np.where(irregular, n_bins - 1 + cells.kinds, bin_of(space.edges[feature.name], cells.base))
    regions.own[:, f] = levels[own]
    values, allowed = values_in_bins(feature, space.edges[feature.name], cells)
    regions.allowed[:, levels] = False
    regions.allowed[:, levels[:n_bins]] = allowed
    regions.allowed[everyone, levels[own]] = True
    regions.values[:, levels[:n_bins]] = values
    regions.values[everyone, levels[own]] = cells.base
    leaving = np.where(irregular, unit_of_effort(feature), 0.0)[:, None]
    way = np.abs(regions.values[:, levels] - cells.base[:, None]) + leaving
    regions.level_prices[:, levels] = (space.per_unit_in_bins[feature.name] * way) ** space.prices.power
    regions.level_prices[everyone, levels[own]] = 0.0


def _fill_levels(
    space: ActionSpace, f: int, column: "pd.Series[Any]", moves: Flags, regions: Regions, *, released: bool
) -> None:
    """Write a categorical column; a missing value that may change is its last level."""
    feature, levels = space.columns[f], space.levels(f)
    codes, values = column_codes(feature, column), feature.values or ()
    missing = column.isna().to_numpy(dtype=np.bool_) & (len(levels) > len(values))
    own = np.where(missing, len(levels) - 1, np.maximum(codes, 0))
    regions.own[:, f] = levels[own]
    offered = np.array([value not in feature.withheld for value in values], dtype=np.bool_)
    flags = np.zeros((len(codes), len(levels)), dtype=np.bool_)
    flags[:, : len(values)] = (moves | offered) if released else moves
    stays = (codes < 0) & ~missing
    flags[stays] = False
    flags[np.arange(len(codes)), own] = True
    regions.allowed[:, levels] = flags
    regions.level_prices[:, levels] = space.prices.gaps[levels[own]][:, levels]


def standing_at(space: ActionSpace, regions: Regions, rows: Array) -> Regions:
    """The same regions for applicants who have taken up rows (N, F): changes are counted from there."""
    n, changed, prices = len(space.numeric), rows != regions.own, regions.level_prices.copy()
    numbers = changed[:, :n]
    for f, feature in space.level_columns:
        levels, own, some = space.levels(f), as_levels(rows[:, f]), changed[:, f]
        if feature.is_categorical:
            prices[np.ix_(some, levels)] = space.prices.gaps[own[some]][:, levels]
        else:
            way = np.abs(regions.values[:, levels] - regions.values[np.arange(len(rows)), own][:, None])[some]
            prices[np.ix_(some, levels)] = (space.per_unit_in_bins[feature.name] * way) ** space.prices.power
    return regions._replace(
        own=rows,
        reference=np.where(numbers, rows[:, :n], regions.reference),
        leaving=np.where(numbers, 0.0, regions.leaving),
        kinds=np.where(numbers, 0.0, regions.kinds),
        level_prices=prices,
    )


def as_written(space: ActionSpace, regions: Regions, table: "pd.DataFrame") -> tuple[Regions, Array]:
    """Rows of a table as the search has them, (M, F), and the regions with bins priced at the numbers written there."""
    rows, prices = read_regions(space, table).own, regions.level_prices.copy()
    everyone = np.arange(len(rows))
    for f, feature in space.level_columns:
        if feature.is_numeric:
            numbers = column_numbers(table[feature.name])[0]
            base = regions.values[everyone, as_levels(regions.own[:, f])]
            irregular = as_levels(regions.own[:, f]) > space.starts[f] + len(space.edges[feature.name])
            way = np.abs(numbers - base) + np.where(irregular, unit_of_effort(feature), 0.0)
            same = np.isnan(numbers) | (irregular & (rows[:, f] == regions.own[:, f]))
            price = (space.per_unit_in_bins[feature.name] * np.where(same, 0.0, way)) ** space.prices.power
            prices[everyone, as_levels(rows[:, f])] = price
    return regions._replace(level_prices=prices), rows


def keeping(regions: Regions, columns: npt.NDArray[np.bool_]) -> Regions:
    """The same regions, in which the flagged numeric columns (N, L) stay as they are."""
    lower = np.where(columns, regions.numbers, regions.lower)
    return regions._replace(lower=lower, upper=np.where(columns, regions.numbers, regions.upper))


def ways_in(regions: Regions) -> Iterator[tuple[Indices, Regions]]:
    """Yield ways to search other than keeping every number that is outside: whom they concern, and their regions."""
    outside = regions.outside
    concerned = np.flatnonzero(outside.any(axis=1))
    if len(concerned) == 0:
        return
    yield concerned, regions.take(concerned)
    several = np.flatnonzero(outside.sum(axis=1) > 1)
    for column in range(outside.shape[1]):
        rows = several[outside[several, column]]
        if len(rows):
            others = outside[rows].copy()
            others[:, column] = False
            yield rows, keeping(regions.take(rows), others)
