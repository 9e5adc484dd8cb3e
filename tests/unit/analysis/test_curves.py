import math

import numpy as np
import pytest

import copa
from copa.analysis.curves import batch_curves, radius_curves, radius_grid, shelf_lives
from copa.theory.bounds import validity_bounds
from copa.theory.sets.ambiguity import MomentBall
from unit.theory.bounds.pairs import BUILT_IN


def mean_and_spread(plan, j):
    """Mean, standard deviation and length of an option's score, by hand."""
    x, ball = plan.points[j], plan.ambiguity
    return x @ ball.mean, math.sqrt(x @ ball.cov @ x), math.sqrt(x @ x)


@pytest.fixture(scope="module")
def grid(german):
    return radius_grid(german.ambiguity, german.points)


@pytest.fixture(scope="module")
def curves(german, grid):
    return batch_curves(german, grid)


def test_the_grid_starts_at_zero_and_holds_the_radius_of_the_plans(german, grid):
    assert grid[0] == 0.0
    assert german.ambiguity.radius in grid
    assert (np.diff(grid) > 0.0).all()
    assert grid[-1] >= 2.0 * german.ambiguity.radius


def test_without_a_radius_the_grid_goes_on_until_a_typical_option_is_lost(german):
    ball = MomentBall(german.ambiguity.mean, german.ambiguity.cov, 0.0)
    lost = german.points @ ball.mean / np.linalg.norm(german.points, axis=1)
    assert radius_grid(ball, german.points)[-1] == pytest.approx(np.median(lost[lost > 0]))


def test_at_the_plans_own_radius_the_curves_are_its_bounds(german, grid, curves):
    own = int(np.flatnonzero(grid == german.ambiguity.radius)[0])
    for plan, curve in zip(german, curves, strict=True):
        found = [None] if curve is None else [*curve.option_lower[own], curve.any_lower[own], curve.all_lower[own]]
        expected = [*plan.option_lower, plan.any_lower, plan.lower] if plan.n_options else [None]
        assert found == pytest.approx(expected)


def test_applicants_without_options_have_no_curves(german, curves):
    assert [curve is None for curve in curves] == (german.counts == 0).tolist()


def test_guarantees_fall_and_upper_bounds_rise_with_the_radius(curves):
    for curve in filter(None, curves):
        for falling in (curve.option_lower, curve.any_lower, curve.all_lower):
            assert (np.diff(falling, axis=0) <= 1e-9).all()
        for rising in (curve.option_upper, curve.any_upper, curve.all_upper):
            assert (np.diff(rising, axis=0) >= -1e-9).all()


def test_upper_bounds_of_refused_options_are_those_of_the_opposite_ones():
    """Two options with one score: any, all and each are one event, whose probability Cantelli's inequality bounds."""
    mean, cov = np.array([-1.0, 0.0]), np.diag([0.25, 0.0])
    points = np.array([[[1.0, 0.0], [2.0, 0.0]]])
    curve = radius_curves(points, MomentBall(mean, cov, 0.0), np.array([0.0]))[0]
    cantelli = 0.25 / (1.0 + 0.25)
    assert curve.option_upper[0] == pytest.approx([cantelli, cantelli])
    assert curve.any_upper[0] == pytest.approx(cantelli, abs=1e-5)
    assert curve.all_upper[0] == pytest.approx(cantelli, abs=1e-5)


def test_what_sampled_models_do_lies_between_the_bounds():
    rng = np.random.default_rng(3)
    mean, root = np.array([-0.4, 0.3, 0.2]), 0.5 * rng.standard_normal((3, 3))
    points = np.array([[[1.0, 0.3, -0.5], [1.0, -0.4, 0.2]]])
    curve = radius_curves(points, MomentBall(mean, root @ root.T, 0.0), np.array([0.0]))[0]
    holds = (mean + rng.standard_normal((20_000, 3)) @ root.T) @ points[0].T >= 0.0
    for share, lower, upper in (
        (holds.any(axis=1).mean(), curve.any_lower[0], curve.any_upper[0]),
        (holds.all(axis=1).mean(), curve.all_lower[0], curve.all_upper[0]),
        (holds[:, 0].mean(), curve.option_lower[0, 0], curve.option_upper[0, 0]),
    ):
        assert lower - 0.02 <= share <= upper + 0.02  # 0.02: more than five standard errors of the sample
    assert curve.any_upper[0] < 1.0


