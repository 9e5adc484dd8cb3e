import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from copa.exceptions import InvalidInputError, RetrainingError
from copa.models.refits import retrained_parameters
from copa.models.refits.retraining import as_generator
from copa.models.refits.subsets import draw_subset

TIGHT = {"tol": 1e-10, "max_iter": 100_000}


def fitted_one_by_one(estimator, X, y, n_models, seed):
    """The same halves of the rows, each fitted by scikit-learn, with the penalty per row of a fit to all rows."""
    settings = estimator.get_params()
    kept = {name: factor * settings[name] for name, factor in (("C", 2.0), ("alpha", 0.5)) if name in settings}
    estimator = clone(estimator).set_params(**kept)
    rng = as_generator(seed)
    target = (y == np.unique(y)[1]).astype(float)
    thetas = []
    for _ in range(n_models):
        rows = draw_subset(target, len(y) // 2, rng)
        model = estimator.fit(X[rows], y[rows])
        thetas.append(np.concatenate([np.ravel(model.intercept_), np.ravel(model.coef_)]))
    return np.array(thetas)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"C": 0.01},
        {"C": 1e4, "solver": "newton-cholesky"},
        {"C": np.inf},
        {"C": 2.0, "l1_ratio": 0.0, "solver": "newton-cg"},
        {"fit_intercept": False},
        {"class_weight": "balanced"},
        {"class_weight": {0: 0.5, 1: 3.0}},
        {"class_weight": {1: 3.0}},
        {"solver": "liblinear"},
        {"solver": "liblinear", "C": 0.1, "intercept_scaling": 5.0, "class_weight": "balanced"},
        {"solver": "liblinear", "fit_intercept": False},
    ],
    ids=str,
)
def test_logistic_refits_equal_scikit_learns_converged_fits(credit, settings):
    X, y = credit
    X = (X - X.mean(axis=0)) / X.std(axis=0)  # so that scikit-learn's own solvers converge tightly
    estimator = LogisticRegression(**TIGHT, **settings)
    expected = fitted_one_by_one(estimator, X, y, n_models=8, seed=3)
    actual = retrained_parameters(estimator, X, y, n_models=8, random_state=3)
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=1e-5)


def test_wide_logistic_regressions_are_what_scikit_learn_fits(credit):
    X = np.random.default_rng(0).normal(size=(300, 90))
    expected = fitted_one_by_one(LogisticRegression(), X, credit[1], n_models=3, seed=3)
    actual = retrained_parameters(LogisticRegression(), X, credit[1], n_models=3, random_state=3)
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=1e-9)
    with pytest.raises(RetrainingError, match="no unique finite solution"):
        retrained_parameters(LogisticRegression(C=np.inf), X, credit[1], n_models=3)


@pytest.mark.parametrize("penalty", ["l2", None])
def test_the_deprecated_penalty_argument_is_honoured(credit, penalty):
    X, y = credit
    new = LogisticRegression(C=0.05 if penalty else np.inf)
    old = LogisticRegression(penalty=penalty, C=0.05)
    np.testing.assert_array_equal(
        retrained_parameters(old, X, y, n_models=3, random_state=0),
        retrained_parameters(new, X, y, n_models=3, random_state=0),
    )


def test_an_unconverged_estimator_setting_does_not_matter_for_logistic_refits(credit):
    X, y = credit
    np.testing.assert_array_equal(
        retrained_parameters(LogisticRegression(max_iter=1), X, y, n_models=3, random_state=0),
        retrained_parameters(LogisticRegression(), X, y, n_models=3, random_state=0),
    )


