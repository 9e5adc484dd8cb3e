import numpy as np
import pytest

import copa
from copa._core.solve_time import (
    LARGEST,
    LONGEST,
    MOST_OPTIONS,
    estimated_memory,
    estimated_seconds,
    require_few_options,
    require_solvable,
)

MOST = MOST_OPTIONS


def test_the_largest_plan_is_the_largest():
    assert estimated_seconds(MOST, MOST) <= LONGEST < estimated_seconds(MOST + 1, MOST + 1)
    assert MOST == 79  # as the documentation says


def test_either_few_options_or_few_dimensions_are_enough():
    require_solvable(MOST, 10_000)
    require_solvable(10_000, 10)
    with pytest.raises(copa.InvalidInputError):
        require_solvable(MOST + 1, MOST + 1)


@pytest.mark.parametrize(
    ("n_options", "dimension", "effort"), [(1_000, 78, "3 minutes and 0.6 GB"), (100_000, 78, "3 hours and 40.1 GB")]
)
def test_many_options_are_refused_in_few_dimensions_too(n_options, dimension, effort):
    with pytest.raises(copa.InvalidInputError, match=rf"{n_options} options in 78 dim.* would take about {effort}"):
        require_solvable(n_options, dimension)


def test_memory_is_limited_where_time_is_not():
    assert estimated_seconds(5_000_000, 1) < LONGEST
    assert estimated_memory(5_000_000, 1) > LARGEST
    with pytest.raises(copa.InvalidInputError, match=r"and 1\.3 GB for each plan, and 40 seconds and 1 GB are allowed"):
        require_solvable(5_000_000, 1)


def test_as_many_options_can_be_planned_as_can_be_audited():
    require_few_options(MOST)
    with pytest.raises(copa.InvalidInputError, match=f"n_options must be at most {MOST}, got {MOST + 1}: .* seconds"):
        require_few_options(MOST + 1)


def test_the_largest_plan_takes_minutes_at_most():
    assert 1.0 < estimated_seconds(MOST, MOST) < 300.0


def test_time_grows_with_the_sixth_power():
    assert estimated_seconds(400, 400) / estimated_seconds(200, 200) == pytest.approx(2**6, rel=0.1)


@pytest.mark.parametrize("batch", [False, True])
def test_too_many_options_are_refused_at_once_with_the_time_they_would_take(batch):
    points = np.ones((100, 100))
    with pytest.raises(copa.InvalidInputError, match=r"100 options in 100 dimensions.*minutes.*at most") as caught:
        copa.validity_bounds(points[None].repeat(3, axis=0) if batch else points, np.ones(100), np.eye(100))
    assert "points[:, None]" in str(caught.value)


def test_what_the_message_proposes_works():
    rng = np.random.default_rng(0)
    mean = rng.standard_normal(100)
    points = rng.standard_normal((100, 100)) * 0.3 + mean
    each = copa.validity_bounds(points[:, None], mean, 0.1 * np.eye(100))
    assert each.lower.shape == (100,)
    assert (each.lower > 0.0).any()
