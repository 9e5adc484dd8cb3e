"""Seeded random instances: plans with interesting bounds, and plans that try to break the arithmetic."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Instance:
    """One call of a bound. `traits` says what is special about it, for the message of a failing test."""

    points: Array
    mean: Array
    cov: Array
    radius: float
    drift: Array | None
    traits: tuple[str, ...] = ()


def instances(n: int, seed: int) -> Iterator[Instance]:
    """Yield n random instances; the k-th depends on (seed, k) only, so any of them can be run alone."""
    for k in range(n):
        yield random_instance(np.random.default_rng([seed, k]))


def stress_instances(n: int, seed: int) -> Iterator[Instance]:
    """Yield n stress instances; the k-th depends on (seed, k) only."""
    for k in range(n):
        yield stress_instance(np.random.default_rng([seed, k]))


def random_instance(rng: np.random.Generator) -> Instance:
    """Draw a well-scaled instance: D 2..12, J 1..8, radius 0 or log-uniform in 1e-3..1.

    Three in four have the mean inside the cone, with scales chosen so that L* spreads over (0, 1); the others
    have it outside, where U* is the interesting bound (paper, Prop. 1).
    """
    dim, n_points = int(rng.integers(2, 13)), int(rng.integers(1, 9))
    inside = rng.random() < 0.75
    radius = 0.0 if rng.random() < 0.2 else float(10.0 ** rng.uniform(-3.0, 0.0))
    drift = _random_cov(rng, dim, dim, 10.0) if rng.random() < 0.3 else None
    rank = int(rng.integers(1, dim)) if rng.random() < 0.3 else dim
    mean = rng.standard_normal(dim)
    points, traits = _draw_points(rng, n_points, mean, has_intercept=rng.random() < 0.75)
    # A mean well inside leaves more than one option in play; outside, one that accepts some options.
    points = _turn_towards(points, mean, rng.uniform(0.1, 0.6, n_points))
    if not inside:
        rejected = rng.random(n_points) < 0.5
        rejected[rng.integers(n_points)] = True
        points = np.where(rejected[:, None], _turn_towards(points, mean, -rng.uniform(0.1, 0.6, n_points)), points)
    points, extra = _repeat_or_oppose(rng, points, inside=inside)
    cov = _random_cov(rng, dim, rank, 10.0 ** rng.uniform(0.0, 3.0))
    mean, cov = _choose_scales(rng, points, mean, cov, radius, drift)
    traits += extra + (("mean inside",) if inside else ("mean outside",))
    traits += (f"rank {rank} of {dim}",) if rank < dim else ()
    traits += ("J > D",) if len(points) > dim else ()
    return Instance(points, mean, cov, radius, drift, traits)


def stress_instance(rng: np.random.Generator) -> Instance:
    """Draw an instance that strains floating point; each difficulty is present with its own probability.

    D 2..40, J 1..30, covariance condition numbers up to 1e10, radii 1e-6..10 (absolute, or relative to the
    parameters), means within 1e-9 of the cone's boundary, parameter and point scales 1e-8..1e8,
    near-duplicate and opposite options, coordinates in units that differ by up to 1e8, singular drift. The
    bounds are often 0 or 1 to all digits: the point is that nothing breaks.
    """
    dim, n_points = int(rng.integers(2, 41)), int(rng.integers(1, 31))
    condition = 10.0 ** rng.uniform(0.0, 10.0)
    rank = int(rng.integers(1, dim)) if rng.random() < 0.2 else dim
    mean = rng.standard_normal(dim)
    points, traits = _draw_points(rng, n_points, mean, has_intercept=rng.random() < 0.5)
    margins = rng.uniform(0.05, 0.6, n_points)
    if rng.random() < 0.3:
        margins[rng.integers(n_points)] = rng.choice([-1.0, 0.0, 1.0]) * 10.0 ** rng.uniform(-12.0, -9.0)
        traits += ("mean at the boundary",)
    elif rng.random() < 0.2:
        margins[rng.integers(n_points)] *= -1.0
        traits += ("mean outside",)
    points = _turn_towards(points, mean, margins)
    if n_points > 1 and rng.random() < 0.3:
        noise = 10.0 ** rng.uniform(-14.0, -6.0) * rng.standard_normal(dim)
        points[-1] = points[0] * (1.0 + noise)
        traits += ("near-duplicates",)
    if n_points > 1 and rng.random() < 0.1:
        points[-1] = -points[0]
        traits += ("opposite options",)
    cov = _random_cov(rng, dim, rank, condition) * float(mean @ mean) / dim * 10.0 ** rng.uniform(-3.5, 0.0)
    drift = None
    if rng.random() < 0.3:
        drift_rank = int(rng.integers(1, dim)) if rng.random() < 0.3 else dim
        drift = _random_cov(rng, dim, drift_rank, 10.0 ** rng.uniform(0.0, 6.0))
        traits += ("singular drift",) if drift_rank < dim else ()
    if rng.random() < 0.2:
        units = 10.0 ** rng.uniform(-4.0, 4.0, dim)
        points, mean, cov = points / units, mean * units, cov * np.outer(units, units)
        drift = None if drift is None else drift * np.outer(units, units)
        traits += ("unequal units",)
    parameter_scale, point_scale = 10.0 ** rng.uniform(-8.0, 8.0, 2) if rng.random() < 0.7 else np.ones(2)
    radius = float(10.0 ** rng.uniform(-6.0, 1.0))
    if rng.random() < 0.7:
        radius *= parameter_scale * float(np.linalg.norm(mean))
        traits += ("relative radius",)
    if rng.random() < 0.1:
        radius = 0.0
    traits += (f"condition {condition:.0e}", f"scales {parameter_scale:.0e} and {point_scale:.0e}")
    return Instance(points * point_scale, mean * parameter_scale, cov * parameter_scale**2, radius, drift, traits)


def _draw_points(
    rng: np.random.Generator, n_points: int, mean: Array, *, has_intercept: bool
) -> tuple[Array, tuple[str, ...]]:
    """Draw options, some plans spread wide and some bunched around one option, with or without intercept."""
    spread = 10.0 ** rng.uniform(-1.0, 0.3)
    points = rng.standard_normal(mean.size) + spread * rng.standard_normal((n_points, mean.size))
    if not has_intercept:
        return points, ()
    points[:, 0] = 1.0
    return points, ("intercept",)


def _turn_towards(points: Array, mean: Array, cosines: Array) -> Array:
    """Move the features, never the intercept, along the mean until x'mean = cosine |x||mean| of the old x."""
    free = mean.copy()
    if np.all(points[:, 0] == 1.0):
        free[0] = 0.0
    wanted = cosines * np.linalg.norm(points, axis=1) * np.linalg.norm(mean)
    return points + ((wanted - points @ mean) / (free @ free))[:, None] * free


