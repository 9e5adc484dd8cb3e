"""A surrogate of the caller's own: a subclass of `BlackBoxStrategy`, and nothing else."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import copa
from copa import InvalidInputError
from copa._core.words import rounded_down
from copa.planner.search.arguments import FoundPlans, Outcome
from copa.planner.search.neighbourhood import Draws, rows_around
from copa.planner.strategies.black_box import BlackBoxStrategy
from copa.planner.strategies.lime import Lime
from copa.planner.strategies.options import Found
from copa.theory.sets.ambiguity import AmbiguitySet
from copa.theory.sets.standard_ball import standard_points
from property.exact_judge import refusals
from unit.planner import loans

SPREAD = 0.3  # of every score, as this surrogate has it


@dataclass(frozen=True, eq=False, kw_only=True)
class Scattered(BlackBoxStrategy):
    """Takes the model's score for the mean of the next ones, and the first accepted rows that it happens to draw."""

    kind: ClassVar[str] = "scattered"
    subject: ClassVar[str] = "assumed"

    def points(self, rows, owner, n_options, n_jobs=None, encoded=None):  # noqa: ARG002 - the signature of a strategy
        return standard_points(self.model.scores(rows), SPREAD * np.eye(len(rows)), owner, n_options + 1)

    def build(self, applicants, request, run):
        space, n_draws = self.space, 200
        plans = FoundPlans.empty(len(applicants), request.n_options, len(space.columns))
        draws = Draws.make(n_draws, space, self.seed)
        for i in range(len(applicants)):
            here = applicants.take([i])
            rows = rows_around(space, here.regions, here.regions.own, draws)
            drawn = FoundPlans.empty(1, n_draws, len(space.columns))
            drawn.options[0], drawn.counts[0] = rows, n_draws
            options = self.write_options(here, drawn, run.n_jobs, np.zeros((n_draws, 1)))
            good = options.accepted & self.schema.obeys(here.origins, options.rows, options.owner)
            chosen = np.flatnonzero(good)[: request.n_options]
            plans.outcomes[i], plans.counts[i] = (Outcome.MET if len(chosen) else Outcome.UNREACHABLE), len(chosen)
            plans.options[i, : len(chosen)] = rows[chosen]
        return Found(plans, self.write_options(applicants, plans, run.n_jobs))


@pytest.fixture(scope="module")
def model():
    return loans.fitted_pipeline(RandomForestClassifier(20, min_samples_leaf=5, random_state=0))


@pytest.fixture(scope="module")
def planner(model):
    return loans.planner(
        model, surrogate=Scattered, later_models=copa.MomentBall(radius=0.5), n_options=3, guarantee=0.6
    )


def test_a_strategy_from_outside_the_package_plans_and_is_judged_and_bounded_like_the_others(planner, model):
    people = loans.people(60, 5)
    people = people[~model.predict(people).astype(bool)].iloc[:12]
    batch = planner.plan(people)
    assert {"ok", "fragile"} & set(batch.status)
    assert len(batch.options) > 12
    assert refusals(planner.schema_, people.iloc[batch.owner], batch.options) == []
    assert batch.accepted.all()
    scores = planner.strategy_.model.scores(batch.options)
    spread = np.full(len(scores), SPREAD)
    expected = planner.strategy_.ambiguity(1).guarantee(scores, spread, 0.5 * spread)
    np.testing.assert_allclose(batch.option_lower, expected, atol=1e-9)
    lowest = [batch.option_lower[batch.owner == i].min(initial=1.0) for i in range(len(batch))]
    reached = (batch.counts > 0) & (np.array(lowest) >= 0.6)
    assert (reached == (batch.status == "ok")).all()
    for plan in batch:
        if plan.status == "fragile":  # the strategy does not say how far it came; its options do
            assert plan.highest_level == plan.option_lower.max()
            assert f"the highest that was found for an option is {rounded_down(plan.highest_level)}" in plan.message
        if plan.n_options:
            assert "fitted around the applicant" not in plan.explain()
            assert "these rows (with an assumed covariance)" in plan.explain()
    assert ((batch.status == "fragile") & (batch.highest_level > 0.0)).any()


