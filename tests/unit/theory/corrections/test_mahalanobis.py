import numpy as np
import pytest

from copa import validity_bounds
from copa.exceptions import InvalidInputError
from copa.theory.corrections import mahalanobis_correction
from copa.theory.corrections.mahalanobis import Moments, best_options
from copa.theory.sets.ambiguity import MomentBall


class Plan:
    """A plan that the mean accepts, with moments."""

    def __init__(self, seed=0, dim=6, n_options=4):
        rng = np.random.default_rng([2, seed])
        self.mean = rng.standard_normal(dim)
        root = rng.standard_normal((dim, dim))
        self.cov = 0.05 * root @ root.T
        self.points = rng.standard_normal((n_options, dim)) + 0.5 * self.mean
        self.points *= np.sign(self.points @ self.mean)[:, None]
        self.points[:, 0] = 1.0
        lifted = np.where(np.arange(dim) > 0, self.mean, 0.0)
        missing = np.maximum(0.5 - self.points @ self.mean, 0.0)
        self.points += (missing / (lifted @ lifted))[:, None] * lifted

    def correct(self, points=None, **options):
        return mahalanobis_correction(self.points if points is None else points, self.mean, self.cov, **options)

    def ratios(self, points):
        return points @ self.mean / np.sqrt(np.einsum("jd,de,je->j", points, self.cov, points))


def test_each_option_moves_by_the_budget_and_its_ratio_rises():
    plan = Plan()
    corrected = plan.correct(budget=0.2)
    np.testing.assert_allclose(np.linalg.norm(corrected - plan.points, axis=1), 0.2, rtol=1e-9)
    np.testing.assert_array_equal(corrected[:, 0], 1.0)
    assert (plan.ratios(corrected) > plan.ratios(plan.points) + 0.01).all()


def test_it_raises_the_lower_bound_that_it_is_for():
    plan = Plan()
    before, after = (
        validity_bounds(points, plan.mean, plan.cov, 0.01).lower for points in (plan.points, plan.correct(budget=0.3))
    )
    assert after > before + 0.01


@pytest.mark.parametrize("room", [None, 0.06])
@pytest.mark.parametrize("dimension", [5, 17, 38])
def test_an_option_is_corrected_to_the_same_bits_in_any_company(dimension, room):
    rng = np.random.default_rng(dimension)
    moments = Moments.scaled(rng.normal(size=dimension), rng.normal(size=(dimension, dimension)))
    options = rng.normal(size=(41, dimension))
    free = np.sort(rng.choice(np.arange(1, dimension), size=2 * dimension // 3, replace=False))
    reach = np.full(options.shape, np.inf if room is None else room)
    together = best_options(moments, free, options, options - reach, options + reach, 0.1)
    for m in (0, 20, 40):
        mine = slice(m, m + 1)
        alone = best_options(moments, free, options[mine], (options - reach)[mine], (options + reach)[mine], 0.1)
        np.testing.assert_array_equal(alone[0], together[m])


def test_only_the_heaviest_options_move():
    plan = Plan(seed=1)
    weights = validity_bounds(plan.points, plan.mean, plan.cov, 0.05).weights
    heaviest = np.argsort(-weights)
    for count in (1, 2, 4):
        corrected = plan.correct(radius=0.05, n_corrections=count)
        moved = (corrected != plan.points).any(axis=1)
        assert set(np.flatnonzero(moved)) == set(heaviest[:count])
        np.testing.assert_array_equal(corrected[moved], plan.correct(radius=0.05)[moved])


def test_which_options_are_heaviest_depends_on_the_drift():
    mean, cov = np.array([1.0, 0.0, 0.0]), 0.01 * np.eye(3)
    points = np.array([[1.0, 0.5, 0.0], [1.0, 0.0, 0.5]])
    for k in (0, 1):
        drift = np.zeros((3, 3))
        drift[k + 1, k + 1] = 1.0
        corrected = mahalanobis_correction(points, mean, cov, radius=1.0, drift=drift, n_corrections=1)
        assert (corrected[k] != points[k]).any()
        np.testing.assert_array_equal(corrected[1 - k], points[1 - k])


def test_no_budget_or_nothing_free_is_no_change():
    plan = Plan()
    np.testing.assert_array_equal(plan.correct(budget=0.0), plan.points)
    np.testing.assert_array_equal(plan.correct(fixed=range(6)), plan.points)
    np.testing.assert_array_equal(mahalanobis_correction([[1.0]], [1.0], [[1.0]]), [[1.0]])


def test_a_certain_option_stays_where_it_is():
    # The covariance does not see the first two coordinates.
    cov = np.diag([0.0, 0.0, 1.0])
    points = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.5]])
    corrected = mahalanobis_correction(points, [0.5, 1.0, 1.0], cov, budget=0.2)
    np.testing.assert_array_equal(corrected[0], points[0])
    assert abs(corrected[1, 2]) < 0.5


