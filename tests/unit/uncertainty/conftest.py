import numpy as np
import pytest


@pytest.fixture(scope="session")
def credit():
    """Three hundred rows of a noisy linear rule with unequal classes and features in different units."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(300, 5)) * [1.0, 10.0, 0.1, 1.0, 3.0] + [0.0, 5.0, 0.0, -1.0, 0.0]
    score = X @ [1.0, 0.05, -8.0, 0.5, 0.0] - 0.8
    return X, (score + rng.logistic(size=300) > 0.0).astype(int)
