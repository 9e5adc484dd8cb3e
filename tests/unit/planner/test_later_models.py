"""What is assumed of later models: fields, fixed sets, histories, and what a refit is needed for."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

import copa
from copa import Expected, InvalidInputError, LaterModels, LocationSet, MomentBall
from copa.planner.later_models import assume, read_later_models
from unit.planner import loans


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LaterModels(confidence=1.0), ["confidence", "1.0"]),
        (lambda: LaterModels(family="unimodel"), ["family", "'unimodel'", "did you mean 'unimodal'"]),
        (lambda: LaterModels(horizon=0), ["horizon", "0"]),
        (lambda: LaterModels(n_refits=1), ["n_refits", "at least 2", "1"]),
        (lambda: LaterModels(history="models"), ["history", "list", "'models'"]),
        (lambda: LaterModels(history=[object(), (1, 2)]), ["history", "not both"]),
        (lambda: LaterModels(ambiguity=MomentBall), ["ambiguity", "MomentBall(radius=0.05)"]),
        (lambda: LaterModels(ambiguity=MomentBall(), confidence=0.9), ["fixed set", "confidence"]),
        (lambda: LaterModels(ambiguity=MomentBall(), family="gaussian"), ["fixed set", "family to the set"]),
        (lambda: LaterModels(ambiguity=MomentBall(), history=[object()]), ["fixed set", "history"]),
        (lambda: MomentBall(radius="auto"), ["radius", "'auto'"]),
        (lambda: MomentBall(radius=-1.0), ["radius", "-1.0"]),
        (lambda: MomentBall(drift="covv"), ["drift", "'covv'", "'cov'"]),
        (lambda: MomentBall(family="normal"), ["family", "'normal'", "'gaussian'"]),
        (lambda: MomentBall([0.0, 1.0]), ["cov", "(2, 2)"]),
        (lambda: MomentBall(cov=np.eye(2)), ["mean", "(D,)"]),
        (lambda: read_later_models("auto"), ["later_models", "'auto'", "LaterModels", "Expected", "MomentBall"]),
    ],
)
def test_what_is_wrong_is_named_with_what_is_allowed(make, words):
    with pytest.raises(InvalidInputError) as caught:
        make()
    assert [word for word in words if word not in str(caught.value)] == []


def test_it_does_not_change_and_says_what_is_not_default():
    later = LaterModels(confidence=0.9, n_refits=20)
    assert repr(later) == "LaterModels(confidence=0.9, n_refits=20)"
    assert repr(Expected()) == "Expected()"
    with pytest.raises(FrozenInstanceError):
        later.horizon = 2


def test_a_set_alone_stands_for_later_models_with_it():
    ball = MomentBall(radius=0.1, drift="cov")
    assert read_later_models(ball).ambiguity is ball
    assert not ball.has_moments
    full = replace(ball, mean=[0.0, 1.0], cov=np.diag([1.0, 4.0]))
    assert full.has_moments
    np.testing.assert_array_equal(full.drift, np.diag([1.0, 4.0]))


@pytest.mark.parametrize("kind", [MomentBall, LocationSet])
def test_moments_of_the_refits_are_filled_in(model, kind):
    later = LaterModels(ambiguity=kind(radius=0.2, drift="cov", family="unimodal"), n_refits=20)
    planner = loans.planner(model, later_models=later)
    ambiguity = planner.strategy_.ambiguity(1)
    assert (type(ambiguity), ambiguity.radius, ambiguity.family) == (kind, 0.2, "unimodal")
    np.testing.assert_array_equal(ambiguity.drift, ambiguity.cov)
    assert planner.radius_source_ == "given"
    assert planner.strategy_.basis.confidence is None
    again = loans.planner(model, later_models=ambiguity)  # moments are taken as they are
    assert again.strategy_.ambiguity(1).same_as(ambiguity)


def test_a_set_of_another_dimension_is_refused(model):
    with pytest.raises(InvalidInputError, match=r"later_models: the moments must be of the model's \d+ parameters"):
        loans.planner(model, later_models=MomentBall([0.0, 1.0], np.eye(2), 0.1))


def test_a_set_without_moments_bounds_nothing():
    with pytest.raises(InvalidInputError, match="must have a mean and a cov"):
        copa.validity_bounds([[1.0, 2.0]], ambiguity=MomentBall(radius=0.1))


def test_rates_are_planned_for_without_another_fit(model, declined):
    planner = loans.planner(model)
    guaranteed = planner.plan(declined.iloc[:3])
    planner.set_params(later_models=Expected(n_refits=loans.FEW.n_refits))
    expected = planner.plan(declined.iloc[:3])
    assert (guaranteed.request.expected, expected.request.expected) == (False, True)
    assert expected.effort.mean() < guaranteed.effort.mean()
    planner.set_params(later_models=LaterModels(confidence=0.8, n_refits=loans.FEW.n_refits))
    with pytest.raises(InvalidInputError, match=r"later_models was changed to .*call fit again"):
        planner.plan(declined)


def test_equal_assumptions_need_no_other_fit_and_others_do():
    X, y = np.ones((2, 1)), np.zeros(2)
    first = LaterModels(history=[(X, y)])
    assert first.fits_like(LaterModels(history=[(X, y)]))
    assert first.fits_like(Expected(history=[(X, y)]))
    assert LaterModels(ambiguity=MomentBall(radius=0.1)).fits_like(LaterModels(ambiguity=MomentBall(radius=0.1)))
    for other in (
        LaterModels(),
        LaterModels(history=[]),
        LaterModels(history=[(X.copy(), y)]),
        LaterModels(history=[(X, y)], horizon=2),
        LaterModels(ambiguity=MomentBall(radius=0.1)),
    ):
        assert not first.fits_like(other)
    assert not LaterModels(ambiguity=MomentBall()).fits_like(LaterModels(ambiguity=LocationSet()))


def test_a_history_of_data_is_one_of_models_fitted_to_them(model):
    table, older = loans.people(300, 0), [loans.people(200, seed) for seed in (4, 5)]
    pairs = [(rows, loans.outcomes(rows, 3)) for rows in older]
    versions = [loans.pipeline().fit(*pair) for pair in pairs]
    made = [loans.planner(model, later_models=LaterModels(history=history)) for history in (pairs, versions)]
    assert made[0].radius_ == made[1].radius_
    assert made[0].radius_source_ == made[1].radius_source_ != loans.planner(model).radius_source_
    assert len(table) == made[0].strategy_.n_rows


def test_options_of_the_command_line_change_what_is_assumed():
    later = assume(LaterModels(confidence=0.9), horizon=2)
    assert (later.confidence, later.horizon, later.expected) == (0.9, 2, False)
    assert assume(later, expected=True).expected
    assert not assume(Expected(), expected=False).expected
    assert assume(Expected(), horizon=3).expected
    ball = assume(LaterModels(), moment_ball=0.05, family="unimodal").ambiguity
    assert (ball.radius, ball.family) == (0.05, "unimodal")
    with pytest.raises(InvalidInputError, match="fixed set takes no confidence"):
        assume(LaterModels(), moment_ball=0.05, confidence=0.9)


@pytest.mark.parametrize("later", [LaterModels(confidence=0.9, family="any", n_refits=20), Expected(horizon=2)])
def test_a_saved_planner_assumes_the_same(model, later, tmp_path):
    planner = loans.planner(model, later_models=later)
    planner.save(tmp_path / "planner")
    loaded = copa.RecoursePlanner.load(tmp_path / "planner", model)
    assert loaded.later_models.fits_like(planner.later_models)
    assert loaded.later_models.expected == later.expected


def test_a_saved_planner_has_its_fixed_set_with_its_moments(model, tmp_path):
    planner = loans.planner(model, later_models=MomentBall(radius=0.1))
    planner.save(tmp_path / "planner")
    loaded = copa.RecoursePlanner.load(tmp_path / "planner", model)
    assert loaded.later_models.ambiguity.same_as(planner.strategy_.ambiguity(1))
