"""Size and shape of an ambiguity set, from data instead of taste."""

from itertools import pairwise
from typing import Any, Literal, TypedDict, Unpack

import numpy as np

from copa._core.arrays import Array, as_floats, as_symmetric, as_vector, semidefinite_root
from copa._core.reading import read_count, read_share, read_word
from copa.exceptions import InvalidInputError
from copa.models.linear import parameter_history, parameter_vector
from copa.uncertainty.gelbrich import gelbrich_distance
from copa.uncertainty.pipelines import encoded_data, express_versions
from copa.uncertainty.retraining import (
    Indices,
    TrainingData,
    as_generator,
    draw_bootstrap,
    draw_with_both_classes,
    retrained_parameters,
)
from copa.uncertainty.weight_moments import WeightMoments


class RetrainingOptions(TypedDict, total=False):
    """Options of `WeightMoments.from_retraining` that `calibrate_radius` passes on."""

    n_models: int
    fraction: float
    n_jobs: int | None


def calibrate_radius(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    quantile: float = 0.95,
    n_splits: int = 40,
    method: Literal["disjoint", "bootstrap"] = "disjoint",
    drift: Any = None,
    random_state: Any = None,
    **retraining: Unpack[RetrainingOptions],
) -> float:
    """Measure how far the nominal moments move when the data are drawn again.

    For each split the moments are estimated by retraining on two samples of the data, independently; the
    radius is the given quantile of the Gelbrich distances between the two.

    Parameters
    ----------
    estimator : object
    X : array_like of shape (n, d)
    y : array_like of shape (n,)
        As in `retrained_parameters`: a linear classifier and its features, or a Pipeline and raw rows.
    quantile : float
        In (0, 1]; the radius is the smallest distance that at least this share of the distances do not
        exceed.
    n_splits : int
        Number of pairs of samples.
    method : {"disjoint", "bootstrap"}
        "disjoint": the two halves of a random split. "bootstrap": two samples of n rows, with replacement.
    drift : array_like of shape (D, D), optional
        Shape of the ball, as in `gelbrich_distance`. Give the bounds the same one.
    random_state : int, Generator or RandomState, optional
    **retraining
        `n_models` (default here 200), `fraction` and `n_jobs` of `WeightMoments.from_retraining`.

    Returns
    -------
    float

    Notes
    -----
    The radius covers *sampling*: another data set from the same population. Two halves are smaller than the
    data and share no row, so their distance is about sqrt(2) times that of two fresh samples of full size:
    "disjoint" errs on the wide side, "bootstrap" aims at the size itself but repeats rows. The finite number
    of refits adds a little to both. Neither sees a population that changes; for that, use
    `radius_from_history`.

    Examples
    --------
    >>> import copa
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = make_classification(200, 3, n_informative=2, n_redundant=0, random_state=0)
    >>> radius = copa.calibrate_radius(LogisticRegression(), X, y, n_splits=4, n_models=20, random_state=0)
    >>> 0.1 < radius < 2.0
    True

    A pipeline and a table of raw columns, in standard deviations of retraining:

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> data = copa.datasets.load_german()
    >>> table = data.features[["duration", "amount", "age"]]
    >>> pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(table, data.favourable)
    >>> shape = copa.WeightMoments.from_laplace(pipeline, table, data.favourable).cov
    >>> radius = copa.calibrate_radius(
    ...     pipeline, table, data.favourable, n_splits=4, n_models=20, drift=shape, random_state=0
    ... )
    >>> 1.0 < radius < 10.0
    True
    """
    estimator, X = encoded_data(estimator, X, y)
    data = TrainingData.read(X, y)
    read_share(quantile, "quantile", or_one=True)
    read_count(n_splits, "n_splits")
    read_word(method, ("disjoint", "bootstrap"), "method")
    if drift is not None:  # before the refits, which take a while
        drift = as_symmetric(drift, "drift", data.features.shape[1] + 1)
        semidefinite_root(drift, "drift")
    rng = as_generator(random_state)
    options: RetrainingOptions = {"n_models": 200, **retraining}

    def moments(rows: Indices) -> WeightMoments:
        return WeightMoments.from_retraining(
            estimator, data.features[rows], data.labels[rows], random_state=rng, **options
        )

    distances = []
    for _ in range(n_splits):
        first, second = _draw_pair(data.target, method, rng)
        distances.append(_distance(moments(first), moments(second), drift))
    return _quantile(distances, quantile)