def test_an_uncertainty_within_the_budget_is_removed():
    corrected = mahalanobis_correction([[1.0, 1.0, 0.1]], [0.5, 1.0, 1.0], np.diag([0.0, 0.0, 1.0]), budget=0.2)
    np.testing.assert_allclose(corrected, [[1.0, 1.0, 0.0]], atol=1e-15)


def test_a_covariance_of_zero_changes_nothing_that_is_accepted():
    points = np.array([[1.0, 1.0], [1.0, -1.0]])
    corrected = mahalanobis_correction(points, [0.0, 1.0], np.zeros((2, 2)), budget=0.25)
    np.testing.assert_allclose(corrected, [[1.0, 1.0], [1.0, -0.75]])


def test_a_rejected_option_is_accepted_afterwards_if_the_budget_allows():
    plan = Plan()
    points = np.array([plan.points[0] - 1.0 * np.where(np.arange(6) > 0, plan.mean, 0.0)])
    assert points[0] @ plan.mean < 0.0
    assert plan.correct(points, budget=2.0)[0] @ plan.mean > 0.0


def test_a_rejected_option_out_of_reach_moves_to_the_highest_score():
    mean = np.array([-10.0, 3.0, 4.0])
    corrected = mahalanobis_correction([[1.0, 0.0, 0.0]], mean, np.diag([1.0, 5.0, 0.1]), budget=0.5)
    np.testing.assert_allclose(corrected, [[1.0, 0.3, 0.4]], rtol=1e-15)
    upper = [1.0, 1.0, 0.1]
    corrected = mahalanobis_correction([[1.0, 0.0, 0.0]], mean, np.diag([1.0, 5.0, 0.1]), budget=0.5, upper=upper)
    np.testing.assert_allclose(corrected, [[1.0, np.sqrt(0.24), 0.1]], rtol=1e-12)


def test_bounds_that_do_not_bind_change_nothing():
    plan = Plan()
    wide = {"lower": plan.points.min(axis=0) - 1.0, "upper": plan.points.max(axis=0) + 1.0}
    np.testing.assert_array_equal(plan.correct(**wide), plan.correct())


def test_bounds_that_bind_are_met_to_the_last_bit_and_cost_ratio():
    plan = Plan()
    upper = plan.points.max(axis=0) + 1e-3
    corrected = plan.correct(budget=0.5, upper=upper)
    assert (corrected <= upper).all()
    assert (corrected == upper).any()
    free, bound = plan.ratios(plan.correct(budget=0.5)), plan.ratios(corrected)
    assert (bound <= free * (1.0 + 1e-12)).all()
    assert (bound < free * (1.0 - 1e-6)).any()


