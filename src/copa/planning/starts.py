"""Where the search for a plan starts: options in simplices and in rows, the first ones where validity is flattest."""

import numpy as np

from copa.arrays import Array

SIZES = (1.0, 1.5, 0.75, 1.0)  # of the starts, in turn, relative to the best simplex without validity and margin
ROWS = 4  # one start in so many is a row
EDGES = np.geomspace(0.1, 100.0, 301)  # lengths of edge among which the best is looked for


def spread_starts(
    rng: np.random.Generator, n_starts: int, n_options: int, gain: Array, curvature: Array, diversity_weight: float
) -> Array:
    """Offsets of the options of every start from their common center, (S, J, n).

    Options in the corners of a regular simplex are the most diverse at a given distance from their center. The first
    simplex lies where turning to costs least validity: in the directions of least variance that leave the mean score
    as it is. The others are turned at random. Options in a row are for constraints that leave no room to a simplex;
    the first row is along the flattest direction, too.

    Parameters
    ----------
    rng : source of the random turns
    n_starts, n_options : S, J
    gain, curvature : (n,), (n, n) mean and covariance of the parameters that an option may use
    diversity_weight : of the objective
    """
    simplex, row = simplex_corners(n_options), row_places(n_options)
    radius = best_radius(n_options, diversity_weight)
    flat = flat_axes(gain, curvature)
    spreads = np.empty((n_starts, n_options, gain.size))
    for s in range(n_starts):
        places = row if s % ROWS == ROWS - 1 else simplex
        axes = random_axes(rng, places.shape[1], gain.size)
        if s in (0, ROWS - 1):
            first = flat[: len(axes)]
            axes[: len(first)] = first
        spreads[s] = SIZES[s % len(SIZES)] * radius * places @ axes
    return spreads


def ascent_direction(gain: Array, curvature: Array) -> Array:
    """Unit direction (n,) in which the mean score rises most against its variance, curvature^-1 gain."""
    size = float(np.trace(curvature))
    if gain.size == 0 or not gain.any():
        return np.zeros_like(gain)
    ridge = 1e-8 * size if size > 0.0 else 1.0
    direction = np.linalg.solve(curvature + ridge * np.eye(gain.size), gain)
    unit: Array = direction / np.linalg.norm(direction)
    return unit


def simplex_corners(n_options: int) -> Array:
    """Corners (J, J - 1) of a regular simplex around zero, at distance 1 from it."""
    corners = np.zeros((n_options, n_options - 1))
    for i in range(n_options - 1):
        # Corner i is orthogonal to what the ones before have in common; the later ones lie opposite to it.
        corners[i, i] = np.sqrt(1.0 - corners[i, :i] @ corners[i, :i])
        corners[i + 1 :, i] = (-1.0 / (n_options - 1) - corners[i, :i] @ corners[i, :i]) / corners[i, i]
    return corners


def row_places(n_options: int) -> Array:
    """Places (J, 1) at equal distances on a line around zero, at a mean square distance of 1 from it."""
    places = np.linspace(-1.0, 1.0, n_options)[:, None] if n_options > 1 else np.zeros((1, 1))
    scaled: Array = places / np.sqrt(np.mean(places**2)) if n_options > 1 else places
    return scaled


def best_radius(n_options: int, diversity_weight: float) -> float:
    """Radius of the regular simplex with the best balance of distance from its center and diversity."""
    similarity = 1.0 / (1.0 + EDGES)
    diversity = (1.0 - similarity) ** (n_options - 1) * (1.0 + (n_options - 1) * similarity)
    radii = EDGES * np.sqrt((n_options - 1) / (2.0 * n_options))
    value = diversity_weight * diversity - radii
    # Too little weight for any spread: start at the distance over which similarity falls to a half.
    chosen = int(value.argmax()) if value.max() > 0.0 else int(np.abs(EDGES - 1.0).argmin())
    return float(radii[chosen])


def random_axes(rng: np.random.Generator, n_axes: int, n: int) -> Array:
    """Random unit vectors (A, n), the first n of them orthogonal to each other."""
    axes = rng.standard_normal((n_axes, n))
    orthogonal = min(n_axes, n)
    axes[:orthogonal] = np.linalg.qr(axes[:orthogonal].T)[0].T
    unit: Array = axes / np.linalg.norm(axes, axis=1, keepdims=True) if n else axes
    return unit


def flat_axes(gain: Array, curvature: Array) -> Array:
    """Orthonormal directions (n - 1, n) without gain, those of least variance first."""
    length = float(np.linalg.norm(gain))
    along = gain / length if length > 0.0 else np.zeros_like(gain)
    inside = np.eye(gain.size) - np.outer(along, along)
    # The direction of the gain is put last.
    last = (1.0 + 2.0 * float(np.trace(curvature))) * np.outer(along, along)
    _, vectors = np.linalg.eigh(inside @ curvature @ inside + last)
    axes: Array = vectors.T[: max(gain.size - 1, 0)]
    return axes
