from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import copa
from reproduction.data.case import prepare
from reproduction.data.shifted import load_shifted
from reproduction.methods.base import Adam, Plans, descend
from reproduction.methods.copa import Copa, Corrected, StoppedCopa, correct
from reproduction.methods.planner import Planner, pipeline
from reproduction.methods.single_option import Roar, Wachter, deviations


@pytest.fixture(scope="module")
def sound(tiny):
    return prepare(load_shifted("student", "sound"), tiny)


class Given:
    """Plans around the first accepted rows, in place of another method's."""

    name = "given"

    def plans(self, case):
        rows = case.encoding.encode(case.data.present.features)
        best = rows[rows @ case.moments.mean > 0.3][: case.settings.n_options]
        who = np.arange(len(case.origins))
        return Plans(who, np.tile(best, (len(who), 1, 1)), np.zeros(len(who)))


@pytest.mark.parametrize("method", [Wachter(), Roar()])
def test_single_counterfactuals_are_accepted_and_keep_what_cannot_change(method, sound):
    plans = method.plans(sound)
    assert plans.points.shape == (len(sound.origins), 1, sound.encoding.dimension)
    assert (plans.points @ sound.theta >= 0.0).all()
    assert sound.encoding.inside(plans.points).all()
    np.testing.assert_array_equal(plans.points[:, 0, sound.fixed], sound.origins[:, sound.fixed])


def test_wachter_moves_little_beyond_the_boundary(german):
    points = Wachter().plans(german).points[:, 0]
    price = 1.0 / deviations(german)
    slope = np.abs(german.theta[1:]) / price[1:]
    best = -(german.origins @ german.theta) / slope.max()  # cost of the cheapest coordinate if nothing bounds it
    cost = (np.abs(points - german.origins) * price).sum(axis=1)
    assert (cost >= best - 1e-9).all()
    # The gradient of the squared loss pushes beyond the boundary, but not far.
    assert (points @ german.theta <= 1.0).all()


def test_roar_holds_at_every_corner_of_the_box_of_parameters(german):
    points = Roar(shift=0.05).plans(german).points[:, 0]
    for signs in product((-1.0, 1.0), repeat=german.theta.size):
        assert (points @ (german.theta + 0.05 * np.array(signs)) >= -1e-12).all()


def test_copa_stays_within_the_ranges_and_meets_the_margin(german):
    plans = Copa(0.5, 5.0).plans(german)
    assert german.encoding.inside(plans.points).all()
    assert (plans.points @ german.moments.mean >= german.settings.margin - 1e-9).all()
    assert not german.encoding.inside(Copa(0.5, 5.0, ranges=False).plans(german).points).all()


def test_the_minimiser_is_no_worse_than_the_stopped_descent(german):
    weights = {"validity_weight": 0.5, "diversity_weight": 5.0}
    values = [
        copa.plan_objective(
            method.plans(german).points, german.origins, german.moments.mean, german.moments.cov, **weights
        )
        for method in (Copa(0.5, 5.0), StoppedCopa(0.5, 5.0))
    ]
    assert (values[0] <= values[1] + 1e-3).all()  # the stopped one has a ridge in K, and clips off the margin


def test_the_stopped_descent_has_the_gradient_of_its_objective(german):
    method = StoppedCopa(0.5, 5.0)
    x = np.random.default_rng(0).random((1, 5, german.encoding.dimension))
    moments = (german.origins[:1], german.moments.mean, german.moments.cov)
    gradient = method.value_and_gradient(x, *moments)[1][0]
    step = 1e-6
    for j, d in product(range(5), range(1, x.shape[2])):
        moved = np.zeros_like(x)
        moved[0, j, d] = step
        ahead, behind = (method.value_and_gradient(x + s * moved, *moments)[0][0] for s in (1.0, -1.0))
        assert gradient[j, d] == pytest.approx((ahead - behind) / (2.0 * step), abs=1e-6)


def test_corrections_raise_the_bound_and_move_at_most_k_options_by_the_budget(german):
    given = Given().plans(german).points
    margin = copa.requirement_correction(given, german.moments.mean, margin=german.settings.margin)
    corrected = correct(german, given, n_corrections=2, budget=0.1)
    moves = np.linalg.norm(corrected - margin, axis=2)
    assert ((moves > 1e-9).sum(axis=1) <= 2).all()
    assert moves.max() <= 0.1 + 1e-9
    low, high = (
        copa.validity_bounds(points, german.moments.mean, german.moments.cov, 0.01).lower
        for points in (margin, corrected)
    )
    assert (high > low).all()
    np.testing.assert_array_equal(correct(german, given, n_corrections=0, budget=0.1), margin)


def test_the_corrected_method_serves_those_of_its_base(german):
    plans = Corrected(Given()).plans(german)
    np.testing.assert_array_equal(plans.who, np.arange(len(german.origins)))


def test_the_planners_menus_are_allowed_rows_in_the_coordinates_of_the_case(sound):
    few = replace(sound, applicants=sound.applicants.head(2))
    plans = Planner().plans(few)
    assert plans.rows is not None
    real = plans.points[~np.isnan(plans.points).any(axis=2)]
    np.testing.assert_allclose(few.encoding.encode(plans.rows), real, atol=1e-9)
    owners = np.repeat(plans.who, (~np.isnan(plans.points).any(axis=2)).sum(axis=1))
    for owner, (_, row) in zip(owners, plans.rows.iterrows(), strict=True):
        assert few.data.schema.violations(few.applicants.iloc[owner], row.to_frame().T) == [[]]


def test_the_pipeline_is_the_deployed_classifier(german):
    scores = pipeline(german).decision_function(german.data.present.features.head(20))
    expected = german.encoding.encode(german.data.present.features.head(20)) @ german.theta
    np.testing.assert_allclose(scores, expected, atol=1e-9)


def test_adam_takes_a_first_step_of_its_rate_against_the_gradient():
    adam = Adam(np.zeros(2), rate=0.1)
    np.testing.assert_allclose(adam.step(np.array([5.0, -0.01])), [-0.1, 0.1], atol=1e-6)


def test_descents_come_to_rest_at_a_kink():
    found = descend(np.array([1.0]), np.sign, lambda x: x, rate=0.05, steps=200)
    assert abs(found[0]) < 1e-2
