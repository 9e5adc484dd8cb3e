import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from copa.exceptions import InvalidInputError
from copa.uncertainty import WeightMoments


def negative_log_posterior(theta, X, y, settings):
    """The objective of LogisticRegression, written out again from scikit-learn's documentation."""
    odds = theta[0] + X @ theta[1:]
    share = y.mean()
    weight = np.where(y == 1, 0.5 / share, 0.5 / (1.0 - share)) if "class_weight" in settings else np.ones(len(y))
    loss = np.sum(weight * (np.log1p(np.exp(odds)) - y * odds))
    return loss + 0.5 * theta[1:] @ theta[1:] / settings.get("C", 1.0)


def second_differences(function, theta, step=1e-3):
    moves = step * np.eye(theta.size)
    return np.array(
        [
            [
                function(theta + a + b) - function(theta + a - b) - function(theta - a + b) + function(theta - a - b)
                for b in moves
            ]
            for a in moves
        ]
    ) / (4.0 * step**2)


@pytest.mark.parametrize("settings", [{}, {"C": 0.1}, {"C": np.inf}, {"C": 0.5, "class_weight": "balanced"}], ids=str)
def test_the_covariance_inverts_the_curvature_of_the_objective(credit, settings):
    X, y = credit
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = LogisticRegression(**settings).fit(X, y)
    moments = WeightMoments.from_laplace(model, X, y)
    np.testing.assert_array_equal(moments.mean, np.r_[model.intercept_, model.coef_[0]])
    curvature = second_differences(lambda theta: negative_log_posterior(theta, X, y, settings), moments.mean)
    # Second differences with step h are off by h^2 times fourth derivatives: 1e-6 relative.
    np.testing.assert_allclose(moments.cov @ curvature, np.eye(6), atol=1e-4)


def test_liblinear_counts_its_penalty_on_the_intercept(credit):
    X, y = credit
    settings = {"C": 0.01, "solver": "liblinear", "intercept_scaling": 2.0}
    free = WeightMoments.from_laplace(LogisticRegression(C=0.01).fit(X, y), X, y)
    held = WeightMoments.from_laplace(LogisticRegression(**settings).fit(X, y), X, y)
    assert held.cov[0, 0] < 0.9 * free.cov[0, 0]


def test_without_an_intercept_its_variance_is_zero(credit):
    X, y = credit
    moments = WeightMoments.from_laplace(LogisticRegression(fit_intercept=False).fit(X, y), X, y)
    assert (moments.cov[0] == 0.0).all()
    assert (np.diag(moments.cov)[1:] > 0.0).all()


def test_a_singular_information_is_an_error_that_says_what_to_do(credit):
    X, y = credit
    X = np.hstack([X, np.eye(3)[np.arange(300) % 3]])
    with pytest.raises(InvalidInputError, match=r"singular \(columns are collinear\).*drop a column"):
        WeightMoments.from_laplace(LogisticRegression(C=np.inf).fit(X, y), X, y)
    assert WeightMoments.from_laplace(LogisticRegression().fit(X, y), X, y).mean.size == 9


def test_only_a_matching_fitted_logistic_regression_is_accepted(credit):
    X, y = credit
    fitted = LogisticRegression().fit(X, y)
    with pytest.raises(InvalidInputError, match="must be a LogisticRegression with an L2 penalty"):
        WeightMoments.from_laplace(RidgeClassifier().fit(X, y), X, y)
    with pytest.raises(InvalidInputError, match="is not a fitted linear classifier"):
        WeightMoments.from_laplace(LogisticRegression(), X, y)
    with pytest.raises(InvalidInputError, match="it has 5 coefficients"):
        WeightMoments.from_laplace(fitted, X[:, :3], y)
    with pytest.raises(InvalidInputError, match=r"classes \[0, 1\], the data 5 columns and classes \[1, 2\]"):
        WeightMoments.from_laplace(fitted, X, y + 1)
