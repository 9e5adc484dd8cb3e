from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import copa
from copa import FeatureSchema
from copa.analysis.backtest import (
    PromisedOptions,
    Version,
    _ask,
    _disjoint_pairs,
    _held,
    run_backtest,
    split_versions,
)
from copa.exceptions import InvalidInputError, WeakModelWarning
from copa.models.linear import LinearModel
from copa.models.refits.history import refit_versions
from copa.planner import RecoursePlanner
from unit.planner import loans

COLUMNS = ["income", "debt", "grade"]
FEW = {"n_applicants": 8}
FAST = loans.FAST | {"later_models": copa.LaterModels(n_refits=64), "n_starts": 2, "n_options": 2}
SCHEMA = FeatureSchema([loans.SCHEMA[name] for name in COLUMNS])


def dated(n, rows=250, shift=0.0, at=None):
    """Data of n versions; from one on, more is asked for."""
    data = []
    for k in range(n):
        table = loans.people(rows, 20 + k).reset_index(drop=True)
        lifted = table.assign(debt=table["debt"] + (shift if at is not None and k >= at else 0.0))
        data.append((table[COLUMNS], loans.outcomes(lifted, 40 + k)))
    return data


def fitted(classifier=None):
    (data,) = dated(1)
    return make_pipeline(StandardScaler(), LogisticRegression() if classifier is None else classifier).fit(*data)


def planner(model=None, **settings):
    return copa.RecoursePlanner(fitted() if model is None else model, **FAST | {"schema": SCHEMA} | settings)


@pytest.fixture(scope="module")
def past():
    return dated(4)


def test_what_is_said_is_what_a_planner_of_that_time_and_the_later_models_say(past):
    everybody = {"n_applicants": 1000, "first": 3, "horizon": 1}
    found = run_backtest(planner(), past, **everybody)
    models = refit_versions(fitted(), past)
    X, y = past[2]
    then = planner(models[2], later_models=copa.LaterModels(history=models[:2], n_refits=64)).fit(X, y)
    batch = then.plan(X[~models[2].predict(X)].reset_index(drop=True))
    own = (batch.status == "ok")[batch.owner]
    options, points, ambiguity = batch.options[own], batch.points[own], batch.ambiguity
    said, start = found.transitions.loc[0], found.starts.loc[0]
    assert (said.start, said.later, said.horizon, said.n_promises) == ("3", "4", 1, int(own.sum()))
    assert said.accepted == models[3].predict(options).mean()
    moved = models[3].decision_function(options) - points @ ambiguity.mean
    reach = ambiguity.radius * np.sqrt(np.einsum("ij,jk,ik->i", points, ambiguity.cov, points))
    assert said.inside == pytest.approx((np.abs(moved) <= reach).mean(), abs=1e-9)
    assert said.below == pytest.approx((moved < -reach).mean(), abs=1e-9)
    assert start.n_older == 2
    assert (start.n_applicants, start.n_served) == (len(batch), int((batch.status == "ok").sum()))
    assert start.guaranteed == batch.option_lower[own].mean()
    assert start.expected == batch.expected_rate[own].mean()
    assert (start.radius, start.radius_source) == (ambiguity.radius, then.radius_source_)
    assert 0.0 < start.plain_effort < start.effort


def test_as_of_each_version_only_the_versions_before_it_are_known(past, monkeypatch):
    seen = []
    fit = RecoursePlanner.fit

    def spy(self, X, y):
        if self.later_models.ambiguity is None:
            seen.append((X, y, self.model, self.later_models.history))
        return fit(self, X, y)

    monkeypatch.setattr(RecoursePlanner, "fit", spy)
    run_backtest(planner(), past, first=1, horizon=2, **FEW)
    assert [len(history or ()) for *_, history in seen] == [0, 1, 2]
    for k, (X, y, model, history) in enumerate(seen):
        assert X is past[k][0]
        assert (y == past[k][1]).all()
        assert [older is seen[j][2] for j, older in enumerate(history or ())] == [True] * k
        assert not any(older is model for older in history or ())


def test_transitions_of_one_horizon_do_not_overlap(past):
    found = run_backtest(planner(), past, first=1, horizon=3, **FEW)
    pairs = found.transitions[["start", "later", "horizon"]].itertuples(index=False, name=None)
    assert list(pairs) == [("1", "2", 1), ("1", "4", 3), ("2", "3", 1), ("2", "4", 2), ("3", "4", 1)]
    assert found.horizons["n_transitions"].tolist() == [3, 1, 1]