def test_its_plans_can_be_audited_and_corrected(planner, model):
    people = loans.people(60, 5)
    batch = planner.plan(people[~model.predict(people).astype(bool)].iloc[:4])
    audit = planner.audit(batch)
    np.testing.assert_allclose(audit.option_lower, batch.option_lower, atol=1e-12)
    assert (planner.correct(batch).after.lower >= 0.0).all()
    with pytest.raises(InvalidInputError, match=r"method='mahalanobis' requires a model that is linear in the columns"):
        planner.correct(batch, method="mahalanobis")


def test_it_is_not_saved_because_it_could_not_be_loaded(planner, tmp_path):
    with pytest.raises(InvalidInputError, match=r"a class of your own, Scattered, cannot be saved"):
        planner.save(tmp_path / "planner")


@pytest.mark.parametrize("surrogate", [dict, object, RandomForestClassifier])
def test_another_class_is_no_surrogate(model, surrogate):
    with pytest.raises(InvalidInputError, match=r"'lime' or a complete subclass of BlackBoxStrategy"):
        loans.planner(model, surrogate=surrogate)


@pytest.mark.parametrize("surrogate", [int, "limes"])
def test_another_class_is_refused_for_a_linear_model_too(surrogate):
    with pytest.raises(InvalidInputError, match=r"'lime' or a complete subclass of BlackBoxStrategy"):
        copa.RecoursePlanner(loans.fitted_pipeline(), surrogate=surrogate).fit(None)


def test_a_known_class_is_saved_by_its_word(tmp_path):
    linear = loans.fitted_pipeline()
    loans.planner(linear, surrogate=Lime).save(tmp_path / "planner")
    assert copa.RecoursePlanner.load(tmp_path / "planner", linear).surrogate == "lime"
    with pytest.raises(InvalidInputError, match=r"a class of your own, Scattered, cannot be saved"):
        loans.planner(linear, surrogate=Scattered).save(tmp_path / "planner")


def test_a_surrogate_without_a_radius_of_its_own_needs_a_number(model):
    with pytest.raises(InvalidInputError, match=r"Scattered needs a fixed set"):
        loans.planner(model, surrogate=Scattered)


def test_a_clone_has_the_same_surrogate(model):
    from sklearn.base import clone

    assert clone(copa.RecoursePlanner(model, surrogate=Scattered)).surrogate is Scattered


@dataclass(frozen=True, eq=False, kw_only=True)
class Refused(Scattered):
    """Proposes the applicants' own rows, which the model refuses."""

    def build(self, applicants, request, run):
        plans = FoundPlans.empty(len(applicants), request.n_options, len(self.space.columns))
        plans.options[:, 0] = applicants.regions.own
        plans.outcomes[:], plans.counts[:] = Outcome.MET, 1
        return Found(plans, self.evaluated(self.write_options(applicants, plans, run.n_jobs)))

    def evaluated(self, options):
        return options


@dataclass(frozen=True, eq=False, kw_only=True)
class Lying(Refused):
    """Has the rows evaluated by a model of its own, which accepts everything."""

    def evaluated(self, options):
        class Yes:
            def accepts(self, table):
                return np.ones(len(table), dtype=bool)

        return replace(options, model=Yes())


def test_no_row_leaves_that_the_model_refuses_whatever_a_strategy_says(model):
    people = loans.people(60, 5)
    declined = people[~model.predict(people).astype(bool)].iloc[:4]
    batch = loans.planner(
        model, surrogate=Refused, later_models=copa.MomentBall(radius=0.5), n_options=2, guarantee=0.6
    ).plan(declined)
    assert len(batch.options) == 0
    assert set(batch.status) == {"infeasible"}
    with pytest.raises(InvalidInputError, match="must be evaluated by the model in force"):
        loans.planner(
            model, surrogate=Lying, later_models=copa.MomentBall(radius=0.5), n_options=2, guarantee=0.6
        ).plan(declined)


@pytest.mark.parametrize("setting", [{"surrogate": BlackBoxStrategy}, {"later_models": AmbiguitySet}])
def test_a_class_without_its_methods_is_refused_before_any_work(model, setting):
    with pytest.raises(InvalidInputError, match=r"must be .*(a complete subclass of|a fixed set)"):
        loans.planner(model, **{"later_models": copa.MomentBall(radius=0.5), **setting})
