"""What one person asks for: a planner of its own, which shares what was learned and holds the wishes to the last."""

from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import copa
from copa import Wishes
from copa._core.formats import Archive
from copa.planner.later_models import assume
from copa.planner.persistence import FORMAT
from unit.planner import loans

GIVEN = {"later_models": copa.MomentBall(radius=0.6, drift="cov")}


def changed_columns(batch):
    return set(np.array(batch.options.columns)[batch.changed.any(axis=0)])


def same_plans(one, other):
    assert one.status.tolist() == other.status.tolist()
    assert one.options.equals(other.options)
    np.testing.assert_array_equal(one.option_lower, other.option_lower)
    np.testing.assert_array_equal(one.effort, other.effort)


@pytest.mark.parametrize("column", ["income", "job", "grade"])
def test_a_fixed_column_gives_the_plans_of_a_schema_in_which_it_is_immutable(model, declined, column):
    planner = loans.planner(model, **GIVEN)
    stated = loans.planner(model, **GIVEN, schema=loans.SCHEMA.replace({column: {"immutable": True}}))
    made = planner.with_wishes(Wishes(fixed=[column])).plan(declined)
    assert column in changed_columns(planner.plan(declined))
    assert column not in changed_columns(made)
    same_plans(made, stated.plan(declined))


def test_a_fixed_column_of_a_black_box_too(declined):
    model = loans.fitted_pipeline(RandomForestClassifier(10, min_samples_leaf=5, random_state=0))
    few = {"later_models": copa.LaterModels(n_refits=4), "n_starts": 2}
    planner = loans.planner(model, **few)
    fixed = loans.SCHEMA.replace(debt={"immutable": True})
    people = declined[~model.predict(declined)].iloc[:6]
    made = planner.with_wishes(Wishes(fixed=["debt"])).plan(people)
    assert "debt" in changed_columns(planner.plan(people))
    assert "debt" not in changed_columns(made)
    stated = loans.planner(model, **few, schema=fixed)
    stated.strategy_ = replace(
        stated.strategy_, reliability=planner.strategy_.reliability
    )  # measured where debt may change
    same_plans(made, stated.plan(people))


def test_a_fixed_column_of_a_feature_map_too(declined):
    model = make_pipeline(loans.encoder(), PolynomialFeatures(2, include_bias=False), LogisticRegression(max_iter=500))
    table = loans.people(300, 0)
    planner = loans.planner(
        model.fit(table, loans.outcomes(table)), **GIVEN | {"later_models": copa.LaterModels(n_refits=20)}
    )
    people = declined[~model.predict(declined)].iloc[:4]
    made = planner.with_wishes(Wishes(fixed=["income"])).plan(people)
    assert len(made.options) > 0
    assert "income" not in changed_columns(made)


def test_the_last_judge_knows_what_is_fixed(planner, batch):
    asking = planner.with_wishes(Wishes(fixed=["income"]))
    moved = batch.changed[:, batch.options.columns.get_loc("income")]
    assert moved.any()
    obeys = asking.schema_.obeys(batch.applicants.iloc[batch.owner], batch.options)
    assert not obeys[moved].any()
    audited = asking.audit(batch)
    assert set(audited.status[np.unique(batch.owner[moved])]) == {"infeasible"}


def test_a_column_that_is_easier_is_changed_more_and_counts_less(planner, declined, batch):
    asking = planner.with_wishes(Wishes(weights={"debt": 0.05}))
    made = asking.plan(declined)
    k = batch.options.columns.get_loc("debt")
    assert made.changed[:, k].mean() > batch.changed[:, k].mean()
    assert asking.schema_["debt"].weight == pytest.approx(0.05 * planner.schema_["debt"].weight)
    some = made.changed[:, k]
    steps = np.abs(made.options["debt"] - made.applicants["debt"].iloc[made.owner].to_numpy()).to_numpy()[some]
    expected = 0.05 * steps / planner.schema_["debt"].spread
    np.testing.assert_allclose(made.change_effort[some, k], expected)


def test_level_and_number_of_options_are_those_asked_for(planner, declined):
    wishes = Wishes(guarantee=0.6, guarantee_for="any", n_options=1)
    made = planner.with_wishes(wishes).plan(declined)
    assert (made.request.guarantee, made.request.guarantee_for, made.request.n_options) == (0.6, "any", 1)
    expecting = copy(planner).set_params(later_models=assume(planner.later_models, expected=True))
    assert expecting.with_wishes(wishes).plan(declined.iloc[:2]).request.expected


