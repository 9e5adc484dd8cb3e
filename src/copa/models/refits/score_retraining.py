"""Black boxes retrained on parts of their rows, and moments of scores as an ambiguity set.

A black box has no parameters. Where a surrogate assumes how the scores of rows vary, that is enough: a row enters the
bounds only through the mean of its score and inner products with the others. `standard_points` writes options as points
whose products are those, and `standard_ball` is the ambiguity set in which they lie, the same for every plan of up to J
options. So parameters of linear models and moments of scores enter the bounds by one door.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array, Indices
from copa._core.threads import for_each_chunk, no_warnings, one_blas_thread
from copa.exceptions import InvalidInputError, RetrainingError
from copa.models.base import unfitted
from copa.models.black_box import BlackBox
from copa.models.refits.retraining import (
    draw_with_both_classes,
    refit,
    subset_size,
)

if TYPE_CHECKING:
    import pandas as pd


@contextmanager
def one_thread_no_warnings() -> Iterator[None]:
    """Silence warnings, and hold models to one thread: threads of threads wait for each other longer than they work."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="openmp"), one_blas_thread, no_warnings:  # OpenMP's is of the calling thread
        yield


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
    known = last.get_params() if hasattr(last, "get_params") else {}
    if hasattr(last, "best_iteration_"):  # LightGBM counts trees from 1, and has 0 where nothing stopped it
        n_trees = int(last.best_iteration_ or 0)
    elif known.get("early_stopping_rounds") and hasattr(last, "best_iteration"):  # XGBoost counts them from 0
        n_trees = int(last.best_iteration) + 1
    else:
        return {}
    settings: dict[str, Any] = {"n_estimators": n_trees} if n_trees > 0 and "n_estimators" in known else {}
    if "early_stopping_rounds" in known:
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


THIRD = 1.0 / 3.0  # of the rows


def draw_thirds_in_halves(
    target: Array, n_samples: tuple[int, ...], n_sides: int, rng: np.random.Generator
) -> list[Indices]:
    """Random thirds of the rows, without replacement, each within one half of a split and with both classes.

    Around a fit to all n rows, fits to m of them vary by (n - m) / m times the variance of a fit to n fresh rows: with
    a third, as a model on fresh data varies around today's, both being samples. A refit inside one half has seen
    nothing of the other one.

    Parameters
    ----------
    target : ndarray of shape (n,)
    n_samples : tuple of int
        Of each group of samples, which follow one another; sample k of each is in half k % n_sides.
    n_sides : int
        Number of halves, even: 2 i and 2 i + 1 are those of one split.
    rng : numpy.random.Generator
    """
    size = subset_size(target.size, THIRD)
    halves: list[Indices] = []
    for _ in range(n_sides // 2):
        order = rng.permutation(target.size)
        halves += [np.sort(order[: target.size // 2]), np.sort(order[target.size // 2 :])]

    def draw(half: Indices) -> Indices:
        few = min(size, half.size)
        what = f"subsets of {few} out of {half.size} rows"
        return draw_with_both_classes(lambda: np.sort(rng.choice(half, few, replace=False)), target, what)

    return [draw(halves[k % n_sides]) for n in n_samples for k in range(n)]
