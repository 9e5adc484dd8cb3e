"""What must hold of the corrections for every plan, ball and limits."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from copa.exceptions import InvalidInputError
from copa.theory.corrections import mahalanobis_correction, requirement_correction
from property.strategies import MAX_OPTIONS, Array, Case, cases, scales

# Ratios are quotients of rounded sums; between two descriptions of one option they differ by as much. Where a spread
# nearly cancels it is known to its rounding errors only, so ratios above this are all alike.
ROUNDING = 1e-7
CERTAIN = 1e4

check = settings(max_examples=80)
few = settings(check, max_examples=25)


@dataclass(frozen=True)
class Task:
    """A plan in its ball, and what may change."""

    case: Case
    budget: float
    fixed: npt.NDArray[np.bool_]
    lower: Array
    upper: Array

    @property
    def limits(self) -> dict[str, Array]:
        return {"fixed": self.fixed, "lower": self.lower, "upper": self.upper}

    @property
    def held(self) -> npt.NDArray[np.bool_]:
        return self.fixed | (np.arange(self.fixed.size) == 0)

    def mahalanobis(self, **changes) -> Array:
        arguments = {"points": self.case.points, "mean": self.case.mean, "cov": self.case.cov, "budget": self.budget}
        ball = {"radius": self.case.radius, "drift": self.case.drift}
        return mahalanobis_correction(**(arguments | ball | self.limits | changes))

    def ratios(self, points: Array) -> Array:
        """Ratios in which all certain scores are alike, and all that are not positive."""
        scores = points @ self.case.mean
        spreads = np.sqrt(np.maximum(np.einsum("jd,de,je->j", points, self.case.cov, points), 0.0))
        return np.minimum(np.maximum(scores, 0.0) / np.maximum(spreads, 1e-300), CERTAIN)

    def assert_kept(self, corrected: Array) -> None:
        """Fixed coordinates to the last bit, bounds exactly, the budget to rounding."""
        points = self.case.points
        np.testing.assert_array_equal(corrected[:, self.held], points[:, self.held])
        assert (corrected >= self.lower)[:, ~self.held].all()
        assert (corrected <= self.upper)[:, ~self.held].all()
        assert (np.linalg.norm(corrected - points, axis=1) <= self.budget + 1e-9).all()


@st.composite
def tasks(draw: st.DrawFn, **kind) -> Task:
    """Cases with limits; the box holds the plan, often with options on its faces."""
    case = draw(cases(**kind))
    dimension = case.mean.size
    flags = st.lists(st.booleans(), min_size=dimension, max_size=dimension).map(np.array)
    rooms = st.lists(st.sampled_from([0.0, 0.0, 0.05, 0.5, np.inf]), min_size=dimension, max_size=dimension)
    fixed = draw(flags) & draw(flags)
    lower = case.points.min(axis=0) - np.array(draw(rooms))
    upper = case.points.max(axis=0) + np.array(draw(rooms))
    return Task(case, draw(st.sampled_from([0.0, 0.01, 0.1, 0.5, 3.0])), fixed, lower, upper)


@check
@given(tasks())
def test_mahalanobis_keeps_what_is_fixed_the_bounds_and_the_budget(task):
    task.assert_kept(task.mahalanobis())


@check
@given(tasks(), st.integers(1, MAX_OPTIONS))
def test_mahalanobis_moves_no_more_options_than_asked(task, count):
    count = min(count, len(task.case.points))
    corrected = task.mahalanobis(n_corrections=count)
    assert (corrected != task.case.points).any(axis=1).sum() <= count


@few
@given(tasks(regular=True))
def test_worst_case_moments_keep_the_limits_too(task):
    task.assert_kept(task.mahalanobis(moments="worst_case"))


@check
@given(tasks())
def test_mahalanobis_never_lowers_a_ratio(task):
    before, after = task.ratios(task.case.points), task.ratios(task.mahalanobis())
    assert (after >= before * (1.0 - ROUNDING)).all()


@check
@given(tasks())
def test_mahalanobis_never_lowers_a_score_that_is_not_positive(task):
    before, after = task.case.points @ task.case.mean, task.mahalanobis() @ task.case.mean
    assert (after >= np.minimum(before, 0.0) - 1e-12).all()


@check
@given(tasks(), st.sampled_from([1.5, 10.0]))
def test_a_larger_budget_reaches_no_smaller_ratio(task, factor):
    small, large = task.mahalanobis(), task.mahalanobis(budget=task.budget * factor)
    assert (task.ratios(large) >= task.ratios(small) * (1.0 - ROUNDING)).all()


@check
@given(tasks())
def test_more_freedom_reaches_no_smaller_ratio(task):
    free = task.mahalanobis(fixed=None, lower=None, upper=None)
    assert (task.ratios(free) >= task.ratios(task.mahalanobis()) * (1.0 - ROUNDING)).all()


@check
@given(tasks(regular=True), scales, scales)
def test_the_units_of_mean_and_covariance_do_not_matter(task, unit, other):
    scaled = task.mahalanobis(mean=task.case.mean * unit * 1.1, cov=task.case.cov * other * 1.3)
    np.testing.assert_allclose(task.ratios(scaled), task.ratios(task.mahalanobis()), rtol=ROUNDING, atol=ROUNDING)


@check
@given(tasks(min_options=2), st.permutations(range(MAX_OPTIONS)))
def test_the_order_of_the_options_does_not_matter(task, permutation):
    order = [k for k in permutation if k < len(task.case.points)]
    turned = task.mahalanobis(points=task.case.points[order])
    np.testing.assert_allclose(
        task.ratios(turned), task.ratios(task.mahalanobis())[order], rtol=ROUNDING, atol=ROUNDING
    )


@check
@given(tasks(min_options=2))
def test_every_option_is_corrected_by_itself(task):
    alone = np.concatenate([task.mahalanobis(points=point[None]) for point in task.case.points])
    np.testing.assert_allclose(task.ratios(alone), task.ratios(task.mahalanobis()), rtol=ROUNDING, atol=ROUNDING)


@check
@given(tasks(regular=True), st.data())
def test_the_order_of_the_coordinates_does_not_matter(task, data):
    # Of those that may move: the first is the intercept.
    rest = data.draw(st.permutations(range(1, task.case.mean.size)))
    order = [0, *rest]
    case = task.case
    turned = replace(
        task,
        case=Case(case.points[:, order], case.mean[order], case.cov[np.ix_(order, order)], 0.0),
        fixed=task.fixed[order],
        lower=task.lower[order],
        upper=task.upper[order],
    )
    ratios = task.ratios(task.mahalanobis(radius=0.0, drift=None))
    np.testing.assert_allclose(turned.ratios(turned.mahalanobis()), ratios, rtol=ROUNDING, atol=ROUNDING)


def required(task: Task, margin: float) -> Array:
    """Requirement correction; cases in which the margin cannot be reached are not considered."""
    try:
        return requirement_correction(task.case.points, task.case.mean, margin=margin, **task.limits)
    except InvalidInputError:
        assume(False)
        raise


margins = st.sampled_from([0.0, 0.1, 1.0])


@check
@given(tasks(), margins)
def test_a_requirement_is_met_and_the_limits_are_kept(task, margin):
    corrected = required(task, margin)
    assert (corrected @ task.case.mean >= margin).all()
    replace(task, budget=np.inf).assert_kept(corrected)


@check
@given(tasks(), margins)
def test_a_requirement_that_is_met_asks_for_nothing_more(task, margin):
    corrected = required(task, margin)
    again = requirement_correction(corrected, task.case.mean, margin=margin, **task.limits)
    np.testing.assert_array_equal(again, corrected)


@check
@given(tasks(), margins, st.sampled_from([0.25, 0.5, 0.9]))
def test_no_point_on_the_way_back_meets_the_requirement(task, margin, share):
    # A shorter move in the same direction falls short, unless there was nothing to do.
    corrected = required(task, margin)
    moved = (corrected != task.case.points).any(axis=1)
    halfway = task.case.points + share * (corrected - task.case.points)
    assert (halfway[moved] @ task.case.mean < margin).all()


@check
@given(tasks(), margins, scales)
def test_the_unit_of_the_requirement_does_not_matter(task, margin, unit):
    corrected = required(task, margin)
    scaled = requirement_correction(task.case.points, task.case.mean * unit, margin=margin * unit, **task.limits)
    np.testing.assert_allclose(scaled, corrected, rtol=0.0, atol=1e-9)
