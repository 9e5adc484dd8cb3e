"""`keep`: a refit of the model that accepts every row that was promised to be accepted."""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Flags
from copa._core.progress import stage
from copa._core.reading import read_number
from copa._core.words import counted, hint, listed, shown
from copa.data.tables.casting import cast_like
from copa.data.tables.frames import as_pandas, is_table, with_columns
from copa.exceptions import CopaError, InvalidInputError
from copa.models.base import best_of, labels_of_rows, read_classes, read_threshold
from copa.models.decisions import accepts, predicted
from copa.promises.broken_share import Limit
from copa.promises.days import read_day
from copa.promises.deciding_model import promised_label
from copa.promises.exact_refit import ExactRefit, exact_model
from copa.promises.kept_model import (
    EXACT,
    METRICS,
    UNCHANGED,
    WEIGHTED,
    KeptModel,
    Split,
    cross_validated,
    lenient,
    metrics_of,
    metrics_table,
)
from copa.promises.outstanding import Outstanding
from copa.promises.refit import REFIT, Outcome, PlainRefit, WeightedRefit

if TYPE_CHECKING:
    import pandas as pd

# Log-odds: a probability of 0.50025. A hundred times what single precision loses in a score of a hundred terms, and a
# promise whose multiplier is 10 pays 0.01 in summed log loss for it.
MARGIN = 1e-3
LARGEST_LOSS = 0.02  # of AUC on held-out rows; a larger one is warned of


def keep(  # noqa: PLR0913 - three of them few will need
    estimator: Any,
    X: Any,
    y: Any,
    promises: Any,
    *,
    max_broken: float | str = 0,
    margin: float = MARGIN,
    favourable: Any = None,
    sample_weight: Any = None,
    as_of: Any = None,
    held_out: tuple[Any, Any] | None = None,
    threshold: float | None = None,
    model_version: str | None = None,
) -> KeptModel:
    """Fit a model of the same kind that accepts the promised rows, and report the price.

    A logistic regression with an L2 penalty or none, alone or at the end of a pipeline, gets the parameters of the
    least objective among all that keep the promises (`KeptModel.solution` proves it). Its encoders are fitted as the
    plain refit fits them. Every other learner that takes `sample_weight` is fitted to the training rows and the
    promised ones as accepted, and the weights of those that it breaks are doubled until it keeps them, or until they
    weigh as much as all training rows together.

    Parameters
    ----------
    estimator : object
        Classifier or pipeline of two classes. It stays as it is. If it is fitted to `X` and `y`, it is the candidate,
        and comes back itself if it breaks no more promises than it may; a model fitted to other data only says what is
        to be fitted. Of a LogisticRegressionCV the plain refit chooses the penalty, which then stays.
    X : DataFrame or array_like of shape (n, number of columns)
        Training rows of the new model.
    y : array_like of shape (n,)
        Their labels.
    promises : Ledger, PlanBatch or DataFrame
        The open promises of a ledger, the options of a batch, or a table of promised rows, with or without the facts of
        their promises.
    max_broken : int, float or str
        Promises that may be broken: a whole number of them, or a share such as 0.02 or "2%". A logistic regression
        first releases the promise of the highest multiplier, and then the next of those that remain: a heuristic, which
        finds low prices and not always the lowest.
    margin : float
        Least score of a promised row: log-odds, or the value of the decision function. A promise with a score of just
        zero would be at the mercy of rounding. At a threshold it counts beyond that.
    favourable : object, optional
        The label that was promised; None for the one that the promises state, or true of true and false. It must not
        contradict the promises.
    sample_weight : array_like of shape (n,), optional
        Weights of the training rows in the fit of the last step.
    as_of : object, optional
        Day on which the promises are outstanding, in UTC, as in `gate`; None is today. Promises of unknown status are
        kept.
    held_out : tuple, optional
        X and y on which both models are measured. None for five folds of the training rows: both are fitted to four of
        them and measured on the fifth in turn (beyond 20,000 rows, on one).
    threshold : float, optional
        Probability of the favourable label from which on the new model will accept; of a classifier without
        probabilities, a value of its decision function. None for the threshold that a ledger or a batch states, or else
        the model's own `predict`.
    model_version : str, optional
        Keep only promises made with this version of the model, such as those of one table of a ledger with several.

    Returns
    -------
    KeptModel

    Raises
    ------
    InvalidInputError
        If the promises are empty, lack a column, or hold a row that the encoder refuses; if labels do not fit; if the
        learner takes no weights.
    RetrainingError
        If the fit has no unique finite solution.

    Examples
    --------
    >>> import copa
    >>> from sklearn.compose import make_column_selector, make_column_transformer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder, StandardScaler
    >>> from copa.promises import keep
    >>> data = copa.datasets.load_german()
    >>> encoder = make_column_transformer(
    ...     (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
    ...     (StandardScaler(), make_column_selector(dtype_include="number")),
    ... )
    >>> model = make_pipeline(encoder, LogisticRegression(max_iter=1000))
    >>> young = data.features["age"] < 35
    >>> promised = data.features[~young].head(60)
    >>> kept = keep(model, data.features[young], data.favourable[young], promised)
    >>> kept.n_broken_before > 0, kept.n_broken_after
    (True, 0)
    """
    limit = Limit.read(max_broken)
    task = _read_task(estimator, X, y, promises, margin, favourable, sample_weight, as_of, threshold, model_version)
    n_allowed = limit.of(len(task.rows))
    with stage("refitting the model"):
        refit = task.refit(estimator)
        plain = refit.model
        refit.encode(task.rows)  # says at once which row it refuses
        candidate = estimator if _is_candidate(task, plain) else plain
        before = ~task.accepted_by(candidate)
    if before.sum() <= n_allowed:
        outcome, model, method = _nothing_to_do(refit, before), candidate, UNCHANGED
    else:
        with stage("keeping promises"):
            outcome = task.keeper(refit).keep(task.margin, n_allowed)
        model = refit.assembled(outcome.classifier)
        method = WEIGHTED if outcome.solution is None else EXACT
    after = ~task.accepted_by(model)
    with stage("measuring on held-out rows"):
        numbers = _metrics(task, held_out, plain, model, outcome, ~after, method)
    return _assembled(task, outcome, model, plain, method, before, after, numbers)


