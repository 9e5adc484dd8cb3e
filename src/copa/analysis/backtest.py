"""Plan as of each past version of a model, and ask the later ones."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from copa._core.arrays import Flags
from copa._core.progress import counting
from copa._core.reading import read_count
from copa.analysis.backtest_plans import Promises, Version, only_data, plan_as_of, read_versions, split_versions
from copa.analysis.backtest_record import SPLITS, VERSIONS, Backtest
from copa.exceptions import InvalidInputError, WeakModelWarning
from copa.models.base import Model
from copa.models.refits.versions import read_version, require_list, scores_of
from copa.planner.labels import weakness_of
from copa.planner.later_models import read_later_models

__all__ = ["Backtest", "run_backtest"]

N_APPLICANTS, N_SPLITS = 50, 10


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
        warnings.simplefilter("ignore", WeakModelWarning)  # the record says it, once
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
        weak=_weak_versions(versions, sorted({v for pair in pairs for v in pair}), promised[starts[0]].like),
        starts=pd.DataFrame([made.start for made in promised.values()]),
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
    """Positions of an earlier and a later version, by start and horizon; pairs of one horizon follow each other.

    They are counted back from the newest version: which ones are asked must not depend on what they say.
    """
    ends = [(h, v) for h in range(1, horizon + 1) for v in range(n_versions - 1, begin + h - 1, -h)]
    return sorted((v - h, v) for h, v in ends)


def _weak_versions(versions: Sequence[Version], positions: Sequence[int], like: Model) -> tuple[str, ...]:
    """Names of the versions that are no better than the more frequent answer."""
    weak = []
    for v in positions:
        version = versions[v]
        model = read_version(version.estimator, v + 1, version.features.columns, like)
        if weakness_of(model, version.features, model.read_labels(version.labels, len(version.features))):
            weak.append(version.name)
    return tuple(weak)


def _ask(version: Version, position: int, promised: Promises, whom: str) -> dict[str, Any]:
    """Ask a version about the promises made as of an earlier one: a row of `Backtest.transitions`."""
    rows = promised.options
    model = read_version(version.estimator, position + 1, rows.columns, promised.like)
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
    """Return whether what was promised holds: of each option, or of all or any options of a plan."""
    if whom == "each":
        return accepted
    return np.asarray(pd.Series(accepted).groupby(owner).agg(whom), dtype=bool)
