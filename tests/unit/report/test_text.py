import numpy as np
import pytest

import copa
from copa.report import bounds_table
from unit.theory.bounds.unimodal import UnimodalMeanSet

MEAN, COV = np.array([1.0, 1.0]), 0.1 * np.eye(2)
PLAN = np.array([[1.0, 0.2], [1.0, -0.2]])


def test_every_option_and_the_whole_plan_have_a_line():
    table = bounds_table(copa.validity_bounds(PLAN, MEAN, COV, 0.1), ["work more", "borrow less"])
    lines = table.splitlines()
    assert lines[1].startswith("work more")
    assert lines[2].startswith("borrow less")
    assert [line.split("  ")[0] for line in lines[4:6]] == ["at least one option", "all options"]


def test_the_option_that_breaks_first_is_marked():
    table = bounds_table(copa.validity_bounds(PLAN, MEAN, COV, 0.1))
    assert [line.endswith("breaks first") for line in table.splitlines()[1:3]] == [False, True]


def test_shown_values_are_rounded_down():
    bounds = copa.validity_bounds(PLAN, MEAN, COV, 0.1)
    shown = float(bounds_table(bounds).splitlines()[5].split("at least ")[1].split()[0])
    assert bounds.lower - 0.001 < shown <= bounds.lower


def test_an_upper_bound_that_says_something_is_shown_rounded_up():
    bounds = copa.validity_bounds(PLAN, -MEAN, COV, 0.1)
    shown = float(bounds_table(bounds).splitlines()[6].split("at most")[1])
    assert bounds.upper <= shown < bounds.upper + 0.001


def test_nothing_breaks_first_where_nothing_is_promised():
    assert "breaks first" not in bounds_table(copa.validity_bounds(PLAN, -MEAN, COV, 0.1))


def test_a_certain_plan_has_a_nearly_full_bar():
    table = bounds_table(copa.validity_bounds(PLAN, MEAN, np.zeros((2, 2))))
    assert table.splitlines()[5].count("█") >= 19


def test_an_invalid_plan_of_a_batch_says_what_is_wrong():
    batch = copa.validity_bounds(np.stack([PLAN, PLAN * np.nan]), MEAN, COV)
    assert bounds_table(batch[1]) == "not a plan: points must be finite, got nan at index (0, 0)"


@pytest.mark.parametrize("names", [["one"], ["one", "two", "three"]])
def test_names_must_match_the_options(names):
    with pytest.raises(copa.InvalidInputError, match="names must have one entry per option, 2, got"):
        bounds_table(copa.validity_bounds(PLAN, MEAN, COV), names)


def test_names_are_shown_and_not_obeyed():
    table = bounds_table(copa.validity_bounds(PLAN, MEAN, COV), ["\x1b[31mone", "two\n\u202e"])
    assert r"\x1b[31mone" in table
    assert r"two\n\u202e" in table


def test_a_whole_batch_is_refused():
    with pytest.raises(copa.InvalidInputError, match=r"pass bounds\[i\]"):
        bounds_table(copa.validity_bounds(PLAN[None], MEAN, COV))


def test_no_exact_value_is_spoken_of_where_the_bounds_are_loose():
    bounds = copa.bound_plans(UnimodalMeanSet(MEAN, COV, 0.1), PLAN, np.array([0, 0]), 1)[0]
    assert bounds_table(bounds).endswith("Proven by a certificate.")
