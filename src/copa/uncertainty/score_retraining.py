"""The black box retrained: fits to resampled data, and how far a fresh sample moves the moments of their scores."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array, Indices
from copa._core.threads import for_each_chunk
from copa.exceptions import InvalidInputError, RetrainingError
from copa.models.base import thawed
from copa.models.black_box import BlackBox
from copa.uncertainty.ambiguity import MomentBall
from copa.uncertainty.retraining import draw_bootstrap

if TYPE_CHECKING:
    import pandas as pd


def standard_ball(n_options: int, radius: float) -> MomentBall:
    """The ball of standardised scores: theta = (1, g) where g has mean 0 and covariance I.

    An option is the point (m, r) with its mean score m and a row r of a root of the covariance of the menu's scores:
    then theta'(m, r) has the moments of its score over the retrained fits. The ball has the shape of the covariance, so
    that its radius counts standard deviations of retraining, and is the same for every menu of up to J options.
    """
    mean = np.zeros(n_options + 1)
    mean[0] = 1.0
    cov = np.eye(n_options + 1)
    cov[0, 0] = 0.0
    return MomentBall.read(mean, cov, radius, cov)


def score_points(scores: Array, owner: Indices, dimension: int) -> Array:
    """Options as points of the standard ball, from what K retrained fits say of them, (M, D).

    Parameters
    ----------
    scores : (K, M) of the options by the retrained fits
    owner : (M,) whose they are, ascending; no menu has more than D - 1 options
    """
    mean = scores.mean(axis=0)
    return standard_points(mean, (scores - mean) / np.sqrt(max(len(scores) - 1, 1)), owner, dimension)


def standard_points(mean: Array, factors: Array, owner: Indices, dimension: int) -> Array:
    """Options as points of the standard ball, (M, D).

    Parameters
    ----------
    mean : (M,) scores
    factors : (K, M) whose columns have the covariances of the scores as inner products, within each menu
    """
    points = np.zeros((len(mean), dimension))
    points[:, 0] = mean
    for i in np.unique(owner):
        own = np.flatnonzero(owner == i)
        root = np.asarray(np.linalg.qr(factors[:, own], mode="r"))  # its columns have the same inner products
        points[own[:, None], 1 + np.arange(len(root))] = root.T
    return points


@contextmanager
def quiet() -> Iterator[None]:
    """Silence warnings, whatever scikit-learn does to their filters meanwhile, and hold models to one thread.

    Its ensembles empty the filters and fill them again for every tree. These are shared by all threads: another thread
    may find them empty, complain, and even leave them so. One filter is also filled in faster than many. Threads of
    threads wait for each other, for many times as long as they work.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings(record=True):  # what is shown between two fillings is caught
        warnings.resetwarnings()
        warnings.simplefilter("ignore")
        yield


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
    """Clone the model and fit it to each sample of rows; its own randomness, where it has any, differs as well.

    The threads are ours: each refit has one, so that threads of threads do not wait for each other, and its sums do
    not depend on how many there are.
    """
    rows = X[list(model.columns)]
    labels = np.asarray(y)
    fits: list[Any] = [None] * len(samples)
    stopped = stopped_early(model.estimator)

    def work(some: slice) -> None:
        for k in range(*some.indices(len(samples))):
            estimator = unfitted(model.estimator)
            settings = _each(estimator, "random_state", seed + k) | _each(estimator, "n_jobs", 1) | stopped
            fits[k] = _fit(estimator.set_params(**settings), rows, labels, samples[k], model)
            advance(1)

    with quiet():
        for_each_chunk(work, len(samples), 1, n_jobs)
    return tuple(model.replaced(fit) for fit in fits)


def _fit(estimator: Any, rows: "pd.DataFrame", labels: Any, sample: Indices, model: BlackBox) -> Any:
    drawn = rows.iloc[sample]
    try:
        return estimator.fit(drawn if model.named else drawn.to_numpy(), labels[sample])
    except Exception as error:
        raise RetrainingError(
            f"{type(estimator).__name__} cannot be fitted again to resampled rows ({type(error).__name__}: {error}); "
            "make the pipeline robust to rare categories (handle_unknown='ignore'), or give more rows"
        ) from error


def unfitted(estimator: Any) -> Any:
    """A clone of the estimator in which nothing is frozen: what is not fitted again does not vary."""
    from sklearn.base import clone

    copy = clone(thawed(estimator))
    parts = copy.get_params().items()
    return copy.set_params(**{name: clone(thawed(part)) for name, part in parts if thawed(part) is not part})


def _each(estimator: Any, name: str, value: Any) -> dict[str, Any]:
    """The value for a setting of the estimator and of all its parts."""
    return {key: value for key in estimator.get_params() if key == name or key.endswith(f"__{name}")}


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
