"""Scores of tree ensembles from coded rows, against the libraries' own calls from data frames.

One thread on either side, in processor time. The ensembles of several refits are scored by one call of ours, and by a
call of `predict_proba` for each on the other side; they lie apart in memory, as refits do. Coding the rows is part of
ours at large batches; the few rows of a search are coded already, since it moves among codes.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from threadpoolctl import threadpool_limits

from benchmarks.reporting import Row
from copa.models.black_box import BlackBox
from copa.models.trees import TreeEnsembles
from copa.models.trees.conformance import chances

N_COLUMNS, N_ROWS, N_REFITS = 20, 5000, 40


def run(*, quick: bool) -> list[Row]:
    with threadpool_limits(1):
        return [*_lightgbm(quick=quick), *_large_batches(quick=quick)]


def _table(n_rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n_rows, N_COLUMNS))
    score = numbers[:, :8].sum(axis=1) + 2.0 * numbers[:, 0] * numbers[:, 1] + 2.0 * rng.normal(size=n_rows)
    return pd.DataFrame(numbers, columns=[f"c{k}" for k in range(N_COLUMNS)]), (score > 0.0).astype(int)


def _taking_turns(ours: Callable[[], Any], theirs: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """The least processor time of either side."""
    least = [np.inf, np.inf]
    for _ in range(rounds):
        for side, call in enumerate((ours, theirs)):
            start = time.process_time()
            call()
            least[side] = min(least[side], time.process_time() - start)
    return least[0], least[1]


def _read(models: list[Any], X: pd.DataFrame) -> TreeEnsembles:
    return TreeEnsembles.read([BlackBox.read(model, list(X.columns)) for model in models], X)


def _apart(read: TreeEnsembles, model: Any, rows: pd.DataFrame) -> str:
    difference = np.abs(chances(read.take(slice(0, 1)), rows, 1) - model.predict_proba(rows)[:, 1]).max()
    return f"probabilities differ by {difference:.0e} at most"


def _lightgbm(*, quick: bool) -> list[Row]:
    from lightgbm import LGBMClassifier

    n_refits, n_trees = (4, 50) if quick else (N_REFITS, 500)
    X, y = _table(N_ROWS, 0)
    models = []
    for seed in range(n_refits):
        drawn = np.random.default_rng(seed).integers(len(X), size=len(X))
        classifier = LGBMClassifier(n_estimators=n_trees, num_leaves=31, verbose=-1, n_jobs=1)
        models.append(classifier.fit(X.iloc[drawn], y[drawn]))
    read = _read(models, X)
    rows = []
    for n_rows, at_least in ((1, 20.0), (8, 20.0), (1000, 5.0)):
        some = X.head(n_rows)
        codes = read.codes(some)
        ours, theirs = _taking_turns(
            lambda c=codes: read.scores(c, n_jobs=1),
            lambda s=some: [model.predict_proba(s) for model in models],
            3 if n_rows == 1000 else 10,
        )
        rows.append(
            Row(
                name="LightGBM, refits",
                size=f"{n_refits} refits, {n_trees} trees of 31 leaves, {n_rows} rows",
                seconds=ours,
                baseline="lightgbm",
                baseline_seconds=theirs,
                at_least=at_least,
                accuracy=_apart(read, models[0], some),
            )
        )
    return [*rows, _large_batch("LightGBM", models[0], X, quick=quick)]


def _large_batches(*, quick: bool) -> list[Row]:
    X, y = _table(N_ROWS, 0)
    models = {
        "forest of 100 deep trees": RandomForestClassifier(100, random_state=0, n_jobs=1),
        "histogram boosting": HistGradientBoostingClassifier(max_iter=100, random_state=0),
    }
    return [_large_batch(name, model.fit(X, y), X, quick=quick) for name, model in models.items()]


def _large_batch(name: str, model: Any, X: pd.DataFrame, *, quick: bool) -> Row:
    rows = _table(5_000 if quick else 50_000, 1)[0]
    read = _read([model], X)
    ours, theirs = _taking_turns(
        lambda: read.scores(read.codes(rows), n_jobs=1), lambda: model.predict_proba(rows), 1 if quick else 3
    )
    return Row(
        name=f"{name}, coded and scored",
        size=f"one model, {len(rows)} rows",
        seconds=ours,
        baseline=type(model).__module__.partition(".")[0],
        baseline_seconds=theirs,
        at_least=1.0,
        accuracy=_apart(read, model, rows),
    )
