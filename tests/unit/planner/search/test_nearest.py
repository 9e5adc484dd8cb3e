"""The real row nearest to a point, against enumeration."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest

from oracle.exhaustive_menus import everything_in_reach
from oracle.tiny_problems import tiny_problems
from unit.planner.search.search_problems import Searcher

SEED, N_PROBLEMS, N_TARGETS = 8, 16, 4
ROUNDING = 1e-9


def raw_rows(problem, applicant, rows):
    """Enumerated rows (places) as a table."""
    table = applicant.iloc[[0] * len(rows.places)].reset_index(drop=True)
    for k, feature in enumerate(problem.schema.features):
        values = rows.places[:, k]
        entries = values if feature.is_numeric else [feature.values[int(v)] for v in values]
        table[feature.name] = pd.Series(entries, dtype=problem.table[feature.name].dtype)
    return table


def encoded(searcher, answers):
    """The rows of answers, each of one row, as the pipeline sees them."""
    return searcher.encode(pd.concat([answer.rows for answer in answers], ignore_index=True))


@pytest.fixture(scope="module")
def cases():
    """Applicants with the rows in their reach, encoded, and points somewhere among these."""
    found = []
    for k, problem in enumerate(tiny_problems(N_PROBLEMS, SEED, 2)):
        rng = np.random.default_rng([SEED, k])
        searcher = Searcher(problem)
        for i in range(len(searcher)):
            applicant = problem.applicants.iloc[[i]]
            reach = everything_in_reach(problem, applicant)
            own = searcher.encode(applicant)
            points = searcher.encode(raw_rows(problem, applicant, reach.rows)) if len(reach.levels) else own[:0]
            centre = points[rng.integers(len(points), size=N_TARGETS)] if len(points) else np.repeat(own, N_TARGETS, 0)
            targets = centre + 0.3 * rng.standard_normal(centre.shape) * (np.arange(own.size) > 0)
            found.append((searcher, i, reach, points, targets))
    return found


@pytest.mark.parametrize("asks_for_level", [False, True])
def test_the_nearest_row_is_that_of_the_enumeration(cases, asks_for_level):
    exact = []
    for searcher, i, reach, points, targets in cases:
        level = searcher.problem.guarantee if asks_for_level else -1.0
        good = points[reach.levels >= level]
        if len(good) == 0:
            continue
        owner = np.full(len(targets), i)
        answers = searcher.nearest(owner, targets, level)
        for target, answer, row in zip(targets, answers, encoded(searcher, answers), strict=True):
            least = np.linalg.norm(good - target, axis=1).min()
            distance = np.linalg.norm(row - target)
            if searcher.problem.has_ties and answer.outcome != "met":
                continue
            assert answer.outcome == "met"
            assert np.abs(good - row).sum(axis=1).min() < ROUNDING
            assert distance >= least - ROUNDING
            exact.append(distance <= least + ROUNDING)
    assert len(exact) >= 40
    assert np.mean(exact) >= 0.9


def test_a_point_that_is_a_good_row_already_is_its_own_nearest_row(cases):
    found = 0
    for searcher, i, reach, points, _ in cases:
        good = points[reach.levels >= searcher.problem.guarantee][:6]
        if len(good) == 0:
            continue
        answers = searcher.nearest(np.full(len(good), i), good, searcher.problem.guarantee)
        np.testing.assert_allclose(encoded(searcher, answers), good, rtol=0.0, atol=ROUNDING)
        found += len(good)
    assert found >= 40


def test_where_the_level_is_out_of_reach_the_row_is_nearly_as_sure_as_any(cases):
    found = 0
    for searcher, i, reach, points, targets in cases:
        if searcher.problem.has_ties or not reach.highest >= 0.0:
            continue
        answers = searcher.nearest(np.full(len(targets), i), targets, 0.5 * (1.0 + reach.highest))
        for answer, row in zip(answers, encoded(searcher, answers), strict=True):
            level = reach.levels[np.abs(points - row).sum(axis=1).argmin()]
            assert answer.outcome == "below"
            assert answer.highest == pytest.approx(reach.highest, abs=ROUNDING)
            assert level >= 0.97 * reach.highest - ROUNDING
            found += 1
    assert found >= 40


def test_where_nothing_is_accepted_no_row_is_found(cases):
    outcomes = [
        {answer.outcome for answer in searcher.nearest(np.full(len(targets), i), targets)}
        for searcher, i, reach, _, targets in cases
        if reach.highest < 0.0
    ]
    assert len(outcomes) >= 3
    assert all(words == {"unreachable"} for words in outcomes)


def test_when_the_time_is_up_nothing_is_claimed(cases):
    searcher, i, _, _, targets = next(case for case in cases if case[2].highest >= 0.0)
    answers = searcher.nearest(np.full(len(targets), i), targets, deadline=-1.0)
    assert {answer.outcome for answer in answers} == {"timed out"}


def test_a_search_that_is_stopped_says_so(cases, monkeypatch):
    searcher, i, _, _, targets = next(case for case in cases if case[2].highest >= 0.0)
    stopped = nullcontext(np.ones(1, dtype=np.int64))
    monkeypatch.setattr("copa.planner.search.nearest.stopping_at", lambda _: stopped)
    answers = searcher.nearest(np.full(len(targets), i), targets)
    assert {answer.outcome for answer in answers} == {"timed out"}
