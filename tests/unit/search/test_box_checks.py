"""Boxes are checked completely where they have few rows, and at many drawn rows otherwise."""

import numpy as np

from copa.search.box_checks import check_boxes
from copa.search.boxes import Boxes


def _boxes(down, up):
    """Boxes of options at 100 in columns with a step of 1."""
    down, up = np.array(down, dtype=np.int64), np.array(up, dtype=np.int64)
    values = np.full(down.shape, 100.0)
    n = down.shape[1]
    rises = np.ones(down.shape, dtype=bool)
    return Boxes(values, np.ones(n), np.ones(n, bool), 0.0 * values, 1e6 + values, down, up, rises, down, up)


def test_a_box_of_few_rows_is_checked_completely_and_cut_for_a_single_row_that_fails():
    def all_but_one(which, numbers):
        return ~((numbers == [103.0, 98.0]).all(axis=1) & (which == 1))

    boxes, n_points = check_boxes(_boxes([[4, 4], [4, 4]], [[4, 4], [4, 4]]), all_but_one, n_rows=81)
    assert boxes.up[0].tolist() == boxes.down[0].tolist() == [4, 4]
    assert n_points[0] == 81
    assert boxes.up[1, 0] < 3 or boxes.down[1, 1] < 2
    assert n_points[1] == (boxes.down + boxes.up + 1)[1].prod()


def test_a_large_box_gives_up_a_margin_and_states_how_many_rows_were_drawn():
    asked = []

    def near(_, numbers):
        asked.append(numbers)
        return numbers[:, 0] <= 500.0

    boxes, n_points = check_boxes(_boxes([[0, 0]], [[1000, 1000]]), near, n_rows=50)
    assert boxes.up[0, 0] <= 400
    assert n_points.tolist() == [50] == [len(asked[-1])]
    assert (asked[-1] <= 100.0 + boxes.up[0]).all()


def test_a_box_in_which_nothing_holds_or_for_which_there_is_no_time_is_the_option_alone():
    for holds, deadline in ((lambda which, _: np.zeros(len(which), bool), np.inf), (None, -1.0)):
        boxes, n_points = check_boxes(_boxes([[9]], [[9]]), holds, n_rows=5, deadline=deadline)
        assert (boxes.down + boxes.up).max() == 0
        assert n_points.tolist() == [1]
