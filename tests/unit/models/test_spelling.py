"""Values written the way a column writes them."""

import numpy as np
import pandas as pd
import pytest

from copa import Feature
from copa.exceptions import InvalidInputError
from copa.models.spelling import spell_choices, spell_numbers

GRADES = Feature("grade", "ordinal", values=[1, 2, 3])
TRUTHS = Feature("truth", "binary", values=[False, True])
JOBS = Feature("job", "categorical", values=["a", "b", "c"])


@pytest.mark.parametrize("dtype", ["int64", "int8", "float64", "float32", "Int64", "object", "category"])
def test_numbers_take_the_type_of_the_column(dtype):
    like = pd.Series([5, 7, 7]).astype(dtype)
    spelled = spell_numbers(np.array([1.0, 2.0]), like)
    assert spelled.tolist() == [1, 2]
    assert spelled.dtype == ("int64" if dtype == "category" else dtype)
    assert {type(entry) for entry in spelled} == {type(entry) for entry in like}


@pytest.mark.parametrize(
    ("feature", "entries", "expected"),
    [
        (GRADES, pd.Series([1, 2]), [1, 3]),
        (GRADES, pd.Series([1.0, 2.0]), [1.0, 3.0]),
        (GRADES, pd.Series(["1", "2"]), ["1", "3"]),
        (GRADES, pd.Series(["1", "2"], dtype=object), ["1", "3"]),
        (GRADES, pd.Series([1, 2], dtype=object), [1, 3]),
        (GRADES, pd.Series(pd.Categorical(["1"], ["3", "1", "2"])), ["1", "3"]),
        (TRUTHS, pd.Series([False, False]), [False]),
        (TRUTHS, pd.Series([0, 0]), [0]),
        (JOBS, pd.Series(["a", None], dtype=object), ["a", "c"]),
    ],
)
def test_choices_are_spelled_as_the_column_does_even_unseen_ones(feature, entries, expected):
    codes = [0] if len(expected) == 1 else [0, 2]
    spelled = spell_choices(feature, np.array(codes), entries)
    assert spelled.tolist() == expected
    assert [type(entry) for entry in spelled.tolist()] == [type(entry) for entry in expected]
    assert spelled.dtype == entries.dtype


def test_a_category_that_a_column_cannot_hold_is_an_error():
    with pytest.raises(InvalidInputError, match=r"'job'.*'c'.*categories"):
        spell_choices(JOBS, np.array([0]), pd.Series(["a", "b"], dtype="category"))
