"""The Mahalanobis correction in every pair of a set and a family."""

import numpy as np
import pytest

from copa.theory.bounds import validity_bounds
from copa.theory.corrections import mahalanobis_correction
from unit.theory.bounds.pairs import BUILT_IN

MEAN = np.array([-0.5, 1.0, 2.0])
COV = np.diag([0.05, 0.2, 0.4])
PLAN = np.array([[1.0, 1.6, 0.2], [1.0, 0.2, 1.2], [1.0, 1.0, 0.6]])


@pytest.fixture(params=BUILT_IN)
def known(request):
    return BUILT_IN[request.param](MEAN, COV, 0.1)


def lower(plan, known):
    return float(validity_bounds(plan, ambiguity=known).lower)


def test_mahalanobis_knows_the_worst_case_of_the_set(known):
    moved = mahalanobis_correction(PLAN, ambiguity=known, budget=0.2, moments="worst_case", n_corrections=1)
    changed = (moved != PLAN).any(axis=1)
    assert changed.tolist() == (np.arange(3) == np.argmax(validity_bounds(PLAN, ambiguity=known).weights)).tolist()
    assert lower(moved, known) > lower(PLAN, known)
