"""The table of what the rule kept: read from its file, equal to the docs, and measured by a benchmark that runs."""

import re
from dataclasses import astuple, replace

import numpy as np
import pytest

import copa
from benchmarks.guarantees import promised, summary, tables
from benchmarks.guarantees.fits import design, fit_sample
from benchmarks.guarantees.populations import generator, heavy_tails, plain
from copa.planner.strategies.next_parameters import shrunk
from copa.plans import tested


@pytest.fixture(scope="module")
def case():
    """A training set of the plain population, with a planner of few refits and few judges."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            promised,
            "PLANNING",
            promised.PLANNING | {"later_models": copa.LaterModels(n_refits=64), "n_options": 2, "n_starts": 1},
        )
        patch.setattr(promised, "N_APPLICANTS", 3)
        population = plain()
        return promised.prepare(population, 400, 0, "test", promised.judges(population, 400, "test", 10))


@pytest.fixture(scope="module")
def line(case):
    """Its line in the file of the benchmark."""
    return {"population": "plain", "n": 400, "seed": 0} | promised.measure(case)


def test_table_has_a_row_for_each_confidence_tested():
    assert [rule.confidence for rule in tested.tested_rules()] == [0.9, 0.95, 0.99]
    assert tested.tested_rule(0.97).confidence == 0.95
    assert tested.tested_rule(0.5) is None
    for rule in tested.tested_rules():
        assert 0.0 <= rule.worst <= rule.kept <= 1.0
        assert rule.n_samples > 0


def test_docs_say_what_the_table_says():
    page = tables.PAGE.read_text(encoding="utf-8").split("### What the planner prints")[1]
    found = re.findall(r"^\| ([\d.]+) \| (\d+) \| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", page, re.MULTILINE)
    said = [tuple(map(float, cells)) for cells in found[:3]]
    shipped = [astuple(rule) for rule in tested.tested_rules()]
    assert said == [pytest.approx(row, abs=1e-9) for row in shipped]


@pytest.mark.parametrize("make", [plain, heavy_tails])
def test_judges_are_the_pipelines_that_they_stand_for(make):
    population = make()
    rng = generator("test", population.name)
    sample, fresh = population.draw(200, rng), population.draw(50, rng)
    pipeline = promised.pipeline(population).fit(population.frame(sample), sample.favourable)
    scores = design(population, fresh.numbers, fresh.codes) @ fit_sample(population, sample)
    # two solvers of one convex problem, each stopped at a gradient of about 1e-8
    np.testing.assert_allclose(scores, pipeline.decision_function(population.frame(fresh)), atol=1e-4, rtol=1e-4)


def test_state_of_each_confidence_is_the_one_that_fitting_with_it_gives(case):
    fitted = case.planner.strategy_
    unshrunk = replace(fitted.parameters, mean=fitted.moments(1).mean)
    again = shrunk(unshrunk, fitted.reliability, case.planner.later_models.confidence)
    np.testing.assert_allclose(again.mean, fitted.parameters.mean, rtol=1e-12)
    assert again.radius == pytest.approx(fitted.parameters.radius)


def test_benchmark_measures_every_level_and_confidence(line):
    asked = [(made["confidence"], made["level"]) for made in line["outcomes"]]
    assert asked == [(c, level) for c in summary.CONFIDENCES for level in summary.LEVELS]
    first = line["outcomes"][0]
    assert first["served"] > 0
    assert len(first["accepted"]) >= first["served"]
    assert all(0 <= count <= line["judges"] for made in line["outcomes"] for count in made["accepted"])
    assert first["effort"][0] > first["effort"][1] > 0.0  # a guarantee costs something


def test_options_that_judges_refuse_are_not_kept():
    made = {"rule": "default", "level": 0.8, "confidence": 0.95, "served": 2, "effort": [2.0, 1.0]}
    row = {"population": "plain", "n": 300, "seed": 0, "reliability": 0.9, "judges": 10, "applicants": 4}
    row["outcomes"] = [made | {"accepted": [10, 8, 7, 0]}]
    (pair,) = summary.pairs([row])
    assert (pair.options, pair.kept, pair.share, pair.fragile, pair.effort) == (4, 2, 0.5, 0.5, 2.0)
    assert summary.pairs([row | {"reliability": 0.1}]) == []  # too few data: nothing is delivered


def test_tables_of_a_measured_line_are_complete(line):
    text = tables.as_text([line])
    assert "| plain | 400 | 1 |" in text
    assert summary.rules([line])[0]["n_samples"] == 1
