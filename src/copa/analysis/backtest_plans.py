"""The versions of a backtest, and what was promised as of each of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array
from copa._core.progress import counting
from copa._core.words import listed
from copa.exceptions import CopaError, InvalidInputError
from copa.models.base import Model, best_of
from copa.models.refits.retraining import draw_with_both_classes, refit
from copa.models.refits.versions import read_dated, refit_versions, require_list
from copa.planner.later_models import Expected, LaterModels, read_later_models
from copa.theory.sets.ambiguity import AmbiguitySet, MomentBall

if TYPE_CHECKING:
    import pandas as pd

    from copa.plans import PlanBatch

SMALLEST_LEVEL = 1e-4  # of a plan that is not robust: today's model must accept, and hardly more is asked
N_REFITS = 20  # of such a plan, which hardly goes by them


@dataclass(frozen=True, eq=False)
class Version:
    """A version of the model, and the data it was trained on.

    Attributes
    ----------
    name : str
    estimator : object
        Fitted.
    features : DataFrame
    labels : ndarray of shape (n,)
    """

    name: str
    estimator: Any
    features: "pd.DataFrame"
    labels: Any


@dataclass(frozen=True, eq=False)
class Promises:
    """Options that were promised as of a version, M of them.

    Attributes
    ----------
    start : dict of str to object
        The row of `Backtest.starts`.
    position : int
        Of the version.
    like : Model
        The model in force then.
    options : DataFrame
    owner : ndarray of shape (M,)
    centre : ndarray of shape (M,)
        Means of the options' scores in the ambiguity set.
    reach : ndarray of shape (M,) or None
        How far its radius lets them move; None for a set without a radius.
    """

    start: dict[str, Any]
    position: int
    like: Model
    options: "pd.DataFrame"
    owner: Any
    centre: Array
    reach: Array | None


def only_data(given: Sequence[Any]) -> tuple[Any, Any]:
    """The one set of training data that there is, or what is needed."""
    if not given:
        raise InvalidInputError(
            "a backtest takes the training data of the versions, history_data=[(X, y), ...] oldest first, or without a "
            "history X and y, which are split"
        )
    return read_dated(given[0], 1, None)


def read_versions(
    planner: Any, history_data: Sequence[Any], present: Sequence[Any], history: Sequence[Any] | None, names: Any
) -> list[Version]:
    """All versions, oldest first."""
    pairs = [*history_data, *present]
    known = [str(k) for k in range(1, len(pairs) + 1)] if names is None else [str(name) for name in names]
    if len(known) != len(pairs) or len(set(known)) != len(known):
        raise InvalidInputError(f"names must be {len(pairs)} different ones, one per version, got {listed(known)}")
    data = [read_dated(given, name, None) for name, given in zip(known, pairs, strict=True)]
    if history is not None:
        require_list(history, "history")
        if len(history) != len(history_data):
            raise InvalidInputError(
                f"history must have one model for each of the {len(history_data)} sets of data, got {len(history)}"
            )
    older = refit_versions(planner.model, history_data) if history is None else list(history)
    estimators = [*older, *([planner.model] if present else [])]
    return [Version(name, estimator, *own) for name, estimator, own in zip(known, estimators, data, strict=True)]


def split_versions(planner: Any, data: tuple[Any, Any], n_splits: int) -> list[Version]:
    """Random halves of the data, two after another: the one to plan on, and the one to ask."""
    from copa.models.refits.refits import keep_penalty_per_row

    X, y = data
    rng = np.random.default_rng([planner.random_state or 0, 3])
    target = (y == y[0]).astype(np.float64)
    estimator = best_of(planner.model)
    named = hasattr(estimator, "feature_names_in_")
    columns = [str(name) for name in estimator.feature_names_in_] if named else list(X.columns)
    settings = keep_penalty_per_row(estimator, 0.5)

    def draw() -> Any:
        order = rng.permutation(len(X))
        return np.sort(order[: len(X) // 2]), np.sort(order[len(X) // 2 :])

    pairs = []
    for k in counting(range(1, n_splits + 1), "fitting the model to halves of the rows", n_splits, "splits"):
        halves = draw_with_both_classes(draw, target, "halves of the rows")
        for name, rows in zip((f"split {k}", f"the rest of split {k}"), halves, strict=True):
            own = X.iloc[rows]
            model = refit(estimator, own[columns] if named else own[columns].to_numpy(), y[rows], settings)
            pairs.append(Version(name, model, own, y[rows]))
    return pairs


def as_of(planner: Any, version: Version, later_models: LaterModels, **changes: Any) -> Any:
    """A planner with the same settings but those given, fitted to a version's data."""
    settings = planner.get_params(deep=False)
    settings |= {"model": version.estimator, "time_limit": None, "later_models": later_models, **changes}
    fresh = type(planner)(**settings)
    try:
        return fresh.fit(version.features, version.labels)
    except CopaError as error:
        raise type(error)(f"as of version {version.name}: {error}") from error


