"""What `keep` is asked: rows, labels, promises and weights, read and checked."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Flags
from copa._core.reading import read_number
from copa._core.words import hint, listed, shown
from copa.data.tables.casting import cast_like
from copa.data.tables.frames import as_pandas, is_table, with_columns
from copa.exceptions import CopaError, InvalidInputError
from copa.models.base import best_of, labels_of_rows, read_classes, read_threshold
from copa.models.decisions import accepts, match_label
from copa.promises.days import read_day
from copa.promises.exact_refit import ExactRefit, exact_model
from copa.promises.outstanding import Outstanding
from copa.promises.plain_refit import REFIT, PlainRefit
from copa.promises.weighted_refit import WeightedRefit

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
    threshold : float or None
        Probability of the favourable label (or decision value) from which on the model accepts; None for `predict`.
    n_unknown : int
        Promises whose status is not known.
    """

    estimator: Any
    table: "pd.DataFrame"
    named: bool
    labels: npt.NDArray[Any]
    row_weights: Array | None
    rows: "pd.DataFrame"
    favourable: Any
    margin: float
    threshold: float | None = None
    n_unknown: int = 0

    def refit(self, estimator: Any, rows: npt.NDArray[np.intp] | None = None) -> PlainRefit:
        """Return the plain refit, to some of the training rows where positions are given."""
        chosen = np.arange(len(self.table)) if rows is None else rows
        weights = None if self.row_weights is None else self.row_weights[chosen]
        try:
            refit = PlainRefit.fit(estimator, self.table.iloc[chosen], self.labels[chosen], weights, named=self.named)
        except CopaError:
            raise
        except Exception as error:
            raise InvalidInputError(
                f"{type(estimator).__name__} cannot be fitted to X and y: {type(error).__name__}: "
                f"{' '.join(str(error).split())}"
            ) from error
        if not hasattr(refit.classifier, "classes_"):
            raise InvalidInputError(
                f"estimator must be a classifier, which chooses between labels, got {type(refit.classifier).__name__}"
            )
        return refit

    def accepted_by(self, model: Any) -> Flags:
        """Return which promises a model keeps, (m,)."""
        try:
            return accepts(model, self.input(self.rows), self.favourable, self.threshold, REFIT)
        except InvalidInputError as error:
            missing = self.rows.isna().any(axis=1).to_numpy()
            if not missing.any():
                raise
            raise InvalidInputError(f"promise {shown(self.rows.index[int(missing.argmax())])}: {error}") from error

    def keeper(self, refit: PlainRefit, chosen: Flags | None = None) -> ExactRefit | WeightedRefit:
        """Return what refits the last step so that promises, all or those chosen, are kept."""
        rows = self.rows if chosen is None else self.rows.loc[chosen]
        position = int(np.flatnonzero(refit.classifier.classes_ == self.favourable)[0])
        model = exact_model(refit.classifier)
        encoded = refit.encode(rows)
        if model is None:
            return WeightedRefit(refit, encoded, self.favourable, position, self.threshold)
        return ExactRefit(refit, model, encoded, position, rows.index, self.threshold)

    def input(self, table: "pd.DataFrame") -> Any:
        """Return rows as the model is given them."""
        return table if self.named else table.to_numpy()


def read_task(  # noqa: PLR0913, PLR0917 - the arguments of `keep`
    estimator: Any,
    X: Any,
    y: Any,
    promises: Any,
    margin: Any,
    favourable: Any,
    sample_weight: Any,
    as_of: Any,
    threshold: Any = None,
    model_version: str | None = None,
) -> Task:
    """Read the arguments of `keep`, or say in one line what is wrong with one of them."""
    if not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        raise InvalidInputError(f"estimator must be a scikit-learn classifier or pipeline, got {shown(estimator)}")
    outstanding = Outstanding(promises, read_day(as_of), model_version)
    blocks = [block.rows for block in outstanding if len(block)]
    outstanding.require_any()
    table, named = _read_table(X, list(blocks[0].columns))
    labels = labels_of_rows(y, len(table))
    classes = _read_classes(estimator, labels)
    for block in blocks:
        outstanding.require_columns(list(table.columns), list(block.columns), "X")
    return Task(
        estimator=estimator,
        table=table,
        named=named,
        labels=labels,
        row_weights=_read_weights(sample_weight, len(table)),
        rows=_rows_of(blocks, table),
        favourable=_read_favourable(outstanding.favourable(favourable), classes, labels),
        margin=read_number(margin, "margin", positive=True),
        threshold=_read_threshold(threshold, outstanding, estimator),
        n_unknown=sum(outstanding.unknown_statuses.values()),
    )


