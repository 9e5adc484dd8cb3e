"""Checking what the planner was told, before any work."""

from typing import Any

from copa._core.reading import is_number, read_count, read_number, read_share, read_word
from copa._core.solve_time import require_few_options
from copa._core.threads import count_threads
from copa._core.words import GUARANTEE_FOR, shown
from copa.exceptions import InvalidInputError
from copa.planner.settings import (
    read_ambiguity,
    read_drift,
    read_guarantee,
    read_history,
    read_radius,
    read_time_limit,
)
from copa.planner.strategies import read_surrogate
from copa.plans.request import OBJECTIVES
from copa.search.cost import COSTS, read_cost
from copa.uncertainty import WeightMoments
from copa.uncertainty.families import FAMILIES


def check_settings(planner: Any) -> None:
    """Raise if a setting of a `RecoursePlanner` is outside what is allowed."""
    read_guarantee(planner.guarantee)
    read_share(planner.confidence, "confidence")
    read_word(planner.family, tuple(FAMILIES), "family")
    read_history(planner.history, planner.history_data)
    read_count(planner.horizon, "horizon")
    if not isinstance(planner.radius, str) and (planner.history is not None or planner.history_data is not None):
        raise InvalidInputError("history widens the set of radius='auto'; with a number for radius leave it out")
    read_word(planner.guarantee_for, GUARANTEE_FOR, "guarantee_for")
    read_word(planner.objective, OBJECTIVES, "objective")
    cost = read_cost(planner.cost)
    if planner.objective == "paper" and type(cost) not in COSTS.values():
        raise InvalidInputError(
            f"objective='paper' takes the cost {' or '.join(map(shown, COSTS))}, got {shown(planner.cost)}"
        )
    read_surrogate(planner.surrogate)
    read_ambiguity(planner.ambiguity)
    read_radius(planner.radius)
    if not isinstance(read_drift(planner.drift), str) and isinstance(planner.radius, str):
        raise InvalidInputError(
            "drift goes with a number for radius; with radius='auto' the set has the shape of the covariance of "
            "retraining"
        )
    require_few_options(read_count(planner.n_options, "n_options"))
    read_count(planner.n_starts, "n_starts")
    read_time_limit(planner.time_limit)
    count_threads(planner.n_jobs)
    for name in ("validity_weight", "margin", "diversity_weight"):
        if getattr(planner, name) is not None:
            read_number(getattr(planner, name), name)
    if not is_number(planner.plausibility) or not 0.0 <= planner.plausibility < 1.0:
        raise InvalidInputError(
            f"plausibility must be a share of the training rows, from 0 to below 1, got {shown(planner.plausibility)}"
        )
    for name, least in (("n_models", 2), ("random_state", 0)):
        if getattr(planner, name) is not None:
            read_count(getattr(planner, name), name, least)
    if planner.moments is not None and not isinstance(planner.moments, WeightMoments):
        raise InvalidInputError(f"moments must be WeightMoments or None, got {type(planner.moments).__name__}")
