import numpy as np
import pytest

from copa.theory.bounds import validity_bounds


@pytest.fixture
def bounds():
    """A plan with L* about 0.6 and more than one option in play."""
    points = np.array([[1.0, 0.5, 0.0], [1.0, 0.0, 0.5], [1.0, -0.3, 0.2]])
    return validity_bounds(points, [1.0, 0.2, 0.4], 0.15 * np.eye(3), 0.1)
