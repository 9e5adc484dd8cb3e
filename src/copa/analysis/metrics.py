"""Metrics of plans: near, different from each other, accepted, and still accepted by other models.

The functions on arrays take one plan (J, D) or many (N, J, D); `plan_metrics` puts all of them into a table.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, as_floats, as_vector, require_finite
from copa._core.reading import read_word
from copa._core.records import Positions, reduce_segments, segments_by_size
from copa._core.representation import short_repr
from copa.data.schema.columns import column_codes, column_numbers, read_table
from copa.exceptions import InvalidInputError
from copa.plans.changes import changed_cells
from copa.plans.frames import summary_table

if TYPE_CHECKING:
    import pandas as pd

    from copa.data.schema import FeatureSchema
    from copa.plans import PlanBatch

COSTS = ("l1", "l2")
CHUNK = 2**22  # scores held at once: 32 megabytes


@dataclass(frozen=True, eq=False)
class EmpiricalValidity:
    """Shares of a number of models under which options hold; for many plans each field has a leading N.

    Attributes
    ----------
    all : float
        Share of the models that accept all options.
    any : float
        Share of the models that accept at least one.
    each : ndarray of shape (J,)
        Share of the models that accept each option.

    Examples
    --------
    >>> import numpy as np
    >>> from copa.analysis.metrics import EmpiricalValidity
    >>> found = EmpiricalValidity(all=np.array([0.4]), any=np.array([1.0]), each=np.array([[0.5, 0.9]]))
    >>> float(found.each.mean())
    0.7
    """

    __repr__ = short_repr

    all: Array
    any: Array
    each: Array


def proximity(points: Any, origins: Any, *, cost: str = "l2", cost_weights: Any = None) -> Array:
    """Average distance of the options from the applicant (paper, Section 4).

    Parameters
    ----------
    points : array_like of shape (J, D) or (N, J, D)
        Options.
    origins : array_like of shape (D,) or (N, D)
        Applicants.
    cost : {"l1", "l2"}
        Norm of a difference.
    cost_weights : array_like of shape (D,), optional
        Cost of a unit of each coordinate, not negative; default: 1.

    Returns
    -------
    float or ndarray of shape (N,)

    Examples
    --------
    >>> from copa.analysis.metrics import proximity
    >>> float(proximity([[1.0, 3.0], [5.0, 0.0]], [1.0, 0.0], cost="l1"))
    3.5
    """
    plans = _read_plans(points)
    start = as_floats(origins, "origins")
    if start.shape != plans.shape[:-2] + plans.shape[-1:]:
        raise InvalidInputError(
            f"origins must have shape {plans.shape[:-2] + plans.shape[-1:]} to match points, got {start.shape}"
        )
    require_finite(start, "origins")
    distances = _norms(plans - start[..., None, :], cost, cost_weights)
    average: Array = distances.mean(axis=-1)
    return average


def diversity(points: Any, *, cost: str = "l2", cost_weights: Any = None) -> Array:
    """Determinant of K with K_ij = 1 / (1 + distance of options i and j): 0 for copies, near 1 for strangers.

    Parameters
    ----------
    points : array_like of shape (J, D) or (N, J, D)
        Options.
    cost : {"l1", "l2"}
        Norm of a difference.
    cost_weights : array_like of shape (D,), optional
        As in `proximity`.

    Returns
    -------
    float or ndarray of shape (N,)

    Examples
    --------
    >>> from copa.analysis.metrics import diversity
    >>> float(diversity([[1.0, 0.0], [1.0, 1.0]]))  # 1 - (1 / (1 + 1)) ** 2
    0.75
    """
    plans = _read_plans(points)
    distances = np.empty((*plans.shape[:-1], plans.shape[-2]))
    for j in range(plans.shape[-2]):  # one option against all at a time: all pairs at once would fill the memory
        distances[..., j] = _norms(plans - plans[..., j : j + 1, :], cost, cost_weights)
    return _determinant(distances)


def validity_now(points: Any, theta: Any) -> Array:
    """Share of the options that a model accepts.

    Parameters
    ----------
    points : array_like of shape (J, D) or (N, J, D)
        Options.
    theta : array_like of shape (D,)
        Parameters of the model.

    Returns
    -------
    float or ndarray of shape (N,)

    Examples
    --------
    >>> from copa.analysis.metrics import validity_now
    >>> float(validity_now([[1.0, 2.0], [1.0, 0.5]], [-1.0, 1.0]))
    0.5
    """
    plans = _read_plans(points)
    parameters = as_vector(theta, "theta", plans.shape[-1])
    share: Array = (plans @ parameters >= 0.0).mean(axis=-1)
    return share


def empirical_validity(points: Any, thetas: Any) -> EmpiricalValidity:
    """Share of models, such as refits on other data, under which options hold.

    Parameters
    ----------
    points : array_like of shape (J, D) or (N, J, D)
        Options.
    thetas : array_like of shape (K, D)
        Parameters of the models, in the coordinates of the options.

    Returns
    -------
    EmpiricalValidity

    Examples
    --------
    >>> from copa.analysis.metrics import empirical_validity
    >>> found = empirical_validity([[1.0, 2.0], [1.0, 0.5]], [[-1.0, 1.0], [0.0, 1.0]])
    >>> float(found.all), float(found.any), found.each.tolist()
    (0.5, 1.0, [1.0, 0.5])
    """
    plans = _read_plans(points)
    models = as_floats(thetas, "thetas")
    if models.ndim != 2 or len(models) == 0 or models.shape[1] != plans.shape[-1]:
        raise InvalidInputError(
            f"thetas must have shape (K, {plans.shape[-1]}) with at least one model, got {models.shape}"
        )
    require_finite(models, "thetas")
    batch = plans if plans.ndim == 3 else plans[None]
    every, some, each = np.empty(len(batch)), np.empty(len(batch)), np.empty(batch.shape[:2])
    step = max(1, CHUNK // (batch.shape[1] * len(models)))
    for first in range(0, len(batch), step):
        rows = slice(first, first + step)
        holds = batch[rows] @ models.T >= 0.0  # (n, J, K)
        every[rows] = holds.all(axis=1).mean(axis=1)
        some[rows] = holds.any(axis=1).mean(axis=1)
        each[rows] = holds.mean(axis=2)
    if plans.ndim == 3:
        return EmpiricalValidity(every, some, each)
    return EmpiricalValidity(every[0], some[0], each[0])


def sparsity(options: "pd.DataFrame", factual: "pd.DataFrame") -> npt.NDArray[np.int64]:
    """Count the columns that each option changes.

    Parameters
    ----------
    options : DataFrame
        M rows.
    factual : DataFrame
        One row, the applicant of all of them, or M rows, the applicant of each.

    Returns
    -------
    ndarray of int, shape (M,)

    Examples
    --------
    >>> from copa.analysis.metrics import sparsity
    >>> import pandas as pd
    >>> applicant = pd.DataFrame({"income": [1.0], "debt": [3.0]})
    >>> sparsity(pd.DataFrame({"income": [5.0, 4.0], "debt": [3.0, 0.0]}), applicant).tolist()
    [1, 2]
    """
    names = tuple(getattr(options, "columns", ()))
    new, today = read_table(options, names, "options"), read_table(factual, names, "factual")
    if len(today) not in (1, len(new)):
        raise InvalidInputError(
            f"factual must have one row, or one per option ({len(new)}), got {len(today)}; pass X.iloc[[i]]"
        )
    rows = np.zeros(len(new), dtype=np.intp) if len(today) == 1 else np.arange(len(new))
    counts: npt.NDArray[np.int64] = changed_cells(today.iloc[rows], new).sum(axis=1)
    return counts


def plan_metrics(batch: "PlanBatch", thetas: Any = None) -> "pd.DataFrame":
    """Measure every plan of a batch.

    Parameters
    ----------
    batch : PlanBatch
    thetas : array_like of shape (K, D), optional
        Parameters of other models, such as refits on later data, in the coordinates of `batch.encoded`.

    Returns
    -------
    DataFrame
        One row per applicant, NaN where there is no option: applicant, status, n_options; proximity, the mean effort;
        diversity, the determinant with efforts between options as distances (NaN also for a cost of one's own, of which
        a batch has nothing but the name); validity_now, the share accepted today; with `thetas`,
        validity_all, validity_any and validity_each (the mean over options), shares of these models; sparsity, the mean
        number of changed columns; and the bounds: lower, any_lower, lowest_option.

    Examples
    --------
    >>> from copa.analysis.metrics import plan_metrics
    >>> import copa, pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = pd.DataFrame({"income": [1.0, 2.0, 3.0, 4.0] * 9}), [False, False, True, True] * 9
    >>> later = copa.LaterModels(n_refits=20)
    >>> planner = copa.RecoursePlanner(LogisticRegression().fit(X, y), later_models=later, random_state=0).fit(X, y)
    >>> batch = planner.audit([X.iloc[[3]], X.iloc[[2]]], X.iloc[:2])
    >>> plan_metrics(batch)[["n_options", "sparsity", "validity_now"]].to_numpy().tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """
    summary, counts = summary_table(batch), batch.counts
    changed = sparsity(batch.options, batch.applicants.iloc[batch.owner]).astype(np.float64)
    return summary[["applicant", "status", "n_options"]].assign(
        proximity=_mean(batch.effort, counts),
        diversity=_effort_diversity(batch),
        validity_now=_mean(batch.accepted.astype(np.float64), counts),
        **({} if thetas is None else _validity_columns(batch, thetas)),
        sparsity=_mean(changed, counts),
        lower=summary["all"],
        any_lower=summary["any"],
        lowest_option=summary["lowest_option"],
    )


def _read_plans(points: Any) -> Array:
    plans = as_floats(points, "points")
    if plans.ndim not in (2, 3) or plans.shape[-2] == 0:
        raise InvalidInputError(
            f"points must have shape (J, D) or (N, J, D) with at least one option, got {plans.shape}"
        )
    require_finite(plans, "points")
    return plans


def _norms(differences: Array, cost: str, cost_weights: Any) -> Array:
    """Return the norms of vectors (..., D), each coordinate weighted."""
    power = 1 if read_word(cost, COSTS, "cost") == "l1" else 2
    if cost_weights is not None:
        weights = as_vector(cost_weights, "cost_weights", differences.shape[-1])
        if (weights < 0.0).any():
            raise InvalidInputError(f"cost_weights must not be negative, got {weights.min()}")
        differences = differences * weights
    norms: Array = np.linalg.norm(differences, ord=power, axis=-1)
    return norms


def _determinant(distances: Array) -> Array:
    """Return the determinants of 1 / (1 + distance), (...,) for distances (..., J, J); never negative by rounding."""
    with np.errstate(invalid="ignore"):  # NaN stays NaN
        determinant: Array = np.maximum(np.linalg.det(1.0 / (1.0 + distances)), 0.0)
    return determinant


def _mean(values: Array, counts: Positions) -> Array:
    """Return the mean over each applicant's options, NaN where there are none."""
    return reduce_segments(np.add, values, counts) / np.maximum(counts, 1)


