"""Boxes around options: the room they have, and the numbers at their ends."""

import numpy as np
import pandas as pd
import pytest

from copa.data.schema import Feature, FeatureSchema
from copa.planner.search.problem import ActionSpace
from copa.planner.search.regions import read_regions
from copa.planner.strategies.intervals import MOST_COLUMNS, Boxes, fine_unit
from copa.plans.cost import L1

BASE = {"lower": 0.0, "upper": 20.0, "step": 1.0, "spread": 1.0}


def space_of(*features):
    return ActionSpace(FeatureSchema(features), features, L1())


def boxes_of(own, option, **fields):
    """The box, yet without extent, of an option in one column."""
    space = space_of(Feature("a", "numeric", **(BASE | fields)))
    values = np.array([[float(option)]])
    regions = read_regions(space, pd.DataFrame({"a": [float(own)]}))
    return Boxes.around(space, regions, values, values != own)


def widest(boxes):
    """Lower and upper end of a box that takes all its room."""
    all_of_it = boxes.extending(boxes.below, boxes.above)
    return all_of_it.lower.item(), all_of_it.upper.item()


@pytest.mark.parametrize(
    ("own", "option", "fields", "ends"),
    [
        (5, 8, {}, (6.0, 20.0)),  # never back to the applicant's own value
        (8, 5, {}, (0.0, 7.0)),
        (5.4, 8, {}, (6.0, 20.0)),  # an own value beside the steps
        (5, 8, {"max_change": {"up": 5.0}}, (6.0, 10.0)),
        (5, 8, {"upper": 12.5}, (6.0, 12.0)),
        (5, 8, {"special": (14.0,), "upper": None}, (6.0, 13.0)),  # a code is no amount
        (9, 5, {"special": (2.0,), "lower": None}, (3.0, 8.0)),
        (30, 12, {}, (0.0, 20.0)),  # an applicant outside the range comes into it
        (0.5, 0.7, {"lower": 0.0, "upper": 1.0, "step": 0.1}, (0.6, 1.0)),
        (0.5, 0.70049, {"lower": 0.0, "upper": 0.98765, "step": None}, (0.51, 0.98765)),
    ],
)
def test_a_box_has_the_room_that_its_applicant_has(own, option, fields, ends):
    assert widest(boxes_of(own, option, **fields)) == ends


def test_a_column_that_is_not_changed_has_no_room():
    boxes = boxes_of(5, 5)
    assert not (boxes.below + boxes.above).any()


def test_ends_between_steps_are_short_decimals_that_lie_in_the_box():
    boxes = boxes_of(0.5, 0.70049, lower=0.0, upper=1.0, step=None)
    grown = boxes.extending(np.array([[3]]), np.array([[4]]))
    assert (grown.lower.item(), grown.upper.item()) == (0.68, 0.74)
    still = boxes.extending(np.array([[0]]), np.array([[0]]))
    assert still.lower.item() == still.upper.item() == 0.70049


def test_the_fine_unit_is_a_power_of_ten():
    units = [fine_unit(Feature("a", "numeric", spread=spread)) for spread in (1.0, 3.0, 2500.0)]
    assert units == [0.01, 0.01, 10.0]


def test_only_the_columns_of_most_effort_get_an_interval():
    n = MOST_COLUMNS + 2
    space = space_of(*(Feature(f"c{k}", "numeric", **BASE) for k in range(n)))
    own = np.full((1, n), 5.0)
    values = own + np.arange(1.0, n + 1.0)
    regions = read_regions(space, pd.DataFrame(own, columns=[f"c{k}" for k in range(n)]))
    boxes = Boxes.around(space, regions, values, values != own)
    assert ((boxes.above > 0) == (np.arange(n) >= 2)).all()


def test_corners_are_all_combinations_of_ends():
    space = space_of(Feature("a", "numeric", **BASE), Feature("b", "numeric", **BASE), Feature("c", "numeric", **BASE))
    own, values = np.array([[1.0, 1.0, 1.0]]), np.array([[5.0, 7.0, 1.0]])
    regions = read_regions(space, pd.DataFrame(own, columns=["a", "b", "c"]))
    boxes = Boxes.around(space, regions, values, values != own).extending(np.array([[1, 0, 0]]), np.array([[2, 3, 0]]))
    which, numbers = boxes.corners(np.array([0]))
    assert which.tolist() == [0, 0, 0, 0]
    assert {tuple(row) for row in numbers.tolist()} == {(a, b, 1.0) for a in (4.0, 7.0) for b in (7.0, 10.0)}


def test_a_smaller_box_loses_at_least_a_step_on_each_side_and_never_the_option():
    boxes = boxes_of(1, 5).extending(np.array([[1]]), np.array([[9]]))
    some = np.array([0])
    once, half = boxes.shrunk(some, 0.0), boxes.shrunk(some, 0.5)
    assert (once.down.item(), once.up.item()) == (0, 8)
    assert (half.down.item(), half.up.item()) == (0, 4)
    assert boxes.shrunk(some, 1.0).up.item() == 0
