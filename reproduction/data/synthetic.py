"""Synthetic data of the paper's figures, and random futures: moments at a distance, and models drawn from them."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from copa import WeightMoments, gelbrich_distance
from reproduction.data.case import Case, prepare
from reproduction.data.encoding import Array, Encoding
from reproduction.data.shifted import ShiftedData, Table, free_schema

if TYPE_CHECKING:
    from reproduction.settings import Settings

N_SAMPLES = 1000
CENTRE, VARIANCE = 2.0, 0.5  # of the clouds: at (-2, -2) and (2, 2), covariance 0.5 I
NOMINAL_VARIANCE = 0.5  # of the parameters
FAMILIES = ("normal", "uniform on a sphere", "normal with outliers")
OUTLIERS, STRETCH = 0.1, 3.0  # share of outliers, and how much wider they are


def synthetic_case(settings: "Settings") -> Case:
    """Return the synthetic data as a case whose nominal moments are the classifier's parameters and 0.5 I.

    Features stay in their own units: the shift of the paper's figures, by up to 1 in a parameter, is stated in them.
    """
    import pandas as pd

    rng = np.random.default_rng(settings.seed)
    good = np.arange(N_SAMPLES) % 2 == 1
    centres = np.where(good, CENTRE, -CENTRE)
    points = centres[:, None] + np.sqrt(VARIANCE) * rng.standard_normal((N_SAMPLES, 2))
    features = pd.DataFrame(points.round(4), columns=["first", "second"])
    table = Table(features, good)
    data = ShiftedData("synthetic", "paper", table, table, free_schema(features))
    own_units = Encoding(("first", "second"), np.zeros(2), np.ones(2), ())
    case = prepare(data, replace(settings, n_models=10), own_units)
    dimension = case.encoding.dimension
    return replace(case, moments=WeightMoments(case.theta, NOMINAL_VARIANCE * np.eye(dimension)), settings=settings)


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
