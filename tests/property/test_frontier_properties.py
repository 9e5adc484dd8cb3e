"""What a higher guarantee costs never falls, whoever reaches which level."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from copa.analysis.frontier import Frontier

efforts = st.one_of(st.just(np.nan), st.floats(0.0, 100.0))
tables = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=12), elements=efforts)


@given(tables)
def test_the_cost_of_the_same_applicants_never_falls(effort):
    cost = Frontier(np.linspace(0.5, 0.99, effort.shape[1]), effort, complete=True)
    drawn = cost.n_drawn
    assert (np.diff(cost.medians[:drawn]) >= 0.0).all()
    assert np.isfinite(cost.medians[:drawn]).all()
    assert np.isnan(cost.medians[drawn:]).all()
    assert np.isfinite(cost.effort[cost.followed, :drawn]).all()
    assert not drawn or cost.followed.sum() >= max(3, 0.5 * len(effort))


@given(tables)
def test_an_effort_is_the_least_found_at_the_level_or_a_higher_one(effort):
    cost = Frontier(np.linspace(0.5, 0.99, effort.shape[1]), effort, complete=True)
    for k in range(effort.shape[1]):
        least = np.where(np.isnan(effort[:, k:]), np.inf, effort[:, k:]).min(axis=1)
        assert np.where(np.isnan(cost.effort[:, k]), np.inf, cost.effort[:, k]).tolist() == least.tolist()
