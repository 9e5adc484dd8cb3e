"""Parameters of a model refitted many times on random subsets of its training data."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from copa.arrays import Array
from copa.exceptions import InvalidInputError
from copa.models.parameters import parameter_vector
from copa.moments.logistic_model import LogisticModel
from copa.moments.logistic_newton import LogisticProblem, damped_newton
from copa.moments.logistic_refits import refit_logistic
from copa.moments.subsets import Indices, as_generator, draw_subset, subset_size
from copa.moments.training_data import TrainingData

# The batched Newton method works on p x p Hessians; with more features scikit-learn's L-BFGS is the faster one.
MAX_FEATURES = 80


def retrained_parameters(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_models: int = 1000,
    fraction: float = 0.5,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Array:
    """Refit a linear classifier on random subsets of its training data.

    Parameters
    ----------
    estimator : object
        A scikit-learn linear classifier, fitted or not; it is not changed. A LogisticRegression with an L2
        penalty or none is refitted by a batched Newton method to full convergence (`tol` and `max_iter` play
        no part); every other classifier, and a penalised logistic regression with more than 80 features, is
        cloned and fitted.
    X : array_like of shape (n, d)
    y : array_like of shape (n,)
        Two classes.
    n_models : int
        Number of refits K, at least 2.
    fraction : float
        Share of the rows in each subset, in (0, 1]; drawn without replacement, both classes present.
    random_state : None, int, numpy Generator or RandomState
        An estimator whose own `random_state` is None gets a different one, drawn from this, in every refit.
    n_jobs : int or None
        Processes of joblib for the classifiers that are cloned and fitted, None for all cores. The result does not
        depend on it.

    Returns
    -------
    ndarray of shape (K, d + 1)
        One theta = (intercept, coef...) per refit; theta'(1, x) > 0 means the larger of the two labels.

    Raises
    ------
    InvalidInputError
        If an argument is outside what is allowed, or the estimator is not a linear classifier.
    RetrainingError
        If a refit has no solution, or the subsets keep missing one class.
    """
    data = TrainingData.read(X, y)
    if isinstance(n_models, bool) or not isinstance(n_models, (int, np.integer)) or n_models < 2:
        raise InvalidInputError(f"n_models must be an integer of at least 2, got {n_models!r}")
    size = subset_size(data.target.size, fraction)
    rng = as_generator(random_state)
    subsets = (draw_subset(data.target, size, rng) for _ in range(n_models))
    model = LogisticModel.from_estimator(estimator)
    wide = data.features.shape[1] > MAX_FEATURES
    # Without a penalty only the Newton method notices that a refit has no solution, so it is used at any width.
    if model is None or (wide and model.coef_ridge > 0.0):
        # A stream of their own for the seeds: the subsets are the same for every estimator.
        return _clone_and_fit(estimator, data, subsets, rng.spawn(1)[0], n_jobs)
    return _refit_together(model, data, subsets)


def _refit_together(model: LogisticModel, data: TrainingData, subsets: Iterator[Indices]) -> Array:
    def weights(subset: Indices) -> Array:
        row = np.zeros(data.target.size)
        row[subset] = model.row_weights(data.target[subset], data.classes)
        return row

    problem = LogisticProblem(model.design(data.features), data.target, model.ridge(data.features.shape[1]))
    start = damped_newton(problem, model.row_weights(data.target, data.classes), np.zeros(problem.ridge.size))
    fitted = refit_logistic(problem, map(weights, subsets), start)
    if model.fit_intercept:
        return fitted
    return np.column_stack([np.zeros(len(fitted)), fitted])


def _clone_and_fit(
    estimator: Any,
    data: TrainingData,
    subsets: Iterator[Indices],
    seeds: np.random.Generator,
    n_jobs: int | None,
) -> Array:
    from joblib import Parallel, delayed
    from sklearn.base import is_classifier

    if not (hasattr(estimator, "get_params") and is_classifier(estimator)):
        raise InvalidInputError(f"estimator must be a scikit-learn linear classifier, got {type(estimator).__name__}")
    seeded = "random_state" in estimator.get_params() and estimator.get_params()["random_state"] is None

    def tasks() -> Iterator[Any]:
        # Subsets and seeds are drawn here, one after the other: the order of the workers cannot matter.
        for subset in subsets:
            settings = {"random_state": int(seeds.integers(2**31))} if seeded else {}
            yield delayed(_fit_clone)(estimator, data.features, data.labels, subset, settings)

    return np.stack(Parallel(n_jobs=-1 if n_jobs is None else n_jobs)(tasks()))


def _fit_clone(estimator: Any, features: Array, labels: Any, subset: Indices, settings: dict[str, int]) -> Array:
    from sklearn.base import clone

    return parameter_vector(clone(estimator).set_params(**settings).fit(features[subset], labels[subset]))