def test_the_shared_planner_stays_as_it_is(planner, declined, batch):
    before = planner.get_params(deep=False)
    planner.with_wishes(Wishes(fixed=["income"], weights={"debt": 2.0}, guarantee=0.6, n_options=1, horizon=9))
    assert planner.get_params(deep=False) == before
    same_plans(planner.plan(declined), batch)


def test_nothing_asked_for_changes_nothing(planner, declined, batch):
    assert planner.with_wishes(Wishes()).strategy_ is planner.strategy_
    same_plans(planner.with_wishes(Wishes()).plan(declined), batch)


def test_planners_of_different_wishes_work_in_threads_at_once(planner, declined):
    asked = [Wishes(), Wishes(fixed=["income"]), Wishes(fixed=["debt"]), Wishes(weights={"debt": 0.1}, guarantee=0.6)]
    alone = [planner.with_wishes(wishes).plan(declined.iloc[:8]) for wishes in asked]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda wishes: planner.with_wishes(wishes).plan(declined.iloc[:8]), 4 * asked))
    for k, made in enumerate(together):
        same_plans(made, alone[k % 4])


def test_a_planner_of_wishes_can_be_saved_fitted_and_asked_again(planner, model, declined, tmp_path):
    asking = planner.with_wishes(Wishes(fixed=["income"], guarantee=0.7))
    asking.save(tmp_path / "asking.copa")
    loaded = copa.RecoursePlanner.load(tmp_path / "asking.copa", model)
    same_plans(loaded.plan(declined), asking.plan(declined))
    table = loans.people(300, 0)
    assert clone(asking).fit(table, loans.outcomes(table)).schema_["income"].immutable
    both = asking.with_wishes(Wishes(fixed=["debt"]))
    assert both.guarantee == 0.7
    assert changed_columns(both.plan(declined)).isdisjoint({"income", "debt"})


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"fixed": "income"}, "fixed must be a list of columns, got 'income'"),
        ({"fixed": [3]}, "fixed must be a list of columns, got 3 in it"),
        ({"max_change": ["income"]}, "max_change must be a mapping from columns, got"),
        ({"weights": {"debt": 0}}, "factor of column 'debt' must be a number from 0.01 to 100, got 0"),
        ({"weights": {"debt": True}}, "factor of column 'debt' must be a number from 0.01 to 100, got True"),
        ({"weights": {"debt": float("nan")}}, "factor of column 'debt' must be a number from 0.01 to 100, got nan"),
        ({"guarantee": 1.0}, "guarantee must be a probability, above 0 and below 1, got 1.0"),
        ({"guarantee_for": "none"}, "guarantee_for must be"),
        ({"n_options": 80}, "n_options"),
        ({"horizon": 0}, "horizon must be a whole number of at least 1, got 0"),
    ],
)
def test_wishes_that_cannot_be_are_refused(wishes, message):
    with pytest.raises(copa.InvalidInputError, match=message):
        Wishes(**wishes)


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"fixed": ["incme"]}, "there is no column 'incme'; did you mean 'income'"),
        ({"weights": {"age": 2.0}}, "weights: column 'age' is immutable, no option changes it"),
        ({"max_change": {"age": 0.1}}, "max_change: column 'age' is immutable, no option changes it"),
        ({"max_change": {"job": 0.1}}, "column 'job': max_change means nothing for kind 'categorical'"),
        ({"max_change": {"income": {"sideways": 1}}}, "side 'sideways' is not known"),
    ],
)
def test_wishes_that_the_schema_does_not_know_are_refused(planner, wishes, message):
    with pytest.raises(copa.InvalidInputError, match=message):
        planner.with_wishes(Wishes(**wishes))


@pytest.mark.parametrize(
    ("own", "asked", "within"),
    [
        (0.3, 0.3, True),
        (0.3, 0.31, False),
        (0.3, {"up": 1}, False),
        ({"up": 5}, {"up": 5, "down": 90}, True),
        ({"up": 5}, {"down": 1}, False),
        ({"up": 5}, 0.1, False),
        (None, 10, True),
    ],
)
def test_an_applicant_may_ask_for_less_than_the_schema_allows_and_not_for_more(own, asked, within):
    schema = loans.SCHEMA.replace(income={"max_change": own})
    wishes = Wishes(max_change={"income": asked})
    if within:
        wishes.require_within(schema)
        return
    with pytest.raises(copa.InvalidInputError, match="max_change of column 'income' must be within what the schema"):
        wishes.require_within(schema)


