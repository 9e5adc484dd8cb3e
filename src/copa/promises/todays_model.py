"""Today's model, as it is asked about the row of a person who came back."""

from typing import TYPE_CHECKING, Any

from copa.exceptions import InvalidInputError, MissingPackageError
from copa.models.base import Model
from copa.promises.record import fingerprint

if TYPE_CHECKING:
    import pandas as pd

ROLE = "the model"


def todays_model(model: Any, threshold: Any = None) -> tuple[Any, Any]:
    """The estimator and the threshold at which it accepts: those of a planner, or what is given."""
    if hasattr(model, "fitted_") and hasattr(model, "model"):
        return model.model, model.threshold if threshold is None else threshold
    return model, threshold


def model_accepts(
    model: Any, row: "pd.DataFrame", favourable: Any, threshold: Any = None, promised_at: float | None = None
) -> bool:
    """Whether a model gives a row the label that was promised.

    Parameters
    ----------
    model : object
        Fitted binary classifier, which decides by its own `predict`; or a planner, which decides at its own threshold.
    row : DataFrame
        One row.
    favourable : object
        The label that was promised.
    threshold : float, optional
        Probability of that label (or decision value) from which on the model accepts.
    promised_at : float, optional
        The threshold at which the promise was made; None for what `predict` said.

    Raises
    ------
    InvalidInputError
        If it is no such classifier, does not read the row, or nobody says at which threshold it decides.
    """
    from copa.promises.deciding_model import DecidingModel

    estimator, cut = todays_model(model, threshold)
    if cut is None and promised_at is not None and estimator is model:
        raise InvalidInputError(
            f"the promise was made at the threshold {promised_at:g}, and a model alone decides by `predict`: "
            f"give the planner as model, or threshold={promised_at:g} (or that at which the model decides today)"
        )
    read = DecidingModel.read(estimator, list(row.columns), threshold=cut, favourable=favourable, role=ROLE)
    try:
        return bool(Model.accepts(read, row)[0])
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidInputError(f"the model refuses the row: {' '.join(str(error).split())}") from error


def model_fingerprint(model: Any) -> str:
    """Fingerprint of a model, "" where it has none."""
    try:
        return fingerprint(model)
    except (InvalidInputError, MissingPackageError):
        return ""
