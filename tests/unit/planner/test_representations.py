"""What things print in a notebook: what they are, in a line or a small table, and never a wall of numbers."""

from html import unescape

import numpy as np
import pytest
from sklearn.base import clone

import copa
from copa import Feature, FeatureSchema
from copa.analysis.attribution import attribute
from copa.plans.external import read_plans
from copa.theory.sets import LocationSet, MomentBall
from copa.theory.sets.refit_scores import RefitScores
from unit.planner import loans

LONGEST = 300


@pytest.fixture(scope="module")
def things(bank, loan_plans):
    bounds = copa.validity_bounds(loan_plans[0].points, ambiguity=loan_plans.ambiguity)
    german = copa.datasets.load_german()
    return [
        *(bank, bank.schema_, bank.moments_, bank.strategy_, bank.strategy_.space, bank.strategy_.model),
        *(loan_plans, loan_plans[0], loan_plans.ambiguity, loan_plans.basis, loan_plans.request),
        loan_plans.certificates,
        *(bounds, bounds.certificate, bounds.certificate.worst_case(), bounds.certificate.verify()),
        copa.theory.bounds.bound_plans(loan_plans.ambiguity, loan_plans.points, loan_plans.owner, len(loan_plans)),
        attribute(loan_plans[0], bank.strategy_),
        read_plans(loan_plans, list(loan_plans.applicants.columns)),
        *(german, german.schema, *german.schema.features, copa.datasets.make_dated()),
        *(kind(np.zeros(80), np.eye(80), 0.1, np.eye(80)) for kind in (MomentBall, LocationSet)),
        RefitScores.of(40, 0.9, 0.0),
        bank.schema_.region(loan_plans.applicants.head(1)) if hasattr(bank.schema_, "region") else None,
    ]


def test_nothing_prints_a_wall_of_numbers(things):
    long = {type(thing).__name__: repr(thing) for thing in things if len(repr(thing)) > LONGEST or "\n" in repr(thing)}
    assert long == {}


def test_a_schema_and_a_planner_are_small_in_a_notebook(bank):
    assert repr(loans.SCHEMA) == "FeatureSchema(6 columns: 4 may change, 1 rule, at most 3 changes)"
    asked = "guarantee=0.8, guarantee_for='each', n_options=3"
    assert repr(bank) == f"RecoursePlanner(Pipeline with LogisticRegression, {asked}, fitted: linear)"
    for thing in (bank, bank.schema_):
        assert len(thing._repr_html_()) < 6000
    bundle = bank._repr_mimebundle_(include=None, exclude=None)
    assert bundle == {"text/plain": repr(bank), "text/html": bank._repr_html_()}
    assert bank.radius_source_ in unescape(bank._repr_html_())


def test_a_planner_that_is_not_fitted_says_so_and_can_be_cloned(bank):
    fresh = clone(bank)
    assert repr(fresh).endswith("not fitted)")
    assert "not fitted" in fresh._repr_html_()
    assert fresh.get_params()["guarantee"] == bank.guarantee
    assert "inferred when fitted" in copa.RecoursePlanner(object())._repr_html_()
    assert "loans.yaml" in copa.RecoursePlanner(object(), schema="loans.yaml")._repr_html_()


def test_bounds_are_rounded_to_the_safe_side():
    bounds = copa.validity_bounds([[1.0, 2.0], [1.0, 3.0]], [-0.5, 1.0], [[0.1, 0.0], [0.0, 0.1]], radius=0.05)
    assert (float(bounds.lower), float(bounds.any_lower)) == pytest.approx((0.75540, 0.81914), abs=1e-5)
    assert repr(bounds) == "ValidityBounds(2 options: all at least 0.755, any at least 0.819, all at most 1.000; tight)"


def test_the_table_of_a_schema_escapes_its_text():
    schema = FeatureSchema([Feature("<b>", "numeric", title="<i>", lower=0, max_change=0.5), Feature("x", "integer")])
    html = schema._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>&lt;" not in html
    assert "both ways, from 0 on, by at most 50 %" in html
