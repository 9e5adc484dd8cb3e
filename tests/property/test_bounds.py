"""What must hold of the bounds for every plan and every ball."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from property.strategies import MAX_OPTIONS, cases, plans, rotations, scales, semidefinite, vectors

# Where L* appears on both sides, each side is proven and at most the solver's gap (1e-9, before the rounding margin)
# below it. Hypothesis finds degenerate plans, where the solver stops a little earlier: the gap reported is added.
SOLVER = 2e-9
# `upper`, `any_lower` and `option_lower` come from a closed form and a one-dimensional search to 1e-9 in log k, at
# whose optimum the probability is flat.
SEARCH = 1e-9
# Where some mixture of options has no spread or no reach at all the search's Gram matrix is singular: the mixture found
# proves its bound, but may fall a little short of the best.
SINGULAR_SEARCH = 1e-6
# Comparisons of one and the same closed form, evaluated in another order.
ROUNDING = 1e-12

check = settings(max_examples=60)


def same_lower(a, b):
    """Whether two lower bounds may belong to one L*: the intervals proven by both meet."""
    return abs(a.lower - b.lower) <= SOLVER + max(a.gap, b.gap)


def search_tolerance(case):
    return SEARCH if case.is_regular else SINGULAR_SEARCH


def assert_same(case, a, b, order=slice(None)):
    """Bounds of two descriptions of the same plan; `order` takes the options of the first to those of the second."""
    assert same_lower(a, b)
    assert abs(a.upper - b.upper) <= search_tolerance(case)
    assert abs(a.any_lower - b.any_lower) <= search_tolerance(case)
    np.testing.assert_allclose(a.option_lower[order], b.option_lower, rtol=0.0, atol=ROUNDING)


@check
@given(cases())
def test_bounds_are_probabilities_in_order(case):
    bounds = case.bounds()
    assert 0.0 <= bounds.lower <= bounds.upper <= 1.0
    assert bounds.lower <= bounds.option_lower.min()
    assert bounds.option_lower.max() <= bounds.any_lower <= 1.0
    assert bounds.gap >= 0.0
    assert bounds.status in {"tight", "loose"}
    assert (bounds.weights >= 0.0).all()


@check
@given(cases())
def test_every_plan_is_tight_and_its_certificate_proves_it(case):
    bounds = case.bounds()
    proven = bounds.certificate.verify()
    assert bounds.status == "tight"
    assert abs(proven.lower - bounds.lower) <= ROUNDING
    assert proven.upper <= bounds.lower + bounds.gap + ROUNDING
    assert abs(proven.any_lower - bounds.any_lower) <= ROUNDING
    assert abs(proven.all_upper - bounds.upper) <= ROUNDING


@check
@given(cases(), st.sampled_from([1.01, 1.5, 4.0]))
def test_a_larger_ball_promises_less_and_rules_out_less(case, factor):
    small, large = case.bounds(), case.bounds(radius=case.radius * factor + 0.01)
    assert large.lower <= small.lower + small.gap + ROUNDING
    assert (large.option_lower <= small.option_lower + ROUNDING).all()
    assert large.any_lower <= small.any_lower + search_tolerance(case)
    assert large.upper >= small.upper - search_tolerance(case)


@check
@given(cases(), st.data())
def test_a_larger_covariance_promises_less(case, data):
    more = data.draw(semidefinite(case.mean.size))
    small, large = case.bounds(), case.bounds(cov=case.cov + more / 8.0)
    assert large.lower <= small.lower + small.gap + ROUNDING
    assert (large.option_lower <= small.option_lower + ROUNDING).all()
    assert large.any_lower <= small.any_lower + search_tolerance(case)


@check
@given(cases(), st.data())
def test_a_larger_drift_promises_less(case, data):
    drift = np.eye(case.mean.size) if case.drift is None else case.drift
    more = data.draw(semidefinite(case.mean.size))
    small, large = case.bounds(drift=drift), case.bounds(drift=drift + more)
    assert large.lower <= small.lower + small.gap + ROUNDING
    assert large.upper >= small.upper - search_tolerance(case)


@check
@given(cases(min_options=2), st.permutations(range(MAX_OPTIONS)))
def test_the_order_of_the_options_does_not_matter(case, permutation):
    order = [k for k in permutation if k < len(case.points)]
    assert_same(case, case.bounds(), case.bounds(points=case.points[order]), order)


@check
@given(cases(), st.integers(0, MAX_OPTIONS - 1))
def test_saying_an_option_twice_does_not_matter(case, k):
    k %= len(case.points)
    order = [*range(len(case.points)), k]
    assert_same(case, case.bounds(), case.bounds(points=case.points[order]), order)


@check
@given(cases(), st.lists(scales, min_size=MAX_OPTIONS, max_size=MAX_OPTIONS))
def test_the_length_of_an_option_does_not_matter(case, lengths):
    lengths = np.array(lengths)[: len(case.points)] * 1.1
    assert_same(case, case.bounds(), case.bounds(points=case.points * lengths[:, None]))


@check
@given(cases(regular=True), st.data())
def test_turning_all_of_parameter_space_does_not_matter(case, data):
    # Regular, because a spread of exactly zero is one only to rounding after the turn, and probabilities step there.
    turn = data.draw(rotations(case.mean.size))
    turned = replace(
        case,
        points=case.points @ turn.T,
        mean=turn @ case.mean,
        cov=symmetric(turn @ case.cov @ turn.T),
        drift=None if case.drift is None else symmetric(turn @ case.drift @ turn.T),
    )
    assert_same(case, case.bounds(), turned.bounds())


def symmetric(matrix):
    return 0.5 * (matrix + matrix.T)


@check
@given(cases(), scales)
def test_the_unit_of_the_parameters_does_not_matter(case, unit):
    unit *= 1.1
    scaled = replace(case, mean=case.mean * unit, cov=case.cov * unit**2, radius=case.radius * unit)
    assert_same(case, case.bounds(), scaled.bounds())


@check
@given(cases(with_drift=False), scales)
def test_a_round_drift_is_a_factor_of_the_radius(case, unit):
    drift = unit**2 * np.eye(case.mean.size)
    assert_same(case, case.bounds(drift=drift), case.bounds(radius=case.radius * unit))


@check
@given(cases(with_drift=True))
def test_the_unit_of_the_drift_is_the_inverse_unit_of_the_radius(case):
    assert_same(case, case.bounds(), case.bounds(drift=4.0 * case.drift, radius=case.radius / 2.0))


@check
@given(cases(min_options=2), st.integers(0, MAX_OPTIONS - 1))
def test_dropping_an_option_makes_all_surer_and_any_less_sure(case, k):
    fewer = np.delete(case.points, k % len(case.points), axis=0)
    full, rest = case.bounds(), case.bounds(points=fewer)
    assert rest.lower >= full.lower - SOLVER - rest.gap
    assert rest.upper >= full.upper - search_tolerance(case)
    assert rest.any_lower <= full.any_lower + search_tolerance(case)


@check
@given(cases(min_options=2, inside=True), st.data())
def test_a_mixture_of_options_is_implied_by_them(case, data):
    weights = np.abs(data.draw(vectors(len(case.points)))) + 0.25
    mixed = (weights @ case.points)[None]
    full = case.bounds()
    single = case.bounds(points=mixed)
    assert single.option_lower[0] >= full.lower - ROUNDING
    assert single.option_lower[0] <= full.any_lower + search_tolerance(case)
    # Adding it to the plan changes nothing.
    more = case.bounds(points=np.concatenate([case.points, mixed]))
    assert same_lower(full, more)


@check
@given(cases(inside=True))
def test_a_mean_inside_rules_nothing_out(case):
    assert case.bounds().upper == 1.0


@check
@given(st.data())
def test_a_mean_that_rejects_an_option_promises_nothing(data):
    case = data.draw(cases(inside=True))
    rejected = np.concatenate([case.points, -case.points[:1]])
    bounds = case.bounds(points=rejected)
    assert bounds.lower == 0.0
    assert bounds.gap == 0.0


@check
@given(cases(), st.data())
def test_no_two_points_do_worse_or_better(case, data):
    # A distribution of two atoms has the covariance of its one direction: bounds at these moments must respect it.
    direction = data.draw(vectors(case.mean.size)) / 4.0
    share = data.draw(st.sampled_from([0.05, 0.2, 0.5, 0.8]))
    places = np.array([np.sqrt((1.0 - share) / share), -np.sqrt(share / (1.0 - share))])
    scores = (case.mean + np.outer(places, direction)) @ case.points.T
    masses = np.array([share, 1.0 - share])
    bounds = case.bounds(cov=np.outer(direction, direction))
    # An atom on a boundary counts for the side that makes the statement weaker: it is there to rounding only.
    assert bounds.lower <= masses @ (scores >= -1e-9).all(axis=1) + ROUNDING
    assert bounds.upper >= masses @ (scores >= 1e-9).all(axis=1) - ROUNDING
    assert bounds.any_lower <= masses @ (scores >= -1e-9).any(axis=1) + ROUNDING


@check
@given(st.data())
def test_a_batch_of_plans_is_each_of_them(data):
    case = data.draw(cases(inside=True))
    other = data.draw(plans(case.mean, min_options=MAX_OPTIONS))
    batch = case.bounds(points=np.stack([np.resize(case.points, other.shape), other]))
    alone = case.bounds(points=other)
    assert batch[1].lower == alone.lower
    assert batch[1].upper == alone.upper
    assert batch[1].any_lower == alone.any_lower
