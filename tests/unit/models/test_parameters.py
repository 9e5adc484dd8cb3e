import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.svm import SVC, LinearSVC

from copa.exceptions import InvalidInputError
from copa.models.linear import parameter_vector


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        LinearSVC(fit_intercept=False),
        RidgeClassifier(),
        Perceptron(),
        SGDClassifier(),
        SVC(kernel="linear"),
    ],
    ids=str,
)
def test_the_parameters_reproduce_the_decision_function(credit, estimator):
    X, y = credit
    X = X / X.std(axis=0)
    model = estimator.fit(X, y)
    theta = parameter_vector(model)
    np.testing.assert_allclose(theta[0] + X @ theta[1:], model.decision_function(X), rtol=1e-9, atol=1e-9)


def test_what_is_not_a_fitted_binary_linear_classifier_is_refused(credit):
    X, y = credit
    with pytest.raises(InvalidInputError, match="SVC is not a fitted linear classifier"):
        parameter_vector(SVC().fit(X, y))
    with pytest.raises(InvalidInputError, match="got 3 classes"):
        parameter_vector(RidgeClassifier().fit(X, np.arange(300) % 3))
