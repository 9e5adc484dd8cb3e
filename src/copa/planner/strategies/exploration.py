"""Search for models that are not linear in the columns: explore rows, search on linear models of them, choose."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa.planner.search.arguments import FoundPlans, Outcome
from copa.planner.search.problem import ActionSpace, Linearisation
from copa.planner.search.run import Goals, choose_options, search_plans
from copa.planner.settings import Execution
from copa.planner.strategies.applicants import Applicants
from copa.planner.strategies.plausible import RowPlausibility
from copa.planner.strategies.samples import Rows, Samples
from copa.plans.request import PlanRequest

FEWER = 16  # applicants at a time where there is a time limit
# Where the level is out of reach, rows are taken down to this share of the highest one: only there is a choice.
ROOM = 0.97

Evaluated = TypeVar("Evaluated", bound=Samples)


@dataclass(frozen=True, eq=False)
class Exploration(ABC, Generic[Evaluated]):
    """Plans for applicants by sequential linearisation, whatever the source of the linear models.

    Rows are evaluated by the model itself. From a focus, options are searched on linear models of it and evaluated;
    those found are the next focus. In the end the plans are chosen among all rows evaluated, and once more after the
    changes of every option were taken back as far as its level allows (`Easing`). A strategy says where to start, how
    rows are evaluated, and where its slopes come from.

    Attributes
    ----------
    space : ActionSpace
    applicants : Applicants
    request : PlanRequest
    run : Execution
    """

    n_turns: ClassVar[int]

    space: ActionSpace
    applicants: Applicants
    request: PlanRequest
    run: Execution

    @abstractmethod
    def start(self) -> tuple[Evaluated, Rows]:
        """Return the first rows evaluated, and the focus of the first turn."""

    @abstractmethod
    def evaluate(self, rows: Rows) -> Evaluated:
        """Return rows with their scores and guarantees."""

    @abstractmethod
    def search(self, evaluated: Evaluated, focus: Rows, turn: int) -> Rows:
        """Return options found on linear models of the model near the focus."""

    def visit(self, options: Rows, turn: int) -> Evaluated:  # noqa: ARG002 - for explorations that look around
        """Evaluate options, and after them whatever else is worth knowing there."""
        return self.evaluate(options)

    def refocus(self, focus: Rows, options: Evaluated) -> Rows:  # noqa: ARG002 - for explorations that keep some of it
        """Return the focus of the next turn."""
        return options

    def plans(self) -> tuple[FoundPlans, Evaluated, Indices]:
        """Return the plans, all rows evaluated, and the positions of the plans' options among these."""
        evaluated, focus = self.start()
        for turn in range(self.n_turns):
            if perf_counter() > self.run.deadline:
                break
            options = self.search(evaluated, focus, turn)
            if len(options.owner) == 0:
                break
            visited = self.visit(options, turn)
            evaluated = evaluated.joined(visited)
            focus = self.refocus(focus, visited.take(np.arange(len(options.owner))))
        plans, chosen = choose_plans(self.space, self.applicants, evaluated, self.request)
        options = evaluated.take(chosen)
        easing = Easing(self.space, self.applicants, self, options, self._level_to_keep(plans, options))
        if perf_counter() <= self.run.deadline:
            easing.ease()
        if easing.met:
            evaluated = evaluated.joined(*easing.met)
            plans, chosen = choose_plans(self.space, self.applicants, evaluated, self.request)
        return plans, evaluated, chosen

    def score_today(self, rows: Rows) -> Array:
        """Return the scores of rows by the model in force."""
        return self.evaluate(rows).scores

    def evaluate_accepted(self, rows: Rows) -> Evaluated:
        """Return those of the rows that the model in force accepts, with their scores and guarantees."""
        evaluated = self.evaluate(rows)
        return evaluated.take(evaluated.scores >= 0.0)

    def _level_to_keep(self, plans: FoundPlans, options: Evaluated) -> Array:
        """The level that lighter options must keep, (M,): what is asked for, or their own where that is lower."""
        levels = np.array([_size_and_level(self.request, highest)[1] for highest in plans.highest.tolist()])
        kept: Array = np.minimum(levels[options.owner], options.lower)
        return kept


