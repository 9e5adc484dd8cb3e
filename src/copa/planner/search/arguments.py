"""What the compiled search is given and gives back: named tuples, which it reads by the names of their fields.

A row is one vector of F columns: a number for each of the L numeric columns, then for each other one the index of its
level among all A *directions*. A direction is what a raw unit of a numeric column, or a level, adds to the encoded
vector; those of the numeric columns come first. Levels are the values of a categorical column, or the bins of a column
of numbers, and last the irregular entries (special codes, missing) that may be left.
"""

from enum import IntEnum
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Cube = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

Record = TypeVar("Record", bound=tuple[Any, ...])


def take_rows(record: Record, rows: Any) -> Record:
    """A named tuple with some of the rows of its arrays; what is no array stays as it is."""
    return type(record)(*(part[rows] if isinstance(part, np.ndarray) else part for part in record))


class Outcome(IntEnum):
    """What became of an applicant; a smaller number is better."""

    MET = 0  # the level is reached
    BELOW = 1  # only a lower one can be
    UNREACHABLE = 2  # no allowed row is accepted today
    TIMED_OUT = 3  # the time was up before that was known


class SearchProblem(NamedTuple):
    """What all applicants share."""

    starts: Ints  # (F + 1,) first direction of each column, and A at last
    cov_gram: Matrix  # (A, A) inner products of the directions under the covariance
    drift_gram: Matrix  # (A, A) and under the drift
    means: Floats  # (A,) what a direction adds to the mean score
    scores: Floats  # (A,) what it adds to today's score
    rules: Matrix  # (R, A) what it takes from the slack of each rule
    steps: Floats  # (L,) new values are multiples of it; 0 for any value
    cap: int  # most columns that may change
    stop: Ints  # (1,) not zero once the time is up: set from outside while the search runs


class Regions(NamedTuple):
    """Feasible regions of N applicants.

    Staying is always possible. Where an applicant's number lies outside `lower` and `upper`, it is that number or one
    between them (`problem.ways_in`). So does the number that stands for an irregular entry.
    """

    own: Matrix  # (N, F) their own rows
    lower: Matrix  # (N, L) where numbers may go
    upper: Matrix  # (N, L)
    allowed: Flags  # (N, A) levels that may be taken
    reference: Matrix  # (N, L) where changes are counted from: the own number, a typical one for an irregular entry
    leaving: Matrix  # (N, L) raw units that leaving an irregular entry costs in addition, else 0
    level_prices: Matrix  # (N, A) of taking each level, to the power of the prices
    values: Matrix  # (N, A) numbers that the bins stand for; 0 for other levels
    kinds: Matrix  # (N, L) which irregular entry stands here, from 1 on; 0 for a number

    @classmethod
    def empty(cls, n_applicants: int, n_columns: int, n_numeric: int, n_directions: int) -> "Regions":
        """Room for regions in which nothing may change."""
        numbers, levels = (n_applicants, n_numeric), (n_applicants, n_directions)
        return cls(
            own=np.zeros((n_applicants, n_columns)),
            lower=np.zeros(numbers),
            upper=np.zeros(numbers),
            allowed=np.ones(levels, dtype=np.bool_),
            reference=np.zeros(numbers),
            leaving=np.zeros(numbers),
            level_prices=np.zeros(levels),
            values=np.zeros(levels),
            kinds=np.zeros(numbers),
        )

    def take(self, rows: Any) -> "Regions":
        """The regions of some applicants."""
        return take_rows(self, rows)

    @property
    def numbers(self) -> Matrix:
        """Own values of the numeric columns, (N, L)."""
        return self.own[:, : self.lower.shape[1]]

    @property
    def outside(self) -> Flags:
        """Numeric columns in which an applicant stands outside of where changed values may lie, (N, L)."""
        return np.asarray((self.numbers < self.lower) | (self.numbers > self.upper))

    @property
    def open_numbers(self) -> Flags:
        """Numeric columns that may change at all, (N, L)."""
        return np.asarray((self.lower < self.upper) | self.outside)


class Starts(NamedTuple):
    """The applicants' own rows, as the search follows them (see `problem.Row`)."""

    scores: Matrix  # (N, 4)
    cov_products: Matrix  # (N, A)
    drift_products: Matrix  # (N, A)
    slack: Matrix  # (N, R)


