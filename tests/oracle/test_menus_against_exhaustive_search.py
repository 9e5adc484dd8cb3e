"""Delivered menus against exhaustive search, on tables so small that every row and every menu can be tried."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

import copa
from copa.data.schema import Feature, FeatureSchema
from oracle.exhaustive_menus import Reach, Rows, best_menu, everything_in_reach, menu_values
from oracle.tiny_problems import TinyProblem, tiny_problems

N_PROBLEMS, N_APPLICANTS, SEED = 50, 7, 1
SIZES = (1, 2, 3)
WEIGHT = 2.0  # of diversity
CLOSE = 1.02
SHARE = 0.95  # of the applicants, who must get a menu as close as that
ROUNDING = 1e-9  # relative, of sums of a few numbers


@dataclass(frozen=True)
class Outcome:
    """What one applicant got, and what exhaustive search says; values are NaN where the level is not reached."""

    name: str
    has_ties: bool
    n_options: int
    status: str
    true_status: str
    faults: list[list[str]]
    highest: float
    true_highest: float
    size: int = 0
    true_size: int = 0
    value: float = np.nan
    true_value: float = np.nan

    @property
    def ratio(self) -> float:
        """Value of the menu by that of the best one; infinite where options are missing."""
        return self.value / self.true_value if self.size == self.true_size else np.inf


def compare(problem: TinyProblem, name: str) -> list[Outcome]:
    planner = copa.RecoursePlanner(
        problem.pipeline,
        schema=problem.schema,
        guarantee=problem.guarantee,
        plausibility=0.0,
        later_models=copa.MomentBall(problem.moments.mean, problem.moments.cov, problem.radius, drift=problem.drift),
        diversity_weight=WEIGHT,
        n_jobs=1,
        progress=False,
    ).fit(problem.table)
    batches = [planner.set_params(n_options=size).plan(problem.applicants) for size in SIZES]
    outcomes = []
    for i in range(len(problem.applicants)):
        reach = everything_in_reach(problem, problem.applicants.iloc[[i]])
        outcomes += [judge(problem, reach, batch, i, f"{name}, applicant {i}") for batch in batches]
    return outcomes


def judge(problem: TinyProblem, reach: Reach, batch: copa.PlanBatch, i: int, name: str) -> Outcome:
    own, options = problem.applicants.iloc[[i]], batch.options[batch.owner == i]
    good, n_options = reach.at(problem.guarantee), batch.request.n_options
    true_status = "ok" if len(good.places) else "fragile" if reach.highest >= 0.0 else "infeasible"
    known = {
        "name": name,
        "has_ties": problem.has_ties,
        "n_options": n_options,
        "status": str(batch.status[i]),
        "true_status": true_status,
        "faults": problem.schema.violations(own, options),
        "highest": float(batch.highest_level[i]),
        "true_highest": reach.highest,
    }
    if (known["status"], true_status) != ("ok", "ok"):
        return Outcome(**known)
    rows = Rows.read(problem.schema, options, own)
    value = menu_values(rows, np.arange(len(options))[None], float(good.efforts().min()), WEIGHT)
    true_size, true_value = best_menu(good, n_options, WEIGHT)
    return Outcome(**known, size=len(options), true_size=true_size, value=float(value[0]), true_value=true_value)


@pytest.fixture(scope="module", params=["every third", pytest.param("all", marks=pytest.mark.slow)])
def outcomes(request) -> list[Outcome]:
    problems = list(enumerate(tiny_problems(N_PROBLEMS, SEED, N_APPLICANTS)))
    some = problems if request.param == "all" else problems[::3]
    return [outcome for k, problem in some for outcome in compare(problem, f"problem {k}")]


def with_menus(outcomes: list[Outcome], n_options: int) -> list[Outcome]:
    own = [o for o in outcomes if o.n_options == n_options]
    chosen = [o for o in own if o.true_size > 0]
    assert len(chosen) >= 3 * len(own) // 7  # enough of the random applicants reach the level
    return chosen


def test_the_problems_are_varied(outcomes):
    for status in ("ok", "fragile", "infeasible"):
        for has_ties in (False, True):
            assert sum(o.true_status == status and o.has_ties == has_ties for o in outcomes) >= len(outcomes) // 35
    assert sum(o.true_size == 3 for o in outcomes) >= len(outcomes) // 35


def test_no_option_breaks_the_schema(outcomes):
    broken = [(o.name, o.faults) for o in outcomes if any(o.faults)]
    assert not broken, broken[:5]


def test_the_status_is_the_true_one_where_columns_are_not_tied(outcomes):
    wrong = [(o.name, o.status, o.true_status) for o in outcomes if o.status != o.true_status and not o.has_ties]
    assert not wrong, wrong[:5]


def test_rules_and_caps_seldom_hide_what_is_in_reach(outcomes):
    # A search by moves of one and two columns may miss a row that needs three at once; it must never invent one.
    tied = [o for o in outcomes if o.has_ties]
    order = ("infeasible", "fragile", "ok")
    missed = [o.name for o in tied if order.index(o.status) < order.index(o.true_status)]
    invented = [o.name for o in tied if order.index(o.status) > order.index(o.true_status)]
    assert not invented, invented[:5]
    assert len(missed) <= (1.0 - SHARE) * len(tied), missed[:5]


def test_a_single_option_is_the_cheapest_there_is(outcomes):
    ratios = np.array([o.ratio for o in with_menus(outcomes, 1)])
    assert (ratios >= 1.0 - ROUNDING).all()
    assert (ratios <= CLOSE).mean() >= 0.98
    assert ratios.max() <= 1.15


@pytest.mark.parametrize("n_options", [2, 3])
def test_menus_have_as_many_options_as_there_are(outcomes, n_options):
    short = [(o.name, o.size, o.true_size) for o in with_menus(outcomes, n_options) if o.size < o.true_size]
    assert len(short) <= (1.0 - SHARE) * len(with_menus(outcomes, n_options)), short[:5]


@pytest.mark.parametrize("n_options", [2, 3])
def test_full_menus_are_close_to_the_best(outcomes, n_options):
    full = [o for o in with_menus(outcomes, n_options) if o.size == o.true_size]
    ratios = np.array([o.ratio for o in full])
    worst = sorted(full, key=lambda o: -o.ratio)[:5]
    assert (ratios >= 1.0 - ROUNDING).all()
    assert ratios.mean() <= CLOSE
    assert (ratios <= CLOSE).mean() >= SHARE, [(o.name, o.value, o.true_value) for o in worst]


def test_the_highest_level_is_the_true_one(outcomes):
    fragile = [o for o in outcomes if o.status == o.true_status == "fragile"]
    missing = np.array([o.true_highest - o.highest for o in fragile])
    assert (missing >= -ROUNDING).all()
    assert (missing <= 1e-6).mean() >= SHARE


def plan_with(feature: Feature, own: float, most: int = 9) -> tuple[TinyProblem, copa.PlanBatch]:
    """One option for an applicant at `own` and 1, where both columns together reach 6.6, the second up to `most`."""
    schema = FeatureSchema((feature, Feature("b", "integer", lower=0, upper=most, step=1.0, spread=1.0)))
    table = pd.DataFrame({"a": np.arange(20) % 5, "b": np.arange(20) // 4}).astype({"a": type(own)})
    model = Pipeline([("encode", FunctionTransformer()), ("classify", LogisticRegression())])
    model.fit(table, np.arange(20) % 2 == 1)
    model[-1].coef_, model[-1].intercept_ = np.array([[1.0, 1.0]]), np.array([-6.6])
    problem = TinyProblem(
        schema=schema,
        pipeline=model,
        moments=copa.WeightMoments([-6.6, 1.0, 1.0], 1e-4 * np.eye(3)),
        radius=0.0,
        drift=None,
        guarantee=0.5,
        table=table,
        applicants=pd.DataFrame({"a": [own], "b": [1]}),
        has_ties=False,
    )
    settings = {"guarantee": 0.5, "later_models": copa.MomentBall(problem.moments.mean, problem.moments.cov, 0.0)}
    planner = copa.RecoursePlanner(
        model, schema=schema, **settings, n_options=1, n_jobs=1, plausibility=0.0, progress=False
    )
    planner.fit(table)
    return problem, planner.plan(problem.applicants)


OUTSIDE = {
    "below, decrease only": (Feature("a", "integer", lower=0, upper=4, step=1.0, direction="decrease", spread=1.0), -1),
    "above, increase only": (Feature("a", "integer", lower=0, upper=4, step=1.0, direction="increase", spread=1.0), 5),
    "ordinal below": (
        Feature("a", "ordinal", values=(0, 1, 2, 3, 4), lower=2, direction="decrease", spread=1.0), 1,
    ),
    "no multiple of the step inside": (Feature("a", "numeric", lower=0.1, upper=0.4, step=0.5, spread=1.0), 3.25),
}  # fmt: skip


@pytest.mark.parametrize("case", OUTSIDE)
def test_who_cannot_come_into_a_range_keeps_the_value_and_plans_by_the_other_columns(case):
    feature, own = OUTSIDE[case]
    problem, batch = plan_with(feature, own)
    reach = everything_in_reach(problem, problem.applicants)
    assert set(reach.rows.places[:, 0]) == {own}  # what the enumeration knows of the rule
    outcome = judge(problem, reach, batch, 0, case)
    assert (outcome.status, outcome.true_status, outcome.faults) == ("ok", "ok", [[]])
    assert outcome.ratio == pytest.approx(1.0, rel=ROUNDING)
    assert batch.options.iloc[0].tolist() == [own, np.ceil(6.6 - own)]


@pytest.mark.parametrize("case", OUTSIDE)
def test_who_cannot_come_into_a_range_is_infeasible_where_the_other_columns_are_not_enough(case):
    feature, own = OUTSIDE[case]
    least = int(np.ceil(6.6 - own))
    problem, batch = plan_with(feature, own, least - 1)
    assert everything_in_reach(problem, problem.applicants).highest == -1.0
    assert batch.status.tolist() == ["infeasible"]
    assert len(batch.options) == 0
    assert "a is " in batch.message[0]
    assert "it can only stay as it is" in batch.message[0]


@pytest.mark.parametrize("own", [-3, -1, 5])
@pytest.mark.parametrize("most", [3, 9])
@pytest.mark.parametrize("direction", ["both", "increase", "decrease"])
def test_who_may_come_into_a_range_keeps_the_value_or_moves_inside_whichever_is_best(own, most, direction):
    feature = Feature("a", "integer", lower=0, upper=4, step=1.0, direction=direction, spread=1.0)
    problem, batch = plan_with(feature, own, most)
    reach = everything_in_reach(problem, problem.applicants)
    assert all(place == own or 0 <= place <= 4 for place in reach.rows.places[:, 0])
    outcome = judge(problem, reach, batch, 0, f"{own}, {most}")
    assert outcome.status == outcome.true_status
    assert not any(outcome.faults)
    assert np.isnan(outcome.true_value) or outcome.ratio == pytest.approx(1.0, rel=ROUNDING)


@pytest.mark.parametrize("direction", ["both", "increase"])
def test_a_value_between_the_last_step_and_the_limit_may_stay(direction):
    feature = Feature("a", "numeric", lower=0.1, upper=1.6, step=0.25, direction=direction, spread=1.0)
    _, batch = plan_with(feature, 1.55)
    assert batch.options["a"].tolist() == [1.55]
