"""Menus by exhaustive search: every row an applicant may take, and every set of them, for tables of a few columns.

What is allowed is asked of `schema.violations`, what is accepted of the pipeline's own `predict`, and everything else
is written down here once more: level, effort, distance, and what two options of one menu must not be to each other.
Nothing of the compiled search is used.
"""

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import numpy.typing as npt
import pandas as pd

from copa.data.schema import Feature, FeatureSchema
from copa.planner.search.problem import ALIKE
from copa.plans.cost import CHANGE_PENALTY
from oracle.tiny_problems import TinyProblem

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

SAME = 1e-9  # a value that saves less effort is not cheaper
HALVINGS = 60  # of the unit interval, for a level


@dataclass(frozen=True)
class Rows:
    """Rows in the columns of a schema: numbers of lines, positions in the list of values for the others, (M, n)."""

    places: Array
    own: Array  # (n,) where the applicant is
    features: tuple[Feature, ...]

    @classmethod
    def read(cls, schema: FeatureSchema, table: pd.DataFrame, own: pd.DataFrame) -> "Rows":
        return cls(places_of(schema, table), places_of(schema, own)[0], schema.features)

    def take(self, which: npt.NDArray[np.intp] | Flags) -> "Rows":
        return Rows(self.places[which], self.own, self.features)

    def distances(self, other: Array) -> Array:
        """Effort from each row (M, n) to each of the others (K, n), column by column and without fees, (M, K, n)."""
        apart = np.abs(self.places[:, None] - other)
        for k, feature in enumerate(self.features):
            if feature.kind in ("categorical", "binary"):
                apart[:, :, k] = apart[:, :, k] > 0.0
        return apart * np.array([feature.weight / feature.spread for feature in self.features])

    def column_efforts(self) -> Array:
        """What each column of each row asks of the applicant, the fee of touching it included, (M, n)."""
        fees = CHANGE_PENALTY * np.array([feature.weight for feature in self.features])
        return self.distances(self.own[None])[:, 0] + fees * (self.places != self.own)

    def efforts(self) -> Array:
        return self.column_efforts().sum(axis=1)

    def clashes(self) -> Flags:
        """Whether two rows are alike, or one asks for no more than the other in any column, (M, M)."""
        less = np.ones((len(self.places), len(self.places)), dtype=bool)
        for k, feature in enumerate(self.features):
            change = self.places[:, k] - self.own[k]
            mine, theirs = change[:, None], change[None]
            part_of_it = (
                (mine * theirs > 0.0) & (np.abs(mine) <= np.abs(theirs)) if feature.is_numeric else mine == theirs
            )
            less &= (mine == 0.0) | part_of_it
        return less | less.T | self.alike()

    def alike(self) -> Flags:
        """Whether no column of two rows differs by more than a part of its spread, nor by a category, (M, M)."""
        apart = np.abs(self.places[:, None] - self.places)
        named = np.array([feature.kind in ("categorical", "binary") for feature in self.features])
        spreads = np.array([feature.spread for feature in self.features])
        return np.where(named, apart == 0.0, apart <= ALIKE * spreads).all(axis=2)

    def same_columns(self) -> Flags:
        """Whether two rows change the same columns, (M, M)."""
        changed = self.places != self.own
        return (changed[:, None] == changed).all(axis=2)

    def minimal(self) -> Flags:
        """Whether no other of these rows differs from it in one column only and is cheaper there, (M,)."""
        costs = self.column_efforts()
        needed = np.ones(len(self.places), dtype=bool)
        for i, place in enumerate(self.places):
            neighbours = (self.places != place).sum(axis=1) == 1
            needed[i] = not (neighbours & ((costs < costs[i] - SAME).any(axis=1))).any()
        return needed


@dataclass(frozen=True)
class Reach:
    """All rows that one applicant may take and today's model accepts."""

    rows: Rows
    levels: Array

    @property
    def highest(self) -> float:
        """The highest level; -1 where nothing is accepted."""
        return float(self.levels.max(initial=-1.0))

    def at(self, level: float) -> Rows:
        """The rows that hold with at least this probability."""
        return self.rows.take(self.levels >= level)