def _rows_of(blocks: "list[pd.DataFrame]", table: "pd.DataFrame") -> "pd.DataFrame":
    """All promised rows, in the columns and dtypes of the training rows; ids that occur again are numbered."""
    import pandas as pd

    parts = [_rows_like(block, table) for block in blocks]
    rows = parts[0] if len(parts) == 1 else pd.concat(parts)
    if rows.index.is_unique:
        return rows
    places = rows.groupby(level=0, sort=False).cumcount().tolist()
    names = [f"{name} ({k + 1})" if k else str(name) for name, k in zip(rows.index, places, strict=True)]
    return rows.set_axis(pd.Index(names, name=rows.index.name, dtype=object))


def _read_threshold(given: Any, outstanding: Outstanding, estimator: Any) -> float | None:
    """The threshold given, or else that of the promises."""
    probability = hasattr(best_of(estimator), "predict_proba")
    if given is not None:
        return read_threshold(given, probability=probability)
    stated = outstanding.stated.thresholds
    if len(stated) > 1:
        cuts = " and ".join("what predict says" if cut is None else f"{cut:g}" for cut in stated)
        raise InvalidInputError(
            f"promises were made at different thresholds, {cuts}: say with threshold= at which the model will decide"
        )
    return read_threshold(stated[0], probability=probability) if stated else None


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


def _rows_like(rows: "pd.DataFrame", table: "pd.DataFrame", who: str = "the promised rows lack") -> "pd.DataFrame":
    """Promised rows in the columns and dtypes of the training rows."""
    lacking = [name for name in table.columns if name not in rows.columns]
    if lacking:
        near = hint(lacking[0], [str(name) for name in rows.columns])
        raise InvalidInputError(f"{who} the column {shown(lacking[0])} of X; {near}")
    return with_columns(rows[[*table.columns]], {name: cast_like(rows[name], table[name]) for name in table.columns})


def _read_classes(estimator: Any, labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the two labels; raise where the model knows others."""
    try:
        classes = np.unique(labels)
    except TypeError:
        raise InvalidInputError("y must hold labels of one kind, got several kinds or missing ones") from None
    if len(classes) != 2:
        raise InvalidInputError(f"y must hold 2 different labels, got {len(classes)}: {listed(classes.tolist())}")
    fitted = getattr(best_of(estimator), "classes_", None)
    if fitted is not None:
        classes_of_model, _ = read_classes(best_of(estimator), None)
        if set(classes_of_model.tolist()) != set(classes.tolist()):
            raise InvalidInputError(
                f"y must hold the model's labels, {listed(classes_of_model.tolist())}, got {listed(classes.tolist())}"
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
    label = match_label(wanted, classes)
    if label is not None:
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
    if not weights.any():
        raise InvalidInputError("sample_weight must have a number above 0, got zeros only")
    return weights


def read_held_out(held_out: Any, task: Task) -> tuple["pd.DataFrame", npt.NDArray[Any]]:
    """Read rows to measure on and their labels."""
    import pandas as pd

    try:
        X, y = held_out
    except (TypeError, ValueError):
        raise InvalidInputError(f"held_out must be a pair of X and y, got {shown(held_out)}") from None
    if is_table(X):
        table = as_pandas(X, "held_out")
    else:
        array = np.asarray(X)
        if array.ndim != 2 or array.shape[1] != task.table.shape[1]:
            raise InvalidInputError(
                f"held_out must have the {task.table.shape[1]} columns of X, got shape {array.shape}"
            )
        table = pd.DataFrame(array, columns=task.table.columns)
    rows = _rows_like(table, task.table, "held_out lacks")
    labels = labels_of_rows(y, len(rows))
    classes = np.unique(task.labels).tolist()
    foreign = [label for label in dict.fromkeys(labels.tolist()) if label not in classes]
    if foreign:
        raise InvalidInputError(f"held_out must hold labels of y, {listed(classes)}, got {listed(foreign)}")
    return rows, labels
