"""What `keep` is asked: rows, labels, promises and weights, read and checked."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa._core.reading import is_number, is_whole, read_number
from copa._core.words import counted, hint, listed, shown
from copa.exceptions import InvalidInputError
from copa.models.base import best_of, labels_of_rows, read_classes
from copa.promises.exact_refit import ExactRefit, exact_model
from copa.promises.plain_refit import Flags, PlainRefit, accepts
from copa.promises.promised_rows import promised_rows
from copa.promises.weighted_refit import WeightedRefit
from copa.tables.casting import cast_like
from copa.tables.cells import text_of
from copa.tables.frames import as_pandas, is_table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be kept, as it was read.

    Attributes
    ----------
    estimator : object
        As given.
    table : DataFrame of n rows
        Training rows.
    named : bool
        Whether the model is given tables.
    labels : ndarray of shape (n,)
    row_weights : ndarray of shape (n,) or None
    rows : DataFrame of m rows
        Promised ones, in the columns and dtypes of the table.
    favourable : object
    margin : float
    """

    estimator: Any
    table: "pd.DataFrame"
    named: bool
    labels: npt.NDArray[Any]
    row_weights: Array | None
    rows: "pd.DataFrame"
    favourable: Any
    margin: float

    def refit(self, estimator: Any, rows: npt.NDArray[np.intp] | None = None) -> PlainRefit:
        """Return the plain refit, to some of the training rows where positions are given."""
        chosen = np.arange(len(self.table)) if rows is None else rows
        weights = None if self.row_weights is None else self.row_weights[chosen]
        return PlainRefit.fit(estimator, self.table.iloc[chosen], self.labels[chosen], weights, named=self.named)

    def accepted_by(self, model: Any) -> Flags:
        """Return which promises a model keeps, (m,)."""
        return accepts(model, self.rows, self.favourable, named=self.named)

    def keeper(self, refit: PlainRefit, chosen: Flags | None = None) -> ExactRefit | WeightedRefit:
        """Return what refits the last step so that promises, all or those chosen, are kept."""
        rows = self.rows if chosen is None else self.rows.loc[chosen]
        position = int(np.flatnonzero(refit.classifier.classes_ == self.favourable)[0])
        model = exact_model(refit.classifier)
        encoded = refit.encode(rows)
        if model is None:
            return WeightedRefit(refit, encoded, self.favourable, position)
        return ExactRefit(refit, model, encoded, position, rows.index)

    def input(self, table: "pd.DataFrame") -> Any:
        """Return rows as the model is given them."""
        return table if self.named else table.to_numpy()


def read_task(
    estimator: Any, X: Any, y: Any, promises: Any, margin: Any, favourable: Any, sample_weight: Any, as_of: Any
) -> Task:
    """Read the arguments of `keep`, or say in one line what is wrong with one of them."""
    if not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        raise InvalidInputError(f"estimator must be a scikit-learn classifier or pipeline, got {shown(estimator)}")
    given = promised_rows(promises)
    if len(given) == 0:
        raise InvalidInputError("promises must hold at least one promised row, got none")
    promised = given.outstanding(as_of)
    if len(promised) == 0:
        raise InvalidInputError(
            f"none of the {counted(len(given), 'promise')} is outstanding: they are closed, or their last day has "
            "passed (as_of)"
        )
    table, named = _read_table(X, list(promised.rows.columns))
    labels = labels_of_rows(y, len(table))
    classes = _read_classes(estimator, labels)
    wanted = promised.favourable if favourable is None else favourable
    rows = _rows_like(promised.rows, table)
    return Task(
        estimator=estimator,
        table=table,
        named=named,
        labels=labels,
        row_weights=_read_weights(sample_weight, len(table)),
        rows=rows,
        favourable=_read_favourable(wanted, classes, labels),
        margin=read_number(margin, "margin", positive=True),
    )


