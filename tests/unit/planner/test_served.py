"""What a fit says of the levels that it can certify."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import copa
from copa.exceptions import OutOfReachWarning
from copa.planner.served import Served
from unit.planner import loans


@pytest.fixture(scope="module")
def forest():
    table = loans.people(300, 0)
    return loans.pipeline(RandomForestClassifier(10, max_depth=4, random_state=0)).fit(table, loans.outcomes(table))


def fitted(model, guarantee):
    table = loans.people(300, 0)
    settings = {"later_models": copa.LaterModels(n_refits=8), "plausibility": 0.0, "n_options": 2, "n_jobs": 1}
    planner = copa.RecoursePlanner(model, loans.SCHEMA, guarantee=guarantee, **settings)
    return planner.fit(table, loans.outcomes(table))


def test_the_shares_are_those_of_plans_for_declined_training_rows(forest):
    planner = fitted(forest, 0.6)
    served, table = planner.served_, loans.people(300, 0)
    declined = table[~forest.predict(table)]
    assert len(served.reached) == min(24, len(declined))
    some = declined.iloc[np.unique(np.linspace(0, len(declined) - 1, 24).astype(int))]
    batch = planner.plan(some)
    best = [lower.max(initial=0.0) for lower in (plan.option_lower for plan in batch)]
    np.testing.assert_array_equal(served.reached, best)
    assert served.count(0.6) == np.sum(batch.status == "ok")


def test_a_fit_that_certifies_nothing_warns_and_names_what_would_serve(forest):
    with pytest.warns(OutOfReachWarning, match=r"plans will be fragile: 0 of \d+ declined training rows tried reached"):
        fitted(forest, 0.99)


def test_a_fit_that_certifies_something_is_silent(forest):
    with warnings.catch_warnings():
        warnings.simplefilter("error", OutOfReachWarning)
        assert fitted(forest, 0.5).served_.count(0.5) > 0


def test_linear_models_are_not_tried(planner):
    assert planner.served_ is None


def test_a_loaded_planner_says_nothing(forest, tmp_path):
    planner = fitted(forest, 0.5)
    planner.save(tmp_path / "planner.zip")
    assert copa.RecoursePlanner.load(tmp_path / "planner.zip", forest).served_ is None


@pytest.mark.parametrize(
    ("reached", "words"),
    [
        ([0.95, 0.9], "2 of 2 declined training rows tried reached the guarantee asked for, 0.9"),
        (
            [0.72, 0.75, 0.6, 0.0],
            "0 of 4 declined training rows tried reached the guarantee asked for, 0.9; 0.7 would serve 2",
        ),
        (
            [0.55, 0.0, 0.0],
            "0 of 3 declined training rows tried reached the guarantee asked for, 0.9; 0.5 would serve 1",
        ),
        ([0.3], "0 of 1 declined training row tried reached the guarantee asked for, 0.9; nor did any reach 0.5"),
    ],
)
def test_the_sentence_names_the_highest_level_that_serves_half(reached, words):
    assert str(Served(0.9, np.array(reached))) == words


def test_the_table_has_the_level_asked_for_and_lower_ones():
    frame = Served(0.75, np.array([0.8, 0.72, 0.0, 0.6])).to_frame()
    assert frame["guarantee"].tolist() == [0.75, 0.7, 0.6, 0.5]
    assert frame["rows"].tolist() == [1, 2, 3, 3]
    assert frame["share"].tolist() == [0.25, 0.5, 0.75, 0.75]
