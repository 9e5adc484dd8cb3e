"""Decisions of classifiers about rows, and labels in whatever types they are written."""

import numpy as np
import pytest

from copa.exceptions import InvalidInputError
from copa.models.decisions import accepts, match_label


@pytest.mark.parametrize(
    ("label", "labels", "match"),
    [
        (1, [0, 1], 1),
        ("1", [0, 1], 1),
        (1.0, ["0", "1"], "1"),
        (True, ["False", "True"], "True"),
        ("False", [False, True], False),
        (np.float32(2.5), [2.5, 1.0], 2.5),
        ("good", ["bad", " good"], " good"),
        ("good", ["bad", "Good"], None),
        (None, [0, 1], None),
        (np.nan, [np.nan, 1.0], None),
    ],
)
def test_a_label_is_found_however_it_is_written(label, labels, match):
    assert match_label(label, labels) is match or match_label(label, labels) == match


class Broken:
    classes_ = np.array(["no", "yes"])

    def __init__(self, answers):
        self._answers = answers

    def predict(self, _rows):
        if isinstance(self._answers, Exception):
            raise self._answers
        return self._answers


def test_an_error_of_the_model_is_its_own_unless_the_caller_names_the_model():
    rows = np.zeros((2, 1))
    with pytest.raises(KeyError):
        accepts(Broken(KeyError("x")), rows, "yes")
    with pytest.raises(InvalidInputError, match="the candidate refuses a row: `predict` of Broken raised Key"):
        accepts(Broken(KeyError("x")), rows, "yes", who="the candidate")


def test_answers_that_are_none_of_the_labels_are_refused():
    rows = np.zeros((2, 1))
    assert accepts(Broken(np.array(["yes", "no"])), rows, "yes").tolist() == [True, False]
    with pytest.raises(InvalidInputError, match=r"^the model cannot be asked: .* returned 'maybe', which is none of"):
        accepts(Broken(np.array(["yes", "maybe"])), rows, "yes")
    with pytest.raises(InvalidInputError, match=r"returned an array of shape \(3,\)"):
        accepts(Broken(np.array(["yes"] * 3)), rows, "yes")