def _repeat_or_oppose(rng: np.random.Generator, points: Array, *, inside: bool) -> tuple[Array, tuple[str, ...]]:
    """Sometimes repeat an option; outside the cone sometimes add the exact opposite of one."""
    if len(points) < 2:
        return points, ()
    kind = rng.random()
    points = points.copy()
    if kind < 0.1:
        points[-1] = points[0]
        return points, ("duplicates",)
    if kind < 0.2 and not inside:
        points[-1] = -points[0]
        return points, ("opposite options",)
    return points, ()


def _random_cov(rng: np.random.Generator, dim: int, rank: int, condition: float) -> Array:
    """Draw a covariance of the given rank, trace about `dim`, eigenvalues spread over `condition`."""
    basis = np.linalg.qr(rng.standard_normal((dim, dim)))[0][:, :rank]
    values = condition ** -rng.random(rank)
    values[0] = 1.0
    if rank > 1:
        values[-1] = 1.0 / condition
    cov = (basis * (values * dim / values.sum())) @ basis.T
    return 0.5 * (cov + cov.T)


def _lengths(points: Array, matrix: Array) -> Array:
    """Return sqrt(x'Ax) of every option."""
    return np.sqrt(np.clip(np.sum(points @ matrix * points, axis=1), 0.0, None))


def _choose_scales(
    rng: np.random.Generator, points: Array, mean: Array, cov: Array, radius: float, drift: Array | None
) -> tuple[Array, Array]:
    """Scale mean and covariance so that the bounds of the option nearest to failing are neither 0 nor 1.

    For one option both bounds depend on mean'x : sqrt(x'Sx) : radius |x|_Q only (docs/theory.md, Claim 7).
    """
    lengths = _lengths(points, np.eye(mean.size) if drift is None else drift)
    margins = points @ mean / lengths
    deviations = np.maximum(_lengths(points, cov) / lengths, 1e-9)
    if margins.min() > 0.0:
        nearest = margins.min()
        ratio = np.min(margins / deviations)
        # The margin of the weakest option in standard deviations; more options need more to reach the same
        # L*.
        wanted = 10.0 ** rng.uniform(-0.3, 0.7) * len(points) ** 0.25
    else:
        nearest = -margins.min()
        ratio = np.max(-margins / deviations)
        wanted = 10.0 ** rng.uniform(-0.7, 0.5)
    # The share of the margin that the ball may eat.
    share = 10.0 ** rng.uniform(-1.7, -0.15)
    scale = radius / share / nearest if radius > 0.0 else 10.0 ** rng.uniform(-1.0, 1.0)
    return mean * scale, cov * (scale * ratio / wanted) ** 2