@pytest.mark.parametrize(
    "estimator",
    [
        LinearSVC(),
        SGDClassifier(),
        RidgeClassifier(),
        Perceptron(),
        LinearSVC(fit_intercept=False),
        LogisticRegression(l1_ratio=1.0, solver="saga", C=0.1, max_iter=5000, tol=1e-2),
    ],
    ids=str,
)
def test_other_linear_classifiers_are_refitted_the_same_whatever_the_number_of_processes(credit, estimator):
    X, y = credit
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    alone = retrained_parameters(estimator, X, y, n_models=6, random_state=4)
    together = retrained_parameters(estimator, X, y, n_models=6, random_state=4, n_jobs=2)
    np.testing.assert_array_equal(alone, together)
    assert alone.shape == (6, 6)
    assert np.ptp(alone, axis=0).max() > 0.0


def test_a_ridge_classifier_is_what_scikit_learn_fits(credit):
    X, y = credit
    np.testing.assert_allclose(
        retrained_parameters(RidgeClassifier(), X, y, n_models=4, random_state=9),
        fitted_one_by_one(RidgeClassifier(), X, y, n_models=4, seed=9),
        rtol=1e-10,
    )


def test_each_refit_gets_its_own_seed_unless_the_estimator_has_one(credit):
    X, y = credit
    free = retrained_parameters(SGDClassifier(), X, y, n_models=3, fraction=1.0, random_state=0)
    held = retrained_parameters(SGDClassifier(random_state=1), X, y, n_models=3, fraction=1.0, random_state=0)
    assert np.ptp(free, axis=0).min() > 0.0
    assert np.ptp(held, axis=0).max() == 0.0


@pytest.mark.parametrize("estimator", [LogisticRegression(), RidgeClassifier()], ids=str)
def test_a_nonnegative_score_means_the_larger_label(credit, estimator):
    X, y = credit
    labels = np.where(y == 1, "yes", "no")
    theta = retrained_parameters(estimator, X, labels, n_models=5, random_state=0).mean(axis=0)
    accepted = theta[0] + X @ theta[1:] >= 0.0
    assert np.mean(accepted == (labels == "yes")) > 0.7


def test_without_an_intercept_coordinate_zero_is_zero(credit):
    X, y = credit
    thetas = retrained_parameters(LogisticRegression(fit_intercept=False), X, y, n_models=3, random_state=0)
    assert thetas.shape == (3, 6)
    assert (thetas[:, 0] == 0.0).all()


def test_a_data_frame_with_text_labels_is_read(credit):
    X, y = credit
    frame, labels = pd.DataFrame(X), pd.Series(np.where(y == 1, "good", "bad"))
    np.testing.assert_array_equal(
        retrained_parameters(LogisticRegression(), frame, labels, n_models=3, random_state=0),
        retrained_parameters(LogisticRegression(), X, y, n_models=3, random_state=0),
    )


def test_the_estimator_given_is_not_changed(credit):
    X, y = credit
    for estimator in (LogisticRegression(), SGDClassifier()):
        before = estimator.get_params()
        retrained_parameters(estimator, X, y, n_models=2, random_state=0)
        assert estimator.get_params() == before
        assert not hasattr(estimator, "coef_")


