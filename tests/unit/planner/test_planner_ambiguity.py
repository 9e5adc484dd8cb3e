"""An ambiguity set of the caller's own: a subclass of `AmbiguitySet`, used wherever a set is built."""

import numpy as np
import pytest

from copa import InvalidInputError
from copa.theory.sets.ambiguity import AmbiguitySet, MomentBall
from unit.planner import loans
from unit.theory.bounds.unimodal import UnimodalMeanSet


class OwnSet(AmbiguitySet):
    """The guarantee of a moment ball, in a class of its own."""

    level_coefficients = MomentBall.level_coefficients
    guarantee = MomentBall.guarantee


@pytest.fixture(scope="module")
def planner(model):
    """With the paper's ball."""
    return loans.planner(model, **loans.BALL)


@pytest.fixture(scope="module")
def own(planner, model):
    return loans.planner(model, **loans.own_set(OwnSet, planner))


def test_plans_are_made_and_bounded_in_it(own, planner, declined):
    found, expected = own.plan(declined.iloc[:5]), planner.plan(declined.iloc[:5])
    assert isinstance(found.ambiguity, OwnSet)
    assert found.option_lower.tolist() == expected.option_lower.tolist()
    assert isinstance(own.audit(found).ambiguity, OwnSet)


def test_it_is_not_saved_because_it_could_not_be_loaded(own, tmp_path):
    with pytest.raises(InvalidInputError, match=r"a class of your own, OwnSet, cannot be saved"):
        own.save(tmp_path / "planner")


def test_a_change_takes_effect_at_the_next_fit(own, declined):
    given = own.later_models
    own.set_params(later_models=MomentBall(radius=0.1))
    try:
        with pytest.raises(InvalidInputError, match=r"later_models was changed to .* after the planner was fitted"):
            own.plan(declined)
    finally:
        own.set_params(later_models=given)


def test_another_family_is_planned_with_bounded_and_certified(planner, model, declined):
    known = {**loans.same_ball(planner), "guarantee": 0.8}
    people = declined.iloc[:8]
    batch = loans.planner(model, guarantee=0.8, **loans.own_set(UnimodalMeanSet, planner)).plan(people)
    ball = loans.planner(model, **known).plan(people)
    assert (batch.status == "ok").any()
    expected = batch.ambiguity.option_guarantees(batch.points)  # row by row, the bounds plan by plan: equal to rounding
    np.testing.assert_allclose(batch.option_lower, expected, rtol=1e-12)
    assert (batch.option_lower[(batch.status == "ok")[batch.owner]] >= 0.8).all()
    assert batch.effort.mean() < ball.effort.mean()  # who assumes more needs less
    for certificate, n_options in zip(batch.certificates, batch.counts, strict=True):
        assert (certificate is None) == (n_options == 0)
        if certificate is not None:
            certificate.verify()
