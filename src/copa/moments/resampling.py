"""A radius for the scores that matter: how far a fresh sample of the same population moves their moments."""

from typing import Any

import numpy as np

from copa.arrays import Array, as_floats, as_symmetric, semidefinite_root
from copa.exceptions import InvalidInputError
from copa.moments.retraining import retrained_parameters
from copa.moments.subsets import as_generator, draw_bootstrap
from copa.moments.training_data import TrainingData
from copa.moments.weight_moments import WeightMoments


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
    estimator, X, y : as in `WeightMoments.from_retraining`
    moments : the nominal ones, of refits of the same estimator on the same data
    drift : (D, D) shape of the ball; None for the identity. With `moments.cov` the radius counts standard deviations.
    quantile : in (0, 1], over the rows
    n_samples, n_models : bootstrap samples, and refits in each
    random_state : None, int, numpy Generator or RandomState
    n_jobs : as in `retrained_parameters`

    Returns
    -------
    float

    Notes
    -----
    The ball has to hold the moments of one score at a time, which is what the guarantee of one option needs. It covers
    sampling from the same population, not a population that changes; for that, see `radius_from_history`.
    """
    data = TrainingData.read(X, y)
    if not 0.0 < quantile <= 1.0:
        raise InvalidInputError(f"quantile must lie in (0, 1], got {quantile!r}")
    for name, value in (("n_samples", n_samples), ("n_models", n_models)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 2:
            raise InvalidInputError(f"{name} must be an integer of at least 2, got {value!r}")
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
