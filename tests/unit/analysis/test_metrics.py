import itertools
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import copa
from copa.analysis.metrics import diversity, empirical_validity, plan_metrics, proximity, sparsity, validity_now
from unit.plans.plan_batches import COV, MEAN, german_batch, terms, wild_batch

PLAN = np.array([[1.0, 3.0, 4.0], [1.0, 0.0, 0.0], [1.0, 0.0, 2.0]])
ORIGIN = np.array([1.0, 0.0, 0.0])


def distance(a, b, cost, weights):
    steps = [w * abs(x - y) for x, y, w in zip(a, b, weights, strict=True)]
    return sum(steps) if cost == "l1" else math.sqrt(sum(step**2 for step in steps))


def determinant(matrix):
    """By the sum over permutations."""
    total = 0.0
    for order in itertools.permutations(range(len(matrix))):
        inversions = sum(order[i] > order[j] for i, j in itertools.combinations(range(len(order)), 2))
        total += (-1) ** inversions * math.prod(matrix[i][k] for i, k in enumerate(order))
    return total


def test_proximity_is_the_average_distance():
    assert proximity(PLAN, ORIGIN) == pytest.approx((5 + 0 + 2) / 3)
    assert proximity(PLAN, ORIGIN, cost="l1") == pytest.approx((7 + 0 + 2) / 3)


def test_cost_weights_are_prices_of_coordinates():
    assert proximity(PLAN, ORIGIN, cost="l1", cost_weights=[9, 2, 0.5]) == pytest.approx((8 + 0 + 1) / 3)


def test_diversity_of_two_options_has_a_closed_form():
    # K = [[1, k], [k, 1]] with k = 1 / (1 + 5)
    assert diversity(PLAN[:2]) == pytest.approx(1 - 1 / 36)
    assert diversity(PLAN[:2], cost="l1") == pytest.approx(1 - 1 / 64)


def test_diversity_of_one_option_is_one_and_of_copies_zero():
    assert diversity(PLAN[:1]) == 1.0
    assert diversity(PLAN[[0, 0, 2]]) == pytest.approx(0.0, abs=1e-15)


def test_rounding_does_not_make_diversity_negative():
    rng = np.random.default_rng(1)
    plans = rng.standard_normal((2000, 4, 3))
    near_copies = plans + 1e-16 * rng.standard_normal(plans.shape)
    assert (diversity(np.concatenate([plans, near_copies], axis=1)) >= 0.0).all()


@pytest.mark.parametrize("cost", ["l1", "l2"])
@pytest.mark.parametrize("weighted", [False, True])
def test_batches_agree_with_slow_loops(cost, weighted):
    rng = np.random.default_rng(3)
    plans, origins = rng.standard_normal((6, 4, 5)), rng.standard_normal((6, 5))
    weights = rng.uniform(size=5) if weighted else np.ones(5)
    given = weights if weighted else None
    near, apart = (
        proximity(plans, origins, cost=cost, cost_weights=given),
        diversity(plans, cost=cost, cost_weights=given),
    )
    for i in range(6):
        distances = [distance(x, origins[i], cost, weights) for x in plans[i]]
        assert near[i] == pytest.approx(sum(distances) / 4)
        kernel = [[1 / (1 + distance(x, y, cost, weights)) for y in plans[i]] for x in plans[i]]
        assert apart[i] == pytest.approx(determinant(kernel))


def test_validity_now_is_the_share_accepted():
    assert validity_now(PLAN, [-1.0, 0.5, 0.0]) == pytest.approx(1 / 3)
    assert validity_now(np.stack([PLAN, -PLAN]), [-1.0, 0.0, 0.6]).tolist() == pytest.approx([2 / 3, 1 / 3])


def test_a_score_of_zero_is_accepted():
    assert validity_now(PLAN, [0.0, 0.0, 0.0]) == 1.0


def test_empirical_validity_by_hand():
    thetas = [[1, 0, 0], [-1, 1, 0], [-1, 0, 0.5], [-1, 0, 0]]
    found = empirical_validity(PLAN, thetas)
    # Options accept models: 1st {0, 1, 2}, 2nd {0}, 3rd {0, 2}.
    assert found.each.tolist() == [0.75, 0.25, 0.5]
    assert (found.all, found.any) == (0.25, 0.75)


def test_empirical_validity_agrees_with_slow_loops(monkeypatch):
    monkeypatch.setattr("copa.analysis.metrics.CHUNK", 100)  # several chunks, the last one shorter
    rng = np.random.default_rng(4)
    plans, thetas = rng.standard_normal((7, 3, 4)), rng.standard_normal((20, 4))
    found = empirical_validity(plans, thetas)
    for i, plan in enumerate(plans):
        holds = [[float(sum(x * theta)) >= 0 for x in plan] for theta in thetas]
        assert found.all[i] == pytest.approx(sum(all(row) for row in holds) / 20)
        assert found.any[i] == pytest.approx(sum(any(row) for row in holds) / 20)
        assert found.each[i].tolist() == pytest.approx([sum(row[j] for row in holds) / 20 for j in range(3)])


def test_sparsity_counts_changed_columns():
    own = pd.DataFrame({"a": [1], "b": ["x"], "c": [np.nan]})
    options = pd.DataFrame({"a": [1, 2, 2], "b": ["x", "x", "y"], "c": [np.nan, np.nan, 0.0]})
    assert sparsity(options, own).tolist() == [0, 1, 3]
    assert sparsity(options, options.iloc[[2, 2, 2]]).tolist() == [3, 2, 0]


