"""Random plans and balls for property tests, drawn by hypothesis.

Numbers are built from small integers and a few powers of two, so that examples shrink to something readable and no
draw is so extreme that a tolerance would have to be about conditioning.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from hypothesis import assume
from hypothesis import strategies as st

from copa.theory.bounds import ValidityBounds, validity_bounds

Array = npt.NDArray[np.float64]

MAX_DIMENSION = 5
MAX_OPTIONS = 5
RIDGE = 2.0**-8  # added to a matrix that is to be regular


@dataclass(frozen=True)
class Case:
    """A plan and the ball it is judged in."""

    points: Array
    mean: Array
    cov: Array
    radius: float
    drift: Array | None = None

    @property
    def is_regular(self) -> bool:
        """Whether every score spreads and can be moved: no mixture of options is certain, or out of reach."""
        drift = np.eye(self.mean.size) if self.drift is None else self.drift
        return bool(np.linalg.eigvalsh(self.cov)[0] >= RIDGE / 2.0 and np.linalg.eigvalsh(drift)[0] >= RIDGE / 2.0)

    def bounds(self, **changes) -> ValidityBounds:
        """Bounds, with some of the arguments replaced."""
        arguments = {name: getattr(self, name) for name in ("points", "mean", "cov", "radius", "drift")}
        return validity_bounds(**(arguments | changes))


coordinates = st.integers(-12, 12).map(lambda k: k / 4.0)
scales = st.integers(-3, 3).map(lambda k: 2.0**k)


def vectors(length: int) -> st.SearchStrategy[Array]:
    """Vectors of a given length."""
    return st.lists(coordinates, min_size=length, max_size=length).map(np.array)


def matrices(rows: int, columns: int) -> st.SearchStrategy[Array]:
    """Matrices of a given shape."""
    return vectors(rows * columns).map(lambda v: v.reshape(rows, columns))


def semidefinite(order: int) -> st.SearchStrategy[Array]:
    """Positive semidefinite matrices F F' / order, often singular, sometimes zero."""
    return st.integers(0, order).flatmap(lambda k: matrices(order, k)).map(lambda f: f @ f.T / order)


@st.composite
def rotations(draw: st.DrawFn, order: int) -> Array:
    """Orthogonal matrices."""
    return np.linalg.qr(draw(matrices(order, order)) + 13.0 * np.eye(order))[0]


@st.composite
def plans(draw: st.DrawFn, mean: Array, *, min_options: int = 1, inside: bool = False) -> Array:
    """Plans of a few options; turned to where the mean accepts them, if `inside`."""
    n_options = draw(st.integers(min_options, MAX_OPTIONS))
    points = draw(matrices(n_options, mean.size))
    if inside:
        scores = points @ mean
        assume(mean.any())
        # Reflect what the mean rejects, and push all by a part of the mean: the scores are then well above zero.
        points = points * np.where(scores < 0.0, -1.0, 1.0)[:, None] + 0.5 * mean
    assume(np.abs(points).max(axis=1).min() > 0.0)
    return points


@st.composite
def cases(
    draw: st.DrawFn,
    *,
    min_options: int = 1,
    inside: bool | None = None,
    with_drift: bool | None = None,
    regular: bool | None = None,
) -> Case:
    """Plans with balls; what is None is drawn. `regular` is about the covariance and the drift."""
    dimension = draw(st.integers(1, MAX_DIMENSION))
    mean = draw(vectors(dimension))
    inside = draw(st.sampled_from([True, True, False])) if inside is None else inside
    points = draw(plans(mean, min_options=min_options, inside=inside))
    regular = draw(st.booleans()) if regular is None else regular
    ridge = RIDGE * np.eye(dimension) if regular else 0.0
    cov = draw(semidefinite(dimension)) * draw(scales) / 16.0 + ridge
    radius = draw(st.sampled_from([0.0, 0.01, 0.05, 0.2, 0.5, 2.0]))
    with_drift = draw(st.booleans()) if with_drift is None else with_drift
    drift = draw(semidefinite(dimension)) + ridge if with_drift else None
    return Case(points, mean, cov, radius, drift)