def _validity_columns(batch: "PlanBatch", thetas: Any) -> dict[str, Array]:
    columns = {name: np.full(len(batch), np.nan) for name in ("validity_all", "validity_any", "validity_each")}
    for rows, options in segments_by_size(batch.counts):
        validity = empirical_validity(batch.encoded[options], thetas)
        columns["validity_all"][rows] = validity.all
        columns["validity_any"][rows] = validity.any
        columns["validity_each"][rows] = validity.each.mean(axis=1)
    return columns


def _effort_diversity(batch: "PlanBatch") -> Array:
    """Return the diversity of each plan, with the efforts between its options as distances, (N,)."""
    from copa.plans.cost import COSTS

    diversities = np.full(len(batch), np.nan)
    if batch.request.cost not in COSTS:
        return diversities
    for rows, options in segments_by_size(batch.counts):
        flat = batch.options.iloc[options.ravel()]
        diversities[rows] = _determinant(_efforts_between(flat, options.shape, batch.basis.schema, batch.request.cost))
    return diversities


def _efforts_between(table: "pd.DataFrame", shape: tuple[int, ...], schema: "FeatureSchema", cost: str) -> Array:
    """Return the efforts between the options of n plans of J, whose rows follow each other in the table, (n, J, J).

    They are NaN where an option holds a value that the schema does not know.
    """
    from copa.plans.cost import read_cost

    mutable = [feature for feature in schema.features if not feature.immutable and feature.name in table.columns]
    columns = sorted(mutable, key=lambda feature: feature.is_categorical)  # numeric ones first, as prices have them
    rows, readable = np.empty((*shape, len(columns))), np.ones(shape, dtype=np.bool_)
    first_level = sum(feature.is_numeric for feature in columns)
    for f, feature in enumerate(columns):
        if feature.is_numeric:
            rows[..., f] = column_numbers(table[feature.name])[0].reshape(shape)
        else:
            codes = column_codes(feature, table[feature.name]).reshape(shape)
            readable &= codes >= 0
            rows[..., f] = first_level + np.maximum(codes, 0)
            first_level += len(feature.values or ())
    model, apart = read_cost(cost), np.empty((*shape, shape[-1]))
    prices = model.prices(columns)
    with np.errstate(invalid="ignore"):  # of two infinite values
        for j in range(shape[-1]):  # one option against all at a time, as in `diversity`
            apart[..., j] = model.distance(prices, rows, rows[:, j : j + 1])
    apart[~(readable[:, :, None] & readable[:, None, :])] = np.nan
    return apart