def test_sparsity_needs_one_applicant_or_one_per_option():
    options = pd.DataFrame({"a": [1, 2, 3]})
    with pytest.raises(copa.InvalidInputError, match=r"one row, or one per option \(3\), got 2"):
        sparsity(options, options.iloc[:2])
    with pytest.raises(copa.InvalidInputError, match="factual must have a column 'a'"):
        sparsity(options, pd.DataFrame({"b": [1]}))
    with pytest.raises(copa.InvalidInputError, match="options must be a DataFrame"):
        sparsity([[1]], options)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: proximity(PLAN, ORIGIN[:2]), r"origins must have shape \(3,\)"),
        (lambda: proximity(PLAN, ORIGIN * np.nan), "origins must be finite"),
        (lambda: proximity(PLAN, ORIGIN, cost="l0"), "cost must be one of 'l1', 'l2', got 'l0'"),
        (lambda: proximity(PLAN, ORIGIN, cost_weights=[1.0, 2.0]), r"cost_weights must have shape \(3,\)"),
        (lambda: diversity(PLAN, cost_weights=[1.0, -2.0, 0.0]), "cost_weights must not be negative"),
        (lambda: diversity(PLAN[0]), r"points must have shape \(J, D\) or \(N, J, D\)"),
        (lambda: diversity(PLAN[:0]), "at least one option"),
        (lambda: diversity(PLAN * np.inf), "points must be finite"),
        (lambda: validity_now(PLAN, ORIGIN[:2]), r"theta must have shape \(3,\)"),
        (lambda: empirical_validity(PLAN, ORIGIN), r"thetas must have shape \(K, 3\)"),
        (lambda: empirical_validity(PLAN, np.zeros((0, 3))), "at least one model"),
        (lambda: empirical_validity(PLAN, [[1, 2, np.nan]]), "thetas must be finite"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")  # infinity times zero, in the test itself
def test_what_cannot_be_measured_is_refused(call, message):
    with pytest.raises(copa.InvalidInputError, match=message):
        call()


@pytest.fixture(scope="module")
def batch():
    return german_batch()


def test_plan_metrics_measure_every_plan(batch):
    thetas = np.random.default_rng(1).multivariate_normal(MEAN, COV, size=300)
    table = plan_metrics(batch, thetas)
    assert table["applicant"].tolist() == batch.applicants.index.tolist()
    assert table["n_options"].tolist() == [3, 0, 2, 0, 0, 1, 0]
    for i, plan in enumerate(batch):
        if not plan.n_options:
            continue
        row = table.iloc[i]
        holds = plan.points @ thetas.T >= 0
        assert row["proximity"] == pytest.approx(sum(plan.effort) / plan.n_options)
        assert row["validity_now"] == plan.accepted.mean()
        assert row["validity_all"] == holds.all(axis=0).mean()
        assert row["validity_any"] == holds.any(axis=0).mean()
        assert row["validity_each"] == pytest.approx(holds.mean())
        changes = [len(plan.changes(j)) for j in plan.options.index]
        assert row["sparsity"] == pytest.approx(sum(changes) / plan.n_options)
        assert (row["lower"], row["any_lower"]) == (plan.lower, plan.any_lower)
        assert row["lowest_option"] == min(plan.option_lower)


def test_plan_metrics_are_missing_where_there_is_no_option(batch):
    rows = plan_metrics(batch, MEAN[None]).loc[batch.counts == 0].drop(columns=["applicant", "status", "n_options"])
    assert rows.shape == (4, 10)
    assert rows.isna().all(axis=None)


def test_without_models_there_is_no_empirical_validity(batch):
    assert not [name for name in plan_metrics(batch) if name.startswith("validity_a")]


@pytest.mark.parametrize("cost", ["l1", "l2"])
def test_diversity_of_a_menu_is_in_units_of_effort(cost):
    schema = german_batch().basis.schema.replace({"duration": {"weight": 3.0}})
    batch = replace(german_batch(), **terms(schema, cost=cost))
    spread = {name: schema[name].spread for name in ("duration", "amount", "employment")}
    # Between the three options of the first applicant (48 months, 5951 DM, A73, A61); see MENUS.
    months, amount = 3 / spread["duration"], (5951 - 2000) / spread["amount"]
    job, savings = schema["employment"].weight / spread["employment"], schema["savings"].weight
    steps = {
        (0, 1): [30 * months, amount, job],
        (0, 2): [6 * months, savings],
        (1, 2): [24 * months, amount, job, savings],
    }
    kernel = np.eye(3)
    for (i, j), parts in steps.items():
        apart = sum(parts) if cost == "l1" else math.sqrt(sum(part**2 for part in parts))
        kernel[i, j] = kernel[j, i] = 1 / (1 + apart)
    assert plan_metrics(batch)["diversity"][0] == pytest.approx(determinant(kernel.tolist()))
    assert plan_metrics(batch)["diversity"][5] == 1.0


def test_diversity_is_not_known_for_a_cost_of_ones_own():
    batch = replace(german_batch(), **terms(german_batch().basis.schema, cost="own"))
    assert plan_metrics(batch)["diversity"].isna().all()
    assert plan_metrics(batch)["proximity"].notna().any()


def test_tables_of_every_dtype_are_measured():
    table = plan_metrics(wild_batch())
    assert table["diversity"].isna().tolist() == [True, True, True, True, False]  # a missing, an infinite number
    assert table["sparsity"].tolist()[4] == pytest.approx((2 + 3 + 3) / 3)


def test_an_empty_batch_has_an_empty_table(batch):
    assert plan_metrics(batch[:0]).empty
    assert plan_metrics(batch[1:2])["proximity"].isna().all()
