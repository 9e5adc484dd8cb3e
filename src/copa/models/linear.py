"""The model in force: what a fitted linear classifier or pipeline says, and the parameters it says it with."""

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array, Flags, as_floats, as_vector
from copa._core.representation import short_repr
from copa.data.schema.columns import ReadTable
from copa.exceptions import InvalidInputError
from copa.models.base import Model, best_of, read_classes, read_columns, read_threshold, thawed
from copa.models.decisions import accepts
from copa.models.direct import DirectPipeline

if TYPE_CHECKING:
    import pandas as pd


HALVINGS = 80
WIDEST = 1e6  # scores beyond are no scores


def is_calibrated(classifier: Any) -> bool:
    """Return whether a classifier is scikit-learn's CalibratedClassifierCV."""
    return hasattr(classifier, "calibrated_classifiers_")


def base_classifier(classifier: Any) -> Any:
    """The linear classifier whose refits stand for the next models: that under the calibration, where there is one.

    A LogisticRegressionCV stands for a LogisticRegression with the penalty that it found: what is uncertain is what
    another sample does to the coefficients, and a search for the penalty in each refit would take as long as a fit.
    """
    if not is_calibrated(classifier):
        return at_chosen_penalty(thawed(classifier))
    given = classifier.estimator  # None where scikit-learn's own choice was left as it is
    fitted = thawed(classifier.calibrated_classifiers_[0].estimator)
    return at_chosen_penalty(fitted) if given is None or hasattr(fitted, "C_") else thawed(given)


def at_chosen_penalty(classifier: Any) -> Any:
    """A LogisticRegression, not fitted, with the penalty that a fitted LogisticRegressionCV found; others as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from copa.models.linear import at_chosen_penalty
    >>> model = LogisticRegression(C=0.3)
    >>> at_chosen_penalty(model) is model
    True
    """
    from sklearn.linear_model import LogisticRegression, LogisticRegressionCV

    if not isinstance(classifier, LogisticRegressionCV) or not hasattr(classifier, "C_"):
        return classifier
    plain_settings = LogisticRegression().get_params()
    settings = {name: value for name, value in classifier.get_params(deep=False).items() if name in plain_settings}
    settings["C"] = float(np.ravel(classifier.C_)[0])
    chosen: Any = getattr(classifier, "l1_ratio_", None)
    ratio = np.ravel(chosen)[0]  # None or 0 where the penalty has no such part
    return LogisticRegression(**settings | ({"l1_ratio": float(ratio)} if ratio else {}))


def calibrated_parameters(classifier: Any, sign: float, threshold: float | None) -> tuple[Array, float]:
    """Oriented parameters and cutoff of a CalibratedClassifierCV over a linear classifier.

    Of several members (one per fold) these are the means: the average of their probabilities is not a function of one
    score, so the mean decides the search, and the classifier itself judges every row delivered.
    """
    wanted = 0.5 if threshold is None else threshold
    thetas, cutoffs = [], []
    for member in classifier.calibrated_classifiers_:
        base = thawed(getattr(member, "estimator", None))
        if base is None or not hasattr(base, "coef_"):
            raise InvalidInputError(
                f"the base of a CalibratedClassifierCV must be a linear classifier, got {type(base).__name__}"
            )
        thetas.append(sign * parameter_vector(base))
        cutoffs.append(sign * _score_at(member, wanted if sign > 0.0 else 1.0 - wanted))
    theta = np.mean(thetas, axis=0)
    cutoff = float(np.mean(cutoffs))
    theta[0] -= cutoff
    return theta, cutoff


def _score_at(member: Any, probability: float) -> float:
    """The score at which a member's calibrated probability of `classes_[1]` reaches a value (bisection)."""
    calibrator = member.calibrators[0]
    low, high = -WIDEST, WIDEST
    ends = np.asarray(calibrator.predict(np.array([low, high])), dtype=float).ravel()
    if not ends[0] < probability <= ends[-1]:
        raise InvalidInputError(
            f"the calibrated probability lies in [{ends[0]:.4g}, {ends[-1]:.4g}] and never reaches the threshold "
            f"{probability:.4g}; choose one inside"
        )
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        reached = float(np.ravel(calibrator.predict(np.array([middle])))[0]) >= probability
        low, high = (low, middle) if reached else (middle, high)
    return high


