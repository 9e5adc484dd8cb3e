"""The model in force: what a fitted linear classifier or pipeline says, and the parameters it says it with."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, as_floats
from copa._core.reading import is_number
from copa._core.words import hint, require_text, shown
from copa.exceptions import InvalidInputError
from copa.models.calibration import calibrated_parameters, is_calibrated, thawed
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
class LinearModel:
    """A fitted binary classifier that accepts where theta'(1, encoded row) >= 0.

    Attributes
    ----------
    estimator : the pipeline or classifier, as given
    classifier : its last step
    transformers : the steps before it
    columns : raw columns, in the model's order
    named : whether the estimator was fitted to a DataFrame, and so wants one
    favourable : the label a person wants
    threshold : probability (or decision value) from which on the model says so; None where `predict` decides
    sign : +1 where the favourable label is `classes_[1]`, else -1
    theta : (D,) parameters towards the favourable label, the cutoff subtracted from the intercept
    cutoff : (oriented) decision value from which on the model accepts
    """

    estimator: Any
    classifier: Any
    transformers: tuple[Any, ...]
    columns: tuple[str, ...]
    named: bool
    favourable: Any
    threshold: float | None
    sign: float
    theta: Array
    cutoff: float

    @classmethod
    def read(
        cls, estimator: Any, columns: Any, *, threshold: float | None = None, favourable: Any = None
    ) -> "LinearModel":
        """Take a fitted estimator apart, or say what it is that we cannot use.

        Parameters
        ----------
        estimator : fitted Pipeline with a linear classifier at its end, or the classifier itself
        columns : names of the raw columns that it is given
        threshold : probability of the favourable label from which on it accepts; for a classifier without
            probabilities, a value of its decision function. None: what `predict` says.
        favourable : label; None for `classes_[1]`
        """
        fitted = getattr(estimator, "best_estimator_", estimator)
        _require_fitted(fitted)
        transformers, classifier = _take_apart(fitted)
        names = getattr(fitted, "feature_names_in_", None)
        used = require_text(columns if names is None else names)
        _require_columns(used, columns)
        if names is None and getattr(fitted, "n_features_in_", len(used)) != len(used):
            raise InvalidInputError(
                f"the model was fitted to {fitted.n_features_in_} columns, got {len(used)}: {', '.join(used[:8])}"
            )
        sign, label = _orientation(classifier, favourable)
        parameters = calibrated_parameters if is_calibrated(classifier) else _plain_parameters
        theta, cutoff = parameters(classifier, sign, _checked_threshold(classifier, threshold))
        return cls(
            estimator=fitted,
            classifier=classifier,
            transformers=transformers,
            columns=used,
            named=names is not None,
            favourable=label,
            threshold=threshold,
            sign=sign,
            theta=theta,
            cutoff=cutoff,
        )

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

    def as_input(self, frame: "pd.DataFrame") -> Any:
        """The raw columns in the form that the estimator was fitted to."""
        rows = frame[list(self.columns)]
        return rows if self.named else rows.to_numpy()

    def accepts(self, frame: "pd.DataFrame") -> npt.NDArray[np.bool_]:
        """What the estimator itself says of raw rows, (N,)."""
        if len(frame) == 0:
            return np.zeros(0, dtype=bool)
        rows = self.as_input(frame)
        if self.threshold is None:
            said = np.asarray(self.estimator.predict(rows)) == self.favourable
        elif hasattr(self.estimator, "predict_proba"):
            said = self.estimator.predict_proba(rows)[:, 1 if self.sign > 0.0 else 0] >= self.threshold
        else:
            said = self.sign * self.estimator.decision_function(rows) >= self.threshold
        return np.asarray(said, dtype=bool)

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
    """Whether an estimator is to be read as a linear model: it is one, or it is nothing that could be asked."""
    fitted = getattr(estimator, "best_estimator_", estimator)
    _, classifier = _take_apart(fitted)
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
        return (), thawed(getattr(estimator, "best_estimator_", estimator))
    transformers = tuple(step for _, step in estimator.steps[:-1] if step not in ("passthrough", None))
    inner, classifier = _take_apart(estimator.steps[-1][1])
    return transformers + inner, classifier


def _require_columns(used: tuple[str, ...], given: Any) -> None:
    given = [str(name) for name in given]
    for name in used:
        if name not in given:
            raise InvalidInputError(f"the model needs column {name!r}, which the table lacks; {hint(name, given)}")


def _orientation(classifier: Any, favourable: Any) -> tuple[float, Any]:
    """Sign of the decision function towards the favourable label, and the label as the classifier spells it."""
    classes = getattr(classifier, "classes_", None)
    if classes is None:
        raise InvalidInputError(f"{type(classifier).__name__} is not a classifier: it has no classes_")
    if len(classes) != 2:
        raise InvalidInputError(f"the model must choose between 2 classes, it has {len(classes)}")
    if favourable is None:
        return 1.0, classes[1]
    for sign, label in ((-1.0, classes[0]), (1.0, classes[1])):
        if label == favourable:
            return sign, label
    labels = " and ".join(shown(label) for label in classes)
    raise InvalidInputError(f"favourable must be a label of the model, {labels}, got {shown(favourable)}")


def _checked_threshold(classifier: Any, threshold: Any) -> float | None:
    if threshold is None:
        return None
    if not is_number(threshold):
        raise InvalidInputError(f"threshold must be a number or None, got {shown(threshold)}")
    if hasattr(classifier, "predict_proba") and not 0.0 < threshold < 1.0:
        raise InvalidInputError(
            f"threshold is a probability of the favourable label, in (0, 1), got {shown(threshold)}"
        )
    if not np.isfinite(threshold):
        raise InvalidInputError(f"threshold must be finite, got {shown(threshold)}")
    return float(threshold)


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
