"""The spread of what a model adds for a level of a categorical column that hardly any training row has.

Refits cannot show it: a level that no row has gets the same weight from all of them, usually zero, and looks certain.
What is left to say about such a weight is what the penalty of the fit says. The L2 penalty `|w|^2 / (2 C)` of a
logistic regression is a normal prior of variance C, and with no rows the posterior is the prior. Other penalties and
losses stand for no such prior: then nothing is known of the weight, and the level is not offered.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, as_floats, as_symmetric, require_finite
from copa.data.schema.columns import column_codes
from copa.exceptions import InvalidInputError
from copa.models.linear import LinearModel, at_chosen_penalty, base_classifier
from copa.models.refits.logistic import LogisticModel
from copa.models.spelling import spell_levels

if TYPE_CHECKING:
    import pandas as pd

    from copa.data.schema import Feature, FeatureSchema

N_BASES = 3  # rows at which a level is tried: one is enough where columns add up, products need more
NEGLIGIBLE = 1e-6  # share of a level's code, squared, that may lie outside of what other rows determine


def penalty_spread(cov: Any, directions: Any, variance: Any) -> Array:
    """Raise the variance of the parameters along some directions.

    Parameters
    ----------
    cov : array_like of shape (D, D)
        Covariance of the parameters.
    directions : array_like of shape (L, D)
        What each of L levels adds to the encoded row, and no other row has (`own_direction`); one-hot codes add a
        coordinate of their own.
    variance : float or array_like of shape (L,)
        Least variance of `directions @ theta`; for a coordinate of its own that of the penalty (`prior_variance`).

    Returns
    -------
    ndarray of shape (D, D)
        The covariance, plus a matrix of rank one for every direction that had less. Scores of rows that are orthogonal
        to all directions keep their spread, no other one becomes smaller.

    Examples
    --------
    >>> import numpy as np
    >>> from copa.models.refits.rare_levels import penalty_spread
    >>> never_seen = np.diag([0.04, 0.02, 0.0])
    >>> penalty_spread(never_seen, [[0.0, 0.0, 1.0]], 0.5).diagonal()
    array([0.04, 0.02, 0.5 ])
    """
    raised: Array = as_symmetric(cov, "cov", len(cov))
    rows = as_floats(directions, "directions")
    if rows.ndim != 2 or rows.shape[1] != len(raised):
        raise InvalidInputError(f"directions must have shape (L, {len(raised)}), got {rows.shape}")
    require_finite(rows, "directions")
    least = np.broadcast_to(as_floats(variance, "variance"), len(rows))
    if not ((least >= 0.0) & np.isfinite(least)).all():
        raise InvalidInputError(f"variance must be finite and not negative, got {variance!r}")
    for direction, wanted in zip(rows, least, strict=True):
        size = float(direction @ direction)
        lacking = wanted - float(direction @ raised @ direction)
        if size > 0.0 and lacking > 0.0:
            raised = raised + lacking / size**2 * np.outer(direction, direction)
    return raised


def prior_variance(classifier: Any) -> float | None:
    """Return the variance that the penalty of a classifier gives a coefficient; None where none is known.

    Parameters
    ----------
    classifier : object
        A linear classifier.

    Returns
    -------
    float or None
        `C` of a LogisticRegression with an L2 penalty, or the one that a LogisticRegressionCV has chosen. None for any
        other classifier: an L1 penalty is no normal prior, and a hinge loss (LinearSVC) is no likelihood.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.svm import LinearSVC
    >>> from copa.models.refits.rare_levels import prior_variance
    >>> prior_variance(LogisticRegression(C=0.1)), prior_variance(LinearSVC(C=0.1))
    (0.1, None)
    """
    chosen = at_chosen_penalty(classifier)
    logistic = LogisticModel.from_estimator(chosen)
    return None if logistic is None or logistic.coef_ridge == 0.0 else float(chosen.C)


def own_direction(rows: Array, others: Array) -> Array:
    """Return what encoded rows have beyond the span of others: what these cannot tell about the parameters.

    Parameters
    ----------
    rows : ndarray of shape (B, D)
    others : ndarray of shape (n, D)

    Returns
    -------
    ndarray of shape (B, D)
        Parts of the rows that are orthogonal to all of the others.

    Examples
    --------
    >>> import numpy as np
    >>> from copa.models.refits.rare_levels import own_direction
    >>> own_direction(np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 0.0, 0.0], [4.0, 1.0, 0.0]])).round(9)
    array([[0., 0., 3.]])
    """
    scale = np.sqrt((others**2).mean(axis=0))
    scale[scale == 0.0] = 1.0
    _, sizes, basis = np.linalg.svd(others / scale, full_matrices=False)
    basis = basis[sizes > NEGLIGIBLE * sizes[:1]] * scale
    inside = np.linalg.qr(basis.T)[0]
    outside: Array = rows - (rows @ inside) @ inside.T
    return outside


def without_unknown_levels(schema: "FeatureSchema", classifier: Any) -> "FeatureSchema":
    """Withhold rare levels, also with `rare: offer`, where the penalty of a classifier does not say how they vary.

    Parameters
    ----------
    schema : FeatureSchema
        With the support of the training data.
    classifier : object

    Returns
    -------
    FeatureSchema
        The same schema where the penalty is a normal prior (`prior_variance`).

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression, RidgeClassifier
    >>> from copa import Feature, FeatureSchema
    >>> from copa.models.refits.rare_levels import without_unknown_levels
    >>> home = Feature("home", "categorical", values=["boat", "own"], rare="offer")
    >>> schema = FeatureSchema([home]).with_support(pd.DataFrame({"home": ["own"] * 20}))
    >>> [without_unknown_levels(schema, kind)["home"].withheld for kind in (LogisticRegression(), RidgeClassifier())]
    [(), ('boat',)]
    """
    if prior_variance(classifier) is not None:
        return schema
    withheld = {
        feature.name: [value for value in feature.values or () if value in {*feature.withheld, *feature.support}]
        for feature in schema.features
        if feature.support and not feature.immutable
    }
    return schema.replace({name: {"withheld": values} for name, values in withheld.items()})


def spread_rare_levels(cov: Any, model: LinearModel, schema: "FeatureSchema", X: "pd.DataFrame") -> Array:
    """Give what the model adds for rare levels that are offered the spread of its penalty.

    Rare are the levels with fewer training rows than `copa.data.schema.support.LEAST_ROWS` in columns for which the
    schema says `rare: offer`.

    Parameters
    ----------
    cov : array_like of shape (D, D)
        Covariance of the parameters, estimated by refits.
    model : LinearModel
    schema : FeatureSchema
        With the support of the training data (`FeatureSchema.with_support`).
    X : DataFrame
        The training data.

    Returns
    -------
    ndarray of shape (D, D)
        The same covariance where no rare level is offered.

    Raises
    ------
    InvalidInputError
        If rare levels are offered and the penalty is no normal prior (`prior_variance`).

    Notes
    -----
    What a level adds is judged by the part of its encoded rows that no row with well-known levels has: one coordinate
    for a one-hot code, nothing for an ordinal code whose slope the other levels determine, and the difference to the
    mean of the others for a level that has no coordinate (dropped, or unknown to the encoder). The variance of that
    part is raised to the prior's per unit of length; the length is not less than that of a one-hot code's.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> from copa import Feature, FeatureSchema
    >>> from copa.models import LinearModel
    >>> from copa.models.refits.rare_levels import spread_rare_levels
    >>> X = pd.DataFrame({"home": ["own", "rent"] * 50})
    >>> homes = ["boat", "own", "rent"]
    >>> model = make_pipeline(OneHotEncoder(categories=[homes]), LogisticRegression(C=0.5)).fit(X, X["home"] == "own")
    >>> linear = LinearModel.read(model, X.columns)
    >>> schema = FeatureSchema([Feature("home", "categorical", values=homes, rare="offer")]).with_support(X)
    >>> boat = np.array([1.0, 1.0, 0.0, 0.0])
    >>> cov = spread_rare_levels(np.diag([0.01, 0.0, 0.02, 0.02]), linear, schema, X)
    >>> round(float(boat @ cov @ boat), 3)
    0.671
    """
    raised: Array = as_symmetric(cov, "cov", model.theta.size)
    encoded = None
    for feature in schema.features:
        offered = [value for value in feature.support if value not in feature.withheld]
        if feature.immutable or not offered or feature.name not in model.columns:
            continue
        encoded = model.encode(X) if encoded is None else encoded
        rows = _LevelRows(model, feature, X, encoded)
        variance = prior_variance(base_classifier(model.classifier))
        if variance is None:
            raise InvalidInputError(
                f"the penalty of {type(model.classifier).__name__} does not say how much the weights of rare levels "
                f"vary: withhold those of {feature.name!r} (`without_unknown_levels`)"
            )
        for value in offered:
            directions, lengths = rows.own_directions(feature.index.position(value))
            raised = penalty_spread(raised, directions, variance * lengths)
    return raised


class _LevelRows:
    """Encoded rows of one categorical column, and what each of its levels adds to them."""

    def __init__(self, model: LinearModel, feature: "Feature", X: "pd.DataFrame", encoded: Array) -> None:
        self.model, self.feature, self.X, self.encoded = model, feature, X, encoded
        self.codes = column_codes(feature, X[feature.name])
        self.few = np.array([feature.index.position(value) for value in feature.support])

    def own_directions(self, code: int) -> tuple[Array, Array]:
        """Parts of rows with a level that those with well-known ones lack, (B, D), and their squared lengths, (B,)."""
        well_known = self._known(code)
        bases = _spread_out(well_known)
        if len(bases) == 0:
            return np.zeros((0, self.encoded.shape[1])), np.zeros(0)
        rows = self._with_level(bases, code)
        outside = own_direction(rows, self.encoded[well_known])
        moved = ((rows - self.encoded[bases]) ** 2).sum(axis=1)
        sizes = (outside**2).sum(axis=1)
        open_ = sizes > NEGLIGIBLE * moved
        return outside[open_], np.maximum(sizes, 0.5 * moved)[open_]

    def _known(self, code: int) -> npt.NDArray[np.bool_]:
        """Rows with well-known levels, (n,); where there are none, with another level than this one."""
        well_known: npt.NDArray[np.bool_] = (self.codes >= 0) & ~np.isin(self.codes, self.few)
        return well_known if well_known.any() else (self.codes >= 0) & (self.codes != code)

    def _with_level(self, positions: npt.NDArray[np.intp], code: int) -> Array:
        """Encode some rows with another level in this column."""
        rows = self.X.iloc[positions].reset_index(drop=True)
        level = spell_levels(self.feature, np.full(len(rows), code), rows[self.feature.name])
        rows[self.feature.name] = level.to_numpy() if level.dtype == object else level
        return self.model.encode(rows)


def _spread_out(flags: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """A few of the flagged positions, spread over all of them."""
    positions: npt.NDArray[np.intp] = np.flatnonzero(flags)
    few = np.unique(np.linspace(0, len(positions) - 1, N_BASES).astype(int)) if len(positions) else slice(0)
    return np.asarray(positions[few])
