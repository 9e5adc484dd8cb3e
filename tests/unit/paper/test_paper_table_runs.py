from dataclasses import replace

import numpy as np
import pytest

import copa
from copa.paper import benchmark, causes, classifiers, examples, table1, table2, training_facts
from copa.paper.measures import measure
from copa.paper.methods.base import Plans
from copa.paper.methods.copa import Copa
from copa.paper.methods.wachter import Wachter
from copa.paper.networks import acceptance, local_ridge, network_layers, train_network


def test_measures_follow_the_definitions_of_the_paper(german):
    plans = Copa(0.5, 5.0).plans(german)
    table = measure(german, plans)
    first, origin = plans.points[0], german.origins[plans.who[0]]
    assert table["proximity"].iloc[0] == pytest.approx(np.mean([np.linalg.norm(x - origin) for x in first]))
    kernel = [[1.0 / (1.0 + np.linalg.norm(a - b)) for a in first] for b in first]
    assert table["diversity"].iloc[0] == pytest.approx(max(np.linalg.det(kernel), 0.0), abs=1e-12)
    accepted = [all(x @ theta >= 0.0 for x in first) for theta in german.after]
    assert table["empirical"].iloc[0] == pytest.approx(np.mean(accepted))
    assert (table["lower_at_distance"] <= table["lower"] + 1e-9).all()  # the distance is above the paper's radius


def test_no_plan_does_worse_on_d2_than_its_bound_in_the_ball_that_holds_d2(german, student):
    for case in (german, student):
        rows = case.encoding.encode(case.data.present.features)
        near = rows[np.argsort(np.abs(rows @ case.moments.mean - 0.5))[:40]].reshape(8, 5, -1)
        who = np.zeros(8, dtype=int)
        table = measure(case, Plans(who, near, np.zeros(8)))
        assert (table["empirical"] >= table["lower_at_distance"] - 1e-9).all()


def test_table_1_runs_without_dice_and_without_the_loans(session):
    table = table1.run(session)
    assert set(table["data"]) == {"german", "student"}
    assert set(table["method"]) == {"COPA (0.2, 2)", "COPA (0.5, 5)", "COPA (1, 10)"}
    assert {"DiCE, German Credit", "MahalanobisCrr, Student", "SBA loans"} <= set(session.skipped)
    means = table1.summary(table)
    assert len(means) == 6
    rows = table[(table["data"] == "german") & (table["method"] == "COPA (1, 10)")]
    found = means[(means["data"] == "german") & (means["method"] == "COPA (1, 10)")].iloc[0]
    assert found["proximity"] == pytest.approx(rows["proximity"].mean())
    assert found["proximity_sd"] == pytest.approx(np.std(rows["proximity"]))
    assert (session.folder / "table1_paper.csv").is_file()


def test_the_loans_take_part_where_their_file_is(session, sba_folder):
    case = replace(session, data_folder=sba_folder).case("sba")
    table = measure(case, Copa(0.5, 5.0).plans(case))
    assert len(table) == session.settings.n_applicants
    assert table["distance"].iloc[0] > 1.0


def test_every_cause_changes_what_it_says(shared):
    table = causes.run(shared).set_index(["variant", "data", "method"])
    row = ("german", "COPA (0.5, 5)")
    assert table.loc[("inflated", *row), "lower"] < 1.0
    assert table.loc[("ranges", *row), "proximity"] > table.loc[("inflated", *row), "proximity"]
    assert table.loc[("order", *row), "proximity"] != table.loc[("program", *row), "proximity"]
    assert table.loc[("order", *row), "lower"] == table.loc[("program", *row), "lower"]
    assert set(table.index.get_level_values("variant")) == {variant.key for variant in causes.VARIANTS}


def test_inflation_multiplies_the_covariance_and_keeps_the_mean(german):
    changed = causes.inflated(german, 0.01)
    np.testing.assert_allclose(changed.moments.cov, 1.5 * german.moments.cov + 0.01 * np.eye(8))
    np.testing.assert_array_equal(changed.moments.mean, german.moments.mean)


def test_classifiers_are_scored_on_both_sides_of_the_shift(shared):
    table = classifiers.run(shared)
    assert len(table) == 2 * 2 * 2 * shared.settings.n_splits
    assert table["accuracy"].between(0.5, 1.0).all()
    assert table["auc"].between(0.4, 1.0).all()


