"""What `build_plans` promises of every plan, and what it says where there is none."""

import numpy as np
import pytest

from copa import InvalidInputError, build_plans, plan_objective
from copa.theory.objective import descents

D = 6


@pytest.fixture(scope="module")
def moments():
    rng = np.random.default_rng(44)
    factor = rng.standard_normal((D, 2 * D))
    return np.array([-0.4, 1.0, -0.5, 0.3, 0.0, 0.7]), 0.01 * factor @ factor.T


@pytest.fixture(scope="module")
def origins(moments):
    rows = np.random.default_rng(45).standard_normal((200, D))
    rows[:, 0] = 1.0
    return rows[rows @ moments[0] < 0.0][:10]


CONSTRAINTS = [
    {},
    {"fixed": [2, 3]},
    {"lower": [-2.0] * D, "upper": [2.5] * D},
    {"fixed": [False, False, True, False, False, False], "upper": np.array([1.0, 3.0, 9.0, np.inf, 0.5, 1.0])},
    {"cost": "l1", "lower": [-4.0] * D},
    {"cost": "l1", "cost_weights": [1.0, 2.0, 0.5, 1.0, 3.0, 0.7]},
    {"cost_weights": [1.0, 2.0, 0.5, 1.0, 3.0, 0.7], "margin": 0.8, "n_options": 3},
    {"n_options": 1, "margin": 0.0},
    {"n_options": 8, "n_starts": 2},
    {"validity_weight": 0.0},
    {"diversity_weight": 0.0},
    {"validity_weight": 0.0, "diversity_weight": 0.0, "cost": "l1"},
]


@pytest.mark.parametrize("constraints", CONSTRAINTS)
def test_every_option_obeys_every_constraint(origins, moments, constraints):
    mean, cov = moments
    plans = build_plans(origins, mean, cov, random_state=0, **constraints)
    assert (plans.status == "ok").all()
    assert (plans.message == "").all()
    held = np.zeros(D, dtype=bool)
    held[constraints.get("fixed", [])] = True
    held[0] = True
    np.testing.assert_array_equal(plans.points[:, :, held], np.repeat(origins[:, None, held], plans.points.shape[1], 1))
    lower, upper = (np.asarray(constraints.get(side, limit)) for side, limit in (("lower", -np.inf), ("upper", np.inf)))
    inside = (plans.points >= lower) & (plans.points <= upper)
    assert inside[:, :, ~held].all()
    size = np.abs(plans.points * mean).sum(axis=2)
    assert (plans.points @ mean >= constraints.get("margin", 0.1) - 1e-12 * size).all()


@pytest.mark.parametrize("constraints", CONSTRAINTS)
def test_the_objective_is_that_of_the_points(origins, moments, constraints):
    plans = build_plans(origins, *moments, random_state=0, **constraints)
    weights = {
        name: constraints.get(name, default) for name, default in (("validity_weight", 0.5), ("diversity_weight", 5.0))
    }
    cost = {name: constraints[name] for name in ("cost", "cost_weights") if name in constraints}
    np.testing.assert_array_equal(plans.objective, plan_objective(plans.points, origins, *moments, **weights, **cost))


def test_the_same_state_gives_the_same_bits(origins, moments):
    first, second = (build_plans(origins, *moments, random_state=7) for _ in range(2))
    np.testing.assert_array_equal(first.points, second.points)
    generated = build_plans(origins, *moments, random_state=np.random.default_rng(7))
    np.testing.assert_array_equal(first.points, generated.points)


def test_a_plan_depends_neither_on_the_batch_nor_on_threads_nor_on_order(origins, moments):
    crowd = np.tile(origins, (4, 1))  # more than one task
    together = build_plans(crowd, *moments, random_state=1, n_jobs=2)
    np.testing.assert_array_equal(together.points, build_plans(crowd, *moments, random_state=1, n_jobs=1).points)
    order = np.random.default_rng(46).permutation(len(crowd))
    np.testing.assert_array_equal(together.points[order], build_plans(crowd[order], *moments, random_state=1).points)
    for i in range(3):
        alone = build_plans(crowd[i : i + 1], *moments, random_state=1)
        np.testing.assert_array_equal(alone.points[0], together.points[i])
        assert alone.objective[0] == together.objective[i]


def test_bounds_of_each_applicant_are_each_applicant_s(origins, moments):
    upper = origins + np.linspace(0.5, 2.0, len(origins))[:, None]
    plans = build_plans(origins, *moments, upper=upper, random_state=0)
    alone = build_plans(origins[3:4], *moments, upper=upper[3], random_state=0)
    np.testing.assert_array_equal(plans.points[3], alone.points[0])
    assert (plans.points[:, :, 1:] <= upper[:, None, 1:]).all()