def places_of(schema: FeatureSchema, table: pd.DataFrame) -> Array:
    """Rows (M, n): numbers of lines, positions of the other values."""
    columns = [
        table[f.name].to_numpy(dtype=float) if f.is_numeric else np.array([f.values.index(v) for v in table[f.name]])
        for f in schema.features
    ]
    return np.column_stack(columns).astype(float)


def everything_in_reach(problem: TinyProblem, applicant: pd.DataFrame) -> Reach:
    """Try every combination of values."""
    schema = problem.schema
    entries = [candidates(feature, applicant[feature.name].iloc[0]) for feature in schema.features]
    table = pd.DataFrame(list(product(*entries)), columns=list(schema.names)).astype(problem.table.dtypes.to_dict())
    allowed = [not faults for faults in schema.violations(applicant, table)]
    table = table[allowed].reset_index(drop=True)
    accepted = problem.pipeline.predict(table) == 1 if len(table) else np.zeros(0, dtype=bool)
    table = table[accepted]
    levels = problem_levels(problem, table) if len(table) else np.zeros(0)
    return Reach(Rows.read(schema, table, applicant), levels)


def candidates(feature: Feature, own: object) -> list[object]:
    """Values worth trying: the applicant's own, and all known ones or the multiples of the step around the range."""
    if feature.is_categorical:
        return list(feature.values)
    first, last = np.floor(feature.lower / feature.step), np.ceil(feature.upper / feature.step)
    multiples = feature.step * np.arange(first, last + 1.0)
    return sorted({*multiples.tolist(), float(own)})


def problem_levels(problem: TinyProblem, table: pd.DataFrame) -> Array:
    """The probability that each row is accepted with, whatever the distribution in the ball, (M,).

    The largest p with sqrt(1 - p) m - sqrt(p) s >= r, for the mean, deviation and reach of the score: by halving.
    """
    encoded = problem.pipeline[:-1].transform(table)
    points = np.column_stack([np.ones(len(table)), encoded])
    mean = points @ problem.moments.mean
    spread = np.sqrt(np.einsum("ij,jk,ik->i", points, problem.moments.cov, points))
    shape = np.eye(points.shape[1]) if problem.drift is None else problem.moments.cov
    reach = problem.radius * np.sqrt(np.einsum("ij,jk,ik->i", points, shape, points))
    low, high = np.zeros(len(table)), np.ones(len(table))
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        holds = np.sqrt(1.0 - middle) * mean - np.sqrt(middle) * spread >= reach
        low, high = np.where(holds, middle, low), np.where(holds, high, middle)
    return low


def menu_values(rows: Rows, menus: npt.NDArray[np.intp], unit: float, weight: float) -> Array:
    """Mean effort in units of the cheapest row, plus what likeness costs, of menus (K, J) of the rows, (K,)."""
    distances = rows.distances(rows.places).sum(axis=2)
    kernels = 1.0 / (1.0 + distances[menus[:, :, None], menus[:, None]] / unit)
    return rows.efforts()[menus].mean(axis=1) / unit + weight * (1.0 - np.linalg.det(kernels))


def best_menu(rows: Rows, n_options: int, weight: float) -> tuple[int, float]:
    """Size and value of the best menu of rows that meet the goal; a smaller one only where none has all options."""
    unit = float(rows.efforts().min())
    kept = rows.take(rows.minimal())
    clashes, same = kept.clashes(), kept.same_columns()
    for size in range(n_options, 0, -1):
        menus = np.array(list(combinations(range(len(kept.places)), size)), dtype=np.intp).reshape(-1, size)
        fits = np.ones(len(menus), dtype=bool)
        for i, k in combinations(range(size), 2):
            fits &= ~clashes[menus[:, i], menus[:, k]]
        for i, j, k in combinations(range(size), 3):
            fits &= ~(same[menus[:, i], menus[:, j]] & same[menus[:, i], menus[:, k]])
        if fits.any():
            return size, float(menu_values(kept, menus[fits], unit, weight).min())
    raise AssertionError("a set with a cheapest row has a menu of one")
