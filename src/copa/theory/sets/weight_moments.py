"""Mean and covariance of the parameters of later models."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from copa._core.arrays import Array, as_floats, as_symmetric, as_vector, require_finite, semidefinite_root
from copa._core.representation import short_repr
from copa.exceptions import InvalidInputError
from copa.models.refits.retraining import retrained_parameters


@dataclass(frozen=True, eq=False)
class WeightMoments:
    """First two moments of the random parameter vector theta = (intercept, coef...) of a linear classifier.

    The distribution itself is left open: the bounds hold for every distribution with these moments, and for
    all moments within a radius of them (`gelbrich_distance`).

    Parameters
    ----------
    mean : array_like of shape (D,)
    cov : array_like of shape (D, D)
        Symmetric positive semidefinite; may be singular.
    oriented : bool
        Whether the parameters are turned towards the favourable label and cut off at the threshold, as those of a
        planner's `moments_` are, or as scikit-learn has them.

    Attributes
    ----------
    mean, cov : ndarray
        Read-only copies. Two objects are equal only if they are the same object.

    Examples
    --------
    >>> import copa
    >>> moments = copa.WeightMoments.from_samples([[0.0, 1.0], [2.0, 1.0], [1.0, 4.0]])
    >>> moments.mean, moments.cov
    (array([1., 2.]), array([[1., 0.],
           [0., 3.]]))
    """

    __repr__ = short_repr

    mean: Array
    cov: Array
    oriented: bool = False

    def __post_init__(self) -> None:
        mean = as_vector(self.mean, "mean").copy()
        cov = as_symmetric(self.cov, "cov", mean.size)  # a new array
        semidefinite_root(cov, "cov")
        for name, array in (("mean", mean), ("cov", cov)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def from_samples(cls, thetas: Any) -> "WeightMoments":
        """Return the sample mean and the unbiased sample covariance.

        Parameters
        ----------
        thetas : array_like of shape (K, D)
            Parameter vectors, K >= 2.

        Returns
        -------
        WeightMoments
        """
        samples = as_floats(thetas, "thetas")
        if samples.ndim != 2 or len(samples) < 2 or samples.shape[1] == 0:
            raise InvalidInputError(f"thetas must have shape (K, D) with K >= 2, got {samples.shape}")
        require_finite(samples, "thetas")
        weights = np.full(len(samples), 1.0 / len(samples))
        mean = weights @ samples
        deviations = samples - mean
        return cls(mean, (weights * deviations.T) @ deviations / (1.0 - weights @ weights))

    @classmethod
    def from_retraining(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        n_models: int = 1000,
        fraction: float = 0.5,
        random_state: Any = None,
        *,
        n_jobs: int | None = None,
    ) -> "WeightMoments":
        """Return the moments of refits on random subsets of the training data.

        Parameters and errors are those of `retrained_parameters`; of a Pipeline they are the moments of its
        classifier's parameters on the encoded columns. At the default fraction of one half the covariance estimates
        the sampling covariance of a fit on all n rows: subsets of m rows drawn without replacement vary around the
        full fit with (n - m) / m times that covariance.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn.pipeline import make_pipeline
        >>> from sklearn.preprocessing import StandardScaler
        >>> import copa
        >>> data = copa.datasets.load_german()
        >>> table = data.features[["duration", "amount", "age"]]
        >>> pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(table, data.favourable)
        >>> moments = copa.WeightMoments.from_retraining(pipeline, table, data.favourable, n_models=50, random_state=0)
        >>> moments.mean.shape  # the intercept, and one for each column
        (4,)
        """
        return cls.from_samples(
            retrained_parameters(
                estimator,
                X,
                y,
                n_models=n_models,
                fraction=fraction,
                random_state=random_state,
                n_jobs=n_jobs,
            )
        )