@dataclass(frozen=True, eq=False)
class _Task:
    """The arguments of `keep`, read and checked."""

    estimator: Any  # as given
    table: "pd.DataFrame"  # n training rows
    named: bool  # whether the model is given tables
    labels: npt.NDArray[Any]  # (n,)
    row_weights: Array | None  # (n,)
    rows: "pd.DataFrame"  # m promised rows, in the columns and dtypes of the table
    favourable: Any
    margin: float
    threshold: float | None  # from which on the model accepts; None for `predict`
    n_unknown: int  # promises of unknown status

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
        """Return which promised rows a model accepts, (m,)."""
        try:
            return accepts(model, self.input(self.rows), self.favourable, self.threshold, REFIT)
        except InvalidInputError as error:
            missing = self.rows.isna().any(axis=1).to_numpy()
            if not missing.any():
                raise
            raise InvalidInputError(f"promise {shown(self.rows.index[int(missing.argmax())])}: {error}") from error

    def keeper(self, refit: PlainRefit, chosen: Flags | None = None) -> ExactRefit | WeightedRefit:
        """Return the refit of the last step that keeps all promises, or those chosen."""
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


def _read_task(  # noqa: PLR0913, PLR0917 - the arguments of `keep`
    estimator: Any,
    X: Any,
    y: Any,
    promises: Any,
    margin: Any,
    favourable: Any,
    sample_weight: Any,
    as_of: Any,
    threshold: Any,
    model_version: str | None,
) -> _Task:
    """Read the arguments of `keep`, or say in one line what is wrong with one of them."""
    if not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        raise InvalidInputError(f"estimator must be a scikit-learn classifier or pipeline, got {shown(estimator)}")
    outstanding = Outstanding(promises, read_day(as_of), model_version)
    blocks = [block.rows for block in outstanding if len(block)]
    outstanding.require_any()
    table, named = _read_table(X, "X", list(blocks[0].columns), "the promised rows"), is_table(X)
    labels = labels_of_rows(y, len(table))
    classes = _read_classes(estimator, labels)
    for block in blocks:
        outstanding.require_columns(list(table.columns), list(block.columns), "X")
    wanted = outstanding.favourable(favourable)
    foreign = f"favourable must be a label of y, {listed(classes.tolist())}, got {shown(wanted)}"
    return _Task(
        estimator=estimator,
        table=table,
        named=named,
        labels=labels,
        row_weights=_read_weights(sample_weight, len(table)),
        rows=_rows_of(blocks, table),
        favourable=promised_label(wanted, classes, foreign, labels),
        margin=read_number(margin, "margin", positive=True),
        threshold=_read_threshold(threshold, outstanding, estimator),
        n_unknown=sum(outstanding.unknown_statuses.values()),
    )


