"""Proofs of `planner.prove` against exhaustive search, on tables so small that every row can be tried."""

import numpy as np
import pytest

import copa
from copa.plans.cost import CHANGE_PENALTY
from oracle.exhaustive_menus import everything_in_reach
from oracle.tiny_problems import tiny_problems

N_PROBLEMS, N_APPLICANTS, SEED = 24, 4, 5
CLOSE, TIE = 1e-3, 1e-5


def true_costs(rows, power):
    """What the search ranks rows by: the norm of the changes, and what each changed column counts."""
    changes = rows.distances(rows.own[None])[:, 0]
    weights = np.array([feature.weight for feature in rows.features])
    penalties = (CHANGE_PENALTY * weights * (rows.places != rows.own)).sum(axis=1)
    return (changes**power).sum(axis=1) ** (1.0 / power) + penalties


def proven(problem, cost):
    planner = copa.RecoursePlanner(
        problem.pipeline,
        schema=problem.schema,
        guarantee=problem.guarantee,
        cost=cost,
        n_options=1,
        plausibility=0.0,
        later_models=copa.MomentBall(problem.moments.mean, problem.moments.cov, problem.radius, drift=problem.drift),
        n_jobs=1,
    ).fit(problem.table)
    batch = planner.plan(problem.applicants)
    return batch, planner.prove(batch)


@pytest.fixture(scope="module", params=[("l1", 1), ("l2", 2)], ids=["l1", "l2"])
def cases(request):
    """Status, verdict and bound of each applicant, the cost of the row that was met, and the true least cost."""
    cost, power = request.param
    met = []
    for problem in tiny_problems(N_PROBLEMS, SEED, N_APPLICANTS):
        batch, proofs = proven(problem, cost)
        for i in range(len(batch)):
            if abs(problem.pipeline.decision_function(problem.applicants.iloc[[i]])[0]) < TIE:
                continue  # to stay as one is misses acceptance by less than the solver's tolerance
            reach = everything_in_reach(problem, problem.applicants.iloc[[i]])
            asked = 0.0 if batch.status[i] == "infeasible" else problem.guarantee
            least = true_costs(reach.at(asked), power).min(initial=np.inf)
            met.append((batch.status[i], proofs.verdict[i], proofs.cost[i], proofs.bound[i], least))
    return met


def test_the_bound_is_the_cost_of_the_cheapest_row(cases):
    bounds, least = np.array([(bound, least) for _, _, _, bound, least in cases]).T
    assert np.isfinite(least).sum() >= 30
    np.testing.assert_array_equal(np.isinf(bounds), np.isinf(least))
    some = np.isfinite(least)
    np.testing.assert_allclose(bounds[some], least[some], rtol=CLOSE)


def test_options_that_no_row_undercuts_are_optimal(cases):
    for status, verdict, cost, _, least in cases:
        if status == "ok":
            assert (verdict == "optimal") == (cost <= least * (1.0 + CLOSE))


def test_where_no_row_does_what_is_asked_none_is_claimed(cases):
    without = [(verdict, least) for status, verdict, _, _, least in cases if status != "ok"]
    assert len(without) >= 8
    assert all(verdict == ("none exists" if np.isinf(least) else "missed") for verdict, least in without)
