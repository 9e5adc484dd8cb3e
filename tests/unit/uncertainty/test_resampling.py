"""The radius that covers fresh samples of the same population."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from copa import WeightMoments, resampling_radius
from copa.exceptions import InvalidInputError

FEW = {"n_samples": 8, "n_models": 8, "random_state": 0, "n_jobs": 1}


class Chance(ClassifierMixin, BaseEstimator):
    """A linear classifier that learns nothing: its parameters are standard normal whatever the data are."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        theta = np.random.default_rng(self.random_state).standard_normal(X.shape[1] + 1)
        self.classes_ = np.unique(y)
        self.intercept_, self.coef_ = theta[:1], theta[None, 1:]
        return self


def nominal(estimator, X, y):
    return WeightMoments.from_retraining(estimator, X, y, n_models=30, random_state=0, n_jobs=1)


def noisy(flips, seed=3):
    """A separable rule with some labels flipped."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + 0.5 * X[:, 1] > 0.0) ^ (rng.random(300) < flips)
    return X, y.astype(int)


def test_refits_that_never_change_need_no_radius(credit):
    X, y = credit
    stiff = RidgeClassifier(alpha=1e12, fit_intercept=False)
    radius = resampling_radius(stiff, X, y, nominal(stiff, X, y), **FEW)
    free = RidgeClassifier(alpha=1.0, fit_intercept=False)
    assert 0.0 <= radius < 1e-6 * resampling_radius(free, X, y, nominal(free, X, y), **FEW)


@pytest.mark.parametrize("n_models", [2, 5])
def test_the_chance_of_the_refits_is_not_counted_again_as_the_chance_of_the_sample(n_models):
    """The means of K refits vary by 1 / K of their variance though nothing depends on the sample: that is no drift."""
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2
    n_samples = 2400 // n_models
    radius = resampling_radius(
        Chance(),
        X,
        y,
        WeightMoments(np.zeros(3), np.eye(3)),
        quantile=0.5,
        n_samples=n_samples,
        n_models=n_models,
        random_state=0,
        n_jobs=1,
    )
    # The moments of 2400 draws are off by about 1 / sqrt(2400) = 0.02; counted twice, the standard deviation would be
    # sqrt(1 + 1 / K), off by 0.22 and 0.095.
    assert radius < 0.05


def test_noisy_labels_need_a_larger_radius():
    classifier = LogisticRegression(C=100.0)
    relative = []
    for flips in (0.1, 0.4):
        X, y = noisy(flips)
        moments = nominal(classifier, X, y)
        relative.append(resampling_radius(classifier, X, y, moments, **FEW) / np.linalg.norm(moments.mean))
    assert relative[1] > 1.5 * relative[0] > 0.0


def test_the_same_seed_gives_the_same_radius_on_any_number_of_threads(credit):
    X, y = credit
    classifier = LogisticRegression()
    moments = nominal(classifier, X, y)
    first = resampling_radius(classifier, X, y, moments, **FEW)
    assert resampling_radius(classifier, X, y, moments, **FEW | {"n_jobs": 2}) == first
    assert resampling_radius(classifier, X, y, moments, **FEW | {"random_state": 1}) != first


def test_a_higher_quantile_covers_more_rows(credit):
    X, y = credit
    classifier = LogisticRegression()
    moments = nominal(classifier, X, y)
    radii = [resampling_radius(classifier, X, y, moments, quantile=q, **FEW) for q in (0.1, 0.5, 0.95, 1.0)]
    assert radii == sorted(radii)
    assert radii[0] < radii[-1]


def test_the_radius_does_not_depend_on_units_where_the_drift_is_the_covariance():
    X, y = noisy(0.2)
    classifier = LogisticRegression(C=1e6, tol=1e-10, max_iter=5000)
    radii = []
    for scale in (1.0, np.array([10.0, 0.1, 3.0])):
        moments = nominal(classifier, X * scale, y)
        radii.append(resampling_radius(classifier, X * scale, y, moments, drift=moments.cov, **FEW))
    assert radii[1] == pytest.approx(radii[0], rel=1e-3)


def test_the_moments_of_a_score_over_the_samples_lie_within_the_radius(credit):
    """By its definition: the largest distance over the rows, from refits drawn by scikit-learn itself."""
    X, y = credit
    classifier = LogisticRegression()
    moments = nominal(classifier, X, y)
    radius = resampling_radius(classifier, X, y, moments, quantile=1.0, n_samples=60, n_models=10, random_state=0)
    rng = np.random.default_rng(5)
    thetas = []
    for _ in range(400):
        sample = rng.integers(len(X), size=len(X))
        half = rng.permutation(sample)[: len(X) // 2]
        fitted = LogisticRegression().fit(X[half], y[half])
        thetas.append([fitted.intercept_[0], *fitted.coef_[0]])
    rows = np.column_stack([np.ones(len(X)), X])
    scores = rows @ np.array(thetas).T
    shift = scores.mean(axis=1) - rows @ moments.mean
    spread = scores.std(axis=1) - np.sqrt(np.einsum("nd,de,ne->n", rows, moments.cov, rows))
    needed = np.hypot(shift, spread) / np.linalg.norm(rows, axis=1)
    assert needed.max() == pytest.approx(radius, rel=0.5)  # two Monte Carlo estimates of the same number


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"quantile": 0.0}, "quantile"),
        ({"quantile": 1.5}, "quantile"),
        ({"n_samples": 1}, "n_samples"),
        ({"n_models": 1.5}, "n_models"),
        ({"n_models": True}, "n_models"),
        ({"drift": np.eye(2)}, "drift"),
        ({"random_state": "seed"}, "random_state"),
    ],
    ids=str,
)
def test_wrong_arguments_are_named(credit, settings, words):
    X, y = credit
    classifier = LogisticRegression()
    moments = WeightMoments(np.ones(6), np.eye(6))
    with pytest.raises(InvalidInputError, match=words):
        resampling_radius(classifier, X, y, moments, **FEW | settings)


def test_moments_of_another_size_are_refused(credit):
    X, y = credit
    with pytest.raises(InvalidInputError, match="moments"):
        resampling_radius(LogisticRegression(), X, y, WeightMoments(np.ones(3), np.eye(3)), **FEW)