@pytest.mark.parametrize(
    ("n_versions", "begin", "wanted"),
    [(7, 0, [(0, 2), (2, 4), (4, 6)]), (8, 0, [(1, 3), (3, 5), (5, 7)]), (8, 2, [(3, 5), (5, 7)])],
)
def test_longer_transitions_are_counted_back_from_the_newest_version(n_versions, begin, wanted):
    pairs = _disjoint_pairs(begin, 2, n_versions)
    assert [pair for pair in pairs if pair[1] - pair[0] == 2] == wanted
    assert [pair for pair in pairs if pair[1] - pair[0] == 1] == [(t, t + 1) for t in range(begin, n_versions - 1)]


def test_without_saying_so_plans_begin_where_there_is_a_past_to_go_by(past):
    assert run_backtest(planner(), past, horizon=4, **FEW).starts["version"].tolist() == ["2", "3"]
    assert run_backtest(planner(), past[:2], **FEW).starts["version"].tolist() == ["1"]


def test_the_newest_version_may_be_the_model_in_force(past):
    *older, newest = past
    strict = fitted(LogisticRegression(C=1e-6)).fit(newest[0], np.arange(250) < 10)
    models = refit_versions(fitted(), older)
    named = {"history": models, "names": ["a", "b", "c", "d"], "horizon": 1, "first": 3}
    found = planner(strict).backtest(*newest, history_data=older, **named, **FEW | {"n_applicants": 30})
    assert found.versions == ("a", "b", "c", "d")
    assert found.transitions.loc[0, "accepted"] == 0.0  # this model accepts nobody
    assert found.horizons.loc[1, "lowest_at"] == "d"


def test_models_beside_their_data_are_taken_as_they_are(past):
    models = refit_versions(fitted(LogisticRegression(C=0.05)), past)
    given = run_backtest(planner(), past, history=models, horizon=1, **FEW)
    assert given.to_dict() == run_backtest(planner(models[0]), past, horizon=1, **FEW).to_dict()
    assert given.to_dict() != run_backtest(planner(), past, horizon=1, **FEW).to_dict()


def test_a_break_is_shown_and_named():
    found = run_backtest(planner(), dated(5, shift=40.0, at=4), first=3, horizon=2, **FEW | {"n_applicants": 30})
    assert list(zip(found.transitions["start"], found.transitions["later"], strict=True)) == [
        ("3", "4"),
        ("3", "5"),
        ("4", "5"),
    ]
    assert found.transitions.loc[0, "accepted"] > 0.9
    assert found.horizons["lowest_at"].tolist() == ["5", "5"]
    assert (found.horizons["lowest"] < 0.5).all()
    assert set(found.horizons["verdict"]) == {"too few transitions to say"}  # two transitions refute nothing


