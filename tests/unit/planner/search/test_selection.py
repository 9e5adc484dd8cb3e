"""Choosing a plan from a pool of rows, against plain statements and all subsets."""

from itertools import combinations

import numpy as np
import pytest
from copa._inner_kernels.search import are_alike, asks_less, choose_plan, group_rows

from copa._kernels import select_options
from copa.planner.search.arguments import Choice
from copa.plans.cost import L1, L2, Prices

N_ROWS, N_OPTIONS, WEIGHT = 8, 3, 2.0
ROUNDING = 1e-9


@pytest.fixture(scope="module")
def asks_less_of():
    """Whether a row asks for less than another, for an applicant at `own`: numbers, then positions of choices."""

    def ask(own, row, other):
        return asks_less(2, *(np.array([*numbers, *levels], dtype=np.float64) for numbers, levels in (own, row, other)))

    return ask


@pytest.mark.parametrize(
    ("row", "other", "less"),
    [
        (([1, 0], [4]), ([2, 0], [4]), True),  # a smaller step of the same kind
        (([2, 0], [4]), ([1, 0], [4]), False),
        (([1, 0], [4]), ([1, 3], [4]), True),  # one column fewer
        (([1, 3], [4]), ([1, 0], [4]), False),
        (([1, 0], [4]), ([-2, 0], [4]), False),  # the other way
        (([1, 0], [4]), ([0, 2], [4]), False),  # another column
        (([0, 0], [5]), ([2, 0], [5]), True),  # the same choice, and nothing besides
        (([0, 0], [5]), ([2, 0], [6]), False),  # another choice
        (([1, 0], [4]), ([1, 0], [5]), True),  # the choice stays
        (([1, 2], [5]), ([1, 2], [5]), False),  # the same row
    ],
)
def test_a_row_asks_for_less_if_the_other_asks_for_all_of_it_and_more(asks_less_of, row, other, less):
    assert asks_less_of(([0, 0], [4]), row, other) == less
    shifted = [([v + o for v, o in zip(one[0], (3, -1), strict=True)], one[1]) for one in (row, other)]
    assert asks_less_of(([3, -1], [4]), *shifted) == less


def value_of(menu, costs, distances, unit):
    """Mean cost in units of the cheapest row, plus what likeness costs."""
    menu = list(menu)
    kernel = 1.0 / (1.0 + distances[np.ix_(menu, menu)] / unit)
    return costs[menu].mean() / unit + WEIGHT * (1.0 - np.linalg.det(kernel))


@pytest.mark.extended  # its kernel is compiled for the test
def test_the_plan_chosen_is_as_a_rule_the_best_of_all_subsets():
    exact = []
    for seed in range(40):
        rng = np.random.default_rng([17, seed])
        points = rng.uniform(0.0, 3.0, (N_ROWS, 2))
        distances = np.abs(points[:, None] - points).sum(axis=2)
        costs = rng.uniform(1.0, 2.5, N_ROWS)
        excludes = np.triu(rng.random((N_ROWS, N_ROWS)) < 0.15, 1)
        excludes |= excludes.T
        menu = np.zeros(N_OPTIONS, dtype=np.int64)
        size = choose_plan(costs, distances, excludes, np.arange(N_ROWS), WEIGHT, menu)
        chosen = menu[:size].tolist()
        assert len(set(chosen)) == size == N_OPTIONS
        assert not excludes[np.ix_(chosen, chosen)].any()
        subsets = [s for s in combinations(range(N_ROWS), N_OPTIONS) if not excludes[np.ix_(s, s)].any()]
        best = min(value_of(s, costs, distances, costs.min()) for s in subsets)
        mine = value_of(chosen, costs, distances, costs.min())
        assert mine >= best - ROUNDING
        exact.append(mine <= best + ROUNDING)
    assert np.mean(exact) >= 0.8


def test_a_plan_is_shorter_where_the_rows_exclude_each_other():
    excludes = ~np.eye(4, dtype=bool)
    menu = np.zeros(3, dtype=np.int64)
    efforts = np.array([3.0, 1.0, 2.0, 4.0])
    assert choose_plan(efforts, 1.0 * excludes, excludes, np.arange(4), WEIGHT, menu) == 1
    assert menu[0] == 1  # the cheapest


def test_no_more_than_two_options_of_a_plan_change_the_same_columns():
    apart = 1.0 - np.eye(6)
    menu = np.zeros(5, dtype=np.int64)
    groups = np.array([0, 0, 0, 0, 4, 4])
    efforts = np.array([1.0, 1.0, 1.0, 1.0, 9.0, 9.5])  # cheap rows of the first group, and two dear others
    assert choose_plan(efforts, apart, apart < 0.0, groups, 0.1, menu) == 4
    assert np.bincount(groups[menu[:4]], minlength=5).tolist() == [2, 0, 0, 0, 2]


