"""Random futures: moments at a chosen Gelbrich distance from nominal ones, and models drawn from them."""

from dataclasses import dataclass

import numpy as np

from copa import WeightMoments, gelbrich_distance
from reproduction.encoding import Array

FAMILIES = ("normal", "uniform on a sphere", "normal with outliers")
OUTLIERS, STRETCH = 0.1, 3.0  # share of outliers, and how much wider they are


@dataclass(frozen=True, eq=False)
class Future:
    """Moments of the parameters after a shift, their distance from the nominal ones, and a family of distributions."""

    moments: WeightMoments
    distance: float
    family: str


def random_future(nominal: WeightMoments, longest: float, rng: np.random.Generator) -> Future:
    """Draw moments within a distance.

    The parameters move by a random shift and by a random symmetric map I + H around their mean. While I + H has no
    negative eigenvalue this is an optimal transport, so the distance is that of the draw; otherwise the eigenvalues
    are cut at zero. The distance told is computed from the moments either way.
    """
    size = nominal.mean.size
    shift = rng.standard_normal(size)
    matrix = rng.standard_normal((size, size))
    turn = (matrix + matrix.T) / 2.0 * rng.exponential()
    length = np.sqrt(shift @ shift + np.trace(turn @ nominal.cov @ turn))
    step = longest * rng.random() / length
    values, vectors = np.linalg.eigh(np.eye(size) + step * turn)
    transport = (vectors * np.maximum(values, 0.0)) @ vectors.T
    moved = WeightMoments(nominal.mean + step * shift, transport @ nominal.cov @ transport)
    distance = gelbrich_distance(nominal.mean, nominal.cov, moved.mean, moved.cov)
    return Future(moved, distance, FAMILIES[rng.integers(len(FAMILIES))])


def standard_samples(n_samples: int, size: int, rng: np.random.Generator) -> dict[str, Array]:
    """Samples (size, n_samples) with mean zero and unit covariance of every family."""
    normal = rng.standard_normal((size, n_samples))
    sphere = normal / np.linalg.norm(normal, axis=0) * np.sqrt(size)
    wide = np.where(rng.random(n_samples) < OUTLIERS, STRETCH, 1.0)
    mixed = normal * wide / np.sqrt(1.0 + OUTLIERS * (STRETCH**2 - 1.0))
    return dict(zip(FAMILIES, (normal, sphere, mixed), strict=True))


def validity_under(points: Array, moments: WeightMoments, samples: Array) -> float:
    """Share of models with these moments that accept all options (J, D); samples (D, n) are standard ones."""
    root = np.linalg.eigh(moments.cov)
    spread = root.eigenvectors * np.sqrt(np.maximum(root.eigenvalues, 0.0))
    slack = (points @ moments.mean)[:, None] + (points @ spread) @ samples
    return float((slack.min(axis=0) >= 0.0).mean())
