"""Settings as strategies are given them: those for `fit`, and how a request is carried out."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from copa._core.arrays import Array
from copa._core.reading import is_number
from copa._core.words import shown
from copa.exceptions import InvalidInputError
from copa.planner.later_models import LaterModels, read_later_models
from copa.planner.search.run import price_multipliers
from copa.plans.cost import Cost, read_cost


@dataclass(frozen=True, eq=False)
class FitSettings:
    """Settings that a strategy is fitted with."""

    later_models: LaterModels
    cost: Cost
    seed: int
    n_jobs: int | None

    @classmethod
    def of(cls, planner: Any) -> "FitSettings":
        """Read those of a `RecoursePlanner`."""
        later = read_later_models(planner.later_models)
        return cls(later, read_cost(planner.cost), planner.random_state or 0, planner.n_jobs)


@dataclass(frozen=True, eq=False)
class Execution:
    """Execution of a request: starts of the search, seed, threads, time limit and progress."""

    multipliers: Array  # factors of the prices, (n_starts, n_columns)
    seed: int = 0
    n_jobs: int | None = None  # None for all cores
    deadline: float = np.inf  # on the clock of `time.perf_counter`
    progress: Callable[[int], None] | None = None  # takes the number of applicants done since its last call

    @classmethod
    def of(cls, planner: Any, n_columns: int) -> "Execution":
        """Read that of a `RecoursePlanner` which begins now."""
        seed = planner.random_state or 0
        deadline = perf_counter() + read_time_limit(planner.time_limit)
        return cls(price_multipliers(planner.n_starts, n_columns, seed), seed, planner.n_jobs, deadline)

    def advance(self, n_applicants: int) -> None:
        """Report that so many more applicants are done."""
        if self.progress is not None:
            self.progress(n_applicants)

    def silent(self) -> "Execution":
        """Return the same without progress, for a search within a search."""
        return replace(self, progress=None)


def read_time_limit(value: Any, name: str = "time_limit") -> float:
    """Read a time limit in seconds, infinite where there is none."""
    if value is None:
        return np.inf
    if not is_number(value) or not value > 0.0:
        raise InvalidInputError(f"{name} must be a number of seconds above 0, or None, got {shown(value)}")
    return float(value)
