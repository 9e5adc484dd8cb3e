"""What changes cost: the compiled statement against NumPy's, one selection for all routes, and costs of one's own."""

import numpy as np
import pytest
from copa._inner_kernels.search import effort, row_distance

import copa
from copa.data.schema import Feature
from copa.exceptions import InvalidInputError
from copa.planner.search.arguments import Regions
from copa.planner.search.run import choose_options
from copa.plans.cost import COSTS, L1, L2, Cost, read_cost, spread_prices
from oracle.tiny_problems import tiny_problems
from unit.planner.search.search_problems import Searcher, by_hand

SEED, N_DRAWS = 3, 40
GRADE = Feature("grade", "ordinal", values=tuple(range(9)), weight=1.5, spread=1.2)


@pytest.mark.parametrize("cost", [L1(), L2()])
def test_the_compiled_effort_and_distance_are_those_of_numpy(cost):
    for problem in tiny_problems(6, SEED, 2):
        searcher = Searcher(problem, cost=cost)
        prices, regions = searcher.space.prices, searcher.applicants.regions
        rows = searcher.drawn(N_DRAWS)
        expected = cost.effort(prices, regions.own[0], rows)
        region = regions.take(0)
        np.testing.assert_allclose([effort(prices, region, row) for row in rows], expected, rtol=1e-13)
        expected = cost.distance(prices, rows, rows[::-1])
        pairs = zip(rows, rows[::-1], strict=True)
        np.testing.assert_allclose([row_distance(prices, a, b) for a, b in pairs], expected, rtol=1e-13)


def test_the_ends_of_an_ordinal_are_all_its_ranks_apart():
    ends = np.array([[0.0], [8.0]])
    assert L1().distance(L1().prices([GRADE]), *ends) == pytest.approx(1.5 * 8 / 1.2)
    assert row_distance(L1().prices([GRADE]), *ends) == pytest.approx(1.5 * 8 / 1.2)


AT_ZERO = Regions.empty(1, 2, 2, 2).take(0)


def two_columns(**settings):
    """One unit is missing, of `a` or of `b`."""
    return by_hand({"a": (1.0, 0.0), "b": (1.0, 0.0)}, -0.9, **settings)


@pytest.mark.parametrize(("cost", "first"), [("l1", [4.0, 0.0]), ("l2", [2.0, 2.0])])
def test_rows_that_are_known_are_chosen_by_the_cost_that_is_asked_for(cost, first):
    space = Searcher(two_columns(), cost=cost).space
    rows = np.array([[0.0, 7.0], [4.0, 0.0], [2.0, 2.0]])  # in all 7, 4 and 4 and a second penalty; in length 7, 4, 2.8
    (chosen,) = choose_options(space, AT_ZERO, rows, 1, 0.0)
    assert rows[chosen].tolist() == first


def test_rows_that_are_known_are_chosen_by_the_weights_of_their_columns():
    space = Searcher(two_columns(a={"weight": 3.0})).space
    rows = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 3.0]])
    assert choose_options(space, AT_ZERO, rows, 2, 1.0).tolist() == [1, 0]  # the last asks for all of the first
    assert len(choose_options(space, AT_ZERO, rows[:0], 2, 1.0)) == 0


class SecondColumnIsFree(Cost):
    """A cost of one's own: nothing but the first column has a price."""

    def prices(self, columns):
        prices = spread_prices(columns, 1)
        return prices._replace(per_unit=prices.per_unit * (np.arange(prices.per_unit.size) == 0))


def test_a_cost_of_ones_own_is_planned_with():
    problem = two_columns(b={"weight": 1.5})
    changed = {}
    for cost in ("l1", SecondColumnIsFree()):
        planner = copa.RecoursePlanner(
            problem.pipeline,
            schema=problem.schema,
            later_models=copa.MomentBall(problem.moments.mean, problem.moments.cov, 0.0),
            cost=cost,
            n_options=1,
        )
        batch = planner.set_params(progress=False).fit(problem.table).plan(problem.applicants)
        assert list(batch.status) == ["ok"]
        changed[batch.request.cost] = [change.column for change in batch[0].changes(1)], float(batch.effort[0])
    assert changed == {"l1": (["a"], 1.0), "secondcolumnisfree": (["b"], 0.0)}
    with pytest.raises(InvalidInputError, match="a class of your own, SecondColumnIsFree, cannot be saved"):
        planner.save("unused.copa")


class ChangedPrices(Cost):
    """A cost with some of the prices replaced."""

    def __init__(self, **changes):
        self.changes = changes

    def prices(self, columns):
        return spread_prices(columns, 1)._replace(**self.changes)


def planned_with(cost, **settings):
    problem = two_columns()
    known = {
        "schema": problem.schema,
        "later_models": copa.MomentBall(problem.moments.mean, problem.moments.cov, 0.0),
        "n_options": 1,
        "progress": False,
    }
    return copa.RecoursePlanner(problem.pipeline, cost=cost, **known, **settings).fit(problem.table)


def test_a_cost_with_a_name_is_read_as_it_was_saved(monkeypatch, tmp_path):
    monkeypatch.setitem(COSTS, "secondcolumnisfree", SecondColumnIsFree)
    planned_with("secondcolumnisfree").save(tmp_path / "planner", include_model=True)
    assert isinstance(copa.RecoursePlanner.load(tmp_path / "planner").strategy_.space.cost, SecondColumnIsFree)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"power": 3}, "power of the prices must be 1 or 2, got 3"),
        ({"power": 1.5}, "power of the prices must be 1 or 2, got 1.5"),
        ({"per_unit": np.ones(3)}, r"per_unit of the prices must have shape \(2,\), got \(3,\)"),
        ({"gaps": np.ones((2, 1))}, r"gaps of the prices must have shape \(2, 2\), got \(2, 1\)"),
        ({"penalties": np.ones(1)}, r"penalties of the prices must have shape \(2,\), got \(1,\)"),
        ({"penalties": np.array([1.0, -2.0])}, "penalties of the prices must not be negative, got -2"),
        ({"per_unit": np.array([1.0, np.nan])}, "per_unit of the prices"),
    ],
)
def test_prices_that_the_search_could_not_use_are_refused_by_fit(changes, message):
    with pytest.raises(InvalidInputError, match=message):
        planned_with(ChangedPrices(**changes))


def test_whole_prices_are_planned_with():
    planner = planned_with(ChangedPrices(per_unit=np.array([1, 3])))
    assert planner.strategy_.space.prices.per_unit.dtype == np.float64
    assert [change.column for change in planner.plan(two_columns().applicants)[0].changes(1)] == ["a"]


def test_the_papers_objective_has_costs_of_its_own_only():
    with pytest.raises(InvalidInputError, match=r"PaperObjective takes the cost 'l1' or 'l2', got .*SecondCol"):
        planned_with(SecondColumnIsFree(), objective=copa.PaperObjective())
    planned_with(L2(), objective=copa.PaperObjective())


@pytest.mark.parametrize("cost", [L1(), L2()])
def test_a_known_cost_is_saved_by_its_name(cost, tmp_path):
    planner = planned_with(cost)
    planner.save(tmp_path / "planner.copa")
    again = copa.RecoursePlanner.load(tmp_path / "planner.copa", planner.model)
    assert again.cost == cost.name
    assert isinstance(again.strategy_.space.cost, type(cost))


def test_a_cost_that_is_not_known_is_refused():
    assert isinstance(read_cost("l2"), L2)
    with pytest.raises(InvalidInputError, match="cost must be one of 'l1', 'l2', or a Cost, got 'l3'"):
        read_cost("l3")
