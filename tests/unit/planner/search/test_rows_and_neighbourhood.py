"""Rows that the search writes and draws: cells as they should be, inside what each applicant may do."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from copa.data.schema import Feature
from copa.planner.search.regions import read_regions
from copa.plans.cost import level_gaps, unit_of_effort
from oracle.exhaustive_menus import Rows, places_of
from oracle.tiny_problems import tiny_problems
from unit.planner.search.search_problems import Searcher, by_hand

SEED, N_PROBLEMS, N_DRAWS = 9, 8, 60


@pytest.fixture(scope="module")
def searchers():
    return [Searcher(problem) for problem in tiny_problems(N_PROBLEMS, SEED, 3)]


def column_faults(searcher, i, rows):
    """What single columns have against rows of an applicant; rules and the cap are another matter."""
    schema = replace(searcher.problem.schema, rules=(), max_changes=None)
    return [fault for faults in schema.violations(searcher.problem.applicants.iloc[[i]], rows) for fault in faults]


def stands_inside(searcher, i):
    return not column_faults(searcher, i, searcher.problem.applicants.iloc[[i]])


@pytest.mark.parametrize("reach", [0.3, 1.0])
def test_rows_drawn_around_an_applicant_are_allowed_and_vary(searchers, reach):
    inside, varied = 0, []
    for searcher in searchers:
        for i, rows in enumerate(searcher.around(N_DRAWS, reach)):
            if stands_inside(searcher, i):
                assert column_faults(searcher, i, rows) == []
                inside += 1
            schema, own = searcher.problem.schema, searcher.problem.applicants.iloc[[i]]
            changed = places_of(schema, rows) != places_of(schema, own)
            varied.append((len(rows.drop_duplicates()) > 5, changed.sum(axis=1).min() <= 1))
    assert inside >= 8
    assert np.mean(varied, axis=0).tolist() == pytest.approx([1.0, 1.0], abs=0.2)


def test_rows_drawn_around_a_value_that_is_on_no_step_stay_in_the_range():
    # The nearest step to 0.11 is 0, below the range; 1.6 is the upper end, and the last step before it 1.5.
    problem = by_hand(
        {"a": (1.0, 0.11), "b": (1.0, 1.58)},
        -9.0,
        a={"lower": 0.1, "upper": 1.6, "step": 0.25},
        b={"lower": 0.1, "upper": 1.6, "step": 0.25},
    )
    searcher = Searcher(problem)
    (rows,) = searcher.around(200)
    assert column_faults(searcher, 0, rows) == []
    assert set(rows["a"]) <= {0.11, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5}
    assert set(rows["b"]) <= {0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.58}
    assert len(set(rows["a"])) == len(set(rows["b"])) == 7


def test_rows_drawn_nearer_move_less(searchers):
    def mean_effort(reach):
        efforts = []
        for searcher in searchers:
            for i, rows in enumerate(searcher.around(N_DRAWS, reach)):
                efforts += (
                    Rows.read(searcher.problem.schema, rows, searcher.problem.applicants.iloc[[i]]).efforts().tolist()
                )
        return np.mean(efforts)

    assert mean_effort(0.1) < 0.9 * mean_effort(2.0)


def test_the_way_to_an_option_leads_from_the_applicant_to_it(searchers):
    for searcher in searchers:
        answers = searcher.plans(-1.0, 1)
        if any(answer.outcome != "met" for answer in answers):
            continue
        names, schema = list(searcher.problem.schema.names), searcher.problem.schema
        starts, ends = searcher.between(answers, 0.0), searcher.between(answers, 1.0)
        middles = searcher.between(answers, 0.5)
        for i, answer in enumerate(answers):
            own = searcher.problem.applicants.iloc[[i]]
            if not stands_inside(searcher, i):
                continue
            pd.testing.assert_frame_equal(starts[i], own[names].reset_index(drop=True))
            pd.testing.assert_frame_equal(ends[i], answer.rows)
            assert column_faults(searcher, i, middles[i]) == []
            lines = [k for k, feature in enumerate(schema.features) if feature.is_numeric]
            way = [places_of(schema, rows)[0, lines] for rows in (own, middles[i], answer.rows)]
            assert ((way[1] - way[0]) * (way[2] - way[1]) >= 0.0).all()


def test_rows_are_encoded_by_the_search_as_by_the_pipeline(searchers):
    for searcher in searchers:
        for i, rows in enumerate(searcher.around(N_DRAWS)):
            sums = searcher.sums_of_moves(rows, np.full(len(rows), i))
            np.testing.assert_allclose(sums, searcher.encode(rows), rtol=0.0, atol=1e-9)


def test_cells_that_do_not_change_are_the_applicants_own(searchers):
    for searcher in searchers:
        for i, rows in enumerate(searcher.around(N_DRAWS)):
            own = searcher.problem.applicants.iloc[i]
            for name in searcher.problem.schema.names:
                if searcher.problem.schema[name].immutable:
                    assert (rows[name] == own[name]).all()
            assert rows.dtypes.equals(searcher.problem.applicants[rows.columns].dtypes)


@pytest.mark.parametrize("cost", ["l1", "l2"])
def test_effort_is_the_distance_in_spreads_of_the_columns(cost):
    problem = next(iter(tiny_problems(1, SEED, 3)))
    searcher = Searcher(problem, cost=cost)
    for i, rows in enumerate(searcher.around(N_DRAWS)):
        own = problem.applicants.iloc[[i]]
        columns = Rows.read(problem.schema, rows, own).distances(places_of(problem.schema, own))[:, 0]
        expected = columns.sum(axis=1) if cost == "l1" else np.linalg.norm(columns, axis=1)
        there = read_regions(searcher.space, rows).own
        found = searcher.space.effort(searcher.applicants.regions.take([i] * len(there)), there)
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("settings", "unit"),
    [
        ({"spread": 2.5, "lower": 0, "upper": 40}, 2.5),
        ({"lower": 0, "upper": 40}, 10.0),
        ({"lower": 3}, 1.0),
        ({}, 1.0),
    ],
)
def test_a_unit_of_effort_is_the_spread_or_a_quarter_of_the_range(settings, unit):
    assert unit_of_effort(Feature("a", "numeric", **settings)) == unit


def test_ordinals_are_ranks_apart_and_other_values_one():
    grade = Feature("g", "ordinal", values=(1, 2, 5), weight=3.0, spread=2.0)
    np.testing.assert_allclose(level_gaps(grade), [[0.0, 1.5, 3.0], [1.5, 0.0, 1.5], [3.0, 1.5, 0.0]])
    job = Feature("j", "categorical", values=("a", "b", "c"), weight=3.0)
    np.testing.assert_allclose(level_gaps(job), 3.0 * (1.0 - np.eye(3)))


def test_the_slack_of_a_rule_is_negative_exactly_where_the_rule_is_broken():
    seen = set()
    for problem in tiny_problems(24, SEED, 2):
        if not problem.schema.rules:
            continue
        searcher = Searcher(problem)
        for rows in searcher.around(N_DRAWS):
            slack = searcher.space.slack(rows).min(axis=1)
            only_rules = replace(problem.schema, max_changes=None)
            broken = [
                any(fault.startswith("rule ") for fault in faults) for faults in only_rules.violations(rows, rows)
            ]
            clear = np.abs(slack) > 1e-9
            np.testing.assert_array_equal((slack < 0.0)[clear], np.array(broken)[clear])
            seen |= set(broken)
    assert seen == {False, True}
