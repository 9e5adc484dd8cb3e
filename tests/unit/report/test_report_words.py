from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import copa
from copa._core.words import counted
from copa.analysis.curves import ShelfLife
from copa.analysis.frontier import Frontier
from copa.analysis.totals import Totals
from copa.plans.cost import L1
from copa.plans.units import effort_words
from copa.plans.wording import condition, percent, rounded_radius, shortened
from copa.report import views
from copa.report.validators import life_words, validators
from copa.theory.sets.ambiguity import MomentBall
from unit.plans.plan_batches import terms


@pytest.mark.parametrize(
    ("kind", "life", "words"),
    [
        (
            "each",
            ShelfLife(0.9, open_ended=False),
            "Each option keeps it up to radius 0.9: the next models may drift 1.80",
        ),
        ("any", ShelfLife(2.0, open_ended=True), "At least one option keeps it up to at least radius 2"),
        ("all", ShelfLife(0.2, open_ended=False), "All options together keep it up to radius 0.2 only: 0.40 times"),
        (
            "all",
            ShelfLife(float("nan"), open_ended=False),
            "not reached, even if the estimated moments are exactly right",
        ),
    ],
)
def test_a_shelf_life_is_told_in_multiples_of_what_was_assumed(kind, life, words):
    assert words in life_words(kind, life, 0.5)


def test_without_an_assumed_radius_there_are_no_multiples():
    assert "times" not in life_words("each", ShelfLife(0.9, open_ended=False), 0.0)


@pytest.mark.parametrize("radius", [0.72245, 0.9999, 1.0, 123.456, 0.00012349, 0.3])
def test_a_radius_is_never_rounded_up(radius):
    shown = float(rounded_radius(radius))
    assert radius * 0.99 < shown <= radius


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0.0 %"), (1e-5, "under 0.1 %"), (0.5, "50.0 %"), (0.99999, "over 99.9 %"), (1.0, "100.0 %")],
)
def test_a_share_is_not_called_nobody_or_everybody_unless_it_is(share, text):
    assert percent(share) == text


def test_the_condition_names_the_radius_and_its_unit():
    mean, cov, asked = np.ones(2), np.eye(2), terms(copa.datasets.load_german().schema)["basis"]
    assert "exactly the estimated ones" in condition(MomentBall(mean, cov, 0.0), asked)
    assert "within radius 0.25 of" in condition(MomentBall(mean, cov, 0.25), asked)
    assert "in units of the drift" in condition(MomentBall(mean, cov, 0.25, cov), asked)


def test_the_condition_says_whether_parameters_or_scores_are_meant():
    ball, schema = MomentBall(np.ones(2), np.eye(2), 0.25), copa.datasets.load_german().schema
    assert condition(ball, terms(schema)["basis"]).startswith("if the next models' mean and covariance stay")
    of_scores = terms(schema, subject="scores")["basis"]
    assert "of the scores that the next models give these rows stay" in condition(ball, of_scores)
    assumed = terms(schema, subject="assumed")["basis"]
    assert "give these rows (covariance assumed) stay within" in condition(ball, assumed)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"guarantee_for": "any"},
            "60 of 100 later models that are trained like this one accept at least one",
        ),
        ({"guarantee_for": "all"}, "trained like this one accept all options together. This is proven"),
        ({"expected": True}, "Asked for is an expected rate of 0.6 for each option, not a guarantee."),
        ({"objective": "paper"}, "No guarantee was asked for"),
        ({"subject": "surrogate"}, "of the model itself nothing is proven"),
        ({"subject": "assumed"}, "was assumed for it, not estimated"),
    ],
)
def test_the_first_sentences_say_what_was_asked_of_whom_and_what_is_proven(german, changes, words):
    said = " ".join(views.promise(replace(german, **terms(german.basis.schema, **changes))))
    assert words in said
    assert ("A guarantee of at least 0.6 means" in said) == (changes.keys() <= {"guarantee_for", "subject"})


@pytest.mark.parametrize(
    ("changes", "count", "words"),
    [
        ({}, "2", "have a menu at the guarantee asked for"),
        ({"expected": True}, "2", "have a menu at the expected rate asked for"),
        ({"objective": "paper"}, "3", "have a menu"),
    ],
)
def test_the_tile_counts_what_it_names(german, changes, count, words):
    batch, totals = replace(german, **terms(german.basis.schema, **changes)), Totals()
    totals.add(batch)
    served = views.overview(totals, batch, None)["served"]
    assert (served["count"], served["words"]) == (count, words)


def test_effort_is_explained_by_the_cost_of_the_planner_whatever_its_name(german):
    class Doubled(L1):
        def prices(self, features):
            prices = super().prices(features)
            return prices._replace(per_unit=2.0 * prices.per_unit)

    planner = SimpleNamespace(strategy_=SimpleNamespace(space=SimpleNamespace(cost=Doubled())))
    totals = Totals()
    totals.add(german)
    columns = [column for column, _ in totals.options_changing.most_common()]
    known, own = (views.effort_example(german, totals, who) for who in (None, planner))
    assert known != own == effort_words(german.basis.schema, columns, Doubled())


def test_levels_without_their_turn_are_not_called_out_of_reach(german):
    tried = np.array([[True, True, False]] * 4)
    effort = np.array([[1.0, 2.0, np.nan], [2.0, 3.0, np.nan], [2.0, 4.0, np.nan], [3.0, np.nan, np.nan]])
    cost = Frontier(np.array([0.6, 0.8, 0.9]), effort, complete=False, tried=tried)
    totals = Totals()
    totals.add(german)
    assert views.overview(totals, german, cost)["frontier"]["reached"] == "0.6 by 4, 0.8 by 3"
    place = np.flatnonzero(german.counts > 0)[:1]
    for seen, beyond in ((tried, None), (None, 0.9)):
        one = Frontier(cost.levels, effort[:1], complete=False, tried=None if seen is None else seen[:1])
        (person, *_) = validators(german, None, one, place)["applicants"]
        assert person["frontier"]["beyond"] == beyond


def test_numbers_are_counted_and_long_names_cut():
    assert (counted(1, "option"), counted(12345, "option")) == ("1 option", "12,345 options")
    assert (shortened("short", 10), shortened("a very long name", 10)) == ("short", "a very lo…")
