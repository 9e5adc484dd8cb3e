"""Whatever the table, the constraints and the pipeline: what is delivered obeys, is accepted and holds."""

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import copa
from property.planner_strategies import cases
from unit.planner.promises import Judge, broken_promises

check = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],  # a case comes from a seed: shrinking takes minutes and shows little
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def planner_of(case, **settings):
    return copa.RecoursePlanner(
        case.pipeline,
        schema=case.schema,
        moments=case.moments,
        radius=case.radius,
        drift=case.drift,
        **{"n_options": 3, "n_starts": 6, "n_jobs": 1} | settings,
    ).fit(case.training)


def judge_of(case, favourable):
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
    )


@check
@given(cases(), st.sampled_from([0.5, 0.8, 0.95]), st.sampled_from(["l1", "l2"]), st.booleans())
def test_every_row_delivered_keeps_every_promise(case, guarantee, cost, favourable):
    planner = planner_of(case, guarantee=guarantee, cost=cost, favourable=favourable)
    batch = planner.plan(case.applicants)
    assert broken_promises(judge_of(case, favourable), case.applicants, batch) == []
    assert set(batch.status) <= {"ok", "fragile", "infeasible", "already_valid"}
