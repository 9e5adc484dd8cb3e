"""What options may change, as the compiled search sees it: columns, directions, rules and prices."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa.models import Encoding, LinearModel
from copa.schema import Feature, FeatureSchema
from copa.schema.columns import column_codes, column_numbers
from copa.search._kernels.arguments import Prices, Regions, SearchProblem
from copa.search.cost import Cost, read_prices, unit_of_effort
from copa.tables.cells import snap

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class ActionSpace:
    """Columns that options may change, for a model, a schema and moments of the model's parameters.

    Attributes
    ----------
    schema : FeatureSchema
        With all columns.
    columns : tuple of Feature
        Numeric ones first, then categorical ones, those that are immutable included.
    directions : ndarray of shape (A, D)
        What a raw unit of each numeric column, then each level of each categorical one, adds to the encoded vector.
    mean, cov, drift : ndarray of shape (D,), (D, D), (D, D)
        Moments of the parameters, and shape of the ambiguity set.
    theta : ndarray of shape (D,)
        Parameters in force.
    cost : Cost
    """

    schema: FeatureSchema
    columns: tuple[Feature, ...]
    directions: Array
    mean: Array
    cov: Array
    drift: Array
    theta: Array
    cost: Cost

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
    ) -> "ActionSpace":
        """Put together what the encoding found for the columns of the schema."""
        numeric = [feature for feature in schema.features if feature.name in encoding.numeric]
        categorical = [feature for feature in schema.features if feature.name in encoding.categorical]
        blocks = [encoding.numeric[f.name][None] for f in numeric] + [encoding.categorical[f.name] for f in categorical]
        directions = np.concatenate(blocks) if blocks else np.zeros((0, mean.size))
        shape = np.eye(mean.size) if drift is None else drift
        return cls(schema, (*numeric, *categorical), directions, mean, cov, shape, model.theta, cost)

    @cached_property
    def numeric(self) -> tuple[Feature, ...]:
        """Numeric columns: the first ones of a row."""
        return tuple(feature for feature in self.columns if feature.is_numeric)

    @cached_property
    def categorical(self) -> tuple[tuple[int, Feature], ...]:
        """Categorical columns: the last ones of a row, with their positions in it."""
        return tuple((f, feature) for f, feature in enumerate(self.columns) if feature.is_categorical)

    @property
    def cap(self) -> int:
        """Most columns that an option may change."""
        return len(self.columns) if self.schema.max_changes is None else self.schema.max_changes

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """First direction of each column, and the number of directions at last, (F + 1,)."""
        sizes = [1 if feature.is_numeric else len(feature.values or ()) for feature in self.columns]
        return np.cumsum([0, *sizes]).astype(np.int64)

    def levels(self, column: int) -> Indices:
        """Positions of the directions of a column: of a categorical one, its levels as rows hold them."""
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
        prices = self.cost.prices(self.columns)
        return read_prices(prices, len(self.numeric), len(self.columns), len(self.directions))

    def effort(self, own: Array, rows: Array) -> Array:
        """Effort of rows (..., F) for the applicants they are made for, without penalties."""
        return self.cost.distance(self.prices, own, rows)

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
                numbers = 1.0 if feature.is_numeric else feature.numbers if coefficient else 0.0
                shares[r, self.starts[f] : self.starts[f + 1]] = coefficient * numbers
            shares[r] /= self._rule_scales[r]
        return shares

    def slack(self, table: "pd.DataFrame") -> Array:
        """Slack of every rule at the applicants' own rows, (N, R), not negative where it holds."""
        slack = np.empty((len(table), len(self.schema.rules)))
        for r, rule in enumerate(self.schema.rules):
            total = np.full(len(table), rule.upper)
            for name, coefficient in rule.coefficients.items():
                total -= coefficient * numbers_of(self.schema[name], table[name])
            slack[:, r] = total / self._rule_scales[r]
        return slack

    def slack_after(self, slack: Array, own: Array, rows: Array) -> Array:
        """Slack of the rules at rows (M, F) of applicants who stand at `own` (M, F), where it is `slack` (M, R)."""
        shares, n = self.problem.rules, len(self.numeric)
        slack = slack - (rows[:, :n] - own[:, :n]) @ shares[:, :n].T
        for f in range(n, len(self.columns)):
            new, old = as_levels(rows[:, f]), as_levels(own[:, f])
            slack -= shares[:, new].T - shares[:, old].T
        return slack


def as_levels(entries: Array) -> Indices:
    """Entries of categorical columns of rows as positions of directions."""
    return entries.astype(np.int64)