def test_examples_are_the_customers_of_the_paper_with_their_status_kept(session):
    table = examples.run(session)
    assert table["customer_amount"].unique().tolist() == [4249.0, 7174.0, 4526.0]
    assert table.groupby("customer").size().tolist() == [3, 3, 3]
    case = examples.example_case(session)
    assert case.data.schema["personal_status"].immutable
    points = Copa(0.5, 5.0).plans(case).points
    status = case.encoding.blocks["personal_status"]
    np.testing.assert_array_equal(points[:, :, status], np.repeat(case.origins[:, None, status], 3, axis=1))


def test_table_2_takes_any_surrogate_and_asks_the_network_itself(session):
    asked = []

    def surrogate(chance, origin, data, rng):
        asked.append(origin)
        return local_ridge(chance, origin, data, rng)

    table = table2.run(session, surrogate)
    assert len(asked) == 2 * session.settings.n_applicants
    assert {"current", "empirical"} <= set(table)
    assert table["current"].isin([0.0, 1.0]).all()


def test_the_local_surrogate_of_a_linear_model_is_that_model(german):
    weights = np.array([0.01, 0.05, -0.08, 0.03, 0.02, 0.02, -0.03, -0.01])
    data = german.encoding.encode(german.data.present.features)
    theta = local_ridge(lambda rows: 0.5 + rows @ weights, german.origins[0], data, np.random.default_rng(0))
    scores = data @ theta - data @ weights
    assert np.abs(scores).max() < 0.01  # the ridge shrinks a little


def test_the_layers_of_a_network_compute_what_it_computes(german):
    rows = german.encoding.encode(german.data.present.features)
    network = train_network(rows[:200], german.data.present.favourable[:200], 0)
    values = rows[:5, 1:]
    for weights, intercepts in network_layers(network)[:-1]:
        values = np.maximum(values @ weights.T + intercepts, 0.0)
    weights, intercepts = network_layers(network)[-1]
    expected = 1.0 / (1.0 + np.exp(-(values @ weights.T + intercepts)))[:, 0]
    np.testing.assert_allclose(acceptance(network)(rows[:5]), expected, atol=1e-9)


def test_the_benchmark_measures_real_rows_and_no_bound_breaks_inside_its_ball(shared):
    table = benchmark.run(shared)
    assert set(table["method"]) == {"Wachter", "ROAR", "COPA (0.5, 5)", "COPA planner"}
    assert set(table["protocol"]) == {"paper", "sound"}
    assert table["broken_shift"].sum() == 0
    for ball in ("paper", "bootstrap"):
        inside = table[table[f"distance_{ball}"] <= table[f"radius_{ball}"]]
        assert inside[f"broken_{ball}"].sum() == 0
    planner = table[table["method"] == "COPA planner"]
    assert (planner["allowed"] == 1.0).all()
    assert (planner["now"] == 1.0).all()
    assert table.loc[table["method"] == "Wachter", "diversity"].isna().all()


def test_delivered_rows_have_real_categories(german):
    plans = Wachter().plans(german)
    assert not german.encoding.real_categories(plans.points).all()
    tables = benchmark.real_rows(german, plans)
    assert len(tables) == len(plans.who)
    for table in tables:
        assert german.encoding.real_categories(german.encoding.encode(table)).all()


def test_the_distance_is_that_of_the_empirical_distribution_after_the_shift(german):
    mean, cov = german.after.mean(axis=0), np.cov(german.after.T, ddof=0)
    expected = copa.gelbrich_distance(german.moments.mean, german.moments.cov, mean, cov)
    assert german.distance == pytest.approx(expected)


def test_stopped_training_keeps_its_random_start_where_no_row_can_see_it(shared):
    table = training_facts.run(shared).set_index(["data", "training"])
    stopped, fitted = table.xs("stopped", level="training"), table.xs("to convergence", level="training")
    ratio = stopped["one_hot_variance"] / stopped["start_variance"]
    assert ratio.between(0.4, 2.0).all()  # a variance from 30 refits
    assert stopped["from_mean"]["student"] > 2.0 * fitted["from_mean"]["student"]
