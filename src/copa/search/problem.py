"""What applicants may do, as the compiled search sees it: lines and choices, their atoms, prices and limits."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa.models import Encoding, LinearModel
from copa.schema import Feature, FeatureSchema
from copa.schema.columns import column_codes, column_numbers
from copa.search._kernels.arguments import Prices, Regions, SearchProblem
from copa.search.cost import Cost, level_gaps, read_cost
from copa.search.cost import unit_of_effort as unit_of_effort  # noqa: PLC0414 - until its users import it from there
from copa.tables.steps import snap

if TYPE_CHECKING:
    import pandas as pd

value_gaps = level_gaps

# A line without an end gets one, this many spreads beyond the applicant's own value.
FARTHEST = 10.0


@dataclass(frozen=True, eq=False)
class ActionSpace:
    """Columns that options may change, for a model, a schema and moments of the model's parameters.

    Attributes
    ----------
    schema : the schema, with all columns
    lines, choices : columns of each kind, those that are immutable included
    directions : (A, D) atoms: what a raw unit of each line, then each value of each choice, adds to the encoded vector
    mean, cov, drift : moments of the parameters and shape of the ball, (D,), (D, D), (D, D)
    theta : (D,) parameters in force
    power : 1 where efforts add up, 2 where their squares do
    """

    schema: FeatureSchema
    lines: tuple[Feature, ...]
    choices: tuple[Feature, ...]
    directions: Array
    mean: Array
    cov: Array
    drift: Array
    theta: Array
    power: int

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
        power: int,
    ) -> "ActionSpace":
        """Put together what the encoding found for the columns of the schema."""
        lines = tuple(feature for feature in schema.features if feature.name in encoding.lines)
        choices = tuple(feature for feature in schema.features if feature.name in encoding.choices)
        blocks = [encoding.lines[f.name][None] for f in lines] + [encoding.choices[f.name] for f in choices]
        directions = np.concatenate(blocks) if blocks else np.zeros((0, mean.size))
        shape = np.eye(mean.size) if drift is None else drift
        return cls(schema, lines, choices, directions, mean, cov, shape, model.theta, power)

    @property
    def columns(self) -> tuple[Feature, ...]:
        """Lines, then choices."""
        return self.lines + self.choices

    @property
    def cap(self) -> int:
        """Most columns that an option may change."""
        return len(self.columns) if self.schema.max_changes is None else self.schema.max_changes

    @cached_property
    def ends(self) -> npt.NDArray[np.int64]:
        """Atom at which each choice begins, and the number of atoms at last, (C + 1,)."""
        sizes = [len(feature.values or ()) for feature in self.choices]
        return np.cumsum([len(self.lines), *sizes]).astype(np.int64)

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """First direction of each column, and the number of directions at last, (F + 1,)."""
        sizes = [1] * len(self.lines) + [len(feature.values or ()) for feature in self.choices]
        return np.cumsum([0, *sizes]).astype(np.int64)

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
            steps=np.array([feature.step or 0.0 for feature in self.lines]),
            cap=self.cap,
            stop=np.zeros(1, dtype=np.int64),
        )

    @property
    def terrain(self) -> tuple[Any, ...]:
        """The old name, for its rules."""
        return (None,) * 6 + (self.problem.rules,)

    @cached_property
    def prices(self) -> Prices:
        """What changes cost."""
        return self.cost.prices(self.columns)

    @property
    def cost(self) -> Cost:
        """What a change asks of an applicant."""
        return read_cost("l2" if self.power == 2 else "l1")

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
        """What each atom takes from the slack of each rule, (R, A)."""
        shares = np.zeros((len(self.schema.rules), len(self.directions)))
        for r, rule in enumerate(self.schema.rules):
            for k, feature in enumerate(self.lines):
                shares[r, k] = rule.coefficients.get(feature.name, 0.0)
            for feature, start, end in zip(self.choices, self.ends[:-1], self.ends[1:], strict=True):
                if feature.name in rule.coefficients:
                    shares[r, start:end] = rule.coefficients[feature.name] * feature.numbers
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

    def effort(self, own: "Places", values: Array, atoms: npt.NDArray[np.int64]) -> Array:
        """Effort of rows (N, J, L), (N, J, C) for the applicants they are made for, (N, J), fees not included."""
        return self.cost.distance(self.prices, own.rows[:, None], np.concatenate([values, atoms], axis=2))


@dataclass(frozen=True, eq=False)
class Places:
    """Where N applicants stand and where they may go; the fields of the kernels' `Place`, with a leading N.

    Staying is always possible. Where an applicant's value lies outside `lower` and `upper`, it is that value or one
    between them (see `planning.outside`).
    """

    values: Array  # (N, L)
    atoms: npt.NDArray[np.int64]  # (N, C)
    lower: Array  # (N, L)
    upper: Array  # (N, L)
    allowed: npt.NDArray[np.bool_]  # (N, A)

    @classmethod
    def read(cls, space: ActionSpace, table: "pd.DataFrame", *, released: bool = False) -> "Places":
        """Read the applicants of a checked table.

        Parameters
        ----------
        released : take all limits away, to see what stands in the way
        """
        n = len(table)
        values = np.empty((n, len(space.lines)))
        lower, upper = np.empty_like(values), np.empty_like(values)
        limits = space.schema.limits(table)
        for k, feature in enumerate(space.lines):
            own = column_numbers(table[feature.name])[0]
            ends = _natural_ends(feature, n) if released else limits.numeric[feature.name]
            own, ends = _known(own), (_known(ends[0]), _known(ends[1]))
            values[:, k] = own
            lower[:, k], upper[:, k] = _closed(feature, own, *ends, precision=_precision(table[feature.name]))
        atoms = np.empty((n, len(space.choices)), dtype=np.int64)
        allowed = np.ones((n, len(space.directions)), dtype=np.bool_)
        for k, feature in enumerate(space.choices):
            codes = column_codes(feature, table[feature.name])
            missing = codes < 0
            atoms[:, k] = space.ends[k] + np.maximum(codes, 0)
            flags = allowed[:, space.ends[k] : space.ends[k + 1]]
            if not released:
                flags[:] = limits.categorical[feature.name]
            flags[missing] = np.arange(flags.shape[1]) == 0
        return cls(values, atoms, lower, upper, allowed)

    @property
    def rows(self) -> Array:
        """The applicants' own rows, (N, F)."""
        return np.hstack([self.values, self.atoms])

    @property
    def regions(self) -> Regions:
        """What the compiled search is given."""
        return Regions(self.rows, self.lower, self.upper, self.allowed)

    def parts(self) -> tuple[Any, ...]:
        """The arrays, in the order of the kernels' `Place`."""
        return self.values, self.atoms, self.lower, self.upper, self.allowed

    def take(self, rows: Any) -> "Places":
        """The places of some of the applicants."""
        return Places(*(part[rows] for part in self.parts()))

    @property
    def open_lines(self) -> npt.NDArray[np.bool_]:
        """Lines that may change at all, (N, L)."""
        return np.asarray((self.lower < self.upper) | self.outside)

    @property
    def outside(self) -> npt.NDArray[np.bool_]:
        """Lines in which an applicant stands outside of where changed values may lie, (N, L)."""
        return np.asarray((self.values < self.lower) | (self.values > self.upper))


