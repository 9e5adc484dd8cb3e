"""Whatever the table, the constraints and the pipeline: what is delivered obeys, is accepted and holds."""

from dataclasses import replace

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import copa
from property.planner_strategies import cases
from property.schema_strategies import worded
from unit.planner.promises import Judge, broken_promises

check = settings(
    max_examples=25,
    phases=[Phase.explicit, Phase.generate],  # a case comes from a seed: shrinking takes minutes and shows little
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

FAMILIES = st.sampled_from(["any", "unimodal", "gaussian"])

fewer = settings(check, max_examples=12)


def planner_of(case, family="any", **settings):
    return copa.RecoursePlanner(
        case.pipeline,
        schema=case.schema,
        **{"n_options": 3, "n_starts": 6, "n_jobs": 1}
        | settings
        | {
            "later_models": copa.MomentBall(
                (1.0 if settings.get("favourable", True) else -1.0) * case.moments.mean,
                case.moments.cov,
                case.radius,
                case.drift,
                family,
            )
        },
    ).fit(case.training)


def judge_of(case, favourable, family="any"):
    sign = 1.0 if favourable else -1.0
    drift = None if case.drift is None else case.moments.cov
    return Judge(
        case.pipeline,
        case.schema,
        lambda rows: case.pipeline.predict(rows) == favourable,
        sign * case.moments.mean,
        case.moments.cov,
        case.radius,
        drift,
        family,
    )


@check
@given(cases(), st.sampled_from([0.5, 0.8, 0.95]), st.sampled_from(["l1", "l2"]), st.booleans(), FAMILIES)
def test_every_row_delivered_keeps_every_promise(case, guarantee, cost, favourable, family):
    planner = planner_of(case, guarantee=guarantee, cost=cost, favourable=favourable, family=family)
    batch = planner.plan(case.applicants)
    assert broken_promises(judge_of(case, favourable, family), case.applicants, batch) == []
    assert set(batch.status) <= {"ok", "fragile", "infeasible", "already_valid"}


@fewer
@given(cases(), st.sampled_from(["all", "any"]))
def test_joint_guarantees_keep_every_promise(case, guarantee_for):
    planner = planner_of(case, guarantee=0.6, guarantee_for=guarantee_for, favourable=True)
    batch = planner.plan(case.applicants)
    assert broken_promises(judge_of(case, favourable=True), case.applicants, batch) == []


@fewer
@given(cases(), st.sampled_from(["l1", "l2"]), st.sampled_from([0.0, 0.1]))
def test_the_papers_objective_keeps_every_promise(case, cost, margin):
    planner = planner_of(case, guarantee=0.6, objective=copa.PaperObjective(margin=margin), cost=cost, favourable=True)
    batch = planner.plan(case.applicants)
    assert broken_promises(judge_of(case, favourable=True), case.applicants, batch) == []


@fewer
@given(cases(), st.sampled_from(["level", "requirement", "mahalanobis"]))
def test_corrected_plans_obey_and_lose_nothing(case, method):
    cheap = planner_of(case, guarantee=0.05, favourable=True).plan(case.applicants)
    asking = planner_of(case, guarantee=0.7, favourable=True)
    tables = [plan.options for plan in cheap]
    fixed = asking.correct(tables, case.applicants, method=method, budget=0.5)
    allowed = np.array([len(table) > 0 for table in tables])
    assert (fixed.after.lower >= fixed.before.lower - 1e-9)[allowed].all()
    for i, plan in enumerate(fixed.after):
        found = case.schema.violations(case.applicants.iloc[[i]], plan.options)
        assert found == [[]] * len(tables[i])
        assert np.all([*plan.accepted, *case.pipeline.predict(plan.options)] if len(tables[i]) else True)
    assert fixed.after.options.dtypes.equals(case.applicants.dtypes)


@fewer
@given(cases(), st.data())
def test_words_never_change_a_plan(case, data):
    spoken = replace(case, schema=data.draw(worded(case.schema)))
    plain, told = (planner_of(one, guarantee=0.6).plan(case.applicants) for one in (case, spoken))
    pd.testing.assert_frame_equal(told.options, plain.options, check_exact=True)
    for name in ("owner", "status", "effort", "option_lower", "lower", "upper", "any_lower", "points"):
        assert getattr(told, name).tobytes() == getattr(plain, name).tobytes(), name
    pd.testing.assert_frame_equal(told.to_frame(), plain.to_frame(), check_exact=True)


@fewer
@given(cases())
def test_plans_do_not_depend_on_the_other_people(case):
    planner = planner_of(case, guarantee=0.6)
    together = planner.plan(case.applicants)
    for i in range(len(case.applicants)):
        alone = planner.plan(case.applicants.iloc[[i]])
        pd.testing.assert_frame_equal(alone[0].options, together[i].options, check_exact=True)
        assert alone.option_lower.tobytes() == together[i].option_lower.tobytes()
        assert (alone.status[0], alone.message[0]) == (together.status[i], together.message[i])
