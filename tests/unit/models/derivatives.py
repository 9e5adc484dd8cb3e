"""Rows, and derivatives by plain central differences through a transformer's own output."""

import numpy as np
import pandas as pd
from numpy.testing import assert_allclose

from copa.models import jacobian_of

rng = np.random.default_rng(7)
X = rng.normal(size=(60, 3)) * [1.0, 2.0, 0.5]
ROWS = np.vstack([rng.normal(size=(8, 3)), [[0.0, 0.0, 0.0], [0.0, 0.3, 0.0], [0.7, 0.0, -0.2]]])
OUTSIDE = np.array([[-9.0, 11.0, 4.0], [8.0, -13.0, -5.0]])
INSIDE = np.clip(ROWS, X.min(axis=0) + 0.05, X.max(axis=0) - 0.05)
FRAME = pd.DataFrame(
    {
        "age": rng.integers(20, 60, 80),
        "job": rng.choice(["a", "b", "c"], 80),
        "income": rng.normal(3.0, 1.0, 80),
        "home": rng.choice(["own", "rent"], 80),
        "debt": rng.normal(0.0, 2.0, 80),
    }
)
LABELS = (FRAME["income"] + 0.1 * FRAME["age"] + (FRAME["job"] == "a") + rng.normal(size=80) > 7.3).to_numpy()
NUMBERS, TEXTS = ["age", "income", "debt"], ["job", "home"]


def dense(output):
    return np.asarray(output.toarray() if hasattr(output, "toarray") else output, dtype=float)


def slopes(transform, rows, columns=None, step=1e-5):
    """Central differences, column by column; the error of the step and of rounding are both below 1e-9."""
    is_frame = isinstance(rows, pd.DataFrame)
    columns = range(rows.shape[1]) if columns is None else columns
    blocks = []
    for column in columns:
        sides = []
        for sign in (1.0, -1.0):
            moved = rows.copy()
            if is_frame:
                moved[column] = moved[column].astype(float) + sign * step
            else:
                moved[:, column] += sign * step
            sides.append(dense(transform(moved)))
        blocks.append((sides[0] - sides[1]) / (2.0 * step))
    return np.stack(blocks, axis=2)


def assert_is_the_derivative(transformer, rows):
    found = jacobian_of(transformer, rows)
    expected = slopes(transformer.transform, rows)
    assert found.shape == expected.shape
    assert_allclose(found, expected, rtol=1e-6, atol=1e-8 * max(1.0, np.abs(expected).max()))
    assert np.abs(found).max() > 0.0
