"""Backtest: plan as of each past version of a model, and ask the later ones."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from copa._core.arrays import Array, Flags
from copa._core.progress import counting
from copa._core.reading import read_count
from copa._core.words import listed
from copa.analysis.backtest_record import SPLITS, VERSIONS, Backtest
from copa.exceptions import CopaError, InvalidInputError, WeakModelWarning
from copa.models.base import Model, best_of
from copa.models.refits.penalty import keep_penalty_per_row
from copa.models.refits.retraining import refit
from copa.models.refits.subsets import draw_with_both_classes
from copa.models.refits.versions import read_dated, read_version, refit_versions, require_list, scores_of
from copa.planner.labels import weakness_of
from copa.planner.later_models import Expected, LaterModels, read_later_models
from copa.plans import PlanBatch
from copa.theory.sets.ambiguity import AmbiguitySet, MomentBall

__all__ = ["Backtest", "run_backtest"]

N_APPLICANTS, N_SPLITS = 50, 10
SMALLEST_LEVEL = 1e-4  # of a plan that is not robust: today's model must accept, and hardly more is asked
N_REFITS = 20  # of such a plan, which hardly depends on them


@dataclass(frozen=True, eq=False)
class Version:
    """A version of the model, fitted, and the data it was trained on."""

    name: str
    estimator: Any
    features: pd.DataFrame
    labels: Any


@dataclass(frozen=True, eq=False)
class PromisedOptions:
    """M options that were promised as of a version."""

    start: dict[str, Any]  # the row of `Backtest.starts`
    position: int  # of the version
    model: Model  # in force then
    options: pd.DataFrame
    owner: Any  # (M,)
    centre: Array  # means of the options' scores in the ambiguity set, (M,)
    reach: Array | None  # distances by which its radius lets them move, (M,); None for a set without a radius


def run_backtest(  # noqa: PLR0913 - the settings of a backtest, all but the data by keyword
    planner: Any,
    history_data: Sequence[Any] = (),
    *,
    X: pd.DataFrame | None = None,
    y: Any = None,
    history: Sequence[Any] | None = None,
    names: Sequence[Any] | None = None,
    horizon: int | None = None,
    first: int | None = None,
    n_applicants: int = N_APPLICANTS,
    n_splits: int = N_SPLITS,
) -> Backtest:
    """Plan as of each past version, ask the later ones, and say whether the promises were kept.

    As of each version a planner with the same settings is fitted to that version's data, and knows only the versions
    before it. Its promises are put to the later versions, over 1, 2, ... retrainings, each in transitions that do not
    overlap. Without older data, halves of the rows are planned on and the other halves are asked.

    Parameters
    ----------
    planner : RecoursePlanner
        Fitted or not; it stays as it is.
    history_data : sequence of tuple of DataFrame and array_like
        Training data (X, y) of the versions, oldest first.
    X : DataFrame, optional
        Training data of the model in force, the newest version; None if they are the last of `history_data`.
    y : array_like of shape (n,), optional
        Their labels.
    history : sequence of object, optional
        Fitted models that belong to `history_data`, one each; None clones the model in force and fits it to them.
    names : sequence of str, optional
        Of all versions, the newest included; numbers from 1 where there are none.
    horizon : int, optional
        Most retrainings that a promise is followed over; None is the planner's, or 4.
    first : int, optional
        First version to plan as of, from 1. None leaves as many older ones as the horizon is long, if at least half of
        the versions remain.
    n_applicants : int
        Declined rows of each version's data that are planned for, a random sample.
    n_splits : int
        Random halves of the data, where there is no history.

    Returns
    -------
    Backtest

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> import copa
    >>> from copa.analysis.backtest import run_backtest
    >>> def loans(shift, seed):
    ...     rng = np.random.default_rng(seed)
    ...     X = pd.DataFrame(rng.normal(size=(300, 2)).round(2), columns=["income", "savings"])
    ...     return X, (X.sum(axis=1) + rng.logistic(scale=0.5, size=300) > shift)
    >>> past = [loans(shift, seed) for seed, shift in enumerate([0.0, 0.0, 0.0, 3.0])]
    >>> later = copa.LaterModels(n_refits=50)
    >>> planner = copa.RecoursePlanner(LogisticRegression().fit(*past[-1]), later_models=later, n_options=2)
    >>> found = run_backtest(planner, past, horizon=1, n_applicants=15)
    >>> found.horizons.loc[1, ["lowest_at", "verdict"]].tolist()
    ['4', 'too few transitions to say']
    """
    last = read_count(horizon if horizon is not None else read_later_models(planner.later_models).horizon, "horizon")
    read_count(n_applicants, "n_applicants")
    read_count(n_splits, "n_splits")
    require_list(history_data, "history_data")
    present = [] if X is None else [(X, y)]
    n_versions = len(history_data) + len(present)
    if n_versions < 2:
        if history:
            raise InvalidInputError(
                "planning as of an older version takes its training data: give history_data=[(X, y), ...] beside the "
                "models in history"
            )
        versions = split_versions(planner, only_data([*history_data, *present]), n_splits)
        kind, last, pairs = SPLITS, 1, [(k, k + 1) for k in range(0, len(versions), 2)]
    else:
        versions = read_versions(planner, history_data, present, history, names)
        kind, pairs = VERSIONS, _disjoint_pairs(_first(first, last, n_versions) - 1, last, n_versions)
    starts = sorted({t for t, _ in pairs})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakModelWarning)  # the record names weak versions, once
        promised = {
            t: plan_as_of(planner, versions, t, n_applicants, dated=kind == VERSIONS)
            for t in counting(starts, "planning as of each version", len(starts), "versions")
        }
    whom = str(planner.guarantee_for)
    asked = [(t, v) for t, v in pairs if len(promised[t].options)]
    return Backtest(
        kind=kind,
        versions=tuple(version.name for version in versions),
        guarantee=float(planner.guarantee),
        guarantee_for=whom,
        weak=_weak_versions(versions, sorted({v for pair in pairs for v in pair}), promised[starts[0]].model),
        starts=pd.DataFrame([options.start for options in promised.values()]),
        transitions=pd.DataFrame(
            [
                _ask(versions[v], v, promised[t], whom)
                for t, v in counting(asked, "asking the later versions", len(asked), "transitions")
            ]
        ),
        max_horizon=last,
    )


def _first(first: int | None, horizon: int, n_versions: int) -> int:
    if first is not None:
        return read_count(first, "first", most=n_versions - 1)
    return 1 + min(horizon, (n_versions - 1) // 2)


def _disjoint_pairs(begin: int, horizon: int, n_versions: int) -> list[tuple[int, int]]:
    """Return positions of an earlier and a later version, by start and horizon; those of one horizon do not overlap.

    They are counted back from the newest version: which versions are asked must not depend on their answers.
    """
    ends = [(h, v) for h in range(1, horizon + 1) for v in range(n_versions - 1, begin + h - 1, -h)]
    return sorted((v - h, v) for h, v in ends)


def _weak_versions(versions: Sequence[Version], positions: Sequence[int], like: Model) -> tuple[str, ...]:
    """Return the names of the versions that are no better than always giving the more frequent answer."""
    weak = []
    for v in positions:
        version = versions[v]
        model = read_version(version.estimator, v + 1, version.features.columns, like)
        if weakness_of(model, version.features, model.read_labels(version.labels, len(version.features))):
            weak.append(version.name)
    return tuple(weak)


def _ask(version: Version, position: int, promised: PromisedOptions, whom: str) -> dict[str, Any]:
    """Ask a version about the promises made as of an earlier one: a row of `Backtest.transitions`."""
    rows = promised.options
    model = read_version(version.estimator, position + 1, rows.columns, promised.model)
    try:
        accepted, scores = model.accepts(rows), scores_of(model, rows)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(
            f"version {version.name} of the model refuses options that were planned as of an earlier one: {error}; "
            "make the pipeline more tolerant (handle_unknown='ignore')"
        ) from error
    held, moved = _held(accepted, promised.owner, whom), scores - promised.centre
    reach = None if promised.reach is None else promised.reach * (1.0 + 1e-9)
    return {
        "start": promised.start["version"],
        "later": version.name,
        "horizon": position - promised.position,
        "n_promises": len(held),
        "accepted": float(held.mean()),
        "inside": None if reach is None else float((np.abs(moved) <= reach).mean()),
        "below": None if reach is None else float((moved < -reach).mean()),
    }


def _held(accepted: Flags, owner: Any, whom: str) -> Flags:
    """Return which promises hold: of each option, or of all or any options of a plan."""
    if whom == "each":
        return accepted
    return np.asarray(pd.Series(accepted).groupby(owner).agg(whom), dtype=bool)


def only_data(given: Sequence[Any]) -> tuple[Any, Any]:
    """Return the one set of training data that was given; an error says what is needed."""
    if not given:
        raise InvalidInputError(
            "a backtest takes the training data of the versions, history_data=[(X, y), ...] oldest first, or without a "
            "history X and y, which are split"
        )
    return read_dated(given[0], 1, None)


def read_versions(
    planner: Any, history_data: Sequence[Any], present: Sequence[Any], history: Sequence[Any] | None, names: Any
) -> list[Version]:
    """Return all versions, oldest first."""
    pairs = [*history_data, *present]
    labels = [str(k) for k in range(1, len(pairs) + 1)] if names is None else [str(name) for name in names]
    if len(labels) != len(pairs) or len(set(labels)) != len(labels):
        raise InvalidInputError(f"names must be {len(pairs)} different ones, one per version, got {listed(labels)}")
    data = [read_dated(given, label, None) for label, given in zip(labels, pairs, strict=True)]
    if history is not None:
        require_list(history, "history")
        if len(history) != len(history_data):
            raise InvalidInputError(
                f"history must have one model for each of the {len(history_data)} sets of data, got {len(history)}"
            )
    older = refit_versions(planner.model, history_data) if history is None else list(history)
    estimators = [*older, *([planner.model] if present else [])]
    return [Version(label, fitted, X, y) for label, fitted, (X, y) in zip(labels, estimators, data, strict=True)]


def split_versions(planner: Any, data: tuple[Any, Any], n_splits: int) -> list[Version]:
    """Return models of random halves of the data, two after another: the one to plan on, and the one to ask."""
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
            half = X.iloc[rows]
            model = refit(estimator, half[columns] if named else half[columns].to_numpy(), y[rows], settings)
            pairs.append(Version(name, model, half, y[rows]))
    return pairs


def _planner_as_of(planner: Any, version: Version, later_models: LaterModels, **changes: Any) -> Any:
    """Return a planner with the same settings but those given, fitted to a version's data."""
    settings = planner.get_params(deep=False)
    settings |= {"model": version.estimator, "time_limit": None, "later_models": later_models, **changes}
    fresh = type(planner)(**settings)
    try:
        return fresh.fit(version.features, version.labels)
    except CopaError as error:
        raise type(error)(f"as of version {version.name}: {error}") from error


