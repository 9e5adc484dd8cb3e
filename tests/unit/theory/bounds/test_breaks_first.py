"""Which option of a plan breaks first."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import copa
from copa.theory.bounds.worst_option import EQUAL, breaks_first

probabilities = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6)


@given(data=st.data(), guarantees=probabilities)
def test_it_is_the_heaviest_of_those_below_the_highest_guarantee(data, guarantees):
    weights = data.draw(st.lists(st.floats(0.0, 1.0), min_size=len(guarantees), max_size=len(guarantees)))
    guarantees, weights = np.array(guarantees), np.array(weights)
    first = breaks_first(guarantees, weights)
    below = guarantees < guarantees.max() - EQUAL
    assert (first is None) == (not below.any())
    if first is not None:
        assert below[first]
        assert weights[first] == weights[below].max()


def test_where_the_weights_say_nothing_it_is_the_least_sure_one():
    assert breaks_first(np.array([0.9, 0.5, 0.7]), np.zeros(3)) == 1


def test_nothing_breaks_first_of_options_that_are_equally_sure():
    assert breaks_first(np.full(3, 0.9), np.array([0.1, 0.5, 0.2])) is None
    assert breaks_first(np.array([0.9, 0.9 - 1e-9]), np.array([0.1, 0.5])) is None


@pytest.mark.parametrize("seed", range(20))
def test_it_never_has_the_highest_guarantee_of_a_random_plan(seed):
    rng = np.random.default_rng([3, seed])
    points = np.column_stack([np.ones(4), rng.normal(1.0, 0.5, (4, 2))])
    root = rng.normal(size=(3, 3)) / 4
    bounds = copa.validity_bounds(points, np.array([1.0, 1.0, 1.0]), root @ root.T, 0.05)
    first = breaks_first(bounds.option_lower, bounds.weights)
    assert first is None or bounds.option_lower[first] < bounds.option_lower.max()
