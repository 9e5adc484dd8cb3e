import numpy as np
import pytest

import copa
from copa.bounds.solve_time import LARGEST_SYSTEM, estimated_seconds, largest_plan, require_solvable, system_size

MOST = largest_plan()


def test_the_largest_plan_is_the_largest():
    assert system_size(MOST, MOST) <= LARGEST_SYSTEM < system_size(MOST + 1, MOST + 1)
    assert MOST >= 60


def test_either_few_options_or_few_dimensions_are_enough():
    require_solvable(MOST, 10_000)
    require_solvable(10_000, MOST)
    with pytest.raises(copa.InvalidInputError):
        require_solvable(MOST + 1, MOST + 1)


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
