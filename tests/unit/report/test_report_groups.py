import numpy as np
import pytest

from copa.analysis.groups import MOST, compare_groups
from copa.analysis.totals import RowSample
from copa.schema import Feature, FeatureSchema

SCHEMA = FeatureSchema(
    [
        Feature("age", "integer"),
        Feature("size", "ordinal", values=["s", "m", "l"], labels={"s": "small", "m": "middle", "l": "large"}),
    ]
)


def sample_of(group, **columns):
    n = len(group)
    values = np.empty(n, dtype=object)
    values[:] = group
    numbers = np.linspace(0.0, 1.0, n)
    rows = {"each": numbers, "any": numbers, "all": numbers, "effort": numbers + 1.0, "ok": numbers > 0.5}
    sample = RowSample()
    sample.add(rows | {"group": values} | columns)
    return sample


def test_many_numbers_are_cut_into_quarters():
    groups = compare_groups(sample_of(list(range(100))), "age", SCHEMA)
    assert [group.name for group in groups] == ["up to 24", "above 24, up to 49", "above 49, up to 74", "above 74"]
    assert [group.size for group in groups] == [25, 25, 25, 25]


def test_quarters_of_numbers_that_repeat_hold_everybody_once():
    ages = [20] * 60 + list(range(21, 61))
    groups = compare_groups(sample_of(ages), "age", SCHEMA)
    assert sum(group.size for group in groups) == 100
    assert groups[0].size == 60


def test_few_numbers_are_groups_of_their_own():
    groups = compare_groups(sample_of([1, 2, 2, 3]), "age", SCHEMA)
    assert {group.name: group.size for group in groups} == {"1": 1, "2": 2, "3": 1}


def test_values_come_in_the_order_and_the_words_of_the_schema():
    groups = compare_groups(sample_of(["l", "l", "s", "m"]), "size", SCHEMA)
    assert [(group.name, group.size) for group in groups] == [("small", 1), ("middle", 1), ("large", 2)]


def test_a_missing_value_is_a_group():
    groups = compare_groups(sample_of([None, float("nan"), *range(20)]), "age", SCHEMA)
    assert (groups[-1].name, groups[-1].size) == ("missing", 2)
    assert sum(group.size for group in groups) == 22


def test_the_rarest_of_many_values_are_put_together():
    values = [f"town {k}" for k in range(20)] + ["town 3"] * 5
    groups = compare_groups(sample_of(values), "town", SCHEMA)
    assert len(groups) == MOST
    assert groups[0].name == "town 3"
    assert sum(group.size for group in groups) == 25


def test_numbers_of_a_group_are_those_of_its_members_with_options():
    each = np.array([0.2, np.nan, 0.8, 0.6])
    groups = compare_groups(sample_of(["a", "a", "b", "b"], each=each), "town", SCHEMA)
    assert [group.with_options for group in groups] == [1, 2]
    assert groups[1].each.tolist() == [0.8, 0.6]
    assert [group.at_level for group in groups] == [0, 2]


@pytest.mark.parametrize("values", [[True, False, True], ["yes", "no", "yes"]])
def test_yes_and_no_are_two_groups(values):
    assert sorted(group.size for group in compare_groups(sample_of(values), "town", SCHEMA)) == [1, 2]