def parameter_vector(estimator: Any) -> Array:
    """Return theta = (intercept, coef...) of a fitted binary linear classifier.

    Parameters
    ----------
    estimator : object
        A fitted scikit-learn classifier with `coef_` and `intercept_`.

    Returns
    -------
    ndarray of shape (D,)
        theta'(1, x) > 0 where the estimator says `classes_[1]`.
    """
    name = type(estimator).__name__
    classes = getattr(estimator, "classes_", None)
    coef, intercept = getattr(estimator, "coef_", None), getattr(estimator, "intercept_", None)
    if classes is None or coef is None or intercept is None:
        raise InvalidInputError(
            f"{name} is not a fitted linear classifier: it has no classes_, coef_ or intercept_. Allowed are "
            "linear classifiers such as LogisticRegression, LinearSVC, SGDClassifier, RidgeClassifier, "
            "Perceptron; of a pipeline, give the last step and the transformed features"
        )
    coef = np.atleast_2d(as_floats(coef, f"{name}.coef_"))
    intercept = np.atleast_1d(as_floats(intercept, f"{name}.intercept_"))
    if len(classes) != 2 or len(coef) != 1 or len(intercept) != 1:
        raise InvalidInputError(
            f"{name} must have 2 classes and one row of coefficients, got {len(classes)} classes and "
            f"coef_ of shape {coef.shape}"
        )
    return as_vector(np.concatenate([intercept, coef[0]]), f"parameters of {name}")


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

    __repr__ = short_repr

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

    @property
    def accepts_linearly(self) -> bool:
        """Return whether the rows that it accepts are a half-space: not so for an average of calibrated members."""
        return len(getattr(self.classifier, "calibrated_classifiers_", ())) <= 1

    def encode(self, rows: "pd.DataFrame | ReadTable") -> Array:
        """Return rows as the classifier sees them, with a leading 1 for the intercept, (N, D); of a table once."""
        table = ReadTable.of(rows)
        encoded: Array = table.once(self, lambda: np.column_stack([np.ones(len(table)), self._encoded(table)]))
        return encoded

    def accepts_directly(self, rows: "pd.DataFrame | ReadTable") -> Flags:
        """Return what `accepts` says, asking the classifier itself about rows encoded without its pipeline."""
        table = ReadTable.of(rows)
        direct = self._encoded_directly(table) if self._ends_in_classifier else None
        if direct is None:
            return self.accepts(table.frame)
        return accepts(self.classifier, self._direct.in_form(direct), self.favourable, self.threshold)

    def _encoded(self, table: ReadTable) -> Array:
        """Rows as the classifier sees them, (N, D - 1)."""
        direct = self._encoded_directly(table)
        return self._by_pipeline(table.frame) if direct is None else direct

    def _encoded_directly(self, table: ReadTable) -> Array | None:
        """The same without the pipeline; None where that is left to it."""
        if len(table) == 0:
            return None
        direct: Array | None = table.once(self._direct, lambda: self._direct.encode(table))
        return direct

    def _by_pipeline(self, frame: "pd.DataFrame") -> Array:
        """Encode rows by calling the transformers, (N, D - 1)."""
        if len(frame) == 0:  # which transformers refuse
            return np.zeros((0, self.theta.size - 1))
        rows: Any = self.as_input(_filled_up(frame))
        for step in self.transformers:
            rows = step.transform(rows)
        if hasattr(rows, "toarray"):
            rows = rows.toarray()
        return as_floats(rows[: len(frame)], "the encoded rows")

    @cached_property
    def _ends_in_classifier(self) -> bool:
        """Return whether the estimator is a pipeline that does no more than encode rows for its classifier."""
        from sklearn.pipeline import Pipeline

        plain = type(self.estimator) is Pipeline and self.estimator.steps[-1][1] is self.classifier
        return plain and len(self.transformers) > 0 and not hasattr(self.classifier, "feature_names_in_")

    @cached_property
    def _direct(self) -> DirectPipeline:
        return DirectPipeline(self.transformers, self.columns, named=self.named)

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
    """Return whether an estimator is to be read as a linear model: it is one, or it cannot be queried either."""
    _, classifier = _take_apart(best_of(estimator))
    if is_calibrated(classifier):
        bases = [getattr(member, "estimator", None) for member in classifier.calibrated_classifiers_]
        return all(_has_parameters(base) for base in bases)
    return _has_parameters(classifier) or not hasattr(classifier, "predict")


def why_black_box(estimator: Any) -> str:
    """Say why a calibration of linear pipelines is no linear model, and what would be; "" for all other models."""
    _, classifier = _take_apart(best_of(estimator))
    if not is_calibrated(classifier) or len(classifier.calibrated_classifiers_) < 2:
        return ""
    bases = [member.estimator for member in classifier.calibrated_classifiers_]
    inside = [_take_apart(base)[1] for base in bases]
    if not all(map(_has_parameters, inside)) or all(map(_has_parameters, bases)):
        return ""
    return (
        f"CalibratedClassifierCV averages {len(bases)} pipelines, each with an encoder of its own, and is treated as a "
        "black box: plans take longer, and guarantees rest on fewer refits. With ensemble=False, or with the "
        "calibration as the last step of one pipeline, it is read as the linear model that it is"
    )


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
    if is_calibrated(estimator):
        return _calibrated_inside(estimator)
    if not isinstance(estimator, Pipeline):
        return (), thawed(best_of(estimator))
    transformers = tuple(step for _, step in estimator.steps[:-1] if step not in ("passthrough", None))
    inner, classifier = _take_apart(estimator.steps[-1][1])
    return transformers + inner, classifier


def _calibrated_inside(calibrated: Any) -> tuple[tuple[Any, ...], Any]:
    """A calibration of one pipeline as a pipeline that ends in a calibration, which says the same; others as they are.

    Of several pipelines, one per fold, each has an encoder of its own: there are no encoded columns that all share.
    """
    from sklearn.pipeline import Pipeline

    members = calibrated.calibrated_classifiers_
    if len(members) != 1 or not isinstance(thawed(members[0].estimator), Pipeline):
        return (), calibrated
    transformers, classifier = _take_apart(thawed(members[0].estimator))
    member, inside = copy(members[0]), copy(calibrated)
    member.estimator = inside.estimator = classifier
    inside.calibrated_classifiers_ = [member]
    return transformers, inside


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