def test_a_later_version_is_judged_by_itself_and_by_no_refit_of_it(past, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("refitted")

    made = run_backtest(planner(), past, first=3, horizon=1, **FEW)
    asked = PromisedOptions(
        made.starts.loc[0].to_dict(),
        0,
        LinearModel.read(fitted(), COLUMNS),
        past[0][0],
        np.arange(250),
        np.zeros(250),
        None,
    )
    later = Version("2", refit_versions(fitted(), past)[1], *past[1])
    monkeypatch.setattr(LogisticRegression, "fit", refuse)
    assert _ask(later, 1, asked, "each")["accepted"] == later.estimator.predict(past[0][0]).mean()


def test_weak_versions_are_named_once_and_python_is_not_warned(past, recwarn):
    X, y = past[2]
    shuffled = np.random.default_rng(3).permutation(y)
    found = run_backtest(planner(), [*past[:2], (X, shuffled), past[3]], first=1, horizon=1, **FEW)
    assert found.weak == ("3",)
    assert "in 1 of 4 versions ('3')" in found.headline
    assert not [w for w in recwarn if issubclass(w.category, WeakModelWarning)]


def test_scores_are_compared_with_the_reach_of_the_set():
    start = {"version": "1"}
    model = SimpleNamespace(accepts=lambda _: np.array([True, True, False]))
    promised = PromisedOptions(
        start, 0, None, pd.DataFrame({"a": [0, 1, 2]}), np.array([0, 0, 1]), np.zeros(3), np.ones(3)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("copa.analysis.backtest.read_version", lambda *_: model)
        patch.setattr("copa.analysis.backtest.scores_of", lambda *_: np.array([0.5, -2.0, 2.0]))
        said = _ask(SimpleNamespace(name="2", estimator=None), 1, promised, "each")
    assert [said[name] for name in ("accepted", "inside", "below")] == pytest.approx([2 / 3, 1 / 3, 1 / 3])


def test_a_set_without_a_radius_has_no_inside(past):
    found = run_backtest(
        planner(later_models=copa.LaterModels(ambiguity=copa.MomentBall(), n_refits=64), guarantee=0.7),
        past,
        first=3,
        horizon=1,
        **FEW,
    )
    assert np.isnan(found.transitions.loc[0, "inside"])
    assert np.isnan(found.horizons.loc[1, "below"])


def test_promises_of_whole_plans_are_counted_by_plan(past):
    found = run_backtest(planner(guarantee_for="all", guarantee=0.5), past, first=3, horizon=1, **FEW)
    assert found.transitions.loc[0, "n_promises"] == found.starts.loc[0, "n_served"] <= 8
    assert found.unit == "plan"


@pytest.mark.parametrize(("whom", "wanted"), [("each", [1, 0, 0, 1]), ("all", [0, 0, 1]), ("any", [1, 0, 1])])
def test_all_and_any_are_about_the_options_of_one_plan(whom, wanted):
    accepted = np.array([1, 0, 0, 1], dtype=bool)
    assert _held(accepted, np.array([0, 0, 3, 5]), whom).astype(int).tolist() == wanted


def test_the_planner_stays_as_it_is(past):
    asked = planner()
    before = asked.get_params(deep=False)
    run_backtest(asked, past, horizon=1, first=3, **FEW)
    assert all(asked.get_params(deep=False)[name] is value for name, value in before.items())
    assert not hasattr(asked, "strategy_")


def test_a_planner_from_a_file_estimates_its_radius_anew(past, tmp_path):
    model = fitted()
    planner(model).fit(*past[3]).save(tmp_path / "planner.zip")
    loaded = RecoursePlanner.load(tmp_path / "planner.zip", model)
    start = run_backtest(loaded, past, first=3, horizon=1, **FEW).starts.loc[0]
    assert start.radius != loaded.radius_
    assert "2 older versions" in start.radius_source


def test_black_boxes_are_backtested_too(past):
    tree = fitted(DecisionTreeClassifier(max_depth=3, random_state=0))
    found = run_backtest(planner(tree, later_models=copa.LaterModels(n_refits=8), guarantee=0.6), past[:2], **FEW)
    assert found.transitions.loc[0, "n_promises"] > 0


def test_without_history_halves_are_planned_on_and_the_other_halves_asked(past):
    found = planner(guarantee=0.6).backtest(*past[0], n_splits=3, **FEW)
    assert found.kind == "splits"
    assert list(zip(found.transitions["start"], found.transitions["later"], strict=True)) == [
        (f"split {k}", f"the rest of split {k}") for k in (1, 2, 3)
    ]
    assert set(found.starts["n_older"]) == {0}
    assert "cannot certify one sample" in found.limits[0]
    assert found.horizons.loc[1, "verdict"] == "forecast only"


def test_halves_share_no_row_and_keep_the_penalty_per_row(past):
    X, y = past[0]
    X = X.assign(number=np.arange(len(X)))
    pairs = split_versions(planner(fitted(LogisticRegression(C=0.2))), (X, y), 2)
    for one, rest in (pairs[:2], pairs[2:]):
        assert sorted([*one.features["number"], *rest.features["number"]]) == list(range(len(X)))
        assert one.estimator[-1].C == rest.estimator[-1].C == 0.4
    assert set(pairs[0].features["number"]) != set(pairs[2].features["number"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda _: run_backtest(planner()), "a backtest takes the training data of the versions"),
        (
            lambda past: planner().backtest(*past[0], history=[fitted()]),
            "planning as of an older version takes its training data",
        ),
        (lambda past: run_backtest(planner(), past, names=["a"]), "names must be 4 different ones"),
        (lambda past: run_backtest(planner(), past, history=[1]), "history must have one model for each of the 4"),
        (lambda past: run_backtest(planner(), past, first=4), "first must be a whole number from 1 to 3"),
        (lambda past: run_backtest(planner(), past, horizon=0), "horizon must be a whole number of at least 1"),
        (
            lambda past: run_backtest(planner(), past, n_applicants=0),
            "n_applicants must be a whole number of at least 1",
        ),
        (lambda past: run_backtest(planner(), past[0][0]), "history_data must be a list of pairs"),
        (
            lambda past: run_backtest(planner(), [*past[:3], (past[3][0], np.ones(250, dtype=bool))]),
            "the data of version 4 have 250 rows of one class only",
        ),
    ],
)
def test_what_cannot_be_backtested_is_said(past, make, message):
    with pytest.raises(InvalidInputError, match=message):
        make(past)


def test_a_version_that_refuses_options_is_named():
    tables = [loans.people(250, k) for k in (1, 2)]
    tables[1] = tables[1][tables[1]["job"] != "nurse"]
    data = [(table, loans.outcomes(table)) for table in tables]
    model = loans.fitted_pipeline()
    set_of_radius = copa.LaterModels(ambiguity=copa.MomentBall(radius=0.1), n_refits=64)
    with pytest.raises(InvalidInputError, match=r"version 2 of the model refuses options .* Found unknown categories"):
        run_backtest(
            planner(model, schema=loans.SCHEMA, later_models=set_of_radius), data, **FEW | {"n_applicants": 30}
        )