class GoalArrays(NamedTuple):
    """What rows must reach: a * share * mean - b * std - c * radius * length >= 0, the margin and the floor.

    (a, b) has unit length, or is (0, 0) with c = 0 where no level is asked for.
    """

    a: Floats  # (N,)
    b: Floats  # (N,)
    c: Floats  # (N,)
    floors: Floats  # (N,) least score today
    shares: Floats  # (N,) what counts of the mean
    radii: Floats  # (N,)
    margin: float  # least mean score
    moves_spread: bool  # whether the set lets the spread of a score move as its mean does: c = 1, else c = a


class Halves(NamedTuple):
    """Refits on complementary halves of the data, which stand next to each other, K in all."""

    directions: Matrix  # (K, A) what a direction adds to the score of each
    scores: Matrix  # (N, K) of the applicants' own rows


class Agreement(NamedTuple):
    """Sums of the scores of rows that halves of the data chose for N applicants."""

    chosen: Floats  # (N,) by the halves that chose them
    asked: Floats  # (N,) by the other halves


class PoolSettings(NamedTuple):
    """How the pool of rows is drawn from which a plan is chosen."""

    multipliers: Matrix  # (S, F) of the prices, one line per row of the pool
    diversity_weight: float
    alike: Floats  # (F,) differences up to which two values of a column count as the same


class FoundPlans(NamedTuple):
    """Plans of N applicants with up to J options each."""

    outcomes: Ints  # (N,) of `Outcome`
    counts: Ints  # (N,) number of options
    options: Cube  # (N, J, F) cheapest first
    surest: Matrix  # (N, F) row that reaches `highest`; where nothing is accepted, the nearest attempt
    highest: Floats  # (N,) highest level found; the kernel writes heights (see `highest_level`)
    pool: Cube  # (N, P, F) rows that the plans were chosen from, as many as there is room for
    pool_sizes: Ints  # (N,) how many of them there are
    plausible: Floats  # (N,) greatest plausibility of what was found, where some of it was too low; else NaN

    @classmethod
    def empty(cls, n_applicants: int, n_options: int, n_columns: int, n_pool: int = 0) -> "FoundPlans":
        """Room for plans, none of them found yet, and for so many rows of their pools."""
        return cls(
            np.full(n_applicants, Outcome.TIMED_OUT, dtype=np.int64),
            np.zeros(n_applicants, dtype=np.int64),
            np.zeros((n_applicants, n_options, n_columns)),
            np.zeros((n_applicants, n_columns)),
            np.zeros(n_applicants),
            np.zeros((n_applicants, n_pool, n_columns)),
            np.zeros(n_applicants, dtype=np.int64),
            np.full(n_applicants, np.nan),
        )

    def take(self, rows: Any) -> "FoundPlans":
        """The plans of some applicants."""
        return take_rows(self, rows)

    def put(self, rows: Any, others: "FoundPlans") -> None:
        """Write other plans in the place of some."""
        for part, other in zip(self, others, strict=True):
            part[rows] = other

    def replaced(self, rows: Any, others: "FoundPlans") -> "FoundPlans":
        """A copy in which some applicants have other plans."""
        copy = self.take(np.arange(len(self.counts)))
        copy.put(rows, others)
        return copy

    @property
    def positions(self) -> "tuple[Any, Any]":
        """Applicant of every option, and its position in the plan, (M,) both."""
        owner, option = np.nonzero(np.arange(self.options.shape[1]) < self.counts[:, None])
        return owner, option


class FoundRows(NamedTuple):
    """Rows found for M targets."""

    outcomes: Ints  # (M,) of `Outcome`
    rows: Matrix  # (M, F)
    highest: Floats  # (M,) as in `FoundPlans`

    def take(self, rows: Any) -> "FoundRows":
        """Some of the rows."""
        return take_rows(self, rows)

    def put(self, rows: Any, others: "FoundRows") -> None:
        """Write other rows in the place of some."""
        for part, other in zip(self, others, strict=True):
            part[rows] = other


class Choice(NamedTuple):
    """Rows of one applicant, from which a plan is chosen."""

    own: Floats  # (F,)
    reference: Floats  # (L,) as in `Regions`
    leaving: Floats  # (L,)
    level_prices: Floats  # (A,)
    rows: Matrix  # (P, F) each once
    diversity_weight: float
    alike: Floats  # (F,) as in `PoolSettings`
    chosen: Ints  # (J,) written: positions of the options, cheapest first
    size: Ints  # (1,) written: how many there are


class Targets(NamedTuple):
    """Points that rows are to be near to."""

    numbers: Matrix  # (M, L) of the numeric columns, on the grid of their steps
    per_unit: Floats  # (L,) distance of a raw unit
    levels: Matrix  # (M, A) squared distance of every level