def test_the_random_state_decides_the_result(credit):
    X, y = credit

    def refit(random_state):
        return retrained_parameters(LogisticRegression(), X, y, n_models=2, random_state=random_state)

    np.testing.assert_array_equal(refit(0), refit(0))
    np.testing.assert_array_equal(refit(0), refit(np.random.default_rng(0)))
    np.testing.assert_array_equal(refit(np.random.RandomState(0)), refit(np.random.RandomState(0)))
    assert np.abs(refit(0) - refit(1)).max() > 1e-3
    assert np.abs(refit(None) - refit(None)).max() > 1e-6


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": np.zeros(300)}, "exactly 2 classes, got 1"),
        ({"y": np.arange(300) % 3}, "exactly 2 classes, got 3: 0, 1, 2"),
        ({"y": np.zeros(299)}, r"y must have shape \(300,\)"),
        ({"X": np.full((300, 5), np.nan)}, "X must be finite"),
        ({"X": np.zeros(300)}, r"X must have shape \(n, d\)"),
        ({"X": sparse.csr_matrix((300, 5))}, "X must be an array of numbers, got csr_matrix"),
        ({"fraction": 0.0}, r"fraction must be a share, above 0 and at most 1, got 0.0"),
        ({"fraction": 1.5}, r"fraction must be a share, above 0 and at most 1, got 1.5"),
        ({"fraction": np.nan}, r"fraction must be a share, above 0 and at most 1, got nan"),
        ({"n_models": 1}, "n_models must be a whole number of at least 2, got 1"),
        ({"n_models": 10.0}, "n_models must be a whole number of at least 2, got 10.0"),
        ({"random_state": "today"}, "random_state must be None, an int"),
        ({"random_state": -1}, "random_state must not be negative"),
        ({"estimator": LinearRegression()}, "must be a scikit-learn linear classifier, got LinearRegression"),
        ({"estimator": "logistic"}, "must be a scikit-learn linear classifier, got str"),
        ({"estimator": RandomForestClassifier(2)}, "RandomForestClassifier is not a fitted linear"),
        ({"estimator": make_pipeline(StandardScaler(), RandomForestClassifier(2))}, "not a fitted linear"),
        ({"estimator": LogisticRegression(class_weight={7: 2.0})}, r"class_weight \{7: 2.0\} does not fit y"),
    ],
)
def test_a_bad_argument_gets_an_immediate_typed_error(credit, changes, message):
    arguments = {"estimator": LogisticRegression(), "X": credit[0], "y": credit[1], "n_jobs": 1, **changes}
    with pytest.raises(InvalidInputError, match=message):
        retrained_parameters(**arguments)


@pytest.mark.parametrize("settings", [{"C": -1.0}, {"solver": "newton"}, {"dual": True}, {"C": np.nan}], ids=str)
def test_settings_that_scikit_learn_refuses_are_refused_in_its_words(credit, settings):
    with pytest.raises(ValueError, match=r"'C' parameter|'solver' parameter|dual=False"):
        retrained_parameters(LogisticRegression(**settings), *credit, n_models=2, n_jobs=1)


def test_separable_classes_without_a_penalty_are_an_error_that_says_what_to_do():
    X = np.linspace(-1.0, 1.0, 40)[:, np.newaxis]
    y = (X[:, 0] > 0.0).astype(int)
    with pytest.raises(RetrainingError, match="give the LogisticRegression a penalty"):
        retrained_parameters(LogisticRegression(C=np.inf), X, y, n_models=5, random_state=0)
    assert np.isfinite(retrained_parameters(LogisticRegression(), X, y, n_models=5, random_state=0)).all()


def test_a_subset_that_is_separable_is_found_even_if_the_data_are_not():
    # One row of 60 breaks the separation; half of the subsets miss it.
    X = np.linspace(-1.0, 1.0, 60)[:, np.newaxis]
    y = (X[:, 0] > 0.0).astype(int)
    y[50] = 0
    with pytest.raises(RetrainingError, match="separated perfectly"):
        retrained_parameters(LogisticRegression(C=np.inf), X, y, n_models=20, random_state=0)


def test_a_one_hot_block_beside_an_intercept_needs_a_penalty(credit):
    X, y = credit
    one_hot = np.eye(3)[np.arange(300) % 3]
    with pytest.raises(RetrainingError, match="columns are collinear"):
        retrained_parameters(LogisticRegression(C=np.inf), np.hstack([X, one_hot]), y, n_models=3)
    assert retrained_parameters(LogisticRegression(), np.hstack([X, one_hot]), y, n_models=3).shape == (3, 9)


def test_a_category_that_subsets_lack_needs_a_penalty(credit):
    X, y = credit
    rare = np.zeros((300, 1))
    rare[:2] = 1.0
    X, y = np.hstack([X, rare]), np.r_[0, 1, y[2:]]
    with pytest.raises(RetrainingError, match="a category that a subset lacks"):
        retrained_parameters(LogisticRegression(C=np.inf), X, y, n_models=30, random_state=0)