@dataclass(frozen=True, eq=False)
class Easing(Generic[Evaluated]):
    """Makes options lighter, as long as each keeps a level of its own.

    Attributes
    ----------
    space : ActionSpace
    applicants : Applicants
    models : Exploration
    options : Rows
        M options.
    least : ndarray of shape (M,)
        Level that each must keep.
    met : list of Samples
        Rows that were evaluated on the way.
    """

    space: ActionSpace
    applicants: Applicants
    models: Exploration[Evaluated]
    options: Rows
    least: Array
    met: list[Evaluated] = field(default_factory=list)
    _lower: dict[bytes, float] = field(default_factory=dict)

    def ease(self) -> None:
        """Take changes back, then halve those of the numbers.

        Each option goes two ways, which lead to different rows: the changes that count least go first, or those that
        ask for most.
        """
        rows = Rows(np.tile(self.options.owner, 2), np.tile(self.options.values, (2, 1)))
        own = self.applicants.regions.own[rows.owner]
        for by_refits in (False, True):
            rows = self._reduce(rows, own, by_refits=by_refits)
        self._reduce(rows, rows.halved(self.space, self.applicants), by_refits=False)

    def _reduce(self, rows: Rows, targets: Array, *, by_refits: bool) -> Rows:
        """Put entries of rows (2 M, F) at their targets, as many as go without losing the level.

        First each by itself, judged by the model in force or by its refits as well. Of those that can go, the first
        two, three, ... together; the most that keep the level go.
        """
        lines, columns = np.nonzero(rows.values != targets)
        alone = rows.values[lines]
        alone[np.arange(len(lines)), columns] = targets[lines, columns]
        tried = Rows(rows.owner[lines], alone)
        least = np.tile(self.least, 2)
        rating = self.lower(tried) if by_refits else self._scores(tried)
        good = rating >= (least[lines] if by_refits else 0.0)
        lines, columns, rating, tried = lines[good], columns[good], rating[good], tried.some(good)
        if len(lines) == 0:
            return rows
        effort = self.space.effort(self.applicants.regions.take(tried.owner), tried.values)
        least_first = lines < len(self.least)
        order = np.lexsort((columns, effort, np.where(least_first, -rating, 0.0), lines))
        lines, columns = lines[order], columns[order]
        together = _one_after_another(rows.values, targets, lines, columns)
        kept = np.flatnonzero(self.lower(Rows(rows.owner[lines], together)) >= least[lines])
        most = kept[np.append(lines[kept][1:] != lines[kept][:-1], True)[: len(kept)]]
        values = rows.values.copy()
        values[lines[most]] = together[most]
        return Rows(rows.owner, values)

    def lower(self, rows: Rows) -> Array:
        """Guarantees of rows, (M,), each asked for once; minus infinity where a row is refused."""
        keys = _keys(rows)
        unknown = {key: k for k, key in enumerate(keys) if key not in self._lower}
        if unknown:
            self._lower.update(dict.fromkeys(unknown, -np.inf))
            some = rows.some(np.array(list(unknown.values())))
            accepted = self.models.evaluate_accepted(some.some(some.allowed(self.space, self.applicants)))
            self._lower.update(zip(_keys(accepted), accepted.lower.tolist(), strict=True))
            self.met.append(accepted)
        return np.array([self._lower[key] for key in keys])

    def _scores(self, rows: Rows) -> Array:
        """Scores of rows by the model in force, (M,); minus infinity where the schema does not allow a row."""
        allowed = rows.allowed(self.space, self.applicants)
        scores = np.full(len(allowed), -np.inf)
        if allowed.any():
            scores[allowed] = self.models.score_today(rows.some(allowed))
        return scores


def _keys(rows: Rows) -> list[bytes]:
    """One for each different row of an applicant."""
    return [b"%d:" % i + entries.tobytes() for i, entries in zip(rows.owner.tolist(), rows.values, strict=True)]


def _one_after_another(values: Array, targets: Array, lines: Indices, columns: npt.NDArray[np.intp]) -> Array:
    """Rows of the lines with their first, their first two, ... entries at the targets, (M, F)."""
    together = values[lines]
    for k in range(len(lines)):
        if k and lines[k] == lines[k - 1]:
            together[k] = together[k - 1]
        together[k, columns[k]] = targets[lines[k], columns[k]]
    return together


def build_in_turns(
    space: ActionSpace,
    n_applicants: int,
    batch_size: int,
    build: Callable[[Indices], FoundPlans],
    n_options: int,
    run: Execution,
) -> FoundPlans:
    """Plans of N applicants, some of them at a time, for as long as there is time.

    Parameters
    ----------
    batch_size : applicants at a time
    build : from the positions of some to their plans; what it has not found when time is up may have been cut off
    """
    plans = FoundPlans.empty(n_applicants, n_options, len(space.columns))
    batch_size = batch_size if np.isinf(run.deadline) else FEWER
    for first in range(0, n_applicants, batch_size):
        if perf_counter() > run.deadline:
            break
        some = np.arange(first, min(first + batch_size, n_applicants))
        built = build(some)
        if perf_counter() > run.deadline:
            cut = built.outcomes != Outcome.MET
            built.outcomes[cut], built.counts[cut] = Outcome.TIMED_OUT, 0
        plans = plans.replaced(some, built)
        run.advance(len(some))
    return plans


