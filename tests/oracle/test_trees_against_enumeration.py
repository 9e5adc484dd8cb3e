"""The search on trees against all rows that there are: in small tables, scored by the models themselves."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.ensemble import GradientBoostingClassifier as Boosting

import copa
from copa.data.schema.columns import ReadTable
from copa.models.black_box import BlackBox
from copa.models.trees import TreeEnsembles
from copa.planner.search.regions import read_regions
from copa.planner.search.trees import ALONE, GUIDED, TreeSearcher
from copa.planner.strategies.applicants import Applicants
from copa.planner.strategies.black_box import local_space
from copa.plans.cost import read_cost

N_VALUES, N_GUIDES = 9, 5
MODELS = {
    "forest": RandomForestClassifier(12, max_depth=5, random_state=0),
    "extra trees": ExtraTreesClassifier(12, max_depth=5, random_state=0),
    "boosting": Boosting(n_estimators=12, max_depth=3, random_state=0),
}
SCHEMA = copa.FeatureSchema(
    (
        copa.Feature("income", "numeric", lower=0.0, upper=N_VALUES - 1.0, step=1.0, spread=2.0),
        copa.Feature("debt", "numeric", lower=0.0, upper=N_VALUES - 1.0, step=1.0, spread=1.5, direction="decrease"),
        copa.Feature("savings", "numeric", lower=0.0, upper=6.0, step=2.0, spread=3.0),
        copa.Feature("grade", "ordinal", values=(0, 1, 2), spread=1.0),
        copa.Feature("age", "numeric", lower=0.0, upper=N_VALUES - 1.0, immutable=True),
    ),
    rules=(copa.LinearRule({"debt": 1.0, "income": -1.0}, 4.0),),
    max_changes=3,
)


def people(n, seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "income": rng.integers(0, N_VALUES, n),
            "debt": rng.integers(0, N_VALUES, n),
            "savings": 2 * rng.integers(0, 4, n),
            "grade": rng.integers(0, 3, n),
            "age": rng.integers(0, N_VALUES, n),
        }
    )
    table["debt"] = np.minimum(table["debt"], table["income"] + 4)
    return table


def outcomes(table, seed):
    noise = np.random.default_rng(seed).normal(0.0, 1.0, len(table))
    score = table["income"] - table["debt"] + 0.4 * table["savings"] * (table["grade"] - 1) + 0.3 * table["age"]
    return (score + noise > 2.5).to_numpy()


@pytest.fixture(scope="module", params=list(MODELS))
def models(request):
    """Today's model, and guides that were fitted to other rows."""
    fits = []
    for k in range(1 + N_GUIDES):
        table = people(250, k)
        fits.append(clone(MODELS[request.param]).set_params(random_state=k).fit(table, outcomes(table, k)))
    return [BlackBox.read(fit, SCHEMA.names, threshold=None, favourable=True) for fit in fits]


def applicants_of(space, table):
    rows = ReadTable.of(table)
    return Applicants(rows, rows, read_regions(space, rows), np.zeros((len(rows), 1)), space.slack(rows))


def all_rows(own):
    """Every row that the schema allows one applicant, and that is another one."""
    numbers = range(N_VALUES)
    choices = [numbers, range(int(own["debt"]) + 1), (0, 2, 4, 6), range(3), (own["age"],)]
    rows = pd.DataFrame(list(product(*choices)), columns=list(own.index))
    changed = (rows != own).sum(axis=1)
    return rows[(changed > 0) & (changed <= 3) & (rows["debt"] <= rows["income"] + 4)].reset_index(drop=True)


def least_efforts(models, space, table, factors):
    """The least effort at each rung for every applicant, (N, 1 + Q); infinite where no row reaches it."""
    efforts = np.full((len(table), 1 + len(factors)), np.inf)
    for i in range(len(table)):
        rows = all_rows(table.iloc[i])
        scores = np.array([model.scores(rows) for model in models])
        mean, spread = scores[1:].mean(axis=0), scores[1:].std(axis=0, ddof=1)
        some = read_regions(space, table.iloc[[i] * len(rows)].reset_index(drop=True))
        effort = space.effort(some, read_regions(space, rows).own)
        good = models[0].accepts(rows)
        efforts[i, 0] = effort[good].min(initial=np.inf)
        for q, factor in enumerate(factors):
            efforts[i, q + 1] = effort[good & (mean > factor * spread)].min(initial=np.inf)
    return efforts