def test_wishes_are_equal_whatever_their_order_and_can_be_told():
    one = Wishes(fixed=["b", "a"], max_change={"x": {"up": 1.0, "down": 2.0}, "y": 0.5}, n_options=3)
    other = Wishes(fixed=("a", "b", "a"), max_change={"y": 0.5, "x": {"down": 2.0, "up": 1.0}}, n_options=np.int64(3))
    assert one == other
    assert hash(one) == hash(other)
    assert one.to_dict() == {
        "fixed": ["a", "b"],
        "max_change": {"x": {"up": 1.0, "down": 2.0}, "y": 0.5},
        "n_options": 3,
    }
    assert Wishes(**one.to_dict()) == one
    assert Wishes().to_dict() == {}


@pytest.fixture(scope="module")
def older(model):
    """Three older versions, fitted to the data of other years."""
    found = []
    for year in range(3):
        table = loans.people(300, 20 + year)
        shifted = table.assign(income=table["income"] + 6.0 * (3 - year))
        found.append(clone(model).fit(table, loans.outcomes(shifted, seed=year)))
    return found


@pytest.mark.parametrize("horizon", [1, 2, 3, 6])
def test_another_horizon_is_that_of_another_fit(model, older, declined, horizon, tmp_path):
    planner = loans.planner(model, later_models=copa.LaterModels(history=older, horizon=1))
    stated = loans.planner(model, later_models=copa.LaterModels(history=older, horizon=horizon))
    asking = planner.with_wishes(Wishes(horizon=horizon))
    assert (asking.radius_, asking.radius_source_) == (stated.radius_, stated.radius_source_)
    same_plans(asking.plan(declined.iloc[:5]), stated.plan(declined.iloc[:5]))
    planner.save(tmp_path / "dated.copa")
    loaded = copa.RecoursePlanner.load(tmp_path / "dated.copa", model).with_wishes(Wishes(horizon=horizon))
    assert (loaded.radius_, loaded.radius_source_) == (stated.radius_, stated.radius_source_)


def test_another_horizon_of_a_black_box_too():
    table = loans.people(300, 0)
    forest = loans.fitted_pipeline(RandomForestClassifier(10, min_samples_leaf=5, random_state=0))
    older = [clone(forest).fit(table, loans.outcomes(table, seed=10 + year)) for year in range(3)]
    few = copa.LaterModels(history=older, n_refits=6)
    planner, stated = (loans.planner(forest, later_models=replace(few, horizon=horizon)) for horizon in (1, 3))
    asking = planner.with_wishes(Wishes(horizon=3))
    assert planner.radius_source_ != stated.radius_source_
    assert (asking.radius_, asking.radius_source_) == (stated.radius_, stated.radius_source_)
    assert asking.strategy_.past is not None


def test_without_a_history_all_horizons_are_alike(planner, declined, batch):
    asking = planner.with_wishes(Wishes(horizon=9))
    assert (asking.later_models.horizon, asking.radius_source_) == (9, planner.radius_source_)
    same_plans(asking.plan(declined), batch)


def test_a_loaded_planner_knows_that_it_had_a_history_whatever_its_words_say(model, older, tmp_path):
    path = tmp_path / "dated.copa"
    loans.planner(model, later_models=copa.LaterModels(history=older, horizon=2)).save(path)
    archive = FORMAT.read(path.read_bytes(), path)
    other_words = archive.content | {"radius_source": "measured"}
    path.write_bytes(FORMAT.pack(Archive(other_words, archive.arrays, archive.members)))
    loaded = copa.RecoursePlanner.load(path, model)
    table = loans.people(300, 0)
    with pytest.raises(copa.InvalidInputError, match="not the older models"):
        loaded.fit(table, loans.outcomes(table))
    past = archive.content["past"]
    for broken in ({}, {**past, "largest": ["x"]}, {**past, "n_moves": []}, 3):
        path.write_bytes(FORMAT.pack(Archive(archive.content | {"past": broken}, archive.arrays, archive.members)))
        with pytest.raises(copa.DataError):
            copa.RecoursePlanner.load(path, model)
