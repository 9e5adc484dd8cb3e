"""Plans that someone else made: bounded as they are, and repaired within what is allowed."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import copa
from copa import Feature, FeatureSchema
from copa.exceptions import InvalidInputError
from unit.planner import loans
from unit.planner.promises import Judge

METHODS = ["level", "requirement", "mahalanobis"]


def as_table(batch):
    return batch.options.assign(applicant=batch.applicants.index[batch.owner])


@pytest.fixture(scope="module")
def planner(model):
    """With the paper's ball."""
    return loans.planner(model, **loans.BALL)


@pytest.fixture(scope="module")
def batch(planner, declined):
    return planner.plan(declined)


@pytest.fixture(scope="module")
def weak(model, planner, declined):
    """Someone's plans: one or two options that are accepted today and not much more."""
    cheap = loans.planner(model, guarantee=0.05, n_options=2, **loans.same_ball(planner))
    return as_table(cheap.plan(declined.iloc[:20]))


@pytest.mark.parametrize("n", [1, 40])
def test_own_plans_audited_have_the_same_bounds(planner, batch, declined, n):
    own = batch[:n]
    audit = planner.audit(as_table(own), declined.iloc[:n])
    assert audit.status.tolist() == own.status.tolist()
    for name in ("lower", "upper", "any_lower", "option_lower", "option_weights", "effort", "accepted", "points"):
        np.testing.assert_array_equal(getattr(audit, name), getattr(own, name))
    pd.testing.assert_frame_equal(audit.options, own.options)
    assert audit[0].certificate.verify().lower >= own[0].lower - 1e-9


def test_every_source_says_the_same(tmp_path, planner, batch, declined):
    table = as_table(batch)
    table.to_csv(tmp_path / "plans.csv", index=False)
    frames = [plan.options for plan in batch]
    examples = [
        SimpleNamespace(test_instance_df=plan.factual, final_cfs_df=plan.options, final_cfs_df_sparse=plan.options)
        for plan in batch
    ]
    names = list(declined.columns)
    as_json = {
        "test_data": [[row] for row in declined.to_numpy(object).tolist()],
        "cfs_list": [frame.to_numpy(object).tolist() for frame in frames],
        "local_importance": None,
        "summary_importance": None,
        "data_interface": {"outcome_name": "good", "data_df": "dummy_data"},
        "feature_names": names,
        "feature_names_including_target": names,
        "model_type": "classifier",
        "desired_class": 1,
        "desired_range": None,
        "metadata": {"version": "2.0"},
    }
    sources = {
        "batch": batch,
        "batch as json": batch.to_json(),
        "csv": tmp_path / "plans.csv",
        "list": frames,
        "dice": SimpleNamespace(cf_examples_list=examples),
        "dice json": json.dumps(as_json),
    }
    for name, source in sources.items():
        audit = planner.audit(source, declined)
        assert audit.to_json() == planner.audit(table, declined).to_json(), name


def test_rows_in_any_order_are_given_to_their_owners(planner, batch, declined):
    table = as_table(batch)
    order = np.random.default_rng(0).permutation(len(table))
    audit = planner.audit(table.iloc[order], declined)
    np.testing.assert_allclose(audit.lower, batch.lower, rtol=0.0, atol=1e-9)
    np.testing.assert_array_equal(np.sort(audit.owner), batch.owner)


def test_an_option_that_is_not_allowed_is_named_with_its_column(planner, batch, declined):
    table = as_table(batch[:3])
    table.loc[1, "age"] = 21
    table.loc[1, "income"] = 3.25
    audit = planner.audit(table, declined.iloc[:3])
    assert audit.status.tolist() == ["infeasible", "ok", "ok"]
    assert all(word in audit.message[0] for word in ("option 2", "age", "income", "immutable"))
    assert "option 1" not in audit.message[0]


def test_an_option_between_the_steps_is_named_and_the_others_are_bounded_as_usual(planner, batch, declined):
    table = as_table(batch[:3]).astype({"debt": float})
    table.loc[1, "debt"] += 0.5
    audit = planner.audit(table, declined.iloc[:3])
    assert audit.status.tolist() == ["infeasible", "ok", "ok"]
    got = f"{table.loc[1, 'debt']:g}"
    assert audit.message[0] == f"option 2 violates the schema: debt: may only change to multiples of 1, got {got}"
    assert audit.counts.tolist() == [3, 3, 3]
    others = np.arange(9) != 1
    np.testing.assert_array_equal(audit.option_lower[others], batch[:3].option_lower[others])
    assert 0.0 < audit.option_lower[1] < 1.0


