"""Plan as of each past version of a model, and ask the later ones."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array
from copa._core.progress import counting
from copa._core.reading import read_count
from copa._core.threads import for_each_chunk
from copa.analysis.backtest_plans import Promises, Version, only_data, plan_as_of, read_versions, split_versions
from copa.analysis.backtest_record import SPLITS, VERSIONS, Backtest, HorizonResult, Start, Transition
from copa.exceptions import InvalidInputError
from copa.models.base import Flags, Model
from copa.uncertainty.retraining import draw_bootstrap, refit
from copa.uncertainty.score_retraining import one_thread_no_warnings
from copa.uncertainty.versions import read_version, require_list, scores_of

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner import RecoursePlanner

__all__ = ["Backtest", "HorizonResult", "Start", "Transition", "run_backtest"]

HORIZON, N_APPLICANTS, N_REFITS, N_SPLITS = 4, 50, 50, 10


def run_backtest(  # noqa: PLR0913 - the settings of a backtest, all but the data by keyword
    planner: "RecoursePlanner",
    history_data: Sequence[Any] = (),
    *,
    X: "pd.DataFrame | None" = None,
    y: Any = None,
    history: Sequence[Any] | None = None,
    names: Sequence[Any] | None = None,
    horizon: int | None = None,
    first: int | None = None,
    n_applicants: int = N_APPLICANTS,
    n_refits: int = N_REFITS,
    n_splits: int = N_SPLITS,
) -> Backtest:
    """Plan as of each past version, ask the later ones, and say whether the promises were kept.

    As of each version a planner with the same settings is fitted to that version's data, and knows only the versions
    before it. Its promises are put to the later versions, and to refits of them on bootstrap samples of their data.
    Without older data, halves of the rows are planned on and the other halves are asked.

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
    n_refits : int
        Refits of each later version, 0 for none: an option is kept if at least the promised share of them accepts it.
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
    >>> planner = copa.RecoursePlanner(LogisticRegression().fit(*past[-1]), n_models=50, n_options=2)
    >>> found = run_backtest(planner, past, horizon=1, n_applicants=15, n_refits=0)
    >>> found.broke_at, found.horizon(1).verdict
    ('4', 'not kept')
    """
    last = read_count(horizon if horizon is not None else (getattr(planner, "horizon", None) or HORIZON), "horizon")
    for value, name, least in ((n_applicants, "n_applicants", 1), (n_refits, "n_refits", 0), (n_splits, "n_splits", 1)):
        read_count(value, name, least)
    require_list(history_data, "history_data")
    present = [] if X is None else [(X, y)]
    n_versions = len(history_data) + len(present)
    if n_versions < 2:
        if history:
            raise InvalidInputError(
                "planning as of an older version takes its training data: give history_data=[(X, y), ...] beside the "
                "models in history"
            )
        data = only_data([*history_data, *present])
        pairs = split_versions(planner, data, n_splits)
        walk = [(pairs, k, range(k + 1, k + 2)) for k in range(0, len(pairs), 2)]
        versions, kind, last = pairs, SPLITS, 1
    else:
        versions = read_versions(planner, history_data, present, history, names)
        begin = _first(first, last, n_versions)
        walk = [
            (versions, t, range(t + 1, min(t + last, n_versions - 1) + 1)) for t in range(begin - 1, n_versions - 1)
        ]
        kind = VERSIONS
    promises = [
        plan_as_of(planner, known, t, n_applicants, dated=kind == VERSIONS)
        for known, t, _ in counting(walk, "planning as of each version", len(walk), "versions")
    ]
    level = _level(planner)
    later = [[p for p, (_, _, ahead) in zip(promises, walk, strict=True) if v in ahead] for v in range(len(versions))]
    found: list[Transition] = []
    asked = [v for v, asking in enumerate(later) if asking]
    for v in counting(asked, "asking the later versions", len(asked), "versions"):
        found += _ask(planner, versions, v, later[v], level=level, n_refits=n_refits)
    order = {p.start.version: k for k, p in enumerate(promises)}
    return Backtest.judged(
        sorted(found, key=lambda transition: (order[transition.start], transition.horizon)),
        kind=kind,
        versions=tuple(version.name for version in versions),
        guarantee=level,
        guarantee_for=str(planner.guarantee_for),
        confidence=_confidence(planner),
        n_refits=n_refits,
        starts=tuple(p.start for p in promises),
        max_horizon=last,
    )


def _level(planner: Any) -> float:
    """The level that is promised, also where it is that of an expected rate ("expected:0.9")."""
    return float(str(planner.guarantee).rpartition(":")[2])


def _confidence(planner: Any) -> float | None:
    """Share of the options that should be kept, where the planner promises one."""
    rule = planner.radius == "auto" if isinstance(planner.radius, str) else False
    confidence = getattr(planner, "confidence", None)
    return float(confidence) if rule and confidence is not None and not isinstance(planner.guarantee, str) else None


def _first(first: int | None, horizon: int, n_versions: int) -> int:
    if first is not None:
        return read_count(first, "first", most=n_versions - 1)
    return 1 + min(horizon, (n_versions - 1) // 2)


def _ask(
    planner: Any, versions: Sequence[Version], v: int, asking: Sequence[Promises], *, level: float, n_refits: int
) -> list[Transition]:
    """What a version says of the promises made as of earlier ones."""
    import pandas as pd

    asking = [p for p in asking if len(p.options)]
    if not asking:
        return []
    version, like = versions[v], asking[-1].like
    rows = pd.concat([p.options for p in asking], ignore_index=True)
    ends = np.cumsum([len(p.options) for p in asking])[:-1]
    own = read_version(version.estimator, v + 1, rows.columns, like)
    try:
        accepted, scores = own.accepts(rows), scores_of(own, rows)
        said = _ask_refits(own, version, rows, n_refits, planner)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(
            f"version {version.name} of the model refuses options that were planned as of an earlier one: {error}; "
            "make the pipeline more tolerant (handle_unknown='ignore')"
        ) from error
    means = scores if said is None else said[1].mean(axis=0)
    parts = zip(
        asking,
        np.split(accepted, ends),
        np.split(means, ends),
        [None] * len(asking) if said is None else np.split(said[0], ends, axis=1),
        strict=True,
    )
    return [
        _transition(p, version.name, v - p.position, flags, later, refits, planner.guarantee_for, level)
        for p, flags, later, refits in parts
    ]


def _ask_refits(
    model: Model, version: Version, rows: "pd.DataFrame", n_refits: int, planner: Any
) -> tuple[Flags, Array] | None:
    """Whether refits of a version accept rows, and their scores, (K, M) each."""
    if n_refits == 0:
        return None
    target = (model.read_labels(version.labels, len(version.features)) == model.favourable).astype(np.float64)
    rng = np.random.default_rng([planner.random_state or 0, 5])
    samples = [draw_bootstrap(target, rng) for _ in range(n_refits)]
    accepted = np.zeros((n_refits, len(rows)), dtype=bool)
    scores = np.zeros((n_refits, len(rows)))
    table = version.features[list(model.columns)]

    def work(some: slice) -> None:
        for k in range(*some.indices(n_refits)):
            own = table.iloc[samples[k]]
            fitted = refit(model.estimator, own if model.named else own.to_numpy(), version.labels[samples[k]], {})
            other = read_version(fitted, 0, rows.columns, model)
            accepted[k], scores[k] = other.accepts(rows), scores_of(other, rows)

    with one_thread_no_warnings():
        for_each_chunk(work, n_refits, 1, planner.n_jobs, what="refitting the later version", unit="refits")
    return accepted, scores


def _transition(
    promised: Promises,
    later: str,
    horizon: int,
    accepted: Flags,
    means: Array,
    refits: Flags | None,
    whom: str,
    level: float,
) -> Transition:
    held = _held(accepted[None], promised.owner, whom)[0]
    shares = None if refits is None else _held(refits, promised.owner, whom).mean(axis=0)
    moved, reach = means - promised.centre, None if promised.reach is None else promised.reach * (1.0 + 1e-9)
    return Transition(
        start=promised.start.version,
        later=later,
        horizon=horizon,
        n_promises=len(held),
        accepted=float(held.mean()),
        kept=None if shares is None else float((shares >= level - 1e-12).mean()),
        inside=None if reach is None else float((np.abs(moved) <= reach).mean()),
        below=None if reach is None else float((moved < -reach).mean()),
    )


def _held(accepted: Flags, owner: Any, whom: str) -> Flags:
    """Whether what was promised holds, (K, U): of each option, or of all or any options of a plan."""
    if whom == "each":
        return accepted
    combine: Callable[..., Any] = np.logical_and if whom == "all" else np.logical_or
    firsts = np.flatnonzero(np.diff(owner, prepend=-1))
    return np.asarray(combine.reduceat(accepted, firsts, axis=1))  # type: ignore[attr-defined]  # of a ufunc