def test_more_starts_and_steps_do_not_make_plans_worse(origins, moments):
    little = build_plans(origins, *moments, n_starts=1, max_iter=3, random_state=0)
    much = build_plans(origins, *moments, n_starts=8, max_iter=100, random_state=0)
    assert (little.status == "ok").all()
    assert (much.objective <= little.objective + 1e-9).all()
    assert (much.objective < little.objective - 1e-3).any()


def test_weights_pull_plans_their_way(origins, moments):
    def terms(**weights):
        points = build_plans(origins, *moments, random_state=0, **weights).points
        alone = [{"validity_weight": a, "diversity_weight": b} for a, b in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))]
        cost, valid, diverse = (plan_objective(points, origins, *moments, **one).mean() for one in alone)
        return cost, cost - valid, cost - diverse

    plain = terms(validity_weight=0.1, diversity_weight=1.0)
    assert terms(validity_weight=2.0, diversity_weight=1.0)[1] > plain[1]
    assert terms(validity_weight=0.1, diversity_weight=20.0)[2] > plain[2]
    assert terms(validity_weight=0.0, diversity_weight=0.0)[0] < plain[0]


@pytest.mark.parametrize("cost", ["l1", "l2"])
def test_plans_do_not_depend_on_the_last_bits_of_the_moments(cost):
    rng = np.random.default_rng(45)
    levels = np.eye(12)[rng.integers(12, size=500)]  # one-hot columns: the covariance of their weights is singular
    mean = np.concatenate([[-0.3], rng.standard_normal(15)])
    weights = rng.standard_normal((500, 15)) * 0.3
    weights[:, :12] -= weights[:, :12].mean(axis=1, keepdims=True)
    cov = np.cov(np.column_stack([rng.standard_normal(500) * 0.1, weights]), rowvar=False)
    applicants = np.column_stack([np.ones(20), levels[:20], rng.standard_normal((20, 3)) - 1.0])
    box = {"lower": np.r_[1.0, np.zeros(12), -3.0, -3.0, -3.0], "upper": np.r_[1.0, np.ones(12), 3.0, 3.0, 3.0]}
    plans = build_plans(applicants, mean, cov, n_options=3, cost=cost, random_state=0, **box)
    for seed in range(3):  # as another processor's linear algebra would round them
        signs = np.random.default_rng(seed).choice([-1.0, 0.0, 1.0], size=(16, 16))
        near = mean * (1.0 + 1e-15 * signs[0]), cov * (1.0 + 1e-15 * (signs + signs.T))
        other = build_plans(applicants, *near, n_options=3, cost=cost, random_state=0, **box)
        np.testing.assert_allclose(other.points, plans.points, atol=1e-9)


def test_manhattan_costs_leave_most_features_as_they_are(origins, moments):
    plans = build_plans(origins, *moments, n_options=1, cost="l1", validity_weight=0.0, random_state=0)
    changed = plans.points[:, 0] != origins
    assert (changed.sum(axis=1) == 1).all()
    assert changed[:, 1].all()  # the feature of the largest weight


def test_an_applicant_who_is_accepted_already_may_stay(moments):
    accepted = np.array([[1.0, 3.0, -1.0, 0.0, 0.5, 1.0]])
    stay = build_plans(accepted, *moments, n_options=2, validity_weight=0.0, diversity_weight=0.0, random_state=0)
    np.testing.assert_array_equal(stay.points[0], np.repeat(accepted, 2, axis=0))
    assert stay.objective[0] == 0.0


def test_out_of_reach_is_infeasible_and_says_by_how_much(origins, moments):
    mean, cov = moments
    upper = origins.copy()
    upper[2] += 5.0
    plans = build_plans(origins, mean, cov, lower=origins, upper=upper, random_state=0)
    np.testing.assert_array_equal(plans.status == "ok", np.arange(len(origins)) == 2)
    assert set(plans.status) == {"ok", "infeasible"}
    assert np.isnan(plans.objective[plans.status == "infeasible"]).all()
    np.testing.assert_array_equal(plans.points[0], np.repeat(origins[:1], 5, axis=0))
    assert f"{origins[0] @ mean:.6g}, below the margin 0.1" in plans.message[0]


def test_the_nearest_attempt_of_the_infeasible_is_the_point_of_largest_score(moments):
    origin = np.array([[1.0, -9.0, 0.0, 0.0, 0.4, 0.0]])
    plans = build_plans(origin, *moments, lower=[-1.0] * D, upper=[0.2] * D, margin=3.0)
    assert plans.status[0] == "infeasible"
    np.testing.assert_array_equal(plans.points[0], np.tile([1.0, 0.2, -1.0, 0.2, 0.2, 0.2], (5, 1)))


