"""Every applicant gets a status, and the reasons given are reasons."""

import re
import time
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import copa
from copa import Feature, FeatureSchema, LinearRule, WeightMoments
from copa._core.words import rounded_down
from unit.planner import loans
from unit.planner.promises import Judge, broken_promises

RELAXATIONS = [
    (r"(\w+): must be at most .*, would have to be (\S+)$", lambda m: {m[1]: {"upper": float(m[2])}}),
    (r"(\w+): must be at least .*, would have to be (\S+)$", lambda m: {m[1]: {"lower": float(m[2])}}),
    (r"(\w+): is immutable at .*", lambda m: {m[1]: {"immutable": False}}),
    (r"(\w+): may only (?:increase|decrease) .*", lambda m: {m[1]: {"direction": "both"}}),
    (r"(\w+): may only change (?:from|to) .*", lambda m: {m[1]: {"allowed": None, "transitions": None}}),
]


def relaxed(schema, message):
    """The schema with what the message names given way, as far as the message says."""
    changes, rules, max_changes = {}, list(schema.rules), schema.max_changes
    for part in message.partition("Blocking constraints: ")[2].split("; "):
        if part.startswith("rule "):
            text, limit = re.match(r"rule (.*) does not hold: (\S+) is above", part).groups()
            rules = [LinearRule(r.coefficients, float(limit)) if r.text == text else r for r in rules]
        elif part.startswith("changes "):
            max_changes = int(part.split()[1])
        else:
            [found] = [change(match) for wording, change in RELAXATIONS if (match := re.match(wording, part))]
            for name, fields in found.items():
                changes.setdefault(name, {}).update(fields)
    return FeatureSchema(schema.replace(changes).features, rules, max_changes)


def frozen(**free):
    """The bank's schema with all columns immutable but some."""
    changes = {
        name: {"immutable": True, "lower": None, "upper": None} for name in ("income", "debt") if name not in free
    }
    changes |= {name: {"immutable": True} for name in ("job", "grade") if name not in free}
    return FeatureSchema(loans.SCHEMA.replace(changes | free).features)


SCHEMAS = {
    "a limit": frozen(income={"upper": 36.0}),
    "two limits": frozen(income={"upper": 36.0}, debt={"lower": 29, "upper": 60}),
    "a direction": frozen(debt={"direction": "increase"}),
    "immutables": frozen(job={"allowed": ["clerk"], "transitions": None}),
    "allowed values": frozen(job={"allowed": ["clerk"], "transitions": None}, grade={"allowed": [1]}),
    "transitions": frozen(job={"transitions": {job: [job] for job in loans.JOBS}}, grade={"allowed": [1, 2]}),
    "a rule": FeatureSchema(frozen(income={}, debt={}).features, ["income - debt <= 1"]),
    "the number of changes": FeatureSchema(frozen(income={"upper": 45.0}, debt={"lower": 15}).features, max_changes=1),
}


def test_what_is_in_the_way_is_said_in_the_words_of_the_schema(model, planner, declined):
    weak = declined[model.decision_function(declined) < -1.5].head(5)
    settings = {
        **loans.same_ball(planner),
        "plausibility": 0.0,
    }
    schema = SCHEMAS["immutables"].replace(debt={"weight": 9.0})  # so that it is the income that would have to change
    words = {income: f"{income:g} a month" for income in weak["income"]}
    spoken = schema.replace({"income": {"title": "net income", "labels": words}})
    plain = loans.planner(model, schema=schema, **settings).plan(weak)
    told = loans.planner(model, schema=spoken, **settings).plan(weak)
    assert plain.status.tolist() == told.status.tolist() == ["infeasible"] * 5
    for income, raw, said in zip(weak["income"], plain.message, told.message, strict=True):
        assert f"income: is immutable at {income}, would" in raw
        named = raw.replace("income:", "net income:")
        assert said == named.replace(f"at {income}, would", f"at '{income:g} a month', would")


