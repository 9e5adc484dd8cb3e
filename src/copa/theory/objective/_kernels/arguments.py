"""What the compiled descents are given: named tuples, from which the types of their entry points follow.

Nothing here loads Numba, so that Python code can make these tuples without it.
"""

from typing import NamedTuple

from copa._core._kernels.fields import Cube, Floats, Matrix


class Problems(NamedTuple):
    """The problems of N applicants."""

    curvature: Matrix  # (n, n) A, of the scores' variance
    gain: Floats  # (n,) m, how the mean score rises
    scores: Matrix  # (N, 3) mean score, variance, least m'z
    tilts: Matrix  # (N, n) b
    bounds: Cube  # (N, 2, n) box for every move
    validity_weight: float
    diversity_weight: float
    manhattan: bool