def found_efforts(found, space, regions, rung, factors):
    efforts = np.full(len(found.counts), np.inf)
    for i, count in enumerate(found.counts.tolist()):
        rows, (_, mean, spread) = found.rows[i, :count], found.said[i, :count].T
        good = np.ones(count, dtype=bool) if rung == 0 else mean > factors[rung - 1] * spread
        efforts[i] = space.effort(regions.take(np.full(good.sum(), i)), rows[good]).min(initial=np.inf)
    return efforts


@pytest.mark.parametrize("cost", ["l1", "l2"])
def test_efforts_are_near_the_least_there_are(models, cost):
    space = local_space(SCHEMA, read_cost(cost))
    table = people(120, 99)
    table = table[~models[0].accepts(table)].iloc[:25].reset_index(drop=True)
    factors = np.array([0.5, 1.5, 2.5])
    least = least_efforts(models, space, table, factors)
    training = read_regions(space, people(100, 0)).own
    applicants = applicants_of(space, table)
    for rung, settings in ((0, ALONE), (1, GUIDED), (3, GUIDED)):
        read = TreeEnsembles.read(models if rung else models[:1], people(200, 0))
        asked = factors[:rung]
        found = TreeSearcher(space, read).find(applicants, asked, training, settings, n_jobs=1)
        efforts = found_efforts(found, space, applicants.regions, rung, asked)
        possible = np.isfinite(least[:, rung])
        assert possible.sum() >= 5
        assert not np.isfinite(efforts[~possible]).any()
        assert np.isfinite(efforts[possible]).mean() >= (1.0 if rung == 0 else 0.9)
        served = possible & np.isfinite(efforts)
        ratio = efforts[served] / least[served, rung]
        assert ratio.min() >= 1.0 - 1e-9
        assert np.median(ratio) <= 1.05
        assert ratio.max() <= 1.5


def test_scores_and_rows_are_what_the_models_and_the_schema_say(models):
    space = local_space(SCHEMA, read_cost("l1"))
    table = people(60, 98)
    table = table[~models[0].accepts(table)].iloc[:8].reset_index(drop=True)
    applicants = applicants_of(space, table)
    read = TreeEnsembles.read(models, people(200, 0))
    training = read_regions(space, people(100, 0)).own
    found = TreeSearcher(space, read).find(applicants, np.array([1.0]), training, GUIDED, n_jobs=1)
    assert found.counts.min() > 0
    for i, count in enumerate(found.counts.tolist()):
        rows = table.iloc[[i] * count].reset_index(drop=True)
        for f, feature in enumerate(space.columns):
            values = found.rows[i, :count, f]
            rows[feature.name] = (values if feature.is_numeric else values - space.starts[f]).astype(np.int64)
        assert len(rows.drop_duplicates()) == count
        assert space.schema.obeys(ReadTable.of(table), ReadTable.of(rows), np.full(count, i)).all()
        assert models[0].accepts(rows).all()
        scores = np.array([model.scores(rows) for model in models])
        expected = np.stack([scores[0], scores[1:].mean(axis=0), scores[1:].std(axis=0, ddof=1)], axis=1)
        np.testing.assert_allclose(found.said[i, :count], expected, atol=1e-7)


def test_the_result_does_not_depend_on_the_others_or_on_threads(models):
    space = local_space(SCHEMA, read_cost("l1"))
    table = people(60, 97)
    table = table[~models[0].accepts(table)].iloc[:6].reset_index(drop=True)
    searcher = TreeSearcher(space, TreeEnsembles.read(models, people(200, 0)))
    training = read_regions(space, people(100, 0)).own
    factors = np.array([1.0])
    together = searcher.find(applicants_of(space, table), factors, training, GUIDED, n_jobs=2)
    for i in range(len(table)):
        one = applicants_of(space, table.iloc[[i]].reset_index(drop=True))
        alone = searcher.find(one, factors, training, GUIDED, n_jobs=1)
        assert alone.counts[0] == together.counts[i]
        np.testing.assert_array_equal(alone.rows[0], together.rows[i])
        np.testing.assert_array_equal(alone.said[0], together.said[i])