def search_one(
    linear: Linearisation,
    applicant: Applicants,
    encoded: Array,
    goals: Goals,
    request: PlanRequest,
    run: Execution,
    n_options: int,
) -> FoundPlans:
    """Search the plan of one applicant.

    Parameters
    ----------
    linear : Linearisation
    applicant : Applicants
        One.
    encoded : ndarray of shape (1, D)
        The applicant's row in the coordinates of `linear`.
    goals : Goals
    request : PlanRequest
    run : Execution
    n_options : int
    """
    return search_plans(
        linear,
        applicant.regions,
        encoded,
        applicant.slack,
        goals,
        n_options=n_options,
        diversity_weight=request.diversity_weight or 0.0,
        multipliers=run.multipliers,
        n_jobs=1,
        deadline=run.deadline,
    )


def level_of_each(request: PlanRequest) -> float:
    """The level of every option that is enough for what is asked of a plan."""
    return float(enough_for_each(request, np.array([request.n_options]))[0])


def enough_for_each(request: PlanRequest, sizes: Indices) -> Array:
    """The level of every option that is enough for plans of so many, (N,): for all of J together, Boole's."""
    if request.guarantee_for == "all":
        return np.asarray(1.0 - (1.0 - request.guarantee) / sizes)
    return np.full(len(sizes), request.guarantee)


def choose_plans(
    space: ActionSpace, applicants: Applicants, samples: Samples, request: PlanRequest
) -> tuple[FoundPlans, Indices]:
    """The plans of N applicants from the rows that were tried, and the positions of all their options among these."""
    plans = FoundPlans.empty(len(applicants), request.n_options, len(space.columns))
    good = samples.allowed(space, applicants) & (samples.scores >= 0.0)
    shares = plausibility_where(space, applicants, samples, good, request)
    everyone = [np.zeros(0, dtype=np.int64)]
    for i in range(len(applicants)):
        accepted = np.flatnonzero(good & (samples.owner == i))
        rows = accepted[~(shares[accepted] < request.plausibility)]
        if len(rows) < len(accepted):
            plans.plausible[i] = shares[accepted].max()
        plans.highest[i] = samples.lower[rows].max(initial=0.0)
        n_options, level = _size_and_level(request, plans.highest[i])
        rows = rows[candidates(samples.take(rows), level)]
        rows = rows[lightest(samples.values[rows], applicants.regions.own[i], len(space.numeric))]
        region, weight = applicants.regions.take(i), request.diversity_weight or 0.0
        chosen = rows[choose_options(space, region, samples.values[rows], n_options, weight)]
        reached = Outcome.MET if plans.highest[i] >= level else Outcome.BELOW
        plans.outcomes[i] = reached if len(chosen) else Outcome.UNREACHABLE
        plans.counts[i] = len(chosen)
        plans.options[i, : len(chosen)] = samples.values[chosen]
        everyone.append(chosen)
    return plans, np.concatenate(everyone)


def plausibility_where(
    space: ActionSpace, applicants: Applicants, rows: Rows, flags: npt.NDArray[np.bool_], request: PlanRequest
) -> Array:
    """Plausibility of the flagged ones of M rows, (M,); NaN for the others, and where nothing is asked of it."""
    shares = np.full(len(flags), np.nan)
    if request.plausibility > 0.0 and space.plausibility is not None and flags.any():
        shares[flags] = RowPlausibility.of(space, applicants)(rows.owner[flags], rows.values[flags])
    return shares


def _size_and_level(request: PlanRequest, highest: float) -> tuple[int, float]:
    """Number of options and level of each; fewer options where no such number reaches the guarantee together."""
    levels = enough_for_each(request, np.arange(1, request.n_options + 1))
    reached = np.flatnonzero(levels <= highest)
    n_options = int(reached[-1]) + 1 if len(reached) else request.n_options
    return n_options, float(levels[n_options - 1])


def candidates(samples: Samples, level: float) -> Indices:
    """Positions of the good rows of one applicant that reach the level, or nearly the highest in reach, each once."""
    highest = samples.lower.max(initial=-1.0)
    least = level if highest >= level else highest - (1.0 - ROOM) * abs(highest)
    sure = np.flatnonzero(samples.lower >= least)
    _, first = np.unique(samples.values[sure], axis=0, return_index=True)
    return sure[np.sort(first)]


def lightest(rows: Array, own: Array, n_numeric: int) -> Indices:
    """Positions of rows (P, F) of one applicant of which no other is the same with some changes taken back.

    Numbers that are left may have changed less as well.
    """
    changes, changed = rows - own, rows != own
    fewer = changed.sum(axis=1)[:, None] > changed.sum(axis=1)  # of two rows, whether the second changes fewer columns
    for f in range(rows.shape[1]):
        if f < n_numeric:
            x, y = changes[:, f, None], changes[:, f]
            fewer &= (y == 0.0) | ((x * y > 0.0) & (np.abs(y) <= np.abs(x)))
        else:
            fewer &= ~changed[:, f] | (rows[:, f, None] == rows[:, f])
    return np.flatnonzero(~fewer.any(axis=1))
