"""Corrections in every pair of a set and a family: each raises the bound of its own set."""

import numpy as np
import pytest

from copa.bounds import validity_bounds
from copa.corrections import correction_effect, improve_bound, mahalanobis_correction
from unit.bounds.pairs import BUILT_IN

MEAN = np.array([-0.5, 1.0, 2.0])
COV = np.diag([0.05, 0.2, 0.4])
PLAN = np.array([[1.0, 1.6, 0.2], [1.0, 0.2, 1.2], [1.0, 1.0, 0.6]])


@pytest.fixture(params=BUILT_IN)
def known(request):
    return BUILT_IN[request.param](MEAN, COV, 0.1)


def lower(plan, known):
    return float(validity_bounds(plan, ambiguity=known).lower)


def test_ascent_raises_the_bound_of_the_set(known):
    improved = improve_bound(PLAN, ambiguity=known, budget=0.3)
    assert lower(improved, known) >= lower(mahalanobis_correction(PLAN, ambiguity=known, budget=0.3), known)
    assert lower(improved, known) > lower(PLAN, known) + 0.01
    assert (np.linalg.norm(improved - PLAN, axis=1) <= 0.3 + 1e-9).all()


@pytest.mark.parametrize("name", ["one at a time-unimodal", "one at a time-any"])
def test_ascent_starts_where_boole_says_nothing_yet(name):
    known = BUILT_IN[name](MEAN, COV, 0.1)
    weak = PLAN - np.array([0.0, 0.6, 0.3])
    assert lower(weak, known) == 0.0
    assert lower(improve_bound(weak, ambiguity=known, budget=0.9), known) > 0.05


def test_mahalanobis_knows_the_worst_case_of_the_set(known):
    moved = mahalanobis_correction(PLAN, ambiguity=known, budget=0.2, moments="worst_case", n_corrections=1)
    changed = (moved != PLAN).any(axis=1)
    assert changed.tolist() == (np.arange(3) == np.argmax(validity_bounds(PLAN, ambiguity=known).weights)).tolist()
    assert lower(moved, known) > lower(PLAN, known)


def test_the_effect_is_that_in_the_set(known):
    moved = PLAN + np.array([0.0, 0.1, 0.1])
    effect = correction_effect(PLAN, moved, ambiguity=known)
    assert (effect.lower_before, effect.lower_after) == (lower(PLAN, known), lower(moved, known))