def radius_from_history(versions: Any, *, quantile: float = 0.95, drift: Any = None, X: Any = None) -> float:
    """Measure how far past retrainings have moved the moments.

    Parameters
    ----------
    versions : sequence
        At least two versions, oldest first; each a WeightMoments, a parameter vector of shape (D,) or a fitted linear
        classifier, or all of them pipelines that end in one. All but the first count as point masses (covariance
        zero).
    quantile : float
        In (0, 1]; the radius is the smallest distance that at least this share of the distances do not
        exceed.
    drift : array_like of shape (D, D), optional
        Shape of the ball, as in `gelbrich_distance`, for instance from `estimate_drift`. Give the bounds the
        same one.
    X : DataFrame, optional
        Raw rows, needed for pipelines, as in `WeightMoments.from_history`.

    Returns
    -------
    float
        The quantile of the distances between each version and the next.

    Notes
    -----
    The radius covers *one* retraining of the kind seen so far, population changes included, if the next step
    is no worse than the quantile of the past ones. V versions hold V - 1 steps: a quantile close to 1 is
    the largest step seen, and no number of them covers a break that has never happened.

    Examples
    --------
    >>> import copa
    >>> copa.radius_from_history([[0.0, 1.0], [0.0, 1.5], [3.0, 5.5]])
    5.0

    Pipelines, each with a scaler of its own:

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> data = copa.datasets.load_german()
    >>> table, good = data.features[["duration", "amount", "age"]], data.favourable
    >>> versions = [
    ...     make_pipeline(StandardScaler(), LogisticRegression()).fit(table[:n], good[:n]) for n in (400, 700, 1000)
    ... ]
    >>> 0.0 < copa.radius_from_history(versions, X=table) < 1.0
    True
    """
    read_share(quantile, "quantile", or_one=True)
    moments = [_version_moments(version) for version in express_versions(versions, X)]
    if len(moments) < 2:
        raise InvalidInputError(f"versions must hold at least 2 versions, got {len(moments)}")
    return _quantile([_distance(a, b, drift) for a, b in pairwise(moments)], quantile)


