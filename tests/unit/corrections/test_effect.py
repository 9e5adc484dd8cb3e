import numpy as np
import pytest

from copa import validity_bounds
from copa.corrections import CorrectionEffect, correction_effect, mahalanobis_correction
from copa.exceptions import InvalidInputError

MEAN, COV = np.array([0.5, 1.0, -1.0]), 0.1 * np.eye(3)
BEFORE = np.array([[1.0, 0.5, 0.0], [1.0, 0.0, -0.5]])
AFTER = np.array([[1.0, 0.8, -0.4], [1.0, 0.0, -0.5]])


def test_it_reports_bounds_distances_and_changes():
    effect = correction_effect(BEFORE, AFTER, MEAN, COV, 0.05)
    assert isinstance(effect, CorrectionEffect)
    assert effect.lower_before == validity_bounds(BEFORE, MEAN, COV, 0.05).lower
    assert effect.lower_after == validity_bounds(AFTER, MEAN, COV, 0.05).lower
    np.testing.assert_allclose(effect.moved, [0.5, 0.0])
    np.testing.assert_array_equal(effect.changed, [True, False])


def test_the_drift_counts():
    drift = np.diag([0.0, 4.0, 0.0])
    effect = correction_effect(BEFORE, AFTER, MEAN, COV, 0.05, drift)
    assert effect.lower_before == validity_bounds(BEFORE, MEAN, COV, 0.05, drift).lower
    assert effect.lower_before != correction_effect(BEFORE, AFTER, MEAN, COV, 0.05).lower_before


def test_for_a_batch_each_field_has_a_leading_n():
    plans = np.stack([BEFORE, BEFORE + np.array([0.0, 0.1, 0.0]), AFTER])
    corrected = mahalanobis_correction(plans, MEAN, COV, n_corrections=1)
    effect = correction_effect(plans, corrected, MEAN, COV, 0.01)
    assert effect.lower_before.shape == effect.lower_after.shape == (3,)
    assert effect.moved.shape == effect.changed.shape == (3, 2)
    np.testing.assert_array_equal(effect.changed.sum(axis=1), [1, 1, 1])
    assert (effect.lower_after > effect.lower_before).all()


@pytest.mark.parametrize("after", [AFTER[:1], AFTER[None]])
def test_plans_of_different_shapes_are_not_compared(after):
    with pytest.raises(InvalidInputError, match="before and after must have one shape"):
        correction_effect(BEFORE, after, MEAN, COV, 0.05)