def test_an_option_that_the_model_refuses_is_named(planner, batch, declined):
    table = as_table(batch[:3])
    table.iloc[5, :-1] = declined.iloc[1]
    audit = planner.audit(table, declined.iloc[:3])
    assert audit.status.tolist() == ["ok", "infeasible", "ok"]
    assert "does not accept option 3" in audit.message[1]
    assert audit.accepted.tolist() == [True] * 5 + [False] + [True] * 3


def test_a_weak_plan_is_fragile_and_says_what_breaks_first(planner, declined, weak):
    audit = planner.audit(weak, declined.iloc[:20])
    assert set(audit.status) == {"fragile"}
    for plan in audit:
        assert "0.8" in plan.message
        assert f"option {np.argmax(plan.weights) + 1} breaks first" in plan.message


def test_plans_without_any_option_are_audited_and_corrected_too(planner, declined):
    empty = [declined.iloc[:0]] * 3
    for found in (planner.audit(empty, declined.iloc[:3]), planner.correct(empty, declined.iloc[:3]).after):
        assert found.counts.tolist() == [0, 0, 0]
        assert set(found.status) == {"infeasible"}


def test_bad_rows_are_errors_and_people_without_options_are_said_so(planner, batch, declined):
    table = as_table(batch[:5])
    table.loc[table["applicant"] == declined.index[1], "job"] = "pilot"
    table = table[table["applicant"] != declined.index[2]]
    people = declined.iloc[:5].copy()
    people.iloc[3, people.columns.get_loc("job")] = "pilot"
    audit = planner.audit(table, people)
    assert audit.status.tolist() == ["ok", "error", "infeasible", "error", "ok"]
    assert "'pilot'" in audit.message[1]
    assert "no option" in audit.message[2]
    assert "own row" in audit.message[3]
    assert len(audit.options) == 6


def test_an_unknown_applicant_is_refused(planner, batch, declined):
    with pytest.raises(InvalidInputError, match="nobody"):
        planner.audit(as_table(batch[:1]).assign(applicant="nobody"), declined)


def test_a_plan_of_ones_own_needs_no_applicants(planner, batch):
    audit = planner.audit(batch)
    assert audit.to_json() == planner.audit(as_table(batch), batch.applicants).to_json()
    assert planner.audit(batch[3]).lower.tolist() == [batch.lower[3]]
    assert planner.correct(batch[:2]).after.status.tolist() == ["ok", "ok"]


@pytest.fixture(scope="module")
def local(model):
    """A planner whose schema has a column that the model does not use: the branch, which stays."""
    schema = FeatureSchema(
        [*loans.SCHEMA.features, Feature("branch", "categorical", values=["north", "south"], immutable=True)],
        rules=loans.SCHEMA.rules,
        max_changes=loans.SCHEMA.max_changes,
    )
    table = loans.people(300, 0)
    planner = copa.RecoursePlanner(model, **loans.FAST | {"schema": schema})
    return planner.fit(table.assign(branch="north"), loans.outcomes(table))


def test_columns_of_the_schema_that_the_model_does_not_use_are_judged_too(local, declined):
    people = declined.iloc[:3].assign(branch=["north", "south", "north"])
    own = as_table(local.plan(people))
    given = (own, own.drop(columns="branch"), own.assign(branch="north"))
    audits = [local.audit(options, people) for options in given]
    assert [audit.status.tolist() for audit in audits] == [["ok"] * 3, ["ok"] * 3, ["ok", "infeasible", "ok"]]
    assert "branch" in audits[2].message[1]
    assert audits[1].options["branch"].tolist() == ["north"] * 3 + ["south"] * 3 + ["north"] * 3


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_corrections", [None, 1])
def test_a_correction_obeys_the_schema_and_never_lowers_the_guarantee(planner, declined, weak, method, n_corrections):
    people = declined.iloc[:20]
    fixed = planner.correct(weak, people, method=method, budget=0.5, margin=0.5, n_corrections=n_corrections)
    assert fixed.after.options.dtypes.equals(people.dtypes)
    assert (fixed.after.lower >= fixed.before.lower - 1e-12).all()
    assert fixed.after.lower.mean() > fixed.before.lower.mean()
    judge = Judge.of(planner)
    for i, plan in enumerate(fixed.after):
        assert planner.schema_.violations(people.iloc[[i]], plan.options) == [[]] * plan.n_options
        assert judge.accepts(plan.options).all()
        assert plan.lower == pytest.approx(judge.bounds(plan.options).lower, abs=1e-9)
    assert (np.diff(fixed.before.owner) >= 0).all()
    assert fixed.moved.shape == (len(weak),)
    assert fixed.summary()["applicant"].tolist() == people.index.tolist()


def test_the_level_correction_reaches_the_guarantee(planner, declined, weak):
    fixed = planner.correct(weak, declined.iloc[:20])
    assert set(fixed.after.status) == {"ok"}
    assert fixed.after.option_lower.min() >= 0.8
    assert (fixed.moved > 0.0).all()


