import numpy as np
import pytest

from copa.exceptions import InvalidInputError
from copa.models.refits.retraining import TrainingData


def test_the_larger_label_is_the_positive_one():
    data = TrainingData.read(np.zeros((3, 1)), ["good", "bad", "good"])
    assert data.classes.tolist() == ["bad", "good"]
    assert data.target.tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.ma.masked_array([0, 1, 1], mask=[False, False, True]), "y must have no masked entries; fill them"),
        ([0.0, 1.0, np.nan], r"y must be finite, got nan at index \(2,\)"),
        (np.array(["a", "b", None], dtype=object), "labels of one type without missing values"),
        ([[0], [1], [1]], r"y must have shape \(3,\), one label per row of X, got \(3, 1\)"),
    ],
)
def test_labels_that_cannot_be_used_are_refused(y, message):
    with pytest.raises(InvalidInputError, match=message):
        TrainingData.read(np.zeros((3, 1)), y)