def numbers_of(feature: Feature, column: "pd.Series[Any]") -> Array:
    """A column as numbers for the rules: of a categorical one, the numbers behind its levels."""
    if feature.is_numeric:
        return column_numbers(column)[0]
    return feature.numbers[column_codes(feature, column)]


# A number without an end gets one, this many spreads beyond the applicant's own value.
FARTHEST = 10.0


def read_regions(space: ActionSpace, table: "pd.DataFrame", *, released: bool = False) -> Regions:
    """Read the feasible regions of the applicants of a checked table.

    Parameters
    ----------
    space : ActionSpace
    table : DataFrame
    released : bool
        Take all limits away, to see what stands in the way; only values that are withheld stay so, and ends of ranges
        that are those of the data.
    """
    n, n_numeric = len(table), len(space.numeric)
    rows = np.empty((n, len(space.columns)))
    lower, upper = np.empty((n, n_numeric)), np.empty((n, n_numeric))
    limits = space.schema.limits(table)
    for f, feature in enumerate(space.numeric):
        own = column_numbers(table[feature.name])[0]
        ends = _natural_ends(feature, n) if released else limits.numeric[feature.name]
        own, ends = _known(own), (_known(ends[0]), _known(ends[1]))
        rows[:, f] = own
        lower[:, f], upper[:, f] = _closed(feature, own, *ends, precision=_precision(table[feature.name]))
    allowed = np.ones((n, len(space.directions)), dtype=np.bool_)
    for f, feature in space.categorical:
        codes = column_codes(feature, table[feature.name])
        rows[:, f] = space.starts[f] + np.maximum(codes, 0)
        flags = allowed[:, space.starts[f] : space.starts[f + 1]]
        offered = [value not in feature.withheld for value in feature.values or ()]
        flags[:] = (limits.categorical[feature.name] | offered) if released else limits.categorical[feature.name]
        flags[codes < 0] = np.arange(flags.shape[1]) == 0
    return Regions(rows, lower, upper, allowed)


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


def _natural_ends(feature: Feature, n: int) -> tuple[Array, Array]:
    """Ends of a numeric column without its limits: none, but those of the data where nobody stated one.

    Nothing that is counted from zero becomes negative.
    """
    lowest = 0.0 if feature.lower is not None and feature.lower >= 0.0 else -np.inf
    lower = feature.lower if "lower" in feature.observed else lowest
    upper = feature.upper if "upper" in feature.observed else np.inf
    return np.full(n, lower), np.full(n, upper)


def _known(numbers: Array) -> Array:
    """Zero for a missing number: only immutable columns may lack one, and there it stands for staying as it is."""
    return np.nan_to_num(numbers, nan=0.0, posinf=np.inf, neginf=-np.inf)


def _precision(column: "pd.Series[Any]") -> Any:
    """Type of a column's numbers where they are of less than double precision, else None."""
    return {"float32": np.float32, "float16": np.float16}.get(str(column.dtype).lower())


def _closed(feature: Feature, own: Array, lower: Array, upper: Array, *, precision: Any) -> tuple[Array, Array]:
    """Limits with finite ends that a number can take: on the grid of the steps, or the applicant's own value.

    Parameters
    ----------
    precision : type or None
        Of a column of less than double precision: the ends are numbers that it holds, rounded inwards.
    """
    reach = FARTHEST * unit_of_effort(feature)
    lower = np.where(np.isfinite(lower), lower, np.minimum(own, upper) - reach)
    upper = np.where(np.isfinite(upper), upper, np.maximum(own, lower) + reach)
    may_stay = (lower <= own) & (own <= upper)
    if feature.step is not None:
        first, last = snap(lower, feature.step, "up"), snap(upper, feature.step, "down")
    elif precision is not None:
        first, last = _held(lower, own, precision, np.inf), _held(upper, own, precision, -np.inf)
    else:
        first, last = lower, upper
    lower = np.where(may_stay, np.minimum(first, own), first)
    upper = np.where(may_stay, np.maximum(last, own), last)
    stuck = lower > upper  # nothing that the column can hold lies in the range
    return np.where(stuck, own, lower), np.where(stuck, own, upper)


def _held(ends: Array, own: Array, precision: Any, inwards: float) -> Array:
    """Ends of a range as numbers of a lower precision whose printed decimals are not beyond them."""
    with np.errstate(over="ignore"):
        near = ends.astype(precision)
    printed = np.array([float(str(x)) for x in near])
    beyond = printed < ends if inwards > 0.0 else printed > ends
    held = np.where(beyond, np.nextafter(near, precision(inwards)), near).astype(np.float64)
    return np.where(np.isfinite(held) & (ends != own), held, ends)