def test_rounding_does_not_lead_out_of_the_bounds():
    # x + (upper - x) is not always upper: among many options some would be one unit in the last place above.
    plan = Plan()
    rng = np.random.default_rng(0)
    plans = plan.points + rng.standard_normal((300, 4, 6)) * [0.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    upper = plans.max(axis=1) + rng.uniform(0.0, 0.1, (300, 6))
    corrected = plan.correct(plans, budget=1.0, upper=upper)
    assert (corrected <= upper[:, None])[..., 1:].all()
    assert (corrected == upper[:, None]).sum() > 300


@pytest.mark.parametrize("rank", [3, 6])
def test_rounding_does_not_make_the_best_option_worse(rank):
    # With a budget that does not bind, corrected options are the best there are, and are corrected again.
    for seed in range(20):
        rng = np.random.default_rng(seed)
        root, mean = 0.3 * rng.standard_normal((6, rank)), rng.standard_normal(6)
        points = np.column_stack([np.ones(20), rng.standard_normal((20, 5))])
        best = mahalanobis_correction(points, mean, root @ root.T, budget=100.0)
        again = mahalanobis_correction(best, mean, root @ root.T, budget=100.0)
        moments = Moments.of_set(MomentBall(mean, root @ root.T, 0.0))
        assert (moments.ratios(again) >= moments.ratios(best)).all()


def test_each_plan_of_a_batch_has_bounds_of_its_own():
    plan = Plan()
    plans = np.stack([plan.points, plan.points])
    upper = np.stack([np.full(6, np.inf), plan.points.max(axis=0)])
    corrected = plan.correct(plans, upper=upper)
    np.testing.assert_allclose(corrected[0], plan.correct(), rtol=1e-12)
    np.testing.assert_allclose(corrected[1], plan.correct(upper=upper[1]), rtol=1e-12)
    assert (corrected[1] != corrected[0]).any()


@pytest.mark.parametrize("moments", ["nominal", "worst_case"])
def test_the_number_of_threads_does_not_matter(moments):
    plan = Plan()
    plans = plan.points + 0.05 * np.random.default_rng(0).standard_normal((700, *plan.points.shape))
    plans[..., 0] = 1.0
    plans = plans[: 700 if moments == "nominal" else 20]
    one, two = (plan.correct(plans, n_corrections=2, moments=moments, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_worst_case_moments_are_those_of_the_plan_itself():
    plan = Plan(seed=3)
    options = {"radius": 0.05, "n_corrections": 2}
    worst = validity_bounds(plan.points, plan.mean, plan.cov, 0.05).certificate.worst_case()
    weights = validity_bounds(plan.points, plan.mean, plan.cov, 0.05).weights
    corrected = plan.correct(moments="worst_case", **options)
    assert (corrected != plan.correct(**options)).any()
    expected = mahalanobis_correction(plan.points, worst.mean, worst.cov)
    heaviest = np.argsort(-weights)[:2]
    np.testing.assert_allclose(corrected[heaviest], expected[heaviest], rtol=0.0, atol=1e-9)
    np.testing.assert_array_equal(np.delete(corrected, heaviest, axis=0), np.delete(plan.points, heaviest, axis=0))


def test_worst_case_moments_of_a_plan_without_spread_are_accepted():
    corrected = mahalanobis_correction(
        [[1.0, 1.0], [1.0, 2.0]], [0.0, 1.0], np.zeros((2, 2)), radius=0.1, moments="worst_case"
    )
    assert np.isfinite(corrected).all()


@pytest.mark.parametrize(("name", "near"), [("worst", "worst_case"), ("Nominal", "nominal")])
def test_an_unknown_name_of_moments_gets_a_suggestion(name, near):
    with pytest.raises(InvalidInputError, match=f"moments must be one of 'nominal', 'worst_case', got .* '{near}'"):
        Plan().correct(moments=name)


def test_the_given_points_are_not_touched():
    plan = Plan()
    before = plan.points.copy()
    corrected = plan.correct()
    corrected[:] = 0.0
    np.testing.assert_array_equal(plan.points, before)