def _natural_ends(feature: Feature, n: int) -> tuple[Array, Array]:
    """Ends of a line without its limits: none, but nothing that is counted from zero becomes negative."""
    lowest = 0.0 if feature.lower is not None and feature.lower >= 0.0 else -np.inf
    return np.full(n, lowest), np.full(n, np.inf)


def _known(numbers: Array) -> Array:
    """Zero for a missing number: only immutable columns may lack one, and there it stands for staying as it is."""
    return np.nan_to_num(numbers, nan=0.0, posinf=np.inf, neginf=-np.inf)


def _precision(column: "pd.Series[Any]") -> Any:
    """Type of a column's numbers where they are of less than double precision, else None."""
    return {"float32": np.float32, "float16": np.float16}.get(str(column.dtype).lower())


def _closed(feature: Feature, own: Array, lower: Array, upper: Array, *, precision: Any) -> tuple[Array, Array]:
    """Limits of a line with finite ends that a row can take: on the grid of the steps, or the applicant's own value.

    Parameters
    ----------
    precision : type of a column of less than double precision: the ends are numbers that it holds, rounded inwards
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


def numbers_of(feature: Feature, column: "pd.Series[Any]") -> Array:
    """A column as numbers for the rules: of a choice, the numbers behind its values."""
    if feature.is_numeric:
        return column_numbers(column)[0]
    return feature.numbers[column_codes(feature, column)]
