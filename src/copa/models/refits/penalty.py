"""The penalty of a learner, kept per row when it is fitted to fewer rows."""

from numbers import Real
from typing import Any

import numpy as np

from copa._core.reading import is_whole
from copa.exceptions import InvalidInputError
from copa.models.base import unfitted

# Learners that minimise a sum over the rows plus `alpha` times a penalty, or whose `alpha` counts rows. Elsewhere it
# stands beside a mean over the rows (SGDClassifier, Perceptron, Lasso), or is no penalty at all.
BESIDE_A_SUM = {
    "alpha": (
        "Ridge",
        "RidgeClassifier",
        "KernelRidge",
        "MultinomialNB",
        "BernoulliNB",
        "CategoricalNB",
        "ComplementNB",
    ),
    "alphas": ("RidgeCV", "RidgeClassifierCV"),
}
STEP_LENGTHS = ("PassiveAggressiveClassifier", "PassiveAggressiveRegressor")  # their C bounds the step of one row
BOOSTING = ("reg_lambda", "reg_alpha", "l2_regularization")  # beside sums over the rows of a leaf


def keep_penalty_per_row(estimator: Any, share: float) -> dict[str, Any]:
    """Settings that leave the penalty per row as it is when an estimator is fitted to a share of its rows.

    A learner that minimises the sum of the rows' losses plus a penalty weighs the penalty more on fewer rows: its
    refits are shrunk more than the model, and vary less than the next models will.

    Parameters
    ----------
    estimator : object
        Classifier or pipeline; its parts are looked into as well.
    share : float
        Rows of the fit as a share of all, in (0, 1].

    Returns
    -------
    dict of str to object
        For `set_params` of the estimator (of `unfitted(estimator)` where a part is frozen). C / share for logistic
        regression and support vector machines, alpha * share for ridge regression and naive Bayes, and so on; nothing
        for learners whose penalty is one per row already, or that have none.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression, SGDClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from copa.models.refits.refits import keep_penalty_per_row
    >>> keep_penalty_per_row(make_pipeline(StandardScaler(), LogisticRegression(C=0.1)), 0.5)
    {'logisticregression__C': 0.2}
    >>> keep_penalty_per_row(SGDClassifier(), 0.5)
    {}
    """
    if not 0.0 < share <= 1.0:
        raise InvalidInputError(f"share must be in (0, 1], got {share!r}")
    if not hasattr(estimator, "get_params"):
        return {}
    copy = unfitted(estimator)
    parts = copy.get_params()
    settings = {}
    for key, value in parts.items():
        prefix, _, name = key.rpartition("__")
        kept = _kept(parts[prefix] if prefix else copy, name, value, share)
        if kept is not None:
            settings[key] = kept
    return settings


def _kept(part: Any, name: str, value: Any, share: float) -> Any:
    """The value of one setting of a part for a share of the rows, or None where it stays."""
    factor = _factor(part, name, share)
    if factor is None or isinstance(value, bool):
        return None
    if name == "Cs" and is_whole(value):
        value = np.logspace(-4, 4, value)  # what a number of values stands for
    if isinstance(value, Real):
        return float(value) * factor
    return [float(entry) * factor for entry in value] if isinstance(value, (list, tuple, np.ndarray)) else None


def _factor(part: Any, name: str, share: float) -> float | None:
    """Factor for a setting of a part; None for one that does not depend on the number of rows."""
    kinds = {kind.__name__ for kind in type(part).__mro__}
    if name in ("C", "Cs"):
        bounds_steps = not kinds.isdisjoint(STEP_LENGTHS)
        unpenalised = getattr(part, "penalty", "") is None
        return None if bounds_steps or unpenalised else 1.0 / share
    beside_a_sum = name in BOOSTING or not kinds.isdisjoint(BESIDE_A_SUM.get(name, ()))
    if name == "alpha" and not kinds.isdisjoint(("MLPClassifier", "MLPRegressor")):
        beside_a_sum = (
            part.solver == "lbfgs"
        )  # the others divide it by the rows of a batch, whose number does not change
    return share if beside_a_sum else None
