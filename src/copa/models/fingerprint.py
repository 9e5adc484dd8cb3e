"""Notice that a fitted model is no longer the one that something was learned about."""

import hashlib
import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array
from copa._core.threads import one_blas_thread, one_openmp_thread
from copa.exceptions import InvalidInputError
from copa.models.base import Model
from copa.models.linear import LinearModel

if TYPE_CHECKING:
    import pandas as pd

CHANGED = {True: 1e-9, False: 1e-5}  # relative difference of another linear model, and of another black box


@dataclass(eq=False)
class Fingerprint:
    """Answers of a model when this was taken, compared with those that it gives now.

    Models are told apart by what they say of some rows, and linear ones by their parameters too. Attributes that change
    without a consequence (numbers of threads, what a classifier remembers of its last rows) therefore do not count.

    Attributes
    ----------
    given : object
        The estimator, or the finished search around it.
    model : Model
        As it was read.
    rows : DataFrame or None
        Raw rows that it can read.
    values : ndarray
        What it said.
    digest : bytes or None
        Of a linear model's pickle: where it is the same, so is the model, which is known within a tenth of a
        millisecond. None for black boxes, which may be large, and where there is no pickle.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from copa.models.fingerprint import Fingerprint
    >>> from copa.models.linear import LinearModel
    >>> X = pd.DataFrame({"income": [1.0, 2.0, 3.0, 4.0]})
    >>> estimator = LogisticRegression().fit(X, [0, 0, 1, 1])
    >>> taken = Fingerprint.take(estimator, LinearModel.read(estimator, X.columns), X.head(1))
    >>> _ = estimator.set_params(verbose=0).fit(X, [0, 0, 1, 1])  # the same fit again
    >>> taken.is_current()
    True
    >>> _ = estimator.fit(X, [0, 1, 1, 1])
    >>> taken.is_current()
    False
    """

    given: Any
    model: Model
    rows: "pd.DataFrame | None"
    values: Array
    digest: bytes | None

    @classmethod
    def take(cls, given: Any, model: Model, rows: "pd.DataFrame | None") -> "Fingerprint":
        """Ask the model now.

        Parameters
        ----------
        given : object
            The estimator, or the finished search around it.
        model : Model
            As it was read.
        rows : DataFrame, optional
            Raw rows that it can read.
        """
        return cls(given, model, rows, _values(model, rows), _digest(model))

    def is_current(self) -> bool:
        """Return whether the model is the same as when this was taken."""
        then = self.model
        try:
            model = type(then).read(self.given, then.columns, threshold=then.threshold, favourable=then.favourable)
            digest = _digest(model)
            if digest is not None and digest == self.digest:
                return True
            values = _values(model, self.rows)
        except Exception:  # noqa: BLE001 - a model that was fitted to other columns or labels raises what it likes
            return False
        scale = CHANGED[isinstance(then, LinearModel)]
        same = values.shape == self.values.shape and np.allclose(values, self.values, rtol=scale, atol=scale)
        if same:
            self.digest = digest  # which is compared faster
        return same

    def require_current(self) -> None:
        """Raise where the model is not the same as when this was taken."""
        if not self.is_current():
            raise InvalidInputError(
                "the model was fitted again after the planner was, and what the planner knows is about the model as it "
                "was before; call fit(X, y) of the planner with the model's new training data"
            )


def _digest(model: Model) -> bytes | None:
    if not isinstance(model, LinearModel):
        return None
    try:
        return hashlib.blake2b(pickle.dumps(model.estimator)).digest()
    except (AttributeError, TypeError, pickle.PicklingError):  # a function without a name, an open file
        return None


def _values(model: Model, rows: "pd.DataFrame | None") -> Array:
    """Parameters of a linear model, and what the estimator itself says of rows, in one vector."""
    parameters = model.theta if isinstance(model, LinearModel) else np.zeros(0)
    if rows is None:
        return parameters
    # The threads of some libraries wait longer than they work. The limit of BLAS is that of the whole process.
    with one_openmp_thread(), one_blas_thread:
        how = "decision_function" if hasattr(model.estimator, "decision_function") else "predict_proba"
        said = getattr(model.estimator, how)(model.as_input(rows))
    return np.concatenate([parameters, np.ravel(np.asarray(said, dtype=np.float64))])