def _read_table(X: Any, promised: list[Any]) -> tuple["pd.DataFrame", bool]:
    """Training rows as a table, and whether they came as one; columns of an array are those of the promised rows."""
    import pandas as pd

    if is_table(X):
        return as_pandas(X), True
    array = np.asarray(X)
    if array.ndim != 2 or array.shape[1] != len(promised):
        raise InvalidInputError(
            f"X must be a DataFrame, or an array with the {len(promised)} columns of the promised rows, got shape "
            f"{array.shape}"
        )
    return pd.DataFrame(array, columns=promised), False


def _rows_like(rows: "pd.DataFrame", table: "pd.DataFrame") -> "pd.DataFrame":
    """Promised rows in the columns and dtypes of the training rows."""
    lacking = [name for name in table.columns if name not in rows.columns]
    if lacking:
        near = hint(lacking[0], [str(name) for name in rows.columns])
        raise InvalidInputError(f"the promised rows lack the column {shown(lacking[0])} of X; {near}")
    return rows[[*table.columns]].assign(**{name: cast_like(rows[name], table[name]) for name in table.columns})


def _read_classes(estimator: Any, labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The two labels; an error where the model knows others."""
    try:
        classes = np.unique(labels)
    except TypeError:
        raise InvalidInputError("y must hold labels of one kind, got several kinds or missing ones") from None
    if len(classes) != 2:
        raise InvalidInputError(f"y must hold 2 different labels, got {len(classes)}: {listed(classes.tolist())}")
    fitted = getattr(best_of(estimator), "classes_", None)
    if fitted is not None:
        known, _ = read_classes(best_of(estimator), None)
        if set(known.tolist()) != set(classes.tolist()):
            raise InvalidInputError(
                f"y must hold the model's labels, {listed(known.tolist())}, got {listed(classes.tolist())}"
            )
    return classes


def _read_favourable(wanted: Any, classes: npt.NDArray[Any], labels: npt.NDArray[Any]) -> Any:
    from copa.planner.labels import is_truth, shares_in_words

    if wanted is None:
        if is_truth(classes):
            return classes[1]
        raise InvalidInputError(
            f"favourable must say which label was promised, {shares_in_words(classes, labels)}: give "
            f"favourable={shown(classes[1])} or favourable={shown(classes[0])}"
        )
    for label in classes:
        if label == wanted or (text_of(label) is not None and text_of(label) == text_of(wanted)):
            return label
    raise InvalidInputError(f"favourable must be a label of y, {listed(classes.tolist())}, got {shown(wanted)}")


def _read_weights(sample_weight: Any, n_rows: int) -> Array | None:
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        weights = np.full(0, np.nan)
    if weights.shape != (n_rows,) or not np.isfinite(weights).all() or (weights < 0.0).any():
        raise InvalidInputError(
            f"sample_weight must hold {n_rows} finite numbers of at least 0, one per row of X, got "
            f"{shown(sample_weight)}"
        )
    return weights


def read_max_broken(value: Any, n_promises: int) -> int:
    """Number of promises that may be broken."""
    if is_whole(value) and value >= 0:
        return int(value)
    if is_number(value) and not is_whole(value) and 0.0 <= value <= 1.0:
        return int(float(value) * n_promises + 1e-9)
    raise InvalidInputError(
        f"max_broken must be a number of promises, or a share of them as a float from 0 to 1, got {shown(value)}"
    )


def read_held_out(held_out: Any, task: Task) -> tuple["pd.DataFrame", npt.NDArray[Any]]:
    """Read rows to measure on and their labels."""
    import pandas as pd

    try:
        X, y = held_out
    except (TypeError, ValueError):
        raise InvalidInputError(f"held_out must be a pair of X and y, got {shown(held_out)}") from None
    table = as_pandas(X, "held_out") if is_table(X) else pd.DataFrame(np.asarray(X), columns=task.table.columns)
    rows = _rows_like(table, task.table)
    return rows, labels_of_rows(y, len(rows))