@pytest.mark.parametrize("what", SCHEMAS)
def test_what_is_said_to_be_in_the_way_is_enough_when_it_gives_way(model, planner, declined, what):
    weak = declined[model.decision_function(declined) < -1.5]
    moments = planner.moments_
    settings = {
        "later_models": copa.MomentBall(moments.mean, moments.cov, planner.radius_, drift=planner.drift_),
        "plausibility": 0.0,
    }
    schema = SCHEMAS[what]
    weak = weak[(weak["income"] < 36.0) & (weak["debt"] > 29) & (weak["debt"] - weak["income"] > -1)]
    batch = loans.planner(model, schema=schema, **settings).plan(weak)
    hopeless = np.flatnonzero(batch.status == "infeasible")
    assert len(hopeless) >= 3
    for i in hopeless[:3]:
        assert batch[i].n_options == 0
        helped = relaxed(schema, batch.message[i])
        again = loans.planner(model, schema=helped, **settings).plan(weak.iloc[[i]])
        assert again.status[0] in ("ok", "fragile"), batch.message[i]


def test_the_relaxation_named_is_the_smallest_where_there_is_one_column(model, planner, declined):
    schema = FeatureSchema([loans.SCHEMA["income"].replace(upper=36.0)])  # columns without a word stay as they are
    batch = loans.planner(
        model, schema=schema, later_models=copa.MomentBall(planner.moments_.mean, planner.moments_.cov, 0.0)
    ).plan(declined)
    hopeless = np.flatnonzero(batch.status == "infeasible")[:5]
    assert len(hopeless) == 5
    for i in hopeless:
        [said] = re.findall(r"income: must be at most 36, would have to be (\S+)", batch.message[i])
        grid = np.arange(0.0, 500.0, 0.5)
        rows = declined.iloc[[i] * len(grid)].assign(income=grid)
        assert float(said) == grid[model.predict(rows)].min()


def test_accepted_people_are_told_so_and_how_surely(model, planner):
    table = loans.people(60, 9)
    accepted = model.predict(table)
    batch = planner.plan(table)
    assert (batch.status == "already_valid").tolist() == accepted.tolist()
    judge = Judge.of(planner)
    for i in np.flatnonzero(accepted):
        said = float(re.search(r"at least (\d\.\d{3})$", batch.message[i])[1])
        value = judge.bounds(table.iloc[[i]]).lower
        assert said <= value + 1e-12
        assert value < said + 0.001
        assert batch[i].n_options == 0


def test_people_who_are_all_accepted_make_a_batch(model, planner):
    table = loans.people(60, 9)
    batch = planner.plan(table[model.predict(table)])
    assert set(batch.status) == {"already_valid"}
    assert len(batch.options) == 0


def test_no_people_make_an_empty_batch(planner, declined):
    batch = planner.plan(declined.iloc[:0])
    assert len(batch) == 0
    assert list(batch.options.columns) == list(declined.columns)


def test_bad_rows_are_errors_that_name_the_column_and_the_others_are_planned(model, declined):
    planner = loans.planner(model)
    good = planner.plan(declined.iloc[:6])
    bad = declined.iloc[:6].astype({"debt": "float64", "age": "float64"})
    bad.iloc[0, bad.columns.get_loc("job")] = "pilot"
    bad.iloc[2, bad.columns.get_loc("debt")] = np.nan
    bad.iloc[4, bad.columns.get_loc("age")] = 40.5
    batch = planner.plan(bad)
    assert batch.status.tolist() == ["error", "ok"] * 3
    for i, words in (
        (0, ["'job'", "'pilot'", "'clerk'"]),
        (2, ["'debt'", "missing"]),
        (4, ["'age'", "whole number", "40.5"]),
    ):
        assert batch[i].n_options == 0
        assert all(word in batch.message[i] for word in [repr(bad.index[i]), *words])
    for i in (1, 3, 5):
        assert batch[i].options.to_numpy().tolist() == good[i].options.to_numpy().tolist()
        assert batch[i].lower == good[i].lower


