"""What the planner was told, for those who go by it."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from inspect import isabstract
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array
from copa._core.reading import is_number, read_number, read_share, read_word
from copa._core.words import shown
from copa.exceptions import InvalidInputError
from copa.models.encoders import encoder_categories
from copa.schema import FeatureSchema
from copa.schema.field_readers import is_absent
from copa.search.cost import Cost, read_cost
from copa.search.plausibility import Plausibility
from copa.search.run import price_multipliers
from copa.uncertainty import WeightMoments
from copa.uncertainty.ambiguity import AmbiguitySet

if TYPE_CHECKING:
    import pandas as pd

AT_FIT = (
    *("model", "schema", "threshold", "favourable", "cost", "radius", "drift", "moments", "surrogate", "ambiguity"),
    *("confidence", "family", "history", "history_data", "horizon"),
)
EXPECTED = "expected:"  # what a guarantee that is only an expected rate begins with
PLAIN = (str, int, float, bool, np.generic)


@dataclass(frozen=True, eq=False)
class FitSettings:
    """What `fit` goes by; a change of one of these takes effect at the next `fit`."""

    ambiguity: type[AmbiguitySet] | None
    family: str
    confidence: float
    moments: WeightMoments | None
    radius: Any
    drift: Any
    history: Sequence[Any] | None
    history_data: Sequence[Any] | None
    horizon: int
    cost: Cost
    n_models: int | None
    seed: int
    n_jobs: int | None
    progress: bool | None

    @classmethod
    def of(cls, planner: Any) -> "FitSettings":
        """Those of a `RecoursePlanner`."""
        values = {f.name: getattr(planner, f.name) for f in fields(cls) if f.name not in {"seed", "cost", "ambiguity"}}
        cost, ambiguity = read_cost(planner.cost), read_ambiguity(planner.ambiguity)
        return cls(seed=planner.random_state or 0, cost=cost, ambiguity=ambiguity, **values)

    @property
    def by_rule(self) -> bool:
        """Whether the radius is to follow from the confidence and the history, and is not a number."""
        return isinstance(self.radius, str)


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
        """The same without progress, for a search within a search."""
        return replace(self, progress=None)


def as_fitted(planner: Any) -> dict[str, Any]:
    """Settings that a fitted planner was made from."""
    return {name: getattr(planner, name) for name in AT_FIT}


def require_unchanged(planner: Any, fitted_for: Mapping[str, Any]) -> None:
    """Raise if a setting was changed that only `fit` takes up: a plan must not say what is not so."""
    for name, old in fitted_for.items():
        new = getattr(planner, name)
        same = new is old or (isinstance(new, PLAIN) and isinstance(old, PLAIN) and new == old)
        if not same and not (isinstance(new, np.ndarray) and np.array_equal(new, old)):
            raise InvalidInputError(
                f"{name} was changed to {shown(new)} after the planner was fitted with {shown(old)}; call fit again"
            )


def read_time_limit(value: Any) -> float:
    """Seconds, infinite where no limit is given."""
    if value is None:
        return np.inf
    if not is_number(value) or not value > 0.0:
        raise InvalidInputError(f"time_limit must be a number of seconds above 0, or None, got {shown(value)}")
    return float(value)


def read_guarantee(value: Any) -> tuple[str, float]:
    """What a plan aims at, "guarantee" or "expected", and the probability: from 0.9, or from "expected:0.9"."""
    if not isinstance(value, str):
        return "guarantee", read_share(value, "guarantee")
    number = value.removeprefix(EXPECTED)
    try:
        level = float(number) if number != value else math.nan
    except ValueError:
        level = math.nan
    if not 0.0 < level < 1.0:
        raise InvalidInputError(
            f"guarantee must be a probability, above 0 and below 1, or an expected rate such as 'expected:0.9', got "
            f"{shown(value)}"
        )
    return "expected", level


def known_floor(floor: float, known: Plausibility | None) -> float:
    """The least plausibility asked for; an error where it cannot be judged."""
    if floor > 0.0 and known is None:
        raise InvalidInputError(
            f"plausibility={floor:g} needs training rows to compare with, and this planner has none (it was fitted or "
            "saved with plausibility=0, or by an older version); fit it again, or set plausibility=0"
        )
    return floor


def require_history(models: Any) -> None:
    """Raise if the history of a planner is that of a file, which holds what it showed and not the models."""
    if models is not None and len(models) == 0:
        raise InvalidInputError(
            "this planner was loaded, and its file holds what the history showed, not the older models; give "
            "history=[...] again, or history=None to fit without it"
        )


def read_history(models: Any, data: Any) -> None:
    """Raise unless older models, or older training data, are sequences of such, and not both."""
    if models is not None and data is not None:
        raise InvalidInputError("give history (older models) or history_data (older training data), not both")
    for value, name, what in (
        (models, "history", "fitted models, oldest first"),
        (data, "history_data", "pairs (X, y), oldest first"),
    ):
        if value is not None and not isinstance(value, (list, tuple)):
            raise InvalidInputError(f"{name} must be a list of {what}, got {shown(value)}")
    if data is not None and any(not isinstance(pair, Sequence) or len(pair) != 2 for pair in data):
        raise InvalidInputError("history_data must be a list of pairs (X, y), oldest first")


def read_ambiguity(value: Any) -> type[AmbiguitySet] | None:
    """A class of ambiguity sets; None where nothing is said."""
    if value is None:
        return None
    if isinstance(value, type) and issubclass(value, AmbiguitySet) and not isabstract(value):
        return value
    raise InvalidInputError(f"ambiguity must be a complete subclass of AmbiguitySet or None, got {shown(value)}")


def read_radius(value: Any) -> Any:
    """A radius, or the word "auto"."""
    if isinstance(value, str):
        return read_word(value, ("auto",), "radius, if it is not a number,")
    return read_number(value, "radius")


def read_drift(value: Any) -> Any:
    """The shape of the ambiguity set: "auto", "cov", None or a matrix (checked where it is used)."""
    return read_word(value, ("auto", "cov"), "drift, if it is not a matrix,") if isinstance(value, str) else value


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
