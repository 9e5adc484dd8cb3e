"""Refits of a logistic regression on random halves: COPA's batched Newton method against a scikit-learn loop.

One core, both sides in the same run, on the same subsets. The time of scikit-learn is that of its default
settings; the coefficients are compared with its fits at a tight tolerance.
Run as `python benchmarks/retraining.py`.
"""

import time
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from copa.moments import retrained_parameters
from copa.moments.subsets import as_generator, draw_subset

SIZES = [(1000, 5), (1000, 20), (1000, 50), (10_000, 20)]  # rows, features
N_MODELS = 1000
N_COMPARED = 50  # refits whose coefficients are compared: the tight fits of scikit-learn are slow
REPEATS = 3  # of COPA's side, of which the median counts; the loop is long enough to be stable


def run() -> list[dict[str, Any]]:
    with threadpool_limits(1):
        retrained_parameters(LogisticRegression(), *_data(100, 3), n_models=2)  # lazy imports
        return [_measure(n_rows, n_features) for n_rows, n_features in SIZES]


def _measure(n_rows: int, n_features: int) -> dict[str, Any]:
    X, y = _data(n_rows, n_features)
    rng = as_generator(0)
    subsets = [draw_subset(y.astype(float), n_rows // 2, rng) for _ in range(N_MODELS)]

    start = time.perf_counter()
    _loop(LogisticRegression(), X, y, subsets)
    loop_seconds = time.perf_counter() - start

    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        thetas = retrained_parameters(LogisticRegression(), X, y, n_models=N_MODELS, random_state=0)
        seconds.append(time.perf_counter() - start)

    tight = _loop(LogisticRegression(tol=1e-9, max_iter=10_000), X, y, subsets[:N_COMPARED])
    return {
        "models": N_MODELS,
        "rows": n_rows,
        "features": n_features,
        "scikit-learn s": loop_seconds,
        "copa s": float(np.median(seconds)),
        "ratio": loop_seconds / float(np.median(seconds)),
        "max coefficient difference": float(np.abs(thetas[:N_COMPARED] - tight).max()),
    }


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


if __name__ == "__main__":
    table = run()
    print("  ".join(table[0]))
    for row in table:
        print("  ".join(f"{value:.3g}".rjust(len(name)) for name, value in row.items()))
