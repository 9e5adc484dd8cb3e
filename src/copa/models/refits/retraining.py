"""Parameters of a model refitted many times on random subsets of its training data."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, as_floats, require_finite
from copa._core.progress import counting
from copa._core.reading import read_count
from copa.data.tables.frames import as_pandas, is_table
from copa.exceptions import InvalidInputError
from copa.models.base import best_of, labels_of_rows, thawed, unfitted
from copa.models.linear import LinearModel, at_chosen_penalty, base_classifier, parameter_vector
from copa.models.refits.logistic import LogisticModel, LogisticProblem, damped_newton, refit_logistic
from copa.models.refits.penalty import keep_penalty_per_row
from copa.models.refits.subsets import Indices, draw_subset, subset_size


def as_generator(random_state: Any) -> np.random.Generator:
    """Return a numpy Generator for None, an int, a Generator (used as it is) or a RandomState (advanced)."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    allowed = random_state is None or isinstance(random_state, (int, np.integer, np.random.Generator))
    if not allowed or isinstance(random_state, bool):
        raise InvalidInputError(
            f"random_state must be None, an int, a numpy Generator or a numpy RandomState, got {random_state!r}"
        )
    try:
        return np.random.default_rng(random_state)
    except ValueError as error:
        raise InvalidInputError(f"random_state must not be negative, got {random_state!r}") from error


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Features and labels of a binary classification problem.

    Attributes
    ----------
    features : ndarray of shape (n, d)
    labels : ndarray of shape (n,)
        As the caller gave them.
    classes : ndarray of shape (2,)
        The two labels, sorted as scikit-learn sorts them; `classes[1]` is the positive one.
    target : ndarray of shape (n,)
        1.0 where the label is `classes[1]`, else 0.0.
    """

    features: Array
    labels: npt.NDArray[Any]
    classes: npt.NDArray[Any]
    target: Array

    @classmethod
    def read(cls, X: Any, y: Any) -> "TrainingData":
        """Return the checked data: `X` finite of shape (n, d), `y` of shape (n,) with two labels."""
        features = as_floats(X, "X")
        if features.ndim != 2 or features.size == 0:
            raise InvalidInputError(f"X must have shape (n, d) with n, d >= 1, got {features.shape}")
        require_finite(features, "X")
        labels = labels_of_rows(y, len(features))
        if labels.dtype.kind == "f":
            require_finite(labels, "y")
        try:
            classes = np.unique(labels)
        except TypeError as error:
            raise InvalidInputError(f"y must hold labels of one type without missing values: {error}") from error
        if classes.size != 2:
            shown = ", ".join(repr(label) for label in classes[:5].tolist())
            raise InvalidInputError(f"y must hold exactly 2 classes, got {classes.size}: {shown}")
        return cls(features, labels, classes, (labels == classes[1]).astype(np.float64))


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
        A scikit-learn linear classifier, fitted or not; it is not changed. The penalty per row is that of a fit to all
        rows (`keep_penalty_per_row`): on half of the rows `C` is doubled. A LogisticRegression with an L2
        penalty or none is refitted by a batched Newton method to full convergence (`tol` and `max_iter` play
        no part); every other classifier, and a penalised logistic regression with more than 80 features, is
        cloned and fitted. Of a Pipeline that ends in one, the transformers encode X once and are the same in all
        refits (a planner refits them too); of a CalibratedClassifierCV, the base is refitted.
    X : array_like of shape (n, d)
        Features; for a Pipeline, raw rows such as a DataFrame.
    y : array_like of shape (n,)
        Two classes.
    n_models : int
        Number of refits K, at least 2.
    fraction : float
        Share of the rows in each subset, in (0, 1]; drawn without replacement, both classes present.
    random_state : int, Generator or RandomState, optional
        An estimator whose own `random_state` is None gets a different one, drawn from this, in every refit.
    n_jobs : int, optional
        Processes of joblib for the classifiers that are cloned and fitted, None for all cores. The result does not
        depend on it.

    Returns
    -------
    ndarray of shape (K, d + 1)
        One theta = (intercept, coef...) per refit, for a Pipeline on its d encoded columns; theta'(1, x) > 0 means the
        larger of the two labels.

    Raises
    ------
    InvalidInputError
        If an argument is outside what is allowed, or the estimator is not a linear classifier.
    RetrainingError
        If a refit has no solution, or the subsets keep missing one class.

    Examples
    --------
    >>> import copa
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = make_classification(200, 3, n_informative=2, n_redundant=0, random_state=0)
    >>> copa.retrained_parameters(LogisticRegression(), X, y, n_models=10, random_state=0).shape
    (10, 4)

    A pipeline and a table of raw columns:

    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder, StandardScaler
    >>> data = copa.datasets.load_german()
    >>> table = data.features[["duration", "amount", "housing"]]
    >>> encoder = make_column_transformer((OneHotEncoder(), ["housing"]), remainder=StandardScaler())
    >>> pipeline = make_pipeline(encoder, LogisticRegression()).fit(table, data.favourable)
    >>> copa.retrained_parameters(pipeline, table, data.favourable, n_models=10, random_state=0).shape
    (10, 6)
    """
    estimator, X = _encoded_data(estimator, X, y)
    data = TrainingData.read(X, y)
    read_count(n_models, "n_models", least=2)
    size = subset_size(data.target.size, fraction)
    share = size / data.target.size
    rng = as_generator(random_state)
    subsets = (draw_subset(data.target, size, rng) for _ in range(n_models))
    model = LogisticModel.from_estimator(estimator)
    wide = data.features.shape[1] > MAX_FEATURES
    # Without a penalty only the Newton method notices that a refit has no solution, so it is used at any width.
    if model is None or (wide and model.coef_ridge > 0.0):
        # A stream of their own for the seeds: the subsets are the same for every estimator.
        return _clone_and_fit(estimator, data, subsets, share, n_models, rng.spawn(1)[0], n_jobs)
    return _refit_together(model, data, subsets, share, n_models)