def estimate_drift(history: Any, *, X: Any = None) -> Array:
    """Estimate the matrix Q of a transport cost s'Q^{-1}s from past parameter changes.

    Parameters
    ----------
    history : array_like of shape (V, D) or sequence of object
        Versions of the parameters, fitted linear classifiers or pipelines that end in one, oldest first, V >= 3.
    X : DataFrame, optional
        Raw rows, needed for pipelines, as in `WeightMoments.from_history`.

    Returns
    -------
    ndarray of shape (D, D)
        Positive semidefinite. Its diagonal is the mean squared change of each parameter from one version to
        the next; its correlations are shrunk. A parameter that never changed has a row of zeros: it cannot
        move.

    Notes
    -----
    **Not centred.** The ball lies around today's parameters, and what must be covered is the whole change to
    the next version, E[change change']: a trend that repeats from version to version is drift, not a nuisance
    to subtract.

    **Shrunk.** V - 1 changes rarely determine D(D+1)/2 numbers, and directions never seen so far would be
    declared impossible. Every change is divided by its parameter's root mean square, the second moments of
    the results are shrunk to the identity with the intensity of Ledoit and Wolf (2004), at least 1/V, and the
    units are put back. So a feature measured in other units gives the same Q in those units.

    **Normalisation.** sqrt(x'Qx) is the root mean square change of the score x'theta in one retraining (up to
    the shrinkage), and a ball of radius r moves the mean of that score by at most r times it: the radius
    counts standard deviations of drift *of any one score*. The change of the whole vector has a mean squared
    length of D in this cost, so a ball meant to hold whole vectors needs a radius of about sqrt(D);
    `radius_from_history` measures it.

    Examples
    --------
    >>> import copa
    >>> drift = copa.estimate_drift([[0.0, 1.0], [1.0, 1.0], [0.0, 1.0], [1.0, 1.0]])
    >>> drift.tolist()  # the second parameter never moved
    [[1.0, 0.0], [0.0, 0.0]]

    Pipelines, each with a scaler of its own:

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> data = copa.datasets.load_german()
    >>> table, good = data.features[["duration", "amount", "age"]], data.favourable
    >>> versions = [
    ...     make_pipeline(StandardScaler(), LogisticRegression()).fit(table[:n], good[:n]) for n in (400, 700, 1000)
    ... ]
    >>> copa.estimate_drift(versions, X=table).shape
    (4, 4)
    """
    from sklearn.covariance import ledoit_wolf_shrinkage

    changes = np.diff(parameter_history(express_versions(history, X), minimum=3), axis=0)
    scale = np.sqrt(np.mean(changes**2, axis=0))
    moved = scale > 0.0
    if not moved.any():
        return np.zeros((scale.size, scale.size))
    unitless = changes[:, moved] / scale[moved]
    intensity = max(ledoit_wolf_shrinkage(unitless, assume_centered=True), 1.0 / (len(changes) + 1))
    correlations = np.zeros((scale.size, scale.size))
    correlations[np.ix_(moved, moved)] = (1.0 - intensity) * (unitless.T @ unitless) / len(changes)
    correlations[moved, moved] = 1.0
    drift: Array = correlations * np.outer(scale, scale)
    return drift


