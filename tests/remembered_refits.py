"""Refits that an earlier test of the same process has asked for: most planners here learn from the same few tables.

A refit depends on the model, the rows, the labels and the numbers alone (tests/unit/uncertainty/test_refits.py), and on
nothing that most tests are about. What cannot be told apart safely, such as a model of a class that is defined inside a
test, is refitted.
"""

import pickle
from typing import Any

import joblib
import pytest

from copa.planner.strategies import boundary, next_parameters

refit_parameters, retrain = next_parameters.refit_parameters, boundary.retrain
REMEMBERED: dict[str, Any] = {}


def key_of(*parts: object) -> str | None:
    """A fingerprint of the contents of everything; None where something has none."""
    try:
        return joblib.hash(parts)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None


def remembered_parameters(model, X, y, **numbers):
    given = {name: value for name, value in numbers.items() if name != "encoded"}
    key = key_of("parameters", type(model), vars(model), X, y, given)
    if key is None:
        return refit_parameters(model, X, y, **numbers)
    if key not in REMEMBERED:
        REMEMBERED[key] = refit_parameters(model, X, y, **numbers)
    return REMEMBERED[key]


def remembered_models(model, X, y, samples, *, advance, **settings):
    key = key_of("models", type(model), vars(model), X, y, samples, settings)
    if key is None:
        return retrain(model, X, y, samples, advance=advance, **settings)
    if key in REMEMBERED:
        advance(len(samples))
    else:
        REMEMBERED[key] = retrain(model, X, y, samples, advance=advance, **settings)
    return REMEMBERED[key]


@pytest.fixture(scope="session", autouse=True)
def _refits_are_remembered():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(next_parameters, "refit_parameters", remembered_parameters)
        patch.setattr(boundary, "retrain", remembered_models)
        yield
