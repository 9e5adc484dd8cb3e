"""Refits of a logistic regression on random halves: COPA's batched Newton method against a scikit-learn loop.

One core, both sides in the same run, on the same subsets. The time of scikit-learn is that of its default
settings; the coefficients are compared with its fits at a tight tolerance.
"""

import warnings

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from benchmarks.reporting import Row
from benchmarks.timing import taking_turns
from copa.models.refits import retrained_parameters
from copa.models.refits.retraining import as_generator
from copa.models.refits.subsets import draw_subset

SIZES = [(1000, 5), (1000, 20), (1000, 50), (10_000, 20)]  # rows, features
N_MODELS = 1000
N_COMPARED = 50  # refits whose coefficients are compared: the tight fits of scikit-learn are slow
ROUNDS = 2
TARGET_SIZE = (1000, 20)  # the size for which ten times scikit-learn is promised, at coefficients equal to 1e-5


def run(*, quick: bool) -> list[Row]:
    with threadpool_limits(1):
        retrained_parameters(LogisticRegression(), *_data(100, 3), n_models=2)  # lazy imports
        return [_measure(n_rows, n_features) for n_rows, n_features in (SIZES[:1] if quick else SIZES)]


def _measure(n_rows: int, n_features: int) -> Row:
    X, y = _data(n_rows, n_features)
    rng = as_generator(0)
    subsets = [draw_subset(y.astype(float), n_rows // 2, rng) for _ in range(N_MODELS)]
    measured = taking_turns(
        {
            "loop": (lambda: _loop(LogisticRegression(), X, y, subsets), 1),
            "copa": (lambda: retrained_parameters(LogisticRegression(), X, y, n_models=N_MODELS, random_state=0), 2),
        },
        rounds=ROUNDS,
    )
    tight = _loop(LogisticRegression(tol=1e-9, max_iter=10_000), X, y, subsets[:N_COMPARED])
    thetas = measured["copa"].result
    difference = float(np.abs(thetas[:N_COMPARED] - tight).max())
    finite = int(np.isfinite(thetas).all(axis=1).sum())
    return Row(
        name=f"{N_MODELS:,} refits on random halves",
        size=f"{n_rows:,} rows, {n_features} features",
        seconds=measured["copa"].seconds,
        baseline="scikit-learn, one by one",
        baseline_seconds=measured["loop"].seconds,
        at_least=10.0 if (n_rows, n_features) == TARGET_SIZE and difference <= 1e-5 else None,
        status=f"{finite:,} finite",
        accuracy=f"coefficients differ by {difference:.0e}",
    )


def _data(n_rows: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    informative = max(2, n_features // 2)
    X, y = make_classification(n_rows, n_features, n_informative=informative, n_redundant=0, flip_y=0.1, random_state=0)
    return X, y


def _loop(estimator: LogisticRegression, X: np.ndarray, y: np.ndarray, subsets: list[np.ndarray]) -> np.ndarray:
    thetas = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a tolerance below rounding is asked for on purpose
        for rows in subsets:
            model = clone(estimator).fit(X[rows], y[rows])
            thetas.append(np.concatenate([model.intercept_, model.coef_[0]]))
    return np.array(thetas)