def test_the_requirement_correction_reaches_its_margin(planner, declined, weak):
    fixed = planner.correct(weak, declined.iloc[:20], method="requirement", margin=1.0)
    scores = fixed.before.points @ planner.moments_.mean, fixed.after.points @ planner.moments_.mean
    assert np.median(scores[0]) < 1.0
    assert scores[1].min() >= 1.0 - 1e-9


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_corrections", [1, 2])
def test_only_the_options_that_break_first_are_moved(planner, declined, weak, method, n_corrections):
    people = declined.iloc[:20]
    before = planner.audit(weak, people)
    fixed = planner.correct(weak, people, method=method, budget=0.5, margin=0.5, n_corrections=n_corrections)
    for i, plan in enumerate(before):
        moved = np.flatnonzero(fixed.moved[before.owner == i] > 0.0)
        first = np.argsort(-plan.weights, kind="stable")[:n_corrections]
        assert set(moved) <= set(first)
    assert (fixed.moved > 0.0).any()
    kept = fixed.moved == 0.0
    pd.testing.assert_frame_equal(fixed.after.options[kept], before.options[kept])


@pytest.mark.parametrize("budget", [0.05, 0.3])
def test_good_plans_are_moved_within_the_budget(planner, declined, weak, budget):
    fixed = planner.correct(weak, declined.iloc[:20], method="mahalanobis", budget=budget)
    judge = Judge.of(planner)
    rows = judge.encode(fixed.after.options) - judge.encode(fixed.before.options)
    assert np.linalg.norm(rows, axis=1).max() <= budget + 1e-9
    assert fixed.after.lower.mean() > fixed.before.lower.mean()


def test_the_margin_of_the_requirement_has_a_word_of_its_own(planner, declined, weak):
    fixed = planner.correct(weak, declined.iloc[:20], method="requirement", budget=0.1, margin=1.0)
    assert (fixed.after.points @ planner.moments_.mean).min() >= 1.0 - 1e-9


@pytest.mark.parametrize("method", METHODS)
def test_the_time_limit_leaves_the_given_options_and_says_so(model, planner, declined, weak, method):
    short = loans.planner(model, time_limit=1e-9, **loans.same_ball(planner))
    people = declined.iloc[:20]
    fixed = short.correct(weak, people, method=method)
    assert (fixed.moved == 0.0).all()
    pd.testing.assert_frame_equal(fixed.after.options, fixed.before.options)
    assert set(fixed.after.status) == {"time_limit"}
    assert all(text.startswith("the time limit ended before option 1") for text in fixed.after.message)
    assert "There is no option" not in fixed.after[0].explain()


def test_options_that_are_good_already_need_no_time(model, planner, batch):
    short = loans.planner(model, time_limit=1e-9, **loans.same_ball(planner))
    assert set(short.correct(batch).after.status) == {"ok"}


def test_fractions_in_a_column_of_whole_numbers_survive_a_correction_that_keeps_them(model, planner, batch, declined):
    halves = loans.planner(
        model,
        schema=loans.SCHEMA.replace({"debt": {"kind": "numeric", "step": 0.5}}),
        **loans.same_ball(planner),
    )
    table = as_table(batch[:4]).astype({"debt": float})
    table["debt"] = np.maximum(table["debt"] - 0.5, 0.0)
    fixed = halves.correct(table, declined.iloc[:4], method="mahalanobis", budget=1e-6)
    assert fixed.before.options["debt"].tolist() == table["debt"].tolist()
    sound = np.isin(fixed.before.status, ["ok", "fragile"])[fixed.before.owner]
    assert sound.any()
    assert fixed.after.options["debt"][sound].tolist() == table["debt"].to_numpy()[sound].tolist()


def test_a_plan_that_is_good_enough_stays_where_it_is(planner, batch, declined):
    fixed = planner.correct(as_table(batch), declined)
    assert (fixed.after.option_lower >= 0.8).all()
    assert (fixed.moved == 0.0).mean() > 0.9


def test_a_forbidden_option_is_corrected_into_an_allowed_one(planner, batch, declined):
    table = as_table(batch[:4])
    table["age"] += 10
    table["income"] += 0.2
    fixed = planner.correct(table, declined.iloc[:4])
    assert set(fixed.before.status) == {"infeasible"}
    assert set(fixed.after.status) == {"ok"}


