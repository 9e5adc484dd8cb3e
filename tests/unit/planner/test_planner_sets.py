"""Planning in the sets that come with the library: levels, certificates, attributions and corrections."""

import numpy as np
import pytest

from copa.analysis.attribution import attribute
from copa.theory.sets.ambiguity import MomentBall
from copa.theory.sets.location_set import LocationSet
from unit.planner import loans


@pytest.fixture(scope="module", params=[MomentBall, LocationSet])
def made(request, planner, model):
    moments = planner.moments_
    fixed = request.param(moments.mean, moments.cov, planner.radius_, planner.drift_, "unimodal")
    return loans.planner(model, later_models=fixed, guarantee=0.8)


@pytest.fixture(scope="module")
def batch(made, declined):
    return made.plan(declined.iloc[:8])


def test_options_reach_the_level_and_are_proven(batch):
    assert (batch.status == "ok").any()
    assert (batch.option_lower[(batch.status == "ok")[batch.owner]] >= 0.8).all()
    for i, certificate in enumerate(batch.certificates):
        if certificate is not None:
            proven = certificate.verify()
            assert proven.lower == pytest.approx(batch.lower[i], abs=1e-9)
            assert proven.any_lower == pytest.approx(batch.any_lower[i], abs=1e-9)


def test_the_worst_case_is_split_by_columns(batch, made):
    plan = next(plan for plan in batch if plan.n_options > 1)
    split = attribute(plan, made.strategy_)
    assert split.option == plan.breaks_first
    assert split.probability == pytest.approx(1.0 - plan.option_lower.min(), abs=1e-9)
    assert split.broken.sum() <= 1e-9 < split.today.sum()


def test_a_correction_raises_the_bound_in_the_set(batch, made):
    whose = np.flatnonzero(batch.counts > 1)[:2]
    corrected = made.correct(batch.select(whose), method="mahalanobis", budget=1.0)
    assert (corrected.after.lower >= corrected.before.lower - 1e-9).all()
    assert corrected.after.ambiguity.same_as(batch.ambiguity)