def _rows_of(blocks: "list[pd.DataFrame]", table: "pd.DataFrame") -> "pd.DataFrame":
    """Return all promised rows in the columns and dtypes of the training rows; repeated ids get numbers."""
    import pandas as pd

    parts = [_rows_like(block, table) for block in blocks]
    rows = parts[0] if len(parts) == 1 else pd.concat(parts)
    if rows.index.is_unique:
        return rows
    places = rows.groupby(level=0, sort=False).cumcount().tolist()
    names = [f"{name} ({k + 1})" if k else str(name) for name, k in zip(rows.index, places, strict=True)]
    return rows.set_axis(pd.Index(names, name=rows.index.name, dtype=object))


def _read_threshold(given: Any, outstanding: Outstanding, estimator: Any) -> float | None:
    """Return the threshold given, or else that of the promises."""
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


def _read_table(rows: Any, name: str, columns: list[Any], whose: str) -> "pd.DataFrame":
    """Return rows as a table; those of an array are named as the columns given."""
    import pandas as pd

    if is_table(rows):
        return as_pandas(rows, name)
    array = np.asarray(rows)
    if array.ndim != 2 or array.shape[1] != len(columns):
        raise InvalidInputError(
            f"{name} must be a DataFrame, or an array with the {len(columns)} columns of {whose}, got shape "
            f"{array.shape}"
        )
    return pd.DataFrame(array, columns=columns)


def _rows_like(rows: "pd.DataFrame", table: "pd.DataFrame", who: str = "the promised rows lack") -> "pd.DataFrame":
    """Return rows in the columns and dtypes of the training rows."""
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


def _read_held_out(held_out: Any, task: _Task) -> tuple["pd.DataFrame", npt.NDArray[Any]]:
    """Read the rows that both models are measured on, and their labels."""
    try:
        X, y = held_out
    except (TypeError, ValueError):
        raise InvalidInputError(f"held_out must be a pair of X and y, got {shown(held_out)}") from None
    rows = _rows_like(_read_table(X, "held_out", list(task.table.columns), "X"), task.table, "held_out lacks")
    labels = labels_of_rows(y, len(rows))
    classes = np.unique(task.labels).tolist()
    foreign = [label for label in dict.fromkeys(labels.tolist()) if label not in classes]
    if foreign:
        raise InvalidInputError(f"held_out must hold labels of y, {listed(classes)}, got {listed(foreign)}")
    return rows, labels


def _assembled(
    task: _Task, outcome: Outcome, model: Any, plain: Any, method: str, before: Flags, after: Flags, numbers: Array
) -> KeptModel:
    import pandas as pd

    ids = task.rows.index
    multipliers = pd.Series(outcome.multipliers, index=ids, name="multiplier")
    unknown = "the model's own predict refuses it, though its score is at the margin"
    reasons = {ids[k]: outcome.reasons.get(k, unknown) for k in np.flatnonzero(after).tolist()}
    return KeptModel(
        model=model,
        n_broken_before=int(before.sum()),
        n_broken_after=int(after.sum()),
        price=outcome.price,
        multipliers=multipliers.sort_values(ascending=False, kind="stable"),
        metrics=metrics_table(numbers),
        plain=plain,
        method=method,
        weights=pd.Series(outcome.weights, index=ids, name="weight"),
        broken=pd.Series(reasons, name="reason", dtype=object),
        path=pd.DataFrame(outcome.path),
        margin=task.margin,
        favourable=task.favourable,
        note=_notes(task, outcome, method, numbers),
        solution=outcome.solution,
        threshold=task.threshold,
    )