def test_a_row_that_only_the_pipeline_refuses_is_an_error(model, declined):
    schema = FeatureSchema([f for f in loans.SCHEMA.features if f.name != "age"])
    planner = loans.planner(model, schema=schema)
    rows = declined.iloc[:3].astype({"age": "float64"})
    rows.iloc[1, rows.columns.get_loc("age")] = np.nan
    batch = planner.plan(rows)
    assert batch.status.tolist() == ["ok", "error", "ok"]
    assert "pipeline" in batch.message[1]


def test_a_fragile_menu_is_delivered_with_the_highest_level_and_just_below_it_is_ok(model, planner, declined):
    ball = loans.same_ball(planner)
    asking = loans.planner(model, guarantee=0.97, plausibility=0.0, **ball)
    batch = asking.plan(declined)
    fragile = np.flatnonzero(batch.status == "fragile")
    assert len(fragile) >= 5
    assert broken_promises(Judge.of(asking), declined, batch) == []
    assert np.isnan(batch.highest_level[batch.status == "ok"]).all()
    for i in fragile[:5]:
        highest = batch.highest_level[i]
        assert batch[i].option_lower.max() - 1e-9 <= highest < 0.97
        assert f"{np.floor(highest * 1000) / 1000:.3f}" in batch.message[i]
        again = asking.set_params(guarantee=highest - 1e-4).plan(declined.iloc[[i]])
        asking.set_params(guarantee=0.97)
        assert again.status[0] == "ok"


def test_a_fragile_message_says_what_the_options_have_where_a_surer_row_was_found(model, planner, declined):
    ball = loans.same_ball(planner)
    batch = loans.planner(model, guarantee=0.97, plausibility=0.0, **ball).plan(declined)
    said = 0
    for i in np.flatnonzero(batch.status == "fragile").tolist():
        highest, best = (rounded_down(value) for value in (batch.highest_level[i], batch[i].option_lower.max()))
        words = f"The options of this plan reach {best} at most, because they are also chosen for little effort and for"
        assert (words in batch.message[i]) == (best != highest), batch.message[i]
        said += words in batch.message[i]
    assert said


def test_a_tiny_time_limit_ends_the_search_and_says_so(model, declined):
    planner = loans.planner(model, time_limit=1e-6)
    table = pd.concat([declined] * 20, ignore_index=True)
    started = time.process_time()
    batch = planner.plan(table)
    assert time.process_time() - started < 5.0  # planning them would be fine too; hanging would not
    assert set(batch.status) == {"time_limit"}
    assert len(batch.options) == 0
    assert all("time limit" in message for message in batch.message)


def test_a_time_limit_keeps_accepted_people_apart(model):
    table = loans.people(60, 9)
    batch = loans.planner(model, time_limit=1e-6).plan(table)
    assert batch.status.tolist() == np.where(model.predict(table), "already_valid", "time_limit").tolist()


def test_an_impossible_applicant_with_many_columns_and_rules_comes_back_in_time():
    rng = np.random.default_rng(0)
    names = [f"x{k}" for k in range(40)]
    table = pd.DataFrame(np.round(rng.normal(size=(400, 40)), 2), columns=names)
    labels = table.sum(axis=1) + rng.normal(size=400) > 0.0
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(table, labels)
    features = [Feature(name, "numeric", lower=-3.0, upper=3.0, step=0.01) for name in names]
    total = " + ".join(names)
    rules = [f"{total} <= -20", *(f"{a} + {b} <= 1" for a, b in pairwise(names))]
    theta = np.concatenate([model[-1].intercept_, model[-1].coef_[0]])
    planner = copa.RecoursePlanner(
        model,
        schema=FeatureSchema(features, rules),
        later_models=copa.MomentBall(
            WeightMoments(theta, 0.01 * np.eye(41)).mean, WeightMoments(theta, 0.01 * np.eye(41)).cov, 0.1
        ),
        time_limit=2.0,
        n_jobs=1,
    ).fit(table)
    applicant = pd.DataFrame([[-1.0] * 40], columns=names)
    planner.plan(applicant)  # loads the kernels
    started = time.process_time()  # of this process alone, however busy the machine is
    batch = planner.plan(applicant)
    assert time.process_time() - started < 2.5
    assert batch.status[0] in ("infeasible", "time_limit")


