"""`keep`: a refit of the model that accepts every row that was promised to be accepted."""

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Flags
from copa._core.progress import stage
from copa._core.words import counted
from copa.exceptions import InvalidInputError
from copa.models.decisions import predicted
from copa.promises.exact_refit import ExactRefit, Outcome
from copa.promises.keep_task import Task, read_held_out, read_task
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
from copa.promises.limit import Limit
from copa.promises.plain_refit import REFIT, PlainRefit

# Log-odds: a probability of 0.50025. A hundred times what single precision loses in a score of a hundred terms, and a
# promise whose multiplier is 10 pays 0.01 in summed log loss for it.
MARGIN = 1e-3
LARGEST_LOSS = 0.02  # of AUC on held-out rows; beyond, it is said


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
    """Fit a model of the same kind that accepts the promised rows, and say what that costs.

    A logistic regression with an L2 penalty or none, alone or at the end of a pipeline, gets the parameters of the
    least objective among all that keep the promises (`KeptModel.solution` proves it). Its encoders are fitted as the
    plain refit fits them. Every other learner that takes `sample_weight` is fitted to the training rows and the
    promised ones as accepted, and the weights of those that it breaks are doubled until it keeps them, or until they
    weigh as much as all training rows together.

    Parameters
    ----------
    estimator : object
        Classifier or pipeline of two classes. It stays as it is. If it is fitted, its fit to `X` and `y` is the
        candidate, and comes back itself if it breaks no more promises than it may; a model of other data only says what
        is to be fitted. Of a LogisticRegressionCV the refit chooses the penalty, and keeps it.
    X : DataFrame or array_like of shape (n, number of columns)
        Training rows of the new model.
    y : array_like of shape (n,)
        Their labels.
    promises : Ledger, PlanBatch or DataFrame
        What was promised: the open promises of a ledger, the options of a batch, or a table of rows, with the facts of
        their promises or without.
    max_broken : int, float or str
        Promises that may be broken: a whole number of them, or a share such as 0.02 or "2%". Of a logistic regression,
        the promise of the highest multiplier is released first, and then the next of those that remain; this is a
        heuristic, which finds low prices and not always the lowest.
    margin : float
        Least score of a promised row: log-odds, or the value of the decision function. A promise with a score of just
        zero would be at the mercy of rounding. At a threshold it counts beyond that.
    favourable : object, optional
        The label that was promised; None for that of the promises, and of true and false for true. It must not
        contradict the promises.
    sample_weight : array_like of shape (n,), optional
        Weights of the training rows, for the last step.
    as_of : object, optional
        A date in UTC, or its text such as 2026-11-18; None for today. Promises that were made later, are valid until an
        earlier date or have a status that says that they ended are left out; those of an unknown status are kept.
    held_out : tuple, optional
        X and y to measure both models on. None for five folds of the training rows: both are fitted to four of them and
        measured on the fifth in turn (beyond 20,000 rows, on one).
    threshold : float, optional
        Probability of the favourable label from which on the new model will accept; of a classifier without
        probabilities, a value of its decision function. None for the threshold that a ledger or a batch states, and
        what `predict` says where nothing is stated.
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
    task = read_task(estimator, X, y, promises, margin, favourable, sample_weight, as_of, threshold, model_version)
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


def _assembled(
    task: Task, outcome: Outcome, model: Any, plain: Any, method: str, before: Flags, after: Flags, numbers: Array
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


def _notes(task: Task, outcome: Outcome, method: str, numbers: Array) -> str:
    """What there is to say about the method, the threshold and a model that lost much; "" if nothing."""
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


def _is_candidate(task: Task, plain: Any) -> bool:
    """Return whether the estimator given is a fit to these very rows: it says what the plain refit says.

    A learner that draws at random, without a seed, may differ from a refit as much as two refits differ.
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


def _metrics(task: Task, held_out: Any, plain: Any, model: Any, outcome: Outcome, kept: Flags, method: str) -> Array:
    """Metrics of the plain and the kept model, (2, number of metrics)."""
    classes = np.unique(task.labels)
    if held_out is not None:
        rows, labels = read_held_out(held_out, task)
        return np.array([metrics_of(one, task.input(rows), labels, classes) for one in (plain, model)])

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
