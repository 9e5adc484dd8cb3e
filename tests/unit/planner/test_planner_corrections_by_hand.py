"""Corrections of options with two columns, where every row in question can be worked out by hand.

The model reads the columns as they are: score = slope * a + b - 7, and an option moves by as much as its values do.
New values of `a` are whole numbers, but the applicant's own, 0.4, may stay: from an option with a = 0 the nearest row
to a small correction is therefore the one with a = 0.4, and no real row is nearer.
"""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import copa
from copa import Feature, FeatureSchema

APPLICANT = pd.DataFrame({"a": [0.4], "b": [0.0]})


def corrected(slope, option, method, budget, most=40.0):
    """The option of an applicant at a = 0.4, b = 0 after a correction; `b` moves in steps of 4, up to `most`."""
    schema = FeatureSchema(
        [
            Feature("a", "numeric", lower=0.0, upper=0.5 * most, step=1.0, spread=1.0),
            Feature("b", "numeric", lower=0.0, upper=most, step=4.0, spread=4.0),
        ]
    )
    table = pd.DataFrame({"a": np.arange(20.0) % 5, "b": 4.0 * (np.arange(20) // 4)})
    model = LogisticRegression().fit(table, np.arange(20) % 2 == 1)
    model.coef_, model.intercept_ = np.array([[slope, 1.0]]), np.array([-7.0])
    planner = copa.RecoursePlanner(
        model,
        schema=schema,
        guarantee=0.999,
        later_models=copa.MomentBall(
            copa.WeightMoments([-7.0, slope, 1.0], 0.01 * np.eye(3)).mean,
            copa.WeightMoments([-7.0, slope, 1.0], 0.01 * np.eye(3)).cov,
            0.0,
        ),
        n_options=1,
        n_jobs=1,
        progress=False,
    ).fit(table)
    given = pd.DataFrame({"a": [option[0]], "b": [option[1]], "applicant": [0]})
    return planner.correct(given, APPLICANT, method=method, budget=budget)


def row(fixed):
    return tuple(fixed.after.options.iloc[0])


def test_an_option_goes_to_a_better_row_within_the_budget():
    fixed = corrected(1.0, (0.0, 8.0), "mahalanobis", budget=0.5)
    assert row(fixed) == (0.4, 8.0)
    assert fixed.moved == pytest.approx([0.4], abs=1e-12)
    assert fixed.after.lower > fixed.before.lower


def test_an_option_stays_where_every_better_row_is_beyond_the_budget():
    fixed = corrected(1.0, (0.0, 8.0), "mahalanobis", budget=0.2)
    assert fixed.before.status.tolist() == ["fragile"]
    assert row(fixed) == (0.0, 8.0)
    assert fixed.moved.tolist() == [0.0]


def test_an_option_stays_where_the_nearest_row_to_its_correction_is_worse():
    # With a negative slope the correction lowers `a` and raises `b`, neither by as much as half a step.
    fixed = corrected(-1.0, (0.0, 8.0), "mahalanobis", budget=0.5)
    assert fixed.before.status.tolist() == ["fragile"]
    assert row(fixed) == (0.0, 8.0)
    assert fixed.after.lower == fixed.before.lower


@pytest.mark.parametrize("option", [(0.0, 4.0), (0.0, 9.5), (-3.0, 12.0)], ids=["refused", "off the step", "too low"])
def test_the_budget_does_not_hold_an_option_that_has_to_move_anyway(option):
    fixed = corrected(1.0, option, "mahalanobis", budget=0.1)
    assert fixed.before.status.tolist() == ["infeasible"]
    assert fixed.after.status.tolist() != ["infeasible"]
    assert fixed.moved[0] > 0.1
    assert fixed.after.accepted.all()


@pytest.mark.parametrize("method", ["level", "requirement", "mahalanobis"])
@pytest.mark.parametrize(
    ("option", "reason"),
    [((0.0, 4.0), "today's model does not accept it"), ((0.0, 9.5), "b: must be at most 4, got 9.5")],
)
def test_an_option_that_is_refused_and_cannot_be_repaired_does_not_leave(method, option, reason):
    fixed = corrected(1.0, option, method, budget=0.1, most=4.0)
    assert fixed.before.options.iloc[0].tolist() == list(option)
    assert len(fixed.after.options) == 0
    assert fixed.after.status.tolist() == ["infeasible"]
    assert f"given option 1 is left out: {reason}" in fixed.after.message[0]
    assert (fixed.after.lower, fixed.after.any_lower, fixed.moved) == (0.0, 0.0, 0.0)
    assert fixed.left_out.tolist() == [True]