def _refit_together(
    model: LogisticModel, data: TrainingData, subsets: Iterator[Indices], share: float, n_models: int
) -> Array:
    """Parameters of logistic regressions on subsets with a share of the rows each, by one Newton method."""

    def weights(subset: Indices) -> Array:
        row = np.zeros(data.target.size)
        row[subset] = model.row_weights(data.target[subset], data.classes)
        return row

    problem = LogisticProblem(model.design(data.features), data.target, model.ridge(data.features.shape[1]))
    start = damped_newton(problem, model.row_weights(data.target, data.classes), np.zeros(problem.ridge.size))
    penalised = replace(problem, ridge=share * problem.ridge)
    fitted = refit_logistic(penalised, map(weights, subsets), start, n_refits=n_models)
    if model.fit_intercept:
        return fitted
    return np.column_stack([np.zeros(len(fitted)), fitted])


def _clone_and_fit(
    estimator: Any,
    data: TrainingData,
    subsets: Iterator[Indices],
    share: float,
    n_models: int,
    seeds: np.random.Generator,
    n_jobs: int | None,
) -> Array:
    from joblib import Parallel, delayed
    from sklearn.base import is_classifier

    if not (hasattr(estimator, "get_params") and is_classifier(estimator)):
        raise InvalidInputError(f"estimator must be a scikit-learn linear classifier, got {type(estimator).__name__}")
    kept = keep_penalty_per_row(estimator, share)
    seeded = "random_state" in estimator.get_params() and estimator.get_params()["random_state"] is None

    def tasks() -> Iterator[Any]:
        # Subsets and seeds are drawn here, one after the other: the order of the workers cannot matter.
        for subset in subsets:
            seed = {"random_state": int(seeds.integers(2**31))} if seeded else {}
            yield delayed(_refit_parameters)(estimator, data.features, data.labels, subset, kept | seed)

    refits = Parallel(n_jobs=-1 if n_jobs is None else n_jobs, return_as="generator")(tasks())
    return np.stack(list(counting(refits, "refitting the model", n_models, "refits")))


def _refit_parameters(estimator: Any, features: Array, labels: Any, subset: Indices, settings: dict[str, Any]) -> Array:
    return parameter_vector(refit(estimator, features[subset], labels[subset], settings))


def refit(estimator: Any, rows: Any, labels: Any, settings: Mapping[str, Any]) -> Any:
    """Clone an estimator, change some of its settings and fit it."""
    return unfitted(estimator).set_params(**settings).fit(rows, labels)


def _encoded_data(estimator: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Return the linear classifier inside of a pipeline, calibration or search, and the rows as it is given them."""
    import pandas as pd
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.pipeline import Pipeline

    inner = best_of(estimator)
    if inner is estimator and not isinstance(thawed(inner), (Pipeline, CalibratedClassifierCV)):
        return at_chosen_penalty(estimator), X
    rows = as_pandas(X) if is_table(X) else pd.DataFrame(np.asarray(X)).rename(columns=lambda k: f"x{k}")
    model = LinearModel.read(_fitted(estimator, X, y), rows.columns)
    return base_classifier(model.classifier), model.encode(rows)[:, 1:]


def _fitted(estimator: Any, X: Any, y: Any) -> Any:
    """Return the estimator where it is fitted, else a fit of its clone."""
    from sklearn.base import clone
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return clone(estimator).fit(X, y)
    return estimator