def _draw_pair(target: Array, method: str, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Return the rows of two samples in which both classes occur."""
    n = target.size

    def draw() -> tuple[Indices, Indices]:
        if method == "disjoint":
            order = rng.permutation(n)
            return order[: n // 2], order[n // 2 :]
        return rng.integers(n, size=n), rng.integers(n, size=n)

    return draw_with_both_classes(draw, target, "pairs of samples")


def _version_moments(version: Any) -> WeightMoments:
    if isinstance(version, WeightMoments):
        return version
    theta = parameter_vector(version) if hasattr(version, "coef_") else as_vector(version, "a version")
    return WeightMoments(theta, np.zeros((theta.size, theta.size)))


def _distance(a: WeightMoments, b: WeightMoments, drift: Any) -> float:
    return gelbrich_distance(a.mean, a.cov, b.mean, b.cov, drift)


def _quantile(distances: list[float], quantile: float) -> float:
    # An observed distance, never a mixture of two: interpolation would promise less than was seen.
    return float(np.quantile(distances, quantile, method="inverted_cdf"))


def resampling_radius(  # noqa: PLR0913 - all but four by keyword
    estimator: Any,
    X: Any,
    y: Any,
    moments: WeightMoments,
    *,
    drift: Any = None,
    quantile: float = 0.95,
    n_samples: int = 50,
    n_models: int = 20,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> float:
    """The radius that covers the scores of typical rows when the model is retrained on a fresh sample.

    The next model comes from other data: its parameters vary with the sample and, within the sample, with the
    retraining. Bootstrap samples estimate the moments of both together. For a row x the score theta'x then has other
    moments than the nominal ones, and their distance divided by |x|_Q is the radius that reaches them; the result is a
    quantile of it over the rows of X.

    Parameters
    ----------
    estimator : object
    X : array_like of shape (n, d)
    y : array_like of shape (n,)
        As in `retrained_parameters`: a linear classifier and its features, or a Pipeline and raw rows.
    moments : WeightMoments
        The nominal ones, of refits of the same estimator on the same data.
    drift : array_like of shape (D, D), optional
        Shape of the ball; None for the identity. With `moments.cov` the radius counts standard deviations.
    quantile : float
        In (0, 1], over the rows.
    n_samples : int
        Bootstrap samples.
    n_models : int
        Refits in each.
    random_state : int, Generator or RandomState, optional
    n_jobs : int, optional
        As in `retrained_parameters`.

    Returns
    -------
    float

    Notes
    -----
    The ball has to hold the moments of one score at a time, which is what the guarantee of one option needs. It covers
    sampling from the same population, not a population that changes; for that, see `radius_from_history`.

    Examples
    --------
    >>> import copa
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = make_classification(200, 3, n_informative=2, n_redundant=0, random_state=0)
    >>> moments = copa.WeightMoments.from_retraining(LogisticRegression(), X, y, n_models=50, random_state=0)
    >>> radius = copa.resampling_radius(
    ...     LogisticRegression(), X, y, moments, drift=moments.cov, n_samples=10, n_models=10, random_state=0
    ... )
    >>> 0.1 < radius < 3.0  # in standard deviations
    True

    A pipeline and a table of raw columns:

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> data = copa.datasets.load_german()
    >>> table = data.features[["duration", "amount", "age"]]
    >>> pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(table, data.favourable)
    >>> moments = copa.WeightMoments.from_laplace(pipeline, table, data.favourable)
    >>> radius = copa.resampling_radius(
    ...     pipeline, table, data.favourable, moments, drift=moments.cov, n_samples=10, n_models=10, random_state=0
    ... )
    >>> 0.1 < radius < 3.0
    True
    """
    estimator, X = encoded_data(estimator, X, y)
    data = TrainingData.read(X, y)
    read_share(quantile, "quantile", or_one=True)
    read_count(n_samples, "n_samples", least=2)
    read_count(n_models, "n_models", least=2)
    n_parameters = data.features.shape[1] + 1
    if moments.mean.size != n_parameters:
        raise InvalidInputError(
            f"moments must be of the {n_parameters} parameters that X gives (the intercept is one of them), got "
            f"{moments.mean.size}"
        )
    shape = np.eye(n_parameters)
    if drift is not None:  # before the refits, which take a while
        shape = as_symmetric(drift, "drift", n_parameters)
        semidefinite_root(shape, "drift")
    rng = as_generator(random_state)
    samples = []
    for _ in range(n_samples):
        drawn = draw_bootstrap(data.target, rng)
        refits = retrained_parameters(
            estimator, data.features[drawn], data.labels[drawn], n_models=n_models, random_state=rng, n_jobs=n_jobs
        )
        samples.append(refits)
    mean, cov = _pooled(np.stack(samples))
    rows = np.column_stack([np.ones(len(data.features)), data.features])
    return float(np.quantile(_score_distances(rows, moments, mean, cov, shape), quantile, method="inverted_cdf"))


def _pooled(refits: Array) -> tuple[Array, Array]:
    """Moments of the parameters over samples and refits (B, K, D): within plus between."""
    centres = refits.mean(axis=1)
    within = np.mean([np.cov(sample, rowvar=False) for sample in refits], axis=0)
    # The means of K refits vary by within / K more than the samples' own means.
    between = np.cov(centres, rowvar=False) - within / refits.shape[1]
    return centres.mean(axis=0), within + between


def _score_distances(rows: Array, nominal: WeightMoments, mean: Array, cov: Array, shape: Array) -> Array:
    """Distance between the nominal and the other moments of each row's score, in units of |x|_Q, (n,)."""

    def lengths(matrix: Array) -> Array:
        return as_floats(
            np.sqrt(np.maximum(np.einsum("nd,de,ne->n", rows, matrix, rows, optimize=True), 0.0)), "lengths"
        )

    moved = np.hypot(rows @ (mean - nominal.mean), lengths(cov) - lengths(nominal.cov))
    reach = lengths(shape)
    known = reach > 0.0  # a row that the ball cannot move needs no radius
    return as_floats(moved[known] / reach[known] if known.any() else np.zeros(1), "distances")
