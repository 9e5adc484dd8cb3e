"""What the compiled descents are given: a named tuple, which they read by the names of its fields."""

from typing import NamedTuple

from copa._core.arrays import Array


class Problems(NamedTuple):
    """The problems of N applicants."""

    curvature: Array  # (n, n) A, of the scores' variance
    gain: Array  # (n,) m, how the mean score rises
    scores: Array  # (N, 3) mean score, variance, least m'z
    tilts: Array  # (N, n) b
    bounds: Array  # (N, 2, n) box for every move
    validity_weight: float
    diversity_weight: float
    manhattan: bool
