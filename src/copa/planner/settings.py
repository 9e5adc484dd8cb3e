"""What `fit` and `plan` go by, read from the settings of a planner."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array
from copa._core.reading import is_number
from copa._core.words import shown
from copa.data.schema import FeatureSchema
from copa.data.schema.field_readers import is_absent
from copa.exceptions import InvalidInputError
from copa.models.encoders import encoder_categories
from copa.planner.later_models import LaterModels, read_later_models
from copa.planner.search.run import price_multipliers
from copa.plans.cost import Cost, read_cost

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class FitSettings:
    """Settings that `fit` goes by, as strategies need them."""

    later_models: LaterModels
    cost: Cost
    seed: int
    n_jobs: int | None

    @classmethod
    def of(cls, planner: Any) -> "FitSettings":
        """Those of a `RecoursePlanner`."""
        later = read_later_models(planner.later_models)
        return cls(later, read_cost(planner.cost), planner.random_state or 0, planner.n_jobs)


@dataclass(frozen=True, eq=False)
class Execution:
    """How a request is carried out.

    Attributes
    ----------
    multipliers : ndarray of shape (n_starts, n_columns)
        Factors of the prices, one row for each start of the search.
    seed : int
    n_jobs : int or None
        Threads; None for all cores.
    deadline : float
        When the search ends, on the clock of `time.perf_counter`.
    progress : callable, optional
        Told how many more applicants are done.
    """

    multipliers: Array
    seed: int = 0
    n_jobs: int | None = None
    deadline: float = np.inf
    progress: Callable[[int], None] | None = None

    @classmethod
    def of(cls, planner: Any, n_columns: int) -> "Execution":
        """That of a `RecoursePlanner` that begins now."""
        seed = planner.random_state or 0
        deadline = perf_counter() + read_time_limit(planner.time_limit)
        return cls(price_multipliers(planner.n_starts, n_columns, seed), seed, planner.n_jobs, deadline)

    def advance(self, n_applicants: int) -> None:
        """Say that so many more applicants are done."""
        if self.progress is not None:
            self.progress(n_applicants)

    def silent(self) -> "Execution":
        """Return the same without progress, for a search within a search."""
        return replace(self, progress=None)


def load_schema(given: Any) -> FeatureSchema | None:
    """Return a schema from what a planner was given: one, its content, or its file; None where there is none."""
    if is_absent(given) or isinstance(given, FeatureSchema):
        return None if is_absent(given) else given
    return FeatureSchema.from_dict(given) if isinstance(given, Mapping) else FeatureSchema.load(given)


def read_schema(
    given: FeatureSchema | None, table: "pd.DataFrame", columns: tuple[str, ...], estimator: Any
) -> FeatureSchema:
    """Return the schema with spreads and support of the data.

    Where none is given, it is inferred from the model's columns and from the encoders of the estimator.
    """
    if given is None:
        schema = FeatureSchema.infer(table[list(columns)], categories=encoder_categories(estimator, columns))
    else:
        schema = given.with_spreads(table)
    schema = schema.with_support(table)
    messages = [message for message in schema.check(table) if message]
    if len(messages) > len(table) // 2:
        raise InvalidInputError(
            f"the schema does not fit the data: {len(messages)} of {len(table)} rows break it. The first: {messages[0]}"
        )
    return schema


def read_time_limit(value: Any, name: str = "time_limit") -> float:
    """Read a time limit in seconds, infinite where there is none."""
    if value is None:
        return np.inf
    if not is_number(value) or not value > 0.0:
        raise InvalidInputError(f"{name} must be a number of seconds above 0, or None, got {shown(value)}")
    return float(value)
