import numpy as np
import pytest

from copa.exceptions import InvalidInputError
from copa.theory.sets.ambiguity import MomentBall

MEAN = np.array([1.0, -2.0])
COV = np.array([[2.0, 0.5], [0.5, 1.0]])


def test_a_ball_keeps_what_it_was_given():
    ball = MomentBall([1, -2], COV.tolist(), 1, np.eye(2))
    assert ball.dimension == 2
    np.testing.assert_array_equal(ball.mean, MEAN)
    np.testing.assert_array_equal(ball.cov, COV)
    np.testing.assert_array_equal(ball.drift, np.eye(2))
    assert ball.radius == 1.0
    assert isinstance(ball.radius, float)


def test_roots_are_roots():
    drift = np.array([[4.0, 2.0], [2.0, 1.0]])  # singular
    ball = MomentBall(MEAN, COV, 0.1, drift)
    np.testing.assert_allclose(ball.cov_root @ ball.cov_root.T, COV, rtol=1e-14)
    np.testing.assert_allclose(ball.drift_root @ ball.drift_root.T, drift, rtol=1e-14)
    assert MomentBall(MEAN, COV, 0.1).drift_root is None


def test_score_moments_are_those_of_the_options():
    points = np.random.default_rng(0).standard_normal((3, 4, 2))
    drift = np.diag([4.0, 0.0])
    ball = MomentBall(MEAN, COV, 0.3, drift)
    scores = ball.scores(points)
    units = np.ldexp(1.0, scores.exponents)
    np.testing.assert_allclose(units * scores.means, np.einsum("njd,d->nj", points, MEAN), rtol=1e-13)
    roots = units[:, :, None] * scores.roots
    np.testing.assert_allclose(roots @ np.swapaxes(roots, 1, 2), points @ COV @ np.swapaxes(points, 1, 2), atol=1e-12)
    np.testing.assert_allclose(units * scores.reaches, 0.3 * 2.0 * np.abs(points[:, :, 0]), rtol=1e-13)


def test_without_a_drift_the_reach_is_the_plain_length():
    points = np.array([[3.0, 4.0]])
    ball = MomentBall(MEAN, COV, 0.2)
    scores = ball.scores(points)
    assert np.ldexp(scores.reaches, scores.exponents) == pytest.approx(1.0, rel=1e-15)


@pytest.mark.parametrize("drift", [None, np.array([[2.0, 0.3], [0.3, 0.7]])], ids=["isotropic", "drift"])
def test_in_ordinary_units_scores_are_the_plain_products_to_the_last_bit(drift):
    points = np.random.default_rng(1).standard_normal((200, 1, 2))
    ball = MomentBall(MEAN, COV, 0.3, drift)
    scores = ball.scores(points)
    moved = points if drift is None else points @ ball.drift_root
    np.testing.assert_array_equal(np.ldexp(scores.means, scores.exponents), points @ MEAN)
    np.testing.assert_array_equal(np.ldexp(scores.roots, scores.exponents[:, :, None]), points @ ball.cov_root)
    np.testing.assert_array_equal(np.ldexp(scores.reach_roots, scores.exponents[:, :, None]), 0.3 * moved)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mean": [[1.0, 2.0]]}, r"mean must have shape \(D,\), got \(1, 2\)"),
        ({"mean": 1.0}, r"mean must have shape \(D,\), got \(\)"),
        ({"mean": []}, r"mean must have shape \(D,\), got \(0,\)"),
        ({"mean": None}, r"mean must have shape \(D,\), got \(\)"),
        ({"mean": [1.0, np.nan]}, r"mean must be finite, got nan at index \(1,\)"),
        ({"mean": [-np.inf, 1.0]}, r"mean must be finite, got -inf at index \(0,\)"),
        ({"mean": ["a", "b"]}, r"mean must be an array of numbers, got list: .*'a'"),
        ({"mean": [1.0, 2.0, 3.0]}, r"cov must have shape \(3, 3\), got \(2, 2\)"),
        ({"cov": np.eye(3)}, r"cov must have shape \(2, 2\), got \(3, 3\)"),
        ({"cov": [1.0, 1.0]}, r"cov must have shape \(2, 2\), got \(2,\)"),
        ({"cov": 1.0}, r"cov must have shape \(2, 2\), got \(\)"),
        ({"cov": [[1.0, 0.0], [0.0, np.nan]]}, r"cov must be finite, got nan at index \(1, 1\)"),
        ({"cov": [[np.inf, 0.0], [0.0, 1.0]]}, r"cov must be finite, got inf at index \(0, 0\)"),
        (
            {"cov": [[1.0, 0.5], [0.25, 1.0]]},
            r"cov must be symmetric, got .*0\.5.* at \(0, 1\) and .*0\.25.* at \(1, 0\)",
        ),
        ({"cov": [[1.0, 2.0], [2.0, 1.0]]}, r"cov must be positive semidefinite, .*eigenvalue is -1 \(largest 3\)"),
        ({"cov": [[-1.0, 0.0], [0.0, -4.0]]}, r"cov must be positive semidefinite, .*eigenvalue is -4 \(largest -1\)"),
        ({"cov": object()}, r"cov must be an array of numbers, got object"),
        ({"cov": [[1.0], [2.0, 3.0]]}, r"cov must be an array of numbers, got list"),
        ({"drift": np.eye(3)}, r"drift must have shape \(2, 2\), got \(3, 3\)"),
        ({"drift": 1.0}, r"drift must have shape \(2, 2\), got \(\)"),
        ({"drift": [[1.0, np.inf], [np.inf, 1.0]]}, r"drift must be finite, got inf at index \(0, 1\)"),
        ({"drift": [[1.0, 1.0], [0.0, 1.0]]}, r"drift must be symmetric"),
        ({"drift": np.diag([1.0, -0.25])}, r"drift must be positive semidefinite, .*eigenvalue is -0\.25"),
        ({"radius": -0.1}, r"radius must be a finite number of at least 0, got -0\.1"),
        ({"radius": np.nan}, r"radius must be a finite number of at least 0, got nan"),
        ({"radius": np.inf}, r"radius must be a finite number of at least 0, got inf"),
        ({"radius": None}, r"radius must be a finite number of at least 0, got None"),
        ({"radius": [0.1]}, r"radius must be one number, got shape \(1,\)"),
        ({"radius": np.zeros((2, 2))}, r"radius must be one number, got shape \(2, 2\)"),
        ({"radius": "wide"}, r"radius must be a finite number of at least 0, got 'wide'"),
        ({"radius": 1j}, r"radius must be a finite number of at least 0, got 1j"),
    ],
)
def test_bad_input_is_named_with_what_is_allowed(arguments, message):
    good = {"mean": MEAN, "cov": COV, "radius": 0.1, "drift": None}
    with pytest.raises(InvalidInputError, match=message):
        MomentBall(**(good | arguments))


@pytest.mark.parametrize("radius", [0, 0.0, 0.25, np.float32(0.25), np.array(3), np.int64(2)])
def test_any_number_is_a_radius(radius):
    assert MomentBall(MEAN, COV, radius, None).radius == float(radius)


def test_rounding_noise_in_symmetry_is_averaged_out():
    noisy = COV.copy()
    noisy[0, 1] += 1e-12
    ball = MomentBall(MEAN, noisy, 0.0)
    np.testing.assert_array_equal(ball.cov, ball.cov.T)
    np.testing.assert_allclose(ball.cov, COV, rtol=1e-11)
