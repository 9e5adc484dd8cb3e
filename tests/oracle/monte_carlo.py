"""Distributions inside the ball and how often a plan is valid under them: none may violate a bound."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ValidityEstimate:
    """Shares of sampled parameters under which options are valid (x'theta >= 0), with standard errors."""

    all_valid: float
    all_error: float
    any_valid: float
    any_error: float
    option_valid: Array
    option_error: Array


def gelbrich_distance(mean_a: Array, cov_a: Array, mean_b: Array, cov_b: Array, drift: Array | None = None) -> float:
    """Return the Gelbrich distance (paper, Def. 2), by the optimal coupling of two Gaussians.

    theta_a = A g and theta_b = B O g with symmetric roots A, B and the rotation O that brings them closest;
    the distance is |A - B O|. Unlike the trace formula nothing cancels when the two are close. `drift` must
    be positive definite.
    """
    if drift is not None:
        values, vectors = np.linalg.eigh(drift)
        inverse = (vectors / np.sqrt(values)) @ vectors.T
        mean_a, mean_b = inverse @ mean_a, inverse @ mean_b
        cov_a, cov_b = inverse @ cov_a @ inverse, inverse @ cov_b @ inverse
    root_a, root_b = _root(cov_a), _root(cov_b)
    left, _, right = np.linalg.svd(root_b @ root_a)
    return float(np.hypot(np.linalg.norm(mean_a - mean_b), np.linalg.norm(root_a - root_b @ left @ right)))


def random_moments_in_ball(
    rng: np.random.Generator,
    mean: Array,
    cov: Array,
    radius: float,
    drift: Array | None = None,
    *,
    points: Array | None = None,
) -> tuple[Array, Array]:
    """Draw (mean, cov) at Gelbrich distance at most `radius`, in half the cases exactly on the sphere.

    theta is moved to theta + Q B (theta - mean) + Q^{1/2} u with B symmetric and I + Q^{1/2} B Q^{1/2} >= 0:
    the gradient of a convex function in the metric Q^{-1}, hence an optimal transport, whose squared cost
    |u|^2 + tr(B Q B S) is the squared distance. In one case in five independent noise is added instead, which
    reaches covariances of higher rank; it stays inside the ball. A singular `drift` is fine.

    With `points` half of the moves aim at one of the options, since a random direction hardly touches any.
    """
    dim = mean.size
    root = np.eye(dim) if drift is None else _root(drift)
    reach = radius if rng.random() < 0.5 else radius * rng.random()
    target = None if points is None or rng.random() < 0.5 else points[rng.integers(len(points))]
    direction = rng.standard_normal(dim) if target is None else -root @ target
    norm = np.linalg.norm(direction)
    direction = direction / norm if norm > 0.0 else np.eye(dim)[0]
    share = rng.choice([0.0, 1.0, rng.random()])
    if rng.random() < 0.2:
        noise = root @ rng.standard_normal((dim, int(rng.integers(1, dim + 1))))
        cost = np.linalg.norm(np.linalg.pinv(root) @ noise)
        noise *= np.sqrt(share) * reach / cost if cost > 0.0 else 0.0
        return mean + np.sqrt(1.0 - share) * reach * (root @ direction), cov + noise @ noise.T
    stretch = rng.standard_normal((dim, dim)) if target is None else np.outer(direction, direction)
    stretch = 0.5 * (stretch + stretch.T)  # Q^{1/2} B Q^{1/2} for a nonsingular Q
    inverse = np.linalg.pinv(root, rcond=1e-12)
    cost = np.linalg.norm(stretch @ inverse @ _root(cov))
    size = np.sqrt(share) * reach / cost if cost > 0.0 else 0.0
    lowest = float(np.linalg.eigvalsh(stretch)[0])
    size = min(size, -1.0 / lowest) if lowest < 0.0 else size  # beyond, the map would fold
    left_for_mean = np.sqrt(max(0.0, reach**2 - (size * cost) ** 2))
    transport = np.eye(dim) + size * root @ stretch @ inverse
    moved = transport @ cov @ transport.T
    return mean + left_for_mean * (root @ direction), 0.5 * (moved + moved.T)


def sample_distributions(
    rng: np.random.Generator, mean: Array, cov: Array, n_samples: int, *, points: Array | None = None
) -> dict[str, Array]:
    """Draw (n_samples, D) parameters from distributions that all have exactly this mean and covariance.

    Gaussian; Student t with 3 degrees of freedom; signs (+-1 along the axes of the root); a mixture with 2 %
    of the mass seven times as far; two points along a random direction, 3 % of the mass on one; and, with
    `points`, Cantelli's extremal two points against each option, which attain L* for J = 1 at radius 0.
    """
    dim, root = mean.size, _root(cov)

    def normal() -> Array:
        return rng.standard_normal((n_samples, dim))

    student = normal() / np.sqrt(rng.chisquare(3.0, (n_samples, 1)))  # variance 1: t_3 has 3, times 1/3
    far = np.where(rng.random((n_samples, 1)) < 0.02, 7.0, np.sqrt((1.0 - 0.02 * 49.0) / 0.98))
    standard = {
        "gaussian": normal(),
        "student": student,
        "signs": rng.choice([-1.0, 1.0], (n_samples, dim)),
        "far mixture": far * normal(),
        "two points": _two_points(rng, normal(), rng.standard_normal(dim), 0.03),
    }
    for j, x in enumerate(() if points is None else points):
        margin, deviation = float(x @ mean), float(np.linalg.norm(root @ x))
        if margin > 0.0 and deviation > 1e-12 * margin:
            distance = margin / deviation * (1.0 + 1e-9)  # just beyond the boundary, where the option fails
            standard[f"against option {j}"] = _two_points(rng, normal(), -root @ x, 1.0 / (1.0 + distance**2))
    return {name: mean + sample @ root for name, sample in standard.items()}


def estimate_validity(thetas: Array, points: Array) -> ValidityEstimate:
    """Estimate P(all options valid), P(any valid) and P(option j valid) from sampled parameters.

    The standard errors are those of (hits + 1) of (n + 2), so that none is zero when every sample agrees.
    """
    valid = thetas @ points.T >= 0.0
    n_samples = len(thetas)

    def error(share: Array | float) -> Array:
        smoothed = (np.asarray(share) * n_samples + 1.0) / (n_samples + 2.0)
        return np.sqrt(smoothed * (1.0 - smoothed) / n_samples)

    share_all, share_any = float(valid.all(axis=1).mean()), float(valid.any(axis=1).mean())
    each = valid.mean(axis=0)
    return ValidityEstimate(share_all, float(error(share_all)), share_any, float(error(share_any)), each, error(each))


def _two_points(rng: np.random.Generator, sample: Array, direction: Array, mass: float) -> Array:
    """Replace the component of a standard sample along `direction` by two points, `mass` on the far one."""
    unit = direction / np.linalg.norm(direction)
    far, near = np.sqrt((1.0 - mass) / mass), -np.sqrt(mass / (1.0 - mass))
    component = np.where(rng.random(len(sample)) < mass, far, near)
    return sample + (component - sample @ unit)[:, None] * unit


def _root(matrix: Array) -> Array:
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T
