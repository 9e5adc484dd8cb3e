"""Check of a planner's settings, and of those that only `fit` takes up."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from copa._core.reading import read_count
from copa._core.threads import count_threads
from copa._core.words import shown
from copa.exceptions import InvalidInputError
from copa.planner.later_models import LaterModels, read_later_models
from copa.planner.search.plausibility import Plausibility
from copa.planner.settings import read_time_limit
from copa.planner.strategies import read_surrogate
from copa.plans.cost import L1, L2, read_cost
from copa.plans.request import CONSTRAINTS, PaperObjective

AT_FIT = ("model", "schema", "threshold", "favourable", "cost", "surrogate", "later_models")
PLAIN = (str, int, float, bool, np.generic)


def read_objective(value: Any, name: str) -> PaperObjective | None:
    """Read the setting `objective`: the paper's, or None for the level."""
    if value is None or isinstance(value, PaperObjective):
        return value
    raise InvalidInputError(f"{name} must be PaperObjective(...), or None for the guarantee, got {shown(value)}")


def _read_seed(value: Any, name: str) -> int:
    return 0 if value is None else read_count(value, name, 0)


SETTINGS: dict[str, Callable[[Any, str], Any]] = {
    **{name: CONSTRAINTS[name] for name in ("guarantee", "guarantee_for", "n_options", "diversity_weight")},
    "later_models": lambda value, _: read_later_models(value),
    "objective": read_objective,
    "cost": lambda value, _: read_cost(value),
    "plausibility": CONSTRAINTS["plausibility"],
    "surrogate": lambda value, _: read_surrogate(value),
    "n_starts": read_count,
    "time_limit": read_time_limit,
    "n_jobs": lambda value, _: count_threads(value),
    "random_state": _read_seed,
}
"""Readers of settings, which raise an error that names the setting."""


def check_settings(planner: Any) -> None:
    """Raise if a setting of a `RecoursePlanner` is outside what is allowed."""
    settings = {name: read(getattr(planner, name), name) for name, read in SETTINGS.items()}
    if settings["objective"] is not None and type(settings["cost"]) not in (L1, L2):
        raise InvalidInputError(f"PaperObjective takes the cost 'l1' or 'l2', got {shown(planner.cost)}")


def as_fitted(planner: Any) -> dict[str, Any]:
    """Return the settings that a fitted planner was made from."""
    return {name: getattr(planner, name) for name in AT_FIT}


def require_unchanged(planner: Any, fitted_settings: Mapping[str, Any]) -> None:
    """Raise if a setting was changed that only `fit` takes up."""
    for name, old in fitted_settings.items():
        new = getattr(planner, name)
        if new is old or (isinstance(new, PLAIN) and isinstance(old, PLAIN) and new == old):
            continue
        if name == "later_models" and read_later_models(new).fits_like(read_later_models(old)):
            continue
        raise InvalidInputError(
            f"{name} was changed to {shown(new)} after the planner was fitted with {shown(old)}; call fit again"
        )


def known_floor(floor: float, known: Plausibility | None) -> float:
    """Return the least plausibility asked for, or raise without training rows to compare with."""
    if floor > 0.0 and known is None:
        raise InvalidInputError(
            f"plausibility={floor:g} needs training rows to compare with, and this planner has none (it was fitted or "
            "saved with plausibility=0, or by an older version); fit it again, or set plausibility=0"
        )
    return floor


def require_history(later: LaterModels) -> None:
    """Raise if a planner came from a file, which holds the results of its history and not the older models."""
    if later.history is not None and len(later.history) == 0:
        raise InvalidInputError(
            "the history of later_models is empty: a loaded planner's file holds what its history showed, not the "
            "older models; give LaterModels(history=[...]) again, or history=None to fit without it"
        )
