"""Mean and covariance of tomorrow's model parameters."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from copa._core.arrays import Array, as_floats, as_symmetric, as_vector, require_finite, semidefinite_root
from copa._core.representation import short_repr
from copa.exceptions import InvalidInputError
from copa.models.linear import parameter_history, parameter_vector
from copa.uncertainty.logistic import LogisticModel, LogisticProblem, information, inverse_information
from copa.uncertainty.pipelines import express_versions, is_wrapped, read_fitted
from copa.uncertainty.retraining import TrainingData, retrained_parameters


def laplace_moments(estimator: Any, X: Any, y: Any) -> tuple[Array, Array]:
    """Return the fitted theta (D,) and the inverse observed information (D, D) of a LogisticRegression."""
    if is_wrapped(estimator):
        pipeline, rows = read_fitted(estimator, X)
        estimator, X = pipeline.classifier, pipeline.encode(rows)[:, 1:]
    data = TrainingData.read(X, y)
    model = LogisticModel.from_estimator(estimator)
    if model is None:
        raise InvalidInputError(
            f"estimator must be a LogisticRegression with an L2 penalty or none, got {estimator!r}: the "
            "Laplace approximation needs the curvature of its objective"
        )
    theta = parameter_vector(estimator)
    if theta.size != data.features.shape[1] + 1 or not np.array_equal(estimator.classes_, data.classes):
        raise InvalidInputError(
            f"estimator must have been fitted to X and y: it has {theta.size - 1} coefficients and classes "
            f"{estimator.classes_.tolist()}, the data {data.features.shape[1]} columns and classes "
            f"{data.classes.tolist()}"
        )
    problem = LogisticProblem(model.design(data.features), data.target, model.ridge(data.features.shape[1]))
    fitted = slice(0 if model.fit_intercept else 1, None)
    cov = np.zeros((theta.size, theta.size))
    try:
        cov[fitted, fitted] = inverse_information(
            information(problem, model.row_weights(data.target, data.classes), theta[fitted])
        )
    except np.linalg.LinAlgError as error:
        raise InvalidInputError(
            "the observed information is singular (columns are collinear): the data leave a direction of theta open; "
            "give the LogisticRegression a penalty (a smaller C), or drop a column (a one-hot block beside "
            "an intercept has one too many)"
        ) from error
    return theta, cov


MIN_HALF_LIFE = 0.1  # versions; below, all but the newest weigh less than a thousandth


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
        return cls(*_weighted_moments(samples, np.full(len(samples), 1.0 / len(samples))))

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

    @classmethod
    def from_laplace(cls, estimator: Any, X: Any, y: Any) -> "WeightMoments":
        """Return the fitted parameters and the inverse observed information at them.

        Parameters
        ----------
        estimator : LogisticRegression or Pipeline
            Fitted, with an L2 penalty or none. Penalty and class weights enter the information. Of a Pipeline that
            ends in one, the parameters are those on its encoded columns.
        X : array_like of shape (n, d)
            Features; for a Pipeline, raw rows such as a DataFrame.
        y : array_like of shape (n,)
            The labels that the estimator was fitted to.

        Raises
        ------
        InvalidInputError
            If the estimator is another one, was fitted to other classes or columns, or if the information is
            singular: then the data leave a direction of theta open, and no finite covariance describes it.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn.pipeline import make_pipeline
        >>> from sklearn.preprocessing import StandardScaler
        >>> import copa
        >>> data = copa.datasets.load_german()
        >>> table = data.features[["duration", "amount", "age"]]
        >>> pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(table, data.favourable)
        >>> copa.WeightMoments.from_laplace(pipeline, table, data.favourable).cov.shape
        (4, 4)
        """
        return cls(*laplace_moments(estimator, X, y))

    @classmethod
    def from_history(cls, versions: Any, *, half_life: float = 5.0, X: Any = None) -> "WeightMoments":
        """Return exponentially weighted moments of past versions of the model.

        Parameters
        ----------
        versions : array_like of shape (V, D) or sequence of object
            Parameter vectors, fitted linear classifiers or pipelines that end in one, oldest first, V >= 2.
        half_life : float
            A version that is `half_life` versions older weighs half as much; infinity weighs all alike.
        X : DataFrame, optional
            Raw rows, needed for pipelines: their parameters are expressed in the encoded columns of the last one. That
            is exact for scalers and one-hot codes; where an encoder is no affine map of the last one, the parameters
            are those with the nearest scores of these rows.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn.pipeline import make_pipeline
        >>> from sklearn.preprocessing import StandardScaler
        >>> import copa
        >>> data = copa.datasets.load_german()
        >>> table, good = data.features[["duration", "amount", "age"]], data.favourable
        >>> versions = [
        ...     make_pipeline(StandardScaler(), LogisticRegression()).fit(table[:n], good[:n]) for n in (400, 700, 1000)
        ... ]
        >>> copa.WeightMoments.from_history(versions, X=table).mean.shape
        (4,)

        Notes
        -----
        With weights w that sum to one the covariance is
        sum_v w_v (theta_v - mean)(theta_v - mean)' / (1 - sum_v w_v^2),
        unbiased for any weights if the versions are independent draws of one distribution.
        """
        history = parameter_history(express_versions(versions, X), minimum=2)
        if not half_life >= MIN_HALF_LIFE:
            raise InvalidInputError(
                f"half_life must be at least {MIN_HALF_LIFE} versions (below, the newest alone would count), "
                f"got {half_life!r}"
            )
        age = np.arange(len(history))[::-1]
        weights = 0.5 ** (age / half_life)
        return cls(*_weighted_moments(history, weights / weights.sum()))


def _weighted_moments(samples: Array, weights: Array) -> tuple[Array, Array]:
    """Return mean and unbiased covariance of samples (K, D) under weights (K,) that sum to one."""
    mean = weights @ samples
    deviations = samples - mean
    cov = (weights * deviations.T) @ deviations / (1.0 - weights @ weights)
    return mean, cov
