import numpy as np
import pytest

from copa.exceptions import RetrainingError
from copa.models.refits.subsets import draw_subset, subset_size


def test_a_subset_holds_different_rows_of_both_classes():
    target = np.zeros(50)
    target[:2] = 1.0
    rng = np.random.default_rng(0)
    for _ in range(200):
        rows = draw_subset(target, 10, rng)
        assert rows.size == np.unique(rows).size == 10
        assert 1 <= target[rows].sum() <= 9


def test_every_row_is_drawn_equally_often():
    target = np.arange(20) % 2.0
    rng = np.random.default_rng(0)
    counts = np.bincount(np.concatenate([draw_subset(target, 10, rng) for _ in range(4000)]), minlength=20)
    assert np.abs(counts - 2000).max() < 6 * np.sqrt(1000)  # six standard deviations of a binomial count


def test_a_class_that_never_gets_in_is_an_error():
    target = np.zeros(100_000)
    target[0] = 1.0
    with pytest.raises(RetrainingError, match="the rarer has 1 of the 100000 rows"):
        draw_subset(target, 2, np.random.default_rng(0))


@pytest.mark.parametrize(("n_rows", "fraction", "size"), [(10, 0.5, 5), (10, 1.0, 10), (10, 0.01, 1), (7, 0.33, 2)])
def test_the_fraction_is_rounded_to_rows(n_rows, fraction, size):
    assert subset_size(n_rows, fraction) == size
