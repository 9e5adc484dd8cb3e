"""The cheapest row that a linear model allows, proven: a mixed-integer program, solved by HiGHS.

The search looks for good plans; this looks for a proof that no single row is cheaper. All that the schema asks is
linear in a row: ranges, steps, levels, rules, the cap on changes. So is acceptance today. The level is a convex cone,
and effort may be a norm; both are replaced by tangents, which only ever allow more. The value of every program is hence
a lower bound, and tangents at its solution are added until that is a row, or as dear as one that is known.
"""

from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, milp

from copa._core.arrays import Array
from copa.planner.search.arguments import GoalArrays, Regions
from copa.planner.search.problem import NO_RULE, Linearisation, as_levels
from copa.planner.search.rows import left_entries, written_numbers
from copa.plans.cost import unit_of_effort

CLOSE = 1e-4  # relative difference of costs that counts as none
RATIOS = (0.1, 0.25, 0.5, 0.75, 1.0)  # of a price and the norm of all, where tangents are laid from the start
SPARE = 1e-7  # of the size of a constraint, by which HiGHS may miss it
INFEASIBLE = 2  # status of `milp`

Places = npt.NDArray[np.int64]


class Bound(NamedTuple):
    """Lower bound of the cost of an applicant's rows."""

    cost: float  # no row costs less; infinite where there is no row at all
    row: Array | None = None  # (F,) one that costs at most a share `CLOSE` more; None where none was met


class Variables(NamedTuple):
    """Places of the variables of a program.

    Of each numeric column how many units it moves, whether it changes, and how far it goes; then whether each level is
    taken. Where effort is a norm, the share of each price in it, its square over the norm, and at last the norm.
    """

    moved: Places  # (L,)
    changes: Places  # (L,)
    way: Places  # (L,)
    level: Places  # (A - L,)
    share: Places  # (A,)
    norm: int

    @classmethod
    def of(cls, n_numeric: int, n_directions: int) -> "Variables":
        """Number the variables."""
        sizes = [n_numeric, n_numeric, n_numeric, n_directions - n_numeric, n_directions]
        moved, changes, way, level, share, norm = np.split(np.arange(sum(sizes) + 1), np.cumsum(sizes))
        return cls(moved, changes, way, level, share, int(norm[0]))


