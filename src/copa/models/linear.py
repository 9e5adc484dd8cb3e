"""The model in force: what a fitted linear classifier or pipeline says, and the parameters it says it with."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array, as_floats
from copa.exceptions import InvalidInputError
from copa.models.base import Model, best_of, read_classes, read_columns, read_threshold, thawed
from copa.models.calibration import calibrated_parameters, is_calibrated
from copa.models.parameters import parameter_vector

if TYPE_CHECKING:
    import pandas as pd

# Scores at which a probability is compared with the logistic function, to see whether it is one.
PROBES = np.linspace(-3.0, 3.0, 7)

# Rows are encoded in multiples of this many. Transformers that multiply matrices, such as PCA, leave that to a BLAS,
# which takes other instructions for one row than for many, and for what remains beside its blocks: filled up, a row has
# the same bits alone as in any batch (OpenBLAS with AVX-512 and AVX2, on one thread and on two).
AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class LinearModel(Model):
    """A fitted binary classifier that accepts where theta'(1, encoded row) >= 0.

    Attributes
    ----------
    classifier : object
        Last step of the estimator.
    transformers : tuple
        The fitted steps before it.
    theta : ndarray of shape (D,)
        Parameters towards the favourable label, the cutoff subtracted from the intercept.
    cutoff : float
        Oriented decision value from which on the model accepts.
    """

    classifier: Any
    transformers: tuple[Any, ...]
    theta: Array
    cutoff: float

    @classmethod
    def read(
        cls, estimator: Any, columns: Any, *, threshold: float | None = None, favourable: Any = None
    ) -> "LinearModel":
        """Take a fitted estimator apart, or say what it is that cannot be used; parameters as in `Model.read`."""
        fitted = best_of(estimator)
        _require_fitted(fitted)
        transformers, classifier = _take_apart(fitted)
        used, named = read_columns(fitted, columns)
        classes, position = read_classes(classifier, favourable)
        cut = read_threshold(threshold, probability=hasattr(classifier, "predict_proba"))
        parameters = calibrated_parameters if is_calibrated(classifier) else _plain_parameters
        theta, cutoff = parameters(classifier, 1.0 if position == 1 else -1.0, cut)
        return cls(fitted, used, named, classes, position, threshold, classifier, transformers, theta, cutoff)

    @property
    def sign(self) -> float:
        """1 where the favourable label is the second of the classes, else -1."""
        return 1.0 if self.position == 1 else -1.0

    def encode(self, frame: "pd.DataFrame") -> Array:
        """Rows as the classifier sees them, with a leading 1 for the intercept, (N, D)."""
        n = len(frame)
        if n == 0:  # which transformers refuse
            return np.zeros((0, self.theta.size))
        rows: Any = self.as_input(_filled_up(frame))
        for step in self.transformers:
            rows = step.transform(rows)
        if hasattr(rows, "toarray"):
            rows = rows.toarray()
        encoded = as_floats(rows[:n], "the encoded rows")
        return np.column_stack([np.ones(n), encoded])

    def oriented(self, thetas: Array) -> Array:
        """Parameters of refits (..., D), as scikit-learn has them, turned towards the favourable label and cut off."""
        turned: Array = self.sign * thetas
        turned[..., 0] -= self.cutoff
        return turned


def _filled_up(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Rows with the last one repeated up to the next multiple of `AT_ONCE`."""
    missing = -len(frame) % AT_ONCE
    if missing == 0:
        return frame
    return frame.iloc[np.append(np.arange(len(frame)), np.full(missing, len(frame) - 1))].reset_index(drop=True)


def is_linear(estimator: Any) -> bool:
    """Whether an estimator is to be read as a linear model: it is one, or it cannot be queried either."""
    _, classifier = _take_apart(best_of(estimator))
    if is_calibrated(classifier):
        bases = [getattr(member, "estimator", None) for member in classifier.calibrated_classifiers_]
        return all(_has_parameters(base) for base in bases)
    return _has_parameters(classifier) or not hasattr(classifier, "predict")


def _has_parameters(classifier: Any) -> bool:
    # Without a decision function nothing says that coef_ and intercept_ are all of it: XGBoost's linear booster adds
    # a base score that is in neither.
    return hasattr(classifier, "coef_") and hasattr(classifier, "decision_function")


def _require_fitted(estimator: Any) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(estimator)
    except NotFittedError as error:
        raise InvalidInputError(f"the model must be fitted first: call its fit ({type(estimator).__name__})") from error
    except TypeError as error:
        raise InvalidInputError(
            f"the model must be a scikit-learn classifier or pipeline, got {type(estimator).__name__}"
        ) from error


def _take_apart(estimator: Any) -> tuple[tuple[Any, ...], Any]:
    """Transformers in order, and the classifier at the end."""
    from sklearn.pipeline import Pipeline

    estimator = thawed(estimator)
    if not isinstance(estimator, Pipeline):
        return (), thawed(best_of(estimator))
    transformers = tuple(step for _, step in estimator.steps[:-1] if step not in ("passthrough", None))
    inner, classifier = _take_apart(estimator.steps[-1][1])
    return transformers + inner, classifier


def _plain_parameters(classifier: Any, sign: float, threshold: float | None) -> tuple[Array, float]:
    """Oriented parameters and cutoff of a classifier that is linear by itself."""
    own = parameter_vector(classifier)
    cutoff = 0.0
    if threshold is not None:
        cutoff = _logit(classifier, own, threshold) if hasattr(classifier, "predict_proba") else threshold
    theta = sign * own
    theta[0] -= cutoff
    return theta, cutoff


def _logit(classifier: Any, own: Array, threshold: float) -> float:
    """The decision value of a probability, for classifiers whose probability is the logistic function of it."""
    intercept, slope = own[0], own[1:]
    rows: Any = np.outer(PROBES - intercept, slope) / max(float(slope @ slope), np.finfo(np.float64).tiny)
    if hasattr(classifier, "feature_names_in_"):
        import pandas as pd

        rows = pd.DataFrame(rows, columns=classifier.feature_names_in_)
    logistic = 1.0 / (1.0 + np.exp(-classifier.decision_function(rows)))
    if not np.allclose(classifier.predict_proba(rows)[:, 1], logistic, atol=1e-9):
        raise InvalidInputError(
            f"threshold needs a classifier whose probability is the logistic function of its score; that of "
            f"{type(classifier).__name__} is another one. Leave threshold=None for what predict says"
        )
    return float(np.log(threshold / (1.0 - threshold)))
