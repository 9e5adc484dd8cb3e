import numpy as np
import pandas as pd
import pytest

from copa.analysis.totals import RowSample


def filled(numbers, size, cuts):
    sample = RowSample(size)
    for block in np.split(numbers, cuts):
        sample.add(pd.DataFrame({"number": block, "twice": 2 * block}))
    return sample


def test_a_few_rows_are_all_kept_in_order():
    sample = filled(np.arange(50), 100, [7, 7, 30])
    assert sample.rows["number"].tolist() == list(range(50))
    assert sample.is_complete


def test_many_rows_leave_a_sample_of_the_size_asked_for_with_columns_that_belong_together():
    sample = filled(np.arange(5000), 100, [1, 2500])
    assert (len(sample), sample.seen, sample.is_complete) == (100, 5000, False)
    assert len(set(sample.rows["number"].tolist())) == 100
    assert (sample.rows["twice"] == 2 * sample.rows["number"]).all()


@pytest.mark.parametrize("cuts", [[], [10], [10, 2000, 4999]])
def test_how_rows_are_cut_into_blocks_makes_no_difference(cuts):
    expected = filled(np.arange(5000), 100, [77]).rows["number"]
    assert filled(np.arange(5000), 100, cuts).rows["number"].tolist() == expected.tolist()


def test_late_rows_are_kept_as_often_as_early_ones():
    numbers = filled(np.arange(100_000), 2000, range(1000, 100_000, 1000)).rows["number"]
    late = (numbers >= 50_000).mean()
    assert abs(late - 0.5) < 4 * np.sqrt(0.25 / 2000)  # four standard deviations of a fair draw