def _notes(task: _Task, outcome: Outcome, method: str, numbers: Array) -> str:
    """Return notes on the method, the threshold and a large loss; "" if there is nothing to say."""
    notes = []
    if method == WEIGHTED:
        name = type(outcome.classifier).__name__
        logistic = "; the exact optimum is for a pure L2 penalty or none" if name.startswith("LogisticRegr") else ""
        notes.append(f"{name} was fitted with weighted promised rows{logistic}")
    if task.n_unknown:
        notes.append(f"{counted(task.n_unknown, 'promise')} of unknown status counted as open")
    if task.threshold is not None:
        notes.append(f"promises are kept at a threshold of {task.threshold:g}, and not by predict")
    before, after = numbers[:, METRICS.index("auc")]
    if method != UNCHANGED and before - after > LARGEST_LOSS:
        lost = f"the promises cost much: AUC on held-out rows falls from {before:.3f} to {after:.3f}"
        if method == WEIGHTED:  # no optimum: another learner may do better
            warnings.warn(f"{lost}; allow some to be broken (max_broken), or try another learner", stacklevel=4)
        notes.append(lost)
    return "; ".join(notes)


def _nothing_to_do(refit: PlainRefit, broken: Flags) -> Outcome:
    zeros = np.zeros(len(broken))
    reasons = dict.fromkeys(np.flatnonzero(broken).tolist(), "no more than max_broken are: nothing had to change")
    return Outcome(refit.classifier, 0.0, zeros, zeros, reasons)


def _is_candidate(task: _Task, plain: Any) -> bool:
    """Return whether the estimator given is a fit to these very rows: it predicts what the plain refit predicts.

    A learner that draws at random without a seed may differ from a refit by as much as two refits differ.
    """
    import pandas as pd

    rows = task.input(pd.concat([task.table, task.rows], ignore_index=True))
    try:
        given = predicted(task.estimator, rows, "the estimator")
    except InvalidInputError:  # not fitted, or to other columns: it is no fit to these rows
        return False
    refitted = predicted(plain, rows, REFIT)
    if (given == refitted).all():
        return True
    settings = task.estimator.get_params()
    seeds = [value for name, value in settings.items() if name.rpartition("__")[2] == "random_state"]
    if all(seed is not None for seed in seeds):
        return False
    again = predicted(task.refit(task.estimator).model, rows, REFIT)
    return bool((given != refitted).mean() <= 2.0 * (refitted != again).mean())


def _metrics(task: _Task, held_out: Any, plain: Any, model: Any, outcome: Outcome, kept: Flags, method: str) -> Array:
    """Return the metrics of the plain and the kept model, (2, number of metrics)."""
    classes = np.unique(task.labels)
    if held_out is not None:
        rows, labels = _read_held_out(held_out, task)
        return np.array([metrics_of(fitted, task.input(rows), labels, classes) for fitted in (plain, model)])

    def models(split: Split) -> tuple[Any, Any]:
        refit = task.refit(lenient(task.estimator), split.fitted)
        if method == UNCHANGED:
            return refit.model, refit.model
        keeper = task.keeper(refit, kept)
        if isinstance(keeper, ExactRefit):
            return refit.model, refit.assembled(keeper.keep(task.margin).classifier)
        return refit.model, refit.assembled(keeper.fit(outcome.weights[kept]))

    def score(model: Any, rows: npt.NDArray[np.intp]) -> list[float]:
        return metrics_of(model, task.input(task.table.iloc[rows]), task.labels[rows], classes)

    return cross_validated(task.labels, models, score)