def test_a_forbidden_option_that_may_not_move_does_not_leave(planner, batch, declined):
    table = as_table(batch[:2])
    forbidden = np.argsort(-batch[0].weights, kind="stable")[:2]
    table.loc[forbidden, "age"] -= 10
    table.loc[3:, "debt"] = declined["debt"].iloc[1]
    table.loc[3:, "income"] = declined["income"].iloc[1]
    fixed = planner.correct(table, declined.iloc[:2], n_corrections=1)
    assert len(fixed.before.options) == 6
    whose = declined.iloc[fixed.after.owner]
    assert planner.schema_.violations(whose, fixed.after.options) == [[]] * len(whose)
    assert planner.strategy_.model.accepts(fixed.after.options).all()
    first = int(np.argmax(fixed.before[0].weights))
    assert first in forbidden
    stays = int(forbidden[forbidden != first][0])
    assert np.flatnonzero(fixed.left_out[:3]).tolist() == [stays]
    assert fixed.moved[fixed.left_out].tolist() == [0.0] * fixed.left_out.sum()
    assert fixed.after.status[0] == "ok"
    assert fixed.after.message[0].startswith(f"given option {stays + 1} is left out: age: is immutable")
    assert fixed.after.lower[0] == planner.audit(fixed.after).lower[0]
    assert re.search(r"given option \d is left out: today's model does not accept it", fixed.after.message[1])
    assert fixed.summary()["left_out"].tolist() == [1, fixed.left_out[3:].sum()]


@pytest.mark.parametrize("method", METHODS)
def test_a_forbidden_option_whose_turn_does_not_come_does_not_leave(model, planner, batch, declined, method):
    short = loans.planner(model, time_limit=1e-9, **loans.same_ball(planner))
    table = as_table(batch[:2])
    table.loc[table.index[:3], "age"] += 10
    fixed = short.correct(table, declined.iloc[:2], method=method)
    assert fixed.after.counts.tolist() == [0, 3]
    assert fixed.after.status.tolist() == ["time_limit", "ok"]
    assert "option 1, option 2, option 3 could be corrected" in fixed.after.message[0]
    assert "given option 1 is left out: age: is immutable" in fixed.after.message[0]
    assert fixed.after.any_lower[0] == 0.0


@pytest.mark.parametrize("method", METHODS)
def test_one_bad_row_does_not_fail_a_correction(planner, batch, declined, method):
    table = as_table(batch[:4])
    table.loc[0, "job"] = "pilot"
    people = declined.iloc[:4].copy()
    people.iloc[2, people.columns.get_loc("job")] = "pilot"
    fixed = planner.correct(table, people, method=method)
    assert fixed.before.status.tolist() == ["error", "ok", "error", "ok"]
    assert fixed.after.status.tolist() == ["error", "ok", "error", "ok"]
    assert "'pilot'" in fixed.after.message[0]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("wrong", [0, -1, 1.5, "a", True, np.int64(0)])
def test_a_number_of_corrections_that_is_none_is_refused_by_every_method(planner, batch, declined, method, wrong):
    with pytest.raises(InvalidInputError, match="n_corrections must be a whole number of at least 1") as raised:
        planner.correct(as_table(batch[:1]), declined.iloc[:1], method=method, n_corrections=wrong)
    assert "np.int64" not in str(raised.value)


def test_wrong_words_and_budgets_are_refused(planner, batch, declined):
    table = as_table(batch[:1])
    with pytest.raises(InvalidInputError, match=r"method.*'mahalanobis'"):
        planner.correct(table, declined.iloc[:1], method="mahalanobi")
    with pytest.raises(InvalidInputError, match="budget"):
        planner.correct(table, declined.iloc[:1], budget=-1.0)
    with pytest.raises(InvalidInputError, match="applicants"):
        planner.audit(table)


def test_a_guarantee_for_all_together_is_what_a_correction_goes_for(model, planner, declined):
    joint = loans.planner(model, guarantee_for="all", **loans.same_ball(planner))
    each = planner.plan(declined.iloc[:10])
    before = joint.audit(each)
    fixed = joint.correct(each)
    fragile = before.status == "fragile"
    assert fragile.sum() >= 3
    assert (fixed.after.status[fragile] == "ok").mean() > 0.5
    assert (fixed.after.lower >= before.lower - 1e-9).all()


def test_a_plan_of_which_any_option_holds_stays_as_it_is(model, planner, declined, weak):
    one = loans.planner(
        model,
        guarantee=0.3,
        guarantee_for="any",
        **loans.same_ball(planner),
    )
    fixed = one.correct(weak, declined.iloc[:20])
    ok = fixed.before.status == "ok"
    assert (fixed.before.option_lower[ok[fixed.before.owner]] < 0.3).any()
    assert (fixed.moved[ok[fixed.before.owner]] == 0.0).all()


def test_a_document_with_certificates_is_audited_like_the_batch_it_was_written_from(model, declined):
    planner = loans.planner(model, later_models=copa.LaterModels(family="unimodal"))
    batch = planner.plan(declined.iloc[:5])
    written = batch.to_json(certificates=True)
    audited = planner.audit(written)
    assert audited.status.tolist() == planner.audit(batch).status.tolist()
    assert audited.option_lower.tolist() == batch.option_lower.tolist()