@pytest.mark.parametrize("objective", [None, copa.PaperObjective()])
def test_who_stands_outside_more_ranges_than_may_change_keeps_what_cannot_be_changed(
    model, planner, declined, objective
):
    ranges = loans.SCHEMA.replace({"income": {"lower": 60.0, "upper": 90.0}, "debt": {"upper": 10}})
    schema = FeatureSchema(ranges.features, max_changes=1)
    ball = loans.same_ball(planner)
    tight = loans.planner(model, schema=schema, objective=objective, guarantee=0.5, **ball)
    batch = tight.plan(declined)
    outside = (declined["income"] < 60.0) & (declined["debt"] > 10)
    assert outside.sum() > 20
    assert len(batch.options) > 20
    assert broken_promises(Judge.of(tight), declined, batch) == []


STUCK = {
    "above and upwards": (Feature("debt", "integer", lower=0, upper=20, direction="increase"), 40),
    "below and downwards": (Feature("debt", "integer", lower=50, upper=60, direction="decrease"), 40),
    "between steps": (Feature("debt", "integer", lower=51, upper=59, step=10), 40),
    "not allowed": (Feature("grade", "ordinal", values=[1, 2, 3, 4, 5], lower=3, allowed=[1, 2]), 1),
    "no transition": (Feature("grade", "ordinal", values=[1, 2, 3, 4, 5], lower=3, transitions={1: [2]}), 1),
}


@pytest.mark.parametrize(("feature", "own"), STUCK.values(), ids=STUCK)
def test_who_cannot_come_into_a_range_keeps_the_value(model, planner, declined, feature, own):
    schema = FeatureSchema([loans.SCHEMA["income"].replace(upper=300.0), feature])
    people = declined.iloc[:5].assign(**{feature.name: own})
    ball = loans.same_ball(planner)
    free = loans.planner(model, schema=schema, guarantee=0.5, plausibility=0.0, **ball)
    batch = free.plan(people)
    assert len(batch.options) > 0
    assert set(batch.options[feature.name]) == {own}
    assert broken_promises(Judge.of(free), people, batch) == []


@pytest.mark.parametrize(("feature", "own"), STUCK.values(), ids=STUCK)
def test_who_cannot_come_into_a_range_and_has_no_other_way_is_infeasible_and_told_why(
    model, planner, declined, feature, own
):
    schema = FeatureSchema([feature])
    people = declined.iloc[:5].assign(**{feature.name: own})
    ball = loans.same_ball(planner)
    batch = loans.planner(model, schema=schema, **ball).plan(people[~model.predict(people)])
    assert len(batch) > 0
    assert set(batch.status) == {"infeasible"}
    limit = f"upper limit of {feature.upper:g}" if own > (feature.upper or 99) else f"lower limit of {feature.lower:g}"
    for message in batch.message:
        assert f"{feature.name} is {own}, " in message
        assert limit in message


def test_a_step_wider_than_the_range_leaves_a_person_where_they_are(model, planner, declined):
    schema = FeatureSchema([loans.SCHEMA["income"], Feature("debt", "integer", lower=31, upper=59, step=30)])
    people = declined.iloc[:10].assign(debt=40)
    ball = loans.same_ball(planner)
    one = loans.planner(model, schema=schema, guarantee=0.5, **ball)
    batch = one.plan(people)
    assert broken_promises(Judge.of(one), people, batch) == []
    assert len(batch.options) > 0
    assert set(batch.options["debt"]) == {40}
