"""Boxes around options of linear models, against every row of the grid inside them and the plain formula."""

from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from copa.data.schema import Feature, FeatureSchema
from copa.planner.search.problem import ActionSpace, Linearisation
from copa.planner.search.regions import read_regions
from copa.planner.search.run import Goals
from copa.planner.strategies.intervals import Boxes, grow_to_level
from copa.plans.cost import L1
from copa.theory.sets.ambiguity import AmbiguitySet, MomentBall
from copa.theory.sets.location_set import LocationSet
from property.strategies import semidefinite, vectors

LAST = 12  # of every column's range, which begins at 0
ROUNDING = 1e-9  # the formula is evaluated in another order of operations


@dataclass(frozen=True)
class Case:
    """An option of one applicant, whom a linear model reads as they are."""

    linear: Linearisation
    ambiguity: AmbiguitySet
    applicant: pd.DataFrame
    option: pd.DataFrame
    level: float

    @property
    def space(self) -> ActionSpace:
        return self.linear.space

    @property
    def value(self) -> np.ndarray:
        return self.option.to_numpy(dtype=np.float64)

    def boxes(self) -> Boxes:
        """The box of the option, grown."""
        regions = read_regions(self.space, self.applicant)
        around = Boxes.around(self.space, regions, self.value, self.value != regions.numbers)
        goals = Goals(self.ambiguity, np.array([self.level]), np.zeros(1)).arrays()
        slack = self.space.slack(self.option)
        return grow_to_level(self.linear, around, np.insert(self.value, 0, 1.0, axis=1), slack, goals)

    def holds(self, rows: np.ndarray, tolerance: float) -> np.ndarray:
        """Whether rows (P, L) reach the level, are accepted and obey the rules, by the formulas."""
        points = np.insert(rows, 0, 1.0, axis=1)
        set_ = self.ambiguity
        drift = np.eye(set_.dimension) if set_.drift is None else set_.drift
        std, length = (
            np.sqrt(np.maximum(np.einsum("pi,ij,pj->p", points, matrix, points), 0.0)) for matrix in (set_.cov, drift)
        )
        b, c = set_.level_coefficients(self.level)
        surplus = points @ set_.mean - b * std - c * set_.radius * length
        good = (surplus >= -tolerance) & (points @ self.linear.theta >= -tolerance)
        for rule in self.space.schema.rules:
            names = [feature.name for feature in self.space.numeric]
            total = sum(share * rows[:, names.index(name)] for name, share in rule.coefficients.items())
            good &= total <= rule.upper + tolerance
        return good


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """One to three columns, steps of different sizes, sometimes a rule; the option holds by much or by little."""
    n = draw(st.integers(1, 3))
    own, option = (2.0 * np.array(draw(st.lists(st.integers(0, 6), min_size=n, max_size=n))) for _ in range(2))
    assume(bool((own != option).any()))
    features = tuple(
        Feature(
            name,
            "numeric",
            lower=0.0,
            upper=float(LAST),
            step=draw(st.sampled_from([1.0, 2.0, 0.5])),
            direction=draw(st.sampled_from(["both", "increase" if after >= before else "decrease"])),
            spread=1.0,
        )
        for name, before, after in zip("abc", own, option, strict=False)
    )
    rules = (f"a + b <= {option[:2].sum() + draw(st.integers(0, 3))}",) if n > 1 and draw(st.booleans()) else ()
    mean, cov, drift = draw(vectors(n + 1)), draw(semidefinite(n + 1)), draw(semidefinite(n + 1))
    kind, family = draw(st.sampled_from([MomentBall, LocationSet])), draw(st.sampled_from(["any", "unimodal"]))
    ambiguity = kind(mean, cov, draw(st.sampled_from([0.0, 0.25, 1.0])), drift, family=family)
    level, point = draw(st.sampled_from([0.5, 0.8, 0.9])), np.insert(option, 0, 1.0)
    b, c = ambiguity.level_coefficients(level)
    needed = b * np.sqrt(max(point @ cov @ point, 0.0)) + c * ambiguity.radius * np.sqrt(
        max(point @ drift @ point, 0.0)
    )
    mean = mean + np.eye(n + 1)[0] * (needed - mean @ point + draw(st.sampled_from([0.0, 0.25, 2.0])))
    ambiguity = kind(mean, cov, ambiguity.radius, drift, family=family)
    reached = float(ambiguity.option_guarantees(point[None])[0])
    assume(reached > 0.01)
    space = ActionSpace(FeatureSchema(features, rules), features, L1())
    linear = Linearisation.of(space, np.eye(n + 1)[1:], ambiguity, mean)
    rows = [pd.DataFrame([row], columns=[feature.name for feature in features]) for row in (own, option)]
    return Case(linear, ambiguity, rows[0], rows[1], min(level, reached - ROUNDING))


def grid(case: Case, boxes: Boxes) -> np.ndarray:
    """Every row of the grid in the box of a case, (P, L)."""
    axes = [
        np.arange(low, high + 1e-9, feature.step) if low < high else np.array([low])
        for low, high, feature in zip(boxes.lower[0], boxes.upper[0], case.space.numeric, strict=True)
    ]
    return np.array(list(product(*axes)))


@given(case=cases())
def test_every_row_of_the_grid_inside_a_box_holds(case):
    boxes = case.boxes()
    assert case.holds(grid(case, boxes), ROUNDING).all()
    rows = pd.DataFrame(grid(case, boxes), columns=case.option.columns)
    assert case.space.schema.obeys(case.applicant.iloc[[0] * len(rows)], rows).all()


@given(case=cases())
@settings(max_examples=40)
def test_no_larger_share_of_the_room_would_do(case):
    """Neither away from the applicant nor, with that side as it is, towards it."""
    boxes = case.boxes()
    sides = np.where(boxes.rises, boxes.up, boxes.down), np.where(boxes.rises, boxes.down, boxes.up)
    rooms = np.where(boxes.rises, boxes.above, boxes.below), np.where(boxes.rises, boxes.below, boxes.above)
    for towards in (False, True):
        counts, room = sides[towards], rooms[towards]
        if (counts >= room).all():
            continue
        share = ((counts + 1) / np.maximum(room, 1))[counts < room].min()  # at which the next column grows by a unit
        more = np.minimum(np.floor(share * room + 1e-9).astype(np.int64), room)
        away, back = (sides[0], more) if towards else (more, np.zeros_like(more))
        larger = boxes.extending(np.where(boxes.rises, back, away), np.where(boxes.rises, away, back))
        assert not case.holds(larger.corners(np.array([0]))[1], -ROUNDING).all()


@given(case=cases())
@settings(max_examples=40)
def test_a_box_holds_the_option_and_changes_in_its_direction_only(case):
    boxes, own = case.boxes(), case.applicant.to_numpy(dtype=np.float64)
    lower, upper = boxes.lower, boxes.upper
    assert (lower <= case.value).all()
    assert (upper >= case.value).all()
    changed = case.value != own
    assert ((np.sign(lower - own) == np.sign(case.value - own)) | ~changed).all()
    assert ((np.sign(upper - own) == np.sign(case.value - own)) | ~changed).all()
    assert ((lower == upper) | changed).all()
