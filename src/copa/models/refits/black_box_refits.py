"""Black boxes fitted again to parts of their rows."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Indices
from copa._core.threads import for_each_chunk, one_thread_no_warnings
from copa.exceptions import InvalidInputError, RetrainingError
from copa.models.base import unfitted
from copa.models.black_box import BlackBox
from copa.models.refits.retraining import refit

if TYPE_CHECKING:
    import pandas as pd


def retrain(
    model: BlackBox,
    X: "pd.DataFrame",
    y: Any,
    samples: list[Indices],
    *,
    seed: int,
    n_jobs: int | None,
    advance: Callable[[int], None],
    changes: Mapping[str, Any] | None = None,
) -> tuple[BlackBox, ...]:
    """Clone the model and fit it to each sample of rows; its own randomness, where it has any, differs as well.

    The threads are ours: each refit has one, so that threads of threads do not wait for each other, and its sums do
    not depend on how many there are. `changes` are further settings of each refit.
    """
    rows = X[list(model.columns)]
    labels = np.asarray(y)
    fits: list[Any] = [None] * len(samples)
    parts = unfitted(model.estimator).get_params()
    same = _each(parts, "n_jobs", 1) | stopped_early(model.estimator) | dict(changes or {})

    def random_states(value: int) -> dict[str, Any]:
        return _each(parts, "random_state", value)

    def work(some: slice) -> None:
        for k in range(*some.indices(len(samples))):
            fits[k] = _refit(model, rows.iloc[samples[k]], labels[samples[k]], same | random_states(seed + k))
            advance(1)

    with one_thread_no_warnings():
        for_each_chunk(work, len(samples), 1, n_jobs)
    return tuple(model.replaced(fit) for fit in fits)


def _refit(model: BlackBox, rows: "pd.DataFrame", labels: Any, settings: Mapping[str, Any]) -> Any:
    try:
        return refit(model.estimator, rows if model.named else rows.to_numpy(), labels, settings)
    except Exception as error:
        raise RetrainingError(
            f"{type(model.estimator).__name__} cannot be fitted again to resampled rows ({type(error).__name__}: "
            f"{error}); make the pipeline robust to rare categories (handle_unknown='ignore'), or give more rows"
        ) from error


def _each(parameters: Iterable[str], name: str, value: Any) -> dict[str, Any]:
    """The value for a setting of an estimator and of all its parts, by the names of all parameters."""
    return {key: value for key in parameters if key == name or key.endswith(f"__{name}")}


def stopped_early(estimator: Any) -> dict[str, Any]:
    """Settings that give a refit as many trees as early stopping left to the model.

    XGBoost and LightGBM stop by a validation set that was given to `fit` beside the data. A refit has none: it would
    fail, or grow all the trees that the model could have had.
    """
    from sklearn.pipeline import Pipeline

    prefix, last = "", estimator
    while isinstance(last, Pipeline):
        name, last = last.steps[-1]
        prefix += f"{name}__"
    parameters = last.get_params() if hasattr(last, "get_params") else {}
    if hasattr(last, "best_iteration_"):  # LightGBM counts trees from 1, and has 0 where nothing stopped it
        n_trees = int(last.best_iteration_ or 0)
    elif parameters.get("early_stopping_rounds") and hasattr(last, "best_iteration"):  # XGBoost counts them from 0
        n_trees = int(last.best_iteration) + 1
    else:
        return {}
    settings: dict[str, Any] = {"n_estimators": n_trees} if n_trees > 0 and "n_estimators" in parameters else {}
    if "early_stopping_rounds" in parameters:
        settings["early_stopping_rounds"] = None
    return {f"{prefix}{name}": value for name, value in settings.items()}


def require_clonable(model: BlackBox) -> None:
    """Raise if the model cannot be fitted again."""
    try:
        unfitted(model.estimator)
    except TypeError as error:
        raise InvalidInputError(
            f"{type(model.estimator).__name__} cannot be cloned and retrained: it must be a scikit-learn estimator "
            "(get_params, set_params)"
        ) from error