@dataclass(frozen=True, eq=False)
class CheapestRow:
    """The program of one applicant.

    Attributes
    ----------
    linear : Linearisation
    regions : Regions
        Of the applicant, with a leading 1.
    encoded : ndarray of shape (1, D)
    slack : ndarray of shape (1, R)
    goals : GoalArrays
        With a leading 1; a floor of minus infinity asks for nothing today.
    """

    linear: Linearisation
    regions: Regions
    encoded: Array
    slack: Array
    goals: GoalArrays
    _constraints: list[tuple[Array, float]] = field(default_factory=list, init=False)  # coefficients, least value

    def __post_init__(self) -> None:
        self._limit_numbers()
        self._limit_changes()
        if np.isfinite(self.goals.floors[0]):
            self._constrain(self.directions @ self.linear.theta, self.goals.floors[0] - self.origin @ self.linear.theta)
        if self.power == 2:
            self._constrain(
                np.eye(self.at.norm + 1)[self.at.norm] - np.isin(np.arange(self.at.norm + 1), self.at.share), 0.0
            )
            for ratio in RATIOS:
                self._cut_norm(np.full(len(self.prices), ratio), np.flatnonzero(self.prices.any(axis=1)))

    def solve(self, best: float, points: Array, seconds: float) -> Bound:
        """Bound the cost of all rows.

        Parameters
        ----------
        best : float
            Cost of a row that is known; infinite without one.
        points : ndarray of shape (P, D)
            Encoded rows with tangents that are worth having.
        seconds : float
            Time limit.
        """
        until, bound = perf_counter() + seconds, Bound(0.0)
        for point in (self.encoded[0], *points):
            self._cut_level(point)
        for integral in (False, True):  # tangents of the relaxed program cost little
            bound = self._refine(bound.cost, best, until, integral=integral)
            if bound.row is not None or bound.cost >= best * (1.0 - CLOSE):
                break
        return bound

    def _refine(self, cost: float, best: float, until: float, *, integral: bool) -> Bound:
        """Add tangents at solutions until none is missing, or the bound is as good as it need be."""
        while cost < best * (1.0 - CLOSE) and (seconds := until - perf_counter()) > 0.0:
            result = self._run(seconds, integral=integral)
            if result.status == INFEASIBLE:
                return Bound(np.inf)
            value, before = result.mip_dual_bound if integral else result.fun, cost
            cost = cost if value is None else max(cost, float(value) * (1.0 - SPARE))
            stuck = not integral and before > 0.0 and cost <= before * (1.0 + SPARE)
            if result.x is None or stuck or not self._add_cuts(result.x):
                row = self._row(result.x) if integral and result.x is not None else None
                return Bound(cost, row if row is not None and self._costs_at_most(row, cost) else None)
        return Bound(cost)

    def _costs_at_most(self, row: Array, cost: float) -> bool:
        """Return whether a row (F,) is as cheap as a cost, but for what counts as none."""
        return bool(self.linear.space.search_cost(self.regions, row[None])[0] <= cost * (1.0 + CLOSE))

    def _run(self, seconds: float, *, integral: bool) -> OptimizeResult:
        """Solve the program with the tangents so far."""
        lower, upper = self._bounds
        matrix, least = np.array([c for c, _ in self._constraints]), np.array([b for _, b in self._constraints])
        sizes = np.maximum(np.abs(matrix).max(axis=1), 1e-300)
        whole = np.zeros(len(lower))
        if integral:
            whole[self.at.changes] = whole[self.at.level] = 1
            whole[self.at.moved] = self.steps > 0.0
        limits = {"time_limit": max(seconds, 1e-3), "mip_rel_gap": 0.5 * CLOSE}
        rows = LinearConstraint(matrix / sizes[:, None], least / sizes - SPARE, np.inf)
        return milp(self._objective, integrality=whole, bounds=Bounds(lower, upper), constraints=rows, options=limits)

    @cached_property
    def at(self) -> Variables:
        """Places of the variables."""
        return Variables.of(len(self.steps), self.linear.space.n_directions)

    @property
    def power(self) -> int:
        """Power of the prices."""
        return self.linear.space.prices.power

    @property
    def steps(self) -> Array:
        """Steps of the numeric columns, (L,)."""
        return self.linear.problem.steps

    @cached_property
    def units(self) -> Array:
        """Steps of the numeric columns, and where there are none units of effort, (L,)."""
        efforts = np.array([unit_of_effort(feature) for feature in self.linear.space.numeric])
        return np.asarray(np.where(self.steps > 0.0, self.steps, efforts))

    @cached_property
    def bases(self) -> Array:
        """Numbers that moves are counted from, in units and on the grid, (L,)."""
        own = self.regions.reference[0] / self.units
        return np.asarray(np.where(self.steps > 0.0, np.rint(own), own))

    @cached_property
    def own_levels(self) -> Places:
        """Variables of the levels that the applicant has, one of each column of levels."""
        n = len(self.steps)
        return self.at.level[as_levels(self.regions.own[0, n:]) - n]

    @cached_property
    def directions(self) -> Array:
        """What a unit of each variable adds to the encoded row, (V, D)."""
        n, all_directions = len(self.steps), self.linear.directions
        added = np.zeros((self.at.norm + 1, all_directions.shape[1]))
        added[self.at.moved] = self.units[:, None] * all_directions[:n]
        alone = left_entries(self.linear, self.regions.take(np.zeros(n, dtype=np.int64)), np.eye(n, dtype=np.bool_))
        start = self.units * self.bases - self.regions.own[0, :n]
        added[self.at.changes] = alone + start[:, None] * all_directions[:n]
        added[self.at.level] = all_directions[n:]
        return added

    @cached_property
    def origin(self) -> Array:
        """The encoded row where all variables are zero, (D,)."""
        start: Array = self.encoded[0] - self.directions[self.own_levels].sum(axis=0)
        return start

    @cached_property
    def prices(self) -> Array:
        """Price of each numeric column, then of each level, as linear functions of the variables, (A, V)."""
        n, per_unit = len(self.steps), self.linear.space.prices.per_unit
        prices = np.zeros((n + len(self.at.level), self.at.norm + 1))
        prices[np.arange(n), self.at.way] = per_unit
        prices[np.arange(n), self.at.changes] = per_unit * self.regions.leaving[0]
        prices[np.arange(n, len(prices)), self.at.level] = self.regions.level_prices[0, n:] ** (1.0 / self.power)
        return prices

    @cached_property
    def _objective(self) -> Array:
        total = self.prices.sum(axis=0) if self.power == 1 else np.eye(self.at.norm + 1)[self.at.norm]
        penalties, n = self.linear.space.prices.penalties, len(self.steps)
        total[self.at.changes] += penalties[:n]
        for (f, _), own in zip(self.linear.space.level_columns, self.own_levels, strict=True):
            levels = self.at.level[self.linear.space.levels(f) - n]
            total[levels[levels != own]] += penalties[f]
        return np.asarray(total)

    @cached_property
    def _bounds(self) -> tuple[Array, Array]:
        """Ends of all variables: levels that are not allowed, and numbers that stay, have none but zero."""
        lower, upper = np.zeros(self.at.norm + 1), np.full(self.at.norm + 1, np.inf)
        least, most = self._ends
        upper[self.at.changes] = least <= most
        lower[self.at.moved], upper[self.at.moved] = np.minimum(least, 0.0), np.maximum(most, 0.0)
        upper[self.at.way] = self.units * np.maximum(np.abs(least), np.abs(most)) + np.abs(self._offsets)
        upper[self.at.level] = self.regions.allowed[0, len(self.steps) :]
        return lower, upper

    @cached_property
    def _ends(self) -> tuple[Array, Array]:
        """Ends of the moves, in units; the first beyond the last where a column must stay."""
        least, most = (end[0] / self.units - self.bases for end in (self.regions.lower, self.regions.upper))
        rounded = np.ceil(least - SPARE), np.floor(most + SPARE)
        least, most = np.where(self.steps > 0.0, rounded[0], least), np.where(self.steps > 0.0, rounded[1], most)
        stays = ~self.regions.open_numbers[0]
        return np.where(stays, 0.0, least), np.where(stays, -1.0, most)

    @property
    def _offsets(self) -> Array:
        """Distances of the bases from where changes are counted from, in raw units, (L,)."""
        offsets: Array = self.units * self.bases - self.regions.reference[0]
        return offsets

    def _constrain(self, coefficients: Array, least: float) -> None:
        """Add a constraint: coefficients @ variables >= least."""
        self._constraints.append((coefficients, least))

    def _sums(self, *terms: tuple[Places, Array]) -> Array:
        """Coefficients (n, V) of n sums: of one variable of each of the places, times a factor."""
        coefficients = np.zeros((len(terms[0][0]), self.at.norm + 1))
        for places, factors in terms:
            coefficients[np.arange(len(places)), places] += factors
        return coefficients

    def _limit_numbers(self) -> None:
        """Keep new numbers within their ends, and at zero where a column stays; count how far they go."""
        at, (least, most), ones = self.at, self._ends, np.ones(len(self.steps))
        open_ = least <= most
        least, most = np.where(open_, least, 0.0), np.where(open_, most, 0.0)
        start = self._offsets
        for coefficients in (
            *self._sums((at.moved, ones), (at.changes, -least)),
            *self._sums((at.moved, -ones), (at.changes, most)),
            *self._sums((at.way, ones), (at.moved, -self.units), (at.changes, -start)),
            *self._sums((at.way, ones), (at.moved, self.units), (at.changes, start)),
        ):
            self._constrain(coefficients, 0.0)

    def _limit_changes(self) -> None:
        """Take one level of each column, change no more columns than the cap, and keep the rules."""
        space, n, at = self.linear.space, len(self.steps), self.at
        for f, _ in space.level_columns:
            one = np.isin(np.arange(at.norm + 1), at.level[space.levels(f) - n]).astype(np.float64)
            self._constrain(one, 1.0)
            self._constrain(-one, -1.0)
        stays = np.zeros(at.norm + 1)
        stays[at.changes], stays[self.own_levels] = -1.0, 1.0
        self._constrain(stays, len(self.own_levels) - space.cap)
        numbers = self._sums((at.moved, self.units), (at.changes, self.units * self.bases - self.regions.own[0, :n]))
        for share, slack in zip(space.rule_shares, self.slack[0], strict=True):
            if slack < NO_RULE:
                taken = share[:n] @ numbers
                taken[at.level] = share[n:]
                self._constrain(-taken, -slack - taken[self.own_levels].sum())

    def _add_cuts(self, solution: Array) -> bool:
        """Add the tangents that a solution breaks, and return whether there is one."""
        before = len(self._constraints)
        self._cut_level(self.origin + solution @ self.directions, 10.0 * SPARE)
        if self.power == 2 and (norm := solution[self.at.norm]) > 0.0:
            ratios = (self.prices @ solution) / norm
            self._cut_norm(ratios, np.flatnonzero(ratios**2 > solution[self.at.share] / norm + 0.1 * CLOSE))
        return len(self._constraints) > before

    def _cut_norm(self, ratios: Array, some: Places) -> None:
        """Add tangents of the shares of some prices where these are in a ratio (A,) to the norm.

        A price p has the share p^2 / norm, which is at least 2 r p - r^2 norm, and the shares add up to the norm.
        """
        for k in some.tolist():
            coefficients = -2.0 * ratios[k] * self.prices[k]
            coefficients[self.at.share[k]] += 1.0
            coefficients[self.at.norm] += ratios[k] ** 2
            self._constrain(coefficients, 0.0)

    def _cut_level(self, point: Array, tolerance: float = -np.inf) -> None:
        """Add the tangent of the level's cone at an encoded row (D,), if that breaks it by more than the tolerance."""
        a, b, c = float(self.goals.a[0]), float(self.goals.b[0]), float(self.goals.c[0]) * self.goals.radius
        spread, reach = (np.sqrt(max(float(point @ s @ point), 0.0)) for s in (self.linear.cov, self.linear.drift))
        if a == 0.0 and b == 0.0:
            return
        normal = a * self.linear.mean
        if spread > 0.0:
            normal = normal - b * (self.linear.cov @ point) / spread
        if reach > 0.0 and c > 0.0:
            normal = normal - c * (self.linear.drift @ point) / reach
        coefficients = self.directions @ normal
        if point @ normal < -tolerance * max(np.abs(coefficients).max(), 1e-300):
            self._constrain(coefficients, -float(self.origin @ normal))

    def _row(self, solution: Array) -> Array:
        """A solution as a row of the search, (F,)."""
        space, n, row = self.linear.space, len(self.steps), self.regions.own[0].copy()
        for f in np.flatnonzero(solution[self.at.changes] > 0.5):
            number = self.units[f] * (self.bases[f] + solution[self.at.moved[f]])
            row[f] = written_numbers(space.numeric[f].step, np.array([number]))[0]
        for column, _ in space.level_columns:
            levels = space.levels(column)
            row[column] = levels[np.argmax(solution[self.at.level[levels - n]])]
        return np.asarray(row)
