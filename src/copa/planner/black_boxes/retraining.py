"""The black box retrained: fits to resampled data, and how far a fresh sample moves the moments of their scores."""

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from copa.arrays import Array
from copa.exceptions import InvalidInputError, RetrainingError
from copa.models.black_box import BlackBox
from copa.moments.subsets import Indices, draw_bootstrap
from copa.workers import for_each_chunk

if TYPE_CHECKING:
    import pandas as pd

COUNTED = 1.64  # standard errors: 95 % of a normal variable, one side


def retrain(
    model: BlackBox,
    X: "pd.DataFrame",
    y: Any,
    samples: list[Indices],
    *,
    seed: int,
    n_jobs: int | None,
    advance: Callable[[int], None],
) -> tuple[BlackBox, ...]:
    """Clone the model and fit it to each sample of rows; its own randomness, where it has any, differs as well."""
    from sklearn.base import clone

    rows = X[list(model.columns)]
    labels = np.asarray(y)
    fits: list[Any] = [None] * len(samples)

    def work(some: slice) -> None:
        for k in range(*some.indices(len(samples))):
            fits[k] = _fit(clone(model.estimator), rows.iloc[samples[k]], labels[samples[k]], seed + k, model)
            advance(1)

    with warnings.catch_warnings():  # scikit-learn's ensembles set the filters, which threads could leave behind
        for_each_chunk(work, len(samples), 1, n_jobs)
    return tuple(model.replaced(fit) for fit in fits)


def _fit(estimator: Any, rows: "pd.DataFrame", labels: Any, seed: int, model: BlackBox) -> Any:
    seeds = {name: seed for name in estimator.get_params() if name == "random_state" or name.endswith("__random_state")}
    estimator.set_params(**seeds)
    try:
        return estimator.fit(rows if model.named else rows.to_numpy(), labels)
    except Exception as error:
        raise RetrainingError(
            f"{type(estimator).__name__} cannot be fitted again to resampled rows ({type(error).__name__}: {error}); "
            "make the pipeline robust to rare categories (handle_unknown='ignore'), or give more rows"
        ) from error


def require_clonable(model: BlackBox) -> None:
    """Raise if the model cannot be fitted again."""
    from sklearn.base import clone

    try:
        clone(model.estimator)
    except TypeError as error:
        raise InvalidInputError(
            f"{type(model.estimator).__name__} cannot be cloned and retrained: it must be a scikit-learn estimator "
            "(get_params, set_params)"
        ) from error


def draw_samples(target: Array, n_samples: int, rng: np.random.Generator) -> list[Indices]:
    """Bootstrap samples of the rows."""
    return [draw_bootstrap(target, rng) for _ in range(n_samples)]


def fresh_data_radius(n_models: int) -> float:
    """How far the moments of a score may be off when the next model is trained on fresh data, in standard deviations.

    Seen from the data at hand, the score of a model trained on fresh data of the same population varies twice: these
    data are one sample, the next ones are another. That makes its standard deviation sqrt(2) times that of retraining
    on resampled data. K refits leave their mean unknown by 1 / sqrt(K) standard deviations and their spread by
    1 / sqrt(2 K); both are counted 1.64 times. The result is Gelbrich's distance of one score's moments.
    """
    mean = COUNTED / np.sqrt(n_models)
    spread = np.sqrt(2.0) - 1.0 + COUNTED / np.sqrt(2.0 * n_models)
    return float(np.hypot(mean, spread))