@pytest.mark.parametrize("name", BUILT_IN)
def test_curves_of_every_set_and_family_are_its_bounds(name):
    points = np.array([[[1.0, 0.3, -0.5], [1.0, -0.4, 0.2]], [[-1.0, -0.3, 0.5], [-1.0, 0.4, -0.2]]])
    mean, cov = np.array([0.8, 0.3, 0.2]), np.diag([0.1, 0.2, 0.1])
    radii = np.array([0.0, 0.1, 0.3])
    accepted, refused = radius_curves(points, BUILT_IN[name](mean, cov, 0.1), radii)
    bounds = validity_bounds(points, ambiguity=BUILT_IN[name](mean, cov, 0.1))
    np.testing.assert_array_equal(accepted.option_lower[1], bounds.option_lower[0])
    assert (accepted.any_lower[1], accepted.all_lower[1]) == (bounds.any_lower[0], bounds.lower[0])
    # What is refused is the opposite of what is accepted.
    np.testing.assert_allclose(refused.option_upper, 1.0 - accepted.option_lower, atol=1e-12)
    np.testing.assert_allclose(refused.any_upper, 1.0 - accepted.all_lower, atol=1e-6)
    np.testing.assert_allclose(refused.all_upper, 1.0 - accepted.any_lower, atol=1e-6)
    assert (np.diff(accepted.option_lower, axis=0) < 0.0).all()


def test_a_single_option_keeps_a_level_up_to_the_radius_of_its_closed_form(german, grid, curves):
    plan, curve, level = german[5], curves[5], 0.94
    mean, spread, length = mean_and_spread(plan, 0)
    exact = (math.sqrt(1.0 - level) * mean - math.sqrt(level) * spread) / length
    assert 0.0 < exact < grid[-1]
    for life in shelf_lives(plan, curve, level).values():
        assert exact - 2e-3 * grid[-1] <= life.radius <= exact + 1e-9
        assert not life.open_ended


def test_a_level_is_proven_at_its_shelf_life(german, curves):
    plan, curve = german[0], curves[0]
    lives = shelf_lives(plan, curve, 0.6)
    ball = plan.ambiguity
    for kind, life in lives.items():
        bounds = copa.validity_bounds(plan.points, ball.mean, ball.cov, life.radius, ball.drift)
        assert {"each": bounds.option_lower.min(), "any": bounds.any_lower, "all": bounds.lower}[kind] >= 0.6
    assert lives["all"].radius <= lives["each"].radius <= lives["any"].radius


def test_a_level_out_of_reach_has_no_shelf_life_and_a_low_one_has_no_end(german, curves):
    assert math.isnan(shelf_lives(german[0], curves[0], 0.9999)["all"].radius)
    assert shelf_lives(german[0], curves[0], 0.01)["any"].open_ended


def test_curves_of_another_set_are_bounds_in_that_set(unimodal_plans):
    grid = radius_grid(unimodal_plans.ambiguity, unimodal_plans.points)
    own = int(np.flatnonzero(grid == unimodal_plans.ambiguity.radius)[0])
    for plan, curve in zip(unimodal_plans, batch_curves(unimodal_plans, grid), strict=True):
        if curve is None:
            continue
        assert curve.option_lower[own].tolist() == plan.option_lower.tolist()
        assert (curve.any_lower[own], curve.all_lower[own]) == (plan.any_lower, plan.lower)
        for upper in (curve.option_upper, curve.any_upper, curve.all_upper):
            assert (upper == 1.0).all()