def test_with_everything_fixed_a_plan_is_the_applicant_or_nothing(origins, moments):
    accepted = np.array([[1.0, 3.0, -1.0, 0.0, 0.5, 1.0]])
    plans = build_plans(np.vstack([origins[:1], accepted]), *moments, fixed=range(D))
    np.testing.assert_array_equal(plans.status, ["infeasible", "ok"])
    np.testing.assert_array_equal(plans.points[1], np.repeat(accepted, 5, axis=0))


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (2, np.nan, "got nan at coordinate 2"),
        (4, np.inf, "got inf at coordinate 4"),
        (0, 0.0, "intercept and must be 1"),
    ],
)
def test_one_bad_row_does_not_fail_the_batch(origins, moments, place, value, message):
    crowd = origins.copy()
    crowd[1, place] = value
    plans = build_plans(crowd, *moments, random_state=0)
    assert plans.status[1] == "invalid"
    assert message in plans.message[1]
    assert np.isnan(plans.points[1]).all()
    assert np.isnan(plans.objective[1])
    others = np.arange(len(crowd)) != 1
    assert (plans.status[others] == "ok").all()
    np.testing.assert_array_equal(plans.points[others], build_plans(origins, *moments, random_state=0).points[others])


def test_one_applicant_s_impossible_bounds_do_not_fail_the_batch(origins, moments):
    lower = np.full_like(origins, -5.0)
    lower[4, 3] = np.nan
    plans = build_plans(origins, *moments, lower=lower, random_state=0)
    assert plans.status[4] == "invalid"
    assert "lower nan" in plans.message[4]
    assert (np.delete(plans.status, 4) == "ok").all()


def test_an_empty_batch_has_no_plans(moments):
    plans = build_plans(np.empty((0, D)), *moments)
    assert len(plans) == 0
    assert plans.points.shape == (0, 5, D)


def test_results_have_the_shapes_they_are_documented_with(origins, moments):
    plans = build_plans(origins, *moments, n_options=3)
    n = len(origins)
    assert len(plans) == n
    assert plans.points.shape == (n, 3, D)
    assert all(getattr(plans, name).shape == (n,) for name in ("objective", "status", "message", "seconds"))
    assert (plans.seconds > 0.0).all()


def test_a_singular_covariance_is_fine(origins, moments):
    plans = build_plans(origins, moments[0], np.diag([0.1, 0.1, 0.0, 0.0, 0.1, 0.1]), random_state=0)
    assert (plans.status == "ok").all()
    assert np.isfinite(plans.points).all()


def test_a_plan_too_large_for_newton_systems_is_nearly_as_good(origins, moments, monkeypatch):
    refined = build_plans(origins, *moments, random_state=0)
    monkeypatch.setattr(descents, "LARGEST_SYSTEM", 0)
    cold = build_plans(origins, *moments, random_state=0)
    assert (cold.status == "ok").all()
    assert (cold.objective != refined.objective).all()
    np.testing.assert_allclose(cold.objective, refined.objective, atol=0.02)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"origins": np.ones(D)}, r"origins must have shape \(N, 6\).*pass origins\[None\]"),
        ({"origins": np.ones((3, 4))}, r"origins must have shape \(N, 6\)"),
        ({"n_options": 0}, "n_options must be a whole number of at least 1, got 0"),
        ({"n_options": 2.5}, "n_options must be a whole number of at least 1"),
        ({"n_options": 10_000}, "n_options must be at most 79, got 10000: .* would take about .* hours and"),
        ({"n_starts": True}, "n_starts must be a whole number of at least 1"),
        ({"max_iter": -1}, "max_iter must be a whole number of at least 1"),
        ({"margin": -0.1}, "margin must be a finite number of at least 0"),
        ({"margin": np.nan}, "margin must be a finite number"),
        ({"fixed": [9]}, "fixed must name coordinates from 0 to 5, got 9"),
        ({"lower": [1.0] * D, "upper": [0.0] * D}, "lower must not exceed upper"),
        ({"cost": "l_2"}, "did you mean 'l2'"),
        ({"random_state": "seed"}, "random_state must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"cov": np.zeros((D, D))}, "validity_weight=0"),
    ],
)
def test_wrong_arguments_are_named_before_anything_is_built(origins, moments, changes, message):
    arguments = {"origins": origins, "mean": moments[0], "cov": moments[1], **changes}
    with pytest.raises(InvalidInputError, match=message):
        build_plans(**arguments)


def test_without_validity_no_doubt_is_needed(origins, moments):
    plans = build_plans(origins, moments[0], np.zeros((D, D)), validity_weight=0.0, random_state=0)
    assert (plans.status == "ok").all()
