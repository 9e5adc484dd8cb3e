import numpy as np
import pandas as pd
import pytest

from copa.analysis.groups import MOST, compare_groups
from copa.data.schema import Feature, FeatureSchema

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
    return pd.DataFrame(rows | {"group": values} | columns)


def test_many_numbers_are_cut_into_quarters():
    groups = compare_groups(sample_of(list(range(100))), "age", SCHEMA)
    assert list(groups.index) == ["up to 24", "above 24, up to 49", "above 49, up to 74", "above 74"]
    assert groups["size"].tolist() == [25, 25, 25, 25]


def test_quarters_of_numbers_that_repeat_hold_everybody_once():
    ages = [20] * 60 + list(range(21, 61))
    groups = compare_groups(sample_of(ages), "age", SCHEMA)
    assert groups["size"].sum() == 100
    assert groups["size"].iloc[0] == 60


def test_few_numbers_are_groups_of_their_own():
    groups = compare_groups(sample_of([1, 2, 2, 3]), "age", SCHEMA)
    assert groups["size"].to_dict() == {"1": 1, "2": 2, "3": 1}


def test_values_come_in_the_order_and_the_words_of_the_schema():
    groups = compare_groups(sample_of(["l", "l", "s", "m"]), "size", SCHEMA)
    assert list(groups["size"].items()) == [("small", 1), ("middle", 1), ("large", 2)]


def test_a_missing_value_is_a_group():
    groups = compare_groups(sample_of([None, float("nan"), *range(20)]), "age", SCHEMA)
    assert list(groups["size"].items())[-1] == ("missing", 2)
    assert groups["size"].sum() == 22


def test_the_rarest_of_many_values_are_put_together():
    values = [f"town {k}" for k in range(20)] + ["town 3"] * 5
    groups = compare_groups(sample_of(values), "town", SCHEMA)
    assert len(groups) == MOST
    assert groups.index[0] == "town 3"
    assert groups["size"].sum() == 25


def test_numbers_of_a_group_are_those_of_its_members_with_options():
    each = np.array([0.2, np.nan, 0.8, 0.6, 0.61])
    effort = np.array([1.5, np.nan, 2.0, 3.0, 7.0])
    sample = sample_of(["a", "a", "b", "b", "b"], each=each, effort=effort)
    groups = compare_groups(sample, "town", SCHEMA).loc[["a", "b"]]
    assert groups["with_options"].tolist() == [1, 3]
    assert groups["each"].tolist() == [0.2, 0.61]
    assert groups["at_level"].tolist() == [0, 2]
    assert groups[[0.0, 0.25, 0.5, 0.75, 1.0]].to_numpy().tolist() == [[1.5] * 5, [2.0, 2.5, 3.0, 5.0, 7.0]]


@pytest.mark.parametrize("values", [[True, False, True], ["yes", "no", "yes"]])
def test_yes_and_no_are_two_groups(values):
    assert sorted(compare_groups(sample_of(values), "town", SCHEMA)["size"]) == [1, 2]