def plan_as_of(planner: Any, versions: Sequence[Version], t: int, n_applicants: int, *, dated: bool) -> Promises:
    """Plan for declined applicants of a version's data."""
    version, older = versions[t], [other.estimator for other in versions[:t]] if dated else []
    later = read_later_models(planner.later_models)
    if later.ambiguity is None:
        nominal: AmbiguitySet = MomentBall(family=later.family)
        later = replace(later, history=older or None)
    else:  # around the moments of the version
        nominal = replace(later.ambiguity, mean=np.zeros(0), cov=np.zeros((0, 0)), radius=0.0)
        later = replace(later, ambiguity=replace(nominal, radius=later.ambiguity.radius))
    made = as_of(planner, version, later)
    model = made.strategy_.model
    declined = np.flatnonzero(~model.accepts(version.features))
    rng = np.random.default_rng([planner.random_state or 0, t, 4])
    chosen = np.sort(rng.choice(declined, min(n_applicants, len(declined)), replace=False))
    people = version.features.iloc[chosen].reset_index(drop=True)
    batch = made.plan(people)
    not_robust = LaterModels(ambiguity=nominal, n_refits=N_REFITS)
    if made.strategy_.subject == "scores":  # guarantees rest on held-out refits, which have no radius
        not_robust = Expected(n_refits=N_REFITS)
    plain = as_of(planner, version, not_robust, guarantee=SMALLEST_LEVEL, guarantee_for="each", objective=None).plan(
        people
    )
    served = batch.status == "ok"
    both = served & (plain.counts > 0)
    own = served[batch.owner]
    points, owner = batch.points[own], batch.owner[own]
    scores = batch.ambiguity.scores(points)
    unit = np.ldexp(1.0, scores.exponents)
    start = {
        "version": version.name,
        "n_older": len(older),
        "n_applicants": len(people),
        "n_served": int(served.sum()),
        "n_options": int(own.sum()),
        "guaranteed": _average(batch.option_lower[own]),
        "expected": _average(batch.expected_rate[own]) if batch.n_held_out else None,
        "effort": _average(_plan_means(batch)[both]),
        "plain_effort": _average(_plan_means(plain)[both]),
        "radius": float(batch.ambiguity.radius),
        "radius_source": str(made.radius_source_),
    }
    options = batch.options[own].reset_index(drop=True)
    centre = getattr(batch.ambiguity, "reliability", 1.0) * scores.means * unit  # of a set that shrinks them itself
    reach = scores.reaches * unit if batch.ambiguity.radius > 0.0 else None
    return Promises(start, t, model, options, owner, centre, reach)


def _average(values: Array) -> float | None:
    return float(values.mean()) if len(values) else None


def _plan_means(batch: "PlanBatch") -> Array:
    """Mean effort of the options of each plan, (N,); NaN without options."""
    sums = np.bincount(batch.owner, weights=batch.effort, minlength=len(batch))
    return np.asarray(sums / np.where(batch.counts > 0, batch.counts, np.nan))