def plan_as_of(planner: Any, versions: Sequence[Version], t: int, n_applicants: int, *, dated: bool) -> PromisedOptions:
    """Plan for declined applicants of a version's data; a dated plan goes by the versions before it."""
    version, older = versions[t], [other.estimator for other in versions[:t]] if dated else []
    later = read_later_models(planner.later_models)
    if later.ambiguity is None:
        nominal: AmbiguitySet = MomentBall(family=later.family)
        later = replace(later, history=older or None)
    else:  # around the moments of the version
        nominal = replace(later.ambiguity, mean=np.zeros(0), cov=np.zeros((0, 0)), radius=0.0)
        later = replace(later, ambiguity=replace(nominal, radius=later.ambiguity.radius))
    fitted = _planner_as_of(planner, version, later)
    model = fitted.strategy_.model
    declined = np.flatnonzero(~model.accepts(version.features))
    rng = np.random.default_rng([planner.random_state or 0, t, 4])
    chosen = np.sort(rng.choice(declined, min(n_applicants, len(declined)), replace=False))
    people = version.features.iloc[chosen].reset_index(drop=True)
    batch = fitted.plan(people)
    not_robust = LaterModels(ambiguity=nominal, n_refits=N_REFITS)
    if fitted.strategy_.subject == "scores":  # guarantees rest on held-out refits, which have no radius
        not_robust = Expected(n_refits=N_REFITS)
    settings = {"guarantee": SMALLEST_LEVEL, "guarantee_for": "each", "objective": None}
    plain = _planner_as_of(planner, version, not_robust, **settings).plan(people)
    served = batch.status == "ok"
    both = served & (plain.counts > 0)
    promised = served[batch.owner]
    points, owner = batch.points[promised], batch.owner[promised]
    scores = batch.ambiguity.scores(points)
    unit = np.ldexp(1.0, scores.exponents)
    start = {
        "version": version.name,
        "n_older": len(older),
        "n_applicants": len(people),
        "n_served": int(served.sum()),
        "n_options": int(promised.sum()),
        "guaranteed": _average(batch.option_lower[promised]),
        "expected": _average(batch.expected_rate[promised]) if batch.n_held_out else None,
        "effort": _average(_plan_means(batch)[both]),
        "plain_effort": _average(_plan_means(plain)[both]),
        "radius": float(batch.ambiguity.radius),
        "radius_source": str(fitted.radius_source_),
    }
    options = batch.options[promised].reset_index(drop=True)
    centre = getattr(batch.ambiguity, "reliability", 1.0) * scores.means * unit  # of a set that shrinks them itself
    reach = scores.reaches * unit if batch.ambiguity.radius > 0.0 else None
    return PromisedOptions(start, t, model, options, owner, centre, reach)


def _average(values: Array) -> float | None:
    return float(values.mean()) if len(values) else None


def _plan_means(batch: PlanBatch) -> Array:
    """Return the mean effort of the options of each plan, (N,); NaN without options."""
    sums = np.bincount(batch.owner, weights=batch.effort, minlength=len(batch))
    return np.asarray(sums / np.where(batch.counts > 0, batch.counts, np.nan))
