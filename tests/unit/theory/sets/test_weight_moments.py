import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from copa.exceptions import InvalidInputError
from copa.models.linear import parameter_vector
from copa.models.refits import retrained_parameters
from copa.theory.sets import WeightMoments


def test_moments_are_read_only_copies():
    mean, cov = np.array([1.0, 2.0]), np.eye(2)
    moments = WeightMoments(mean, cov)
    mean[0] = cov[0, 0] = 9.0
    assert moments.mean[0] == 1.0
    assert moments.cov[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        moments.mean[0] = 3.0
    with pytest.raises(ValueError, match="read-only"):
        moments.cov[0, 0] = 3.0


def test_comparing_moments_does_not_raise():
    moments = WeightMoments([0.0, 1.0], np.eye(2))
    assert moments == moments  # noqa: PLR0124 - the comparison itself is the subject
    assert moments != WeightMoments([0.0, 1.0], np.eye(2))
    assert hash(moments)


@pytest.mark.parametrize(
    ("mean", "cov", "message"),
    [
        ([0.0, np.nan], np.eye(2), r"mean must be finite, got nan at index \(1,\)"),
        ([0.0, 1.0], np.eye(3), r"cov must have shape \(2, 2\), got \(3, 3\)"),
        ([0.0, 1.0], [[1.0, 0.5], [0.0, 1.0]], "cov must be symmetric"),
        ([0.0, 1.0], np.diag([1.0, -0.25]), "most negative eigenvalue is -0.25"),
        ([], np.zeros((0, 0)), r"mean must have shape \(D,\)"),
        ("theta", np.eye(1), "mean must be an array of numbers"),
    ],
)
def test_bad_moments_are_refused_with_what_was_received(mean, cov, message):
    with pytest.raises(InvalidInputError, match=message):
        WeightMoments(mean, cov)


def test_a_singular_covariance_is_accepted():
    direction = np.array([1.0, -2.0, 0.5])
    assert WeightMoments(np.zeros(3), np.outer(direction, direction)).cov.shape == (3, 3)


def test_from_samples_is_the_textbook_estimate():
    thetas = np.random.default_rng(0).normal(size=(30, 4)) @ np.diag([1.0, 5.0, 0.1, 2.0]) + 3.0
    moments = WeightMoments.from_samples(thetas)
    np.testing.assert_allclose(moments.mean, thetas.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(moments.cov, np.cov(thetas, rowvar=False), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("thetas", [np.zeros((1, 3)), np.zeros(3), np.zeros((2, 0))])
def test_from_samples_needs_two_vectors(thetas):
    with pytest.raises(InvalidInputError, match=r"shape \(K, D\) with K >= 2"):
        WeightMoments.from_samples(thetas)


def test_from_retraining_gives_the_moments_of_the_retrained_parameters(credit):
    X, y = credit
    thetas = retrained_parameters(LogisticRegression(), X, y, n_models=20, fraction=0.7, random_state=5)
    moments = WeightMoments.from_retraining(LogisticRegression(), X, y, n_models=20, fraction=0.7, random_state=5)
    np.testing.assert_array_equal(moments.mean, WeightMoments.from_samples(thetas).mean)
    np.testing.assert_array_equal(moments.cov, WeightMoments.from_samples(thetas).cov)


def test_half_samples_vary_like_the_fit_on_all_rows_varies_by_sampling():
    # The claim behind the default fraction. For a true logistic model the inverse information is the sampling
    # covariance. 2000 refits leave a Monte Carlo error of sqrt(2 / 2000), about 3 %, per variance.
    rng = np.random.default_rng(7)
    X = rng.normal(size=(3000, 3))
    y = rng.random(3000) < 1.0 / (1.0 + np.exp(-(X @ [1.0, -0.5, 0.0] + 0.3)))
    model = LogisticRegression(C=np.inf, tol=1e-8).fit(X, y)
    retrained = WeightMoments.from_retraining(model, X, y, n_models=2000, random_state=0)
    chance = model.predict_proba(X)[:, 1]
    rows = np.column_stack([np.ones(len(X)), X])
    sampling = np.linalg.inv((chance * (1.0 - chance) * rows.T) @ rows)
    np.testing.assert_allclose(np.diag(retrained.cov), np.diag(sampling), rtol=0.15)


@pytest.mark.parametrize("estimator", [LogisticRegression(C=0.02), RidgeClassifier(alpha=150.0)], ids=str)
def test_the_spread_of_penalised_refits_is_that_of_fits_to_fresh_samples(estimator):
    # With the penalty unchanged on half of the rows the standard deviations are .81 and .84 of these.
    def sample(rng, n_rows=300):
        X = rng.normal(size=(n_rows, 4))
        return X, rng.random(n_rows) < 1.0 / (1.0 + np.exp(-(X @ [1.0, -0.5, 0.5, 0.0] + 0.3)))

    rng = np.random.default_rng(11)
    fresh = np.array([parameter_vector(clone(estimator).fit(*sample(rng))) for _ in range(300)])
    known = np.sqrt(np.trace(np.cov(fresh, rowvar=False)))
    found = [
        WeightMoments.from_retraining(estimator, *sample(rng), n_models=60, random_state=seed, n_jobs=1)
        for seed in range(10)
    ]
    ratio = np.sqrt(np.trace(np.mean([moments.cov for moments in found], axis=0))) / known
    assert 0.93 < ratio < 1.1