@pytest.mark.parametrize(
    ("row", "other", "expected"),
    [
        ([1.0, 0.0, 4.0], [1.25, 0.0, 4.0], True),
        ([1.0, 0.0, 4.0], [1.26, 0.0, 4.0], False),
        ([1.0, 0.2, 4.0], [1.0, 0.0, 4.0], True),  # another column, but hardly
        ([1.0, 0.0, 4.0], [1.0, 0.0, 5.0], False),  # another level
    ],
)
def test_two_rows_are_alike_if_no_column_differs_by_more_than_its_share(row, other, expected):
    assert are_alike(np.array([0.25, 0.5, 0.0]), np.array(row), np.array(other)) == expected


def test_rows_are_numbered_by_the_columns_that_they_change():
    rows = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [3.0, 1.0], [0.0, 2.0]])
    groups = np.zeros(6, dtype=np.int64)
    group_rows(np.zeros(2), rows, groups)
    assert groups.tolist() == [0, 0, 2, 0, 4, 2]


def random_pool(rng, power):
    """Prices of three numbers and two choices of three levels, and rows of an applicant; no two plans cost the same."""
    gaps = np.kron(np.eye(3), rng.uniform(0.3, 1.5, (3, 3)))  # levels of a choice are numbered after the three numbers
    gaps = np.where(np.eye(9) > 0.0, 0.0, gaps + gaps.T)
    own = np.append(rng.uniform(0.0, 5.0, 3), [4.0, 7.0])
    rows = np.column_stack([rng.uniform(0.0, 5.0, (12, 3)), rng.integers(3, 6, 12), rng.integers(6, 9, 12)])
    rows = np.where(rng.random(rows.shape) < 0.6, own, rows)
    rows = rng.permutation(np.unique(rows[(rows != own).any(axis=1)], axis=0))
    return Prices(rng.uniform(0.3, 2.0, 3), gaps, rng.uniform(0.1, 0.6, 5), power), own, rows


def excluded(alike, own, rows):
    """Pairs of rows that cannot stand in one plan, (P, P)."""
    same = rows[:, None] == rows[None]
    one, other = (rows - own)[:, None, :3], (rows - own)[None, :, :3]
    asked = [(one == 0.0) | ((one * other > 0.0) & (np.abs(one) <= np.abs(other)))]
    asked.append((rows == own)[:, None, 3:] | same[..., 3:])
    less = np.concatenate(asked, axis=2).all(axis=2) & ~same.all(axis=2)
    return less | less.T | (np.abs(rows[:, None] - rows[None]) <= alike).all(axis=2)


def chosen_plainly(cost, prices, alike, own, rows, n_options):
    """Rows taken greedily, then exchanged one for another while that makes the plan better."""
    costs, distances = cost.effort(prices, own, rows), cost.distance(prices, rows[:, None], rows[None])
    apart, changed = ~excluded(alike, own, rows), rows != own

    def allowed(menu):
        _, with_same_columns = np.unique(changed[menu], axis=0, return_counts=True)
        return with_same_columns.max() <= 2 and all(apart[i, k] for i, k in combinations(menu, 2))

    def value(menu):
        return value_of(menu, costs, distances, costs.min())

    menu = [int(costs.argmin())]
    while len(menu) < n_options and (longer := [[*menu, k] for k in range(len(rows)) if allowed([*menu, k])]):
        menu = min(longer, key=value)
    before = None
    while menu != before:
        before = menu
        for j in range(len(menu)):
            others = [[*menu[:j], k, *menu[j + 1 :]] for k in range(len(rows))]
            menu = min(filter(allowed, others), key=value)
    return sorted(menu, key=lambda k: costs[k])


@pytest.mark.parametrize("cost", [L1(), L2()], ids=["l1", "l2"])
def test_the_choice_from_random_rows_is_that_of_the_plain_statement(cost):
    sizes = []
    for seed in range(40):
        rng = np.random.default_rng([31, seed])
        prices, own, rows = random_pool(rng, 2 if cost.name == "l2" else 1)
        alike, n_options = np.append(rng.uniform(0.0, 0.4, 3), np.zeros(2)), int(rng.integers(1, 6))
        chosen, size = np.zeros(n_options, dtype=np.int64), np.zeros(1, dtype=np.int64)
        level_prices = prices.gaps[own[3:].astype(int)].sum(axis=0)
        select_options(prices, Choice(own, own[:3], np.zeros(3), level_prices, rows, WEIGHT, alike, chosen, size))
        assert chosen[: size[0]].tolist() == chosen_plainly(cost, prices, alike, own, rows, n_options)
        sizes.append(size[0])
    assert set(sizes) == {1, 2, 3, 4, 5}
