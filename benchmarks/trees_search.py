"""Efforts of the search on trees beside those of treecf, which proves its optimum: today's model alone, no robustness.

German credit with its texts as numbers, and two generated tables. Both are given the same columns, ranges, steps,
directions and prices, and the same forests or boosting. treecf has a time limit for each applicant; only what it has
proven is compared with. `make bench` does not run it; `python -m benchmarks.trees_search` does, with treecf installed.
"""

from time import process_time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import copa
from copa.data.schema.columns import ReadTable
from copa.models.black_box import BlackBox
from copa.models.trees import TreeEnsembles
from copa.planner.search.regions import read_regions
from copa.planner.search.trees import ALONE, TreeSearcher
from copa.planner.strategies.applicants import Applicants
from copa.planner.strategies.black_box import local_space
from copa.plans.cost import L1, unit_of_effort

MODELS = {
    "forest": RandomForestClassifier(100, random_state=0, n_jobs=1),
    "small forest": RandomForestClassifier(30, max_depth=5, random_state=0, n_jobs=1),
    "boosting": HistGradientBoostingClassifier(max_iter=40, random_state=0),
}
N_APPLICANTS, SECONDS = 25, 10.0
RAW = {"forest": 0.5, "small forest": 0.5, "boosting": 0.0}  # from where on a raw score is accepted


class Task(NamedTuple):
    """A table with its labels and its schema."""

    table: pd.DataFrame
    labels: Any
    schema: copa.FeatureSchema


def german() -> Task:
    """German credit with texts as numbers."""
    data = copa.datasets.load_german()
    table = data.features.copy()
    for name in table:
        if table[name].dtype.kind not in "iufb":
            table[name] = table[name].astype("category").cat.codes.astype(np.int64)
    immutable = {"age", "sex", "personal_status", "foreign_worker", "people_liable"}
    return Task(table, data.favourable.to_numpy(), _schema(table, immutable, steps=1.0))


def generated(n_columns: int, seed: int) -> Task:
    """A population whose scores are not linear."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(1000, n_columns)).round(3), columns=[f"x{k}" for k in range(n_columns)])
    x = table.to_numpy()
    score = x[:, 0] + x[:, 1] * x[:, 2] - 0.5 * x[:, 3] ** 2 + 0.5 * x[:, -1] - 0.6 + rng.normal(0.0, 0.5, len(x))
    return Task(table, score > 0.0, _schema(table, {"x2"}, steps=0.001))


def _schema(table: pd.DataFrame, immutable: set[str], steps: float) -> copa.FeatureSchema:
    features = [
        copa.Feature(
            name,
            "numeric",
            lower=float(table[name].min()),
            upper=float(table[name].max()),
            step=steps,
            immutable=name in immutable,
            spread=float(table[name].std()),
        )
        for name in table
    ]
    return copa.FeatureSchema(tuple(features))


def efforts_here(task: Task, model: Any, declined: pd.DataFrame) -> tuple[np.ndarray, float]:
    """Least efforts that the search finds, NaN where it finds nothing, and milliseconds for each."""
    box = BlackBox.read(model, task.table.columns, threshold=None, favourable=True)
    space = local_space(task.schema, L1())
    searcher = TreeSearcher(space, TreeEnsembles.read([box], task.table))
    rows = ReadTable.of(declined)
    regions = read_regions(space, rows)
    people = Applicants(rows, rows, regions, np.zeros((len(rows), 1)), space.slack(rows))
    training = read_regions(space, task.table.iloc[:400]).own
    searcher.find(people.take(np.arange(1)), np.zeros(0), training, ALONE, n_jobs=1)  # what is made once
    begun = process_time()
    found = searcher.find(people, np.zeros(0), training, ALONE, n_jobs=1)
    spent = (process_time() - begun) / len(rows) * 1e3
    best = np.full(len(rows), np.nan)
    for i, count in enumerate(found.counts.tolist()):
        if count:
            some = regions.take(np.full(count, i))
            efforts = space.effort(some, found.rows[i, :count])
            written = declined.iloc[np.full(count, i)].reset_index(drop=True)
            for f, feature in enumerate(space.columns):
                written[feature.name] = found.rows[i, :count, f].astype(written[feature.name].dtype)
            good = box.accepts(written) & task.schema.obeys(rows, ReadTable.of(written), np.full(count, i))
            if not good.all():
                raise AssertionError("a row is not what the search takes it for")
            best[i] = efforts.min()
    return best, spent


def efforts_there(task: Task, model: Any, least: float, declined: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, float]:
    """Efforts of treecf, NaN where it finds nothing; which of them it has proven; and milliseconds for each."""
    import treecf

    constraints, policy = [], {}
    for feature in task.schema.features:
        constraints.append(treecf.Freeze(feature.name) if feature.immutable else _range(feature))
        policy[feature.name] = treecf.Grid(feature.step)
    units = {feature.name: unit_of_effort(feature) for feature in task.schema.features}
    names = [feature.name for feature in task.schema.features]
    explainer = treecf.Explainer(model, normalizers=units, constraints=constraints, value_policy=policy)
    target = treecf.Target.raw(range=(least + 1e-9, 1e9))
    efforts, proven = np.full(len(declined), np.nan), np.zeros(len(declined), dtype=np.bool_)
    begun = process_time()
    for i, row in enumerate(declined.to_numpy(dtype=np.float64)):
        answer = explainer.explain(row, target, backend="exact", time_budget_s=SECONDS)
        proven[i] = getattr(answer, "proof", "") == "optimal" or isinstance(answer, treecf.Infeasible)
        if isinstance(answer, treecf.Counterfactual):
            moved = np.abs(answer.x_cf - row) / np.array([units[name] for name in names])
            efforts[i] = moved.sum()
    return efforts, proven, (process_time() - begun) / len(declined) * 1e3


def _range(feature: Any) -> Any:
    import treecf

    return treecf.Range(feature.name, feature.lower, feature.upper)


def main() -> None:
    """Print how the efforts compare."""
    tasks = {
        "German credit": german(),
        "generated, 6 columns": generated(6, 1),
        "generated, 12 columns": generated(12, 2),
    }
    for title, task in tasks.items():
        for kind, model in MODELS.items():
            fitted = clone(model).fit(task.table, task.labels)
            declined = task.table[~np.asarray(fitted.predict(task.table))].iloc[:N_APPLICANTS].reset_index(drop=True)
            here, ms = efforts_here(task, fitted, declined)
            there, proven, their_ms = efforts_there(task, fitted, RAW[kind], declined)
            both = proven & ~np.isnan(here) & ~np.isnan(there)
            ratio = here[both] / there[both]
            print(
                f"{title:22s} {kind:13s} {len(declined)} declined; served {np.mean(~np.isnan(here)):.2f} here, "
                f"{np.mean(~np.isnan(there)):.2f} there, {proven.sum()} proven; effort to the optimum: median "
                f"{np.median(ratio) if len(ratio) else np.nan:.3f}, most {ratio.max(initial=0.0):.3f}; all: mean "
                f"{np.nanmean(here):.3f} to {np.nanmean(there):.3f}; ms {ms:.1f} to {their_ms:.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
