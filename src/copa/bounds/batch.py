"""Bounds for many plans at once: spreading them over threads and collecting the results."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import overload

import numpy as np

from copa.arrays import Array
from copa.bounds.ambiguity import AmbiguityBall, Exponents
from copa.bounds.certificate import Certificate
from copa.bounds.single_option import single_option_lower
from copa.solve_time import KERNEL_SECONDS, estimated_seconds, require_solvable
from copa.workers import for_each_chunk, interruption

TOLERANCE = 1e-9  # gap at which a plan counts as solved: a thousandth of what is called tight
CHUNK = 256  # plans per task: a few milliseconds of work, and a few megabytes of certificates


class CertificateList(Sequence[Certificate]):
    """The certificates of a batch, each built when it is asked for."""

    def __init__(self, points: Array, ball: AmbiguityBall, proofs: "Proofs") -> None:
        self._points = points
        self._ball = ball
        self._proofs = proofs

    def __len__(self) -> int:
        return len(self._points)

    @overload
    def __getitem__(self, index: int) -> Certificate: ...
    @overload
    def __getitem__(self, index: slice) -> list[Certificate]: ...
    def __getitem__(self, index: int | slice) -> Certificate | list[Certificate]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        proofs = self._proofs
        return Certificate(
            points=self._points[index],
            ball=self._ball,
            directions=proofs.directions[index],
            matrix=proofs.matrices[index],
            penalty=float(proofs.penalties[index]),
            blocks=proofs.blocks[index],
            any_mixture=proofs.any_mixtures[index],
            upper_mixture=proofs.upper_mixtures[index],
        )

    def __iter__(self) -> Iterator[Certificate]:
        return (self[i] for i in range(len(self)))


@dataclass(frozen=True, eq=False)
class Proofs:
    """The numbers behind the certificates of a batch, as the kernels write them."""

    directions: Array  # (N, J, n)
    matrices: Array  # (N, n, n)
    penalties: Array  # (N,)
    blocks: Array  # (N, J, n, n)
    any_mixtures: Array  # (N, J)
    upper_mixtures: Array  # (N, J)

    @classmethod
    def empty(cls, n_plans: int, n_options: int, dimension: int) -> "Proofs":
        """Room for a batch."""
        n = min(n_options, dimension) + 1
        return cls(
            np.zeros((n_plans, n_options, n)),
            np.zeros((n_plans, n, n)),
            np.zeros(n_plans),
            np.zeros((n_plans, n_options, n, n)),
            np.zeros((n_plans, n_options)),
            np.zeros((n_plans, n_options)),
        )


@dataclass(frozen=True, eq=False)
class BatchBounds:
    """Bounds of N plans of J options; see `ValidityBounds` for their meaning.

    Vacuous values (lower 0, upper 1) stand for plans that were not solved.
    """

    lower: Array  # (N,)
    ceiling: Array  # (N,) proven upper value of L*
    upper: Array  # (N,)
    any_lower: Array  # (N,)
    option_lower: Array  # (N, J)
    weights: Array  # (N, J)
    seconds: Array  # (N,)
    proofs: Proofs


def bound_plans(
    points: Array, ball: AmbiguityBall, n_jobs: int | None = None, tolerance: float = TOLERANCE
) -> BatchBounds:
    """Bounds for plans (N, J, D) whose entries are known to be good.

    Parameters
    ----------
    points : (N, J, D) plans
    ball : the ambiguity ball
    n_jobs : threads to use, None for all cores; the result does not depend on it
    tolerance : gap between the two sides of L* at which a plan counts as solved

    Raises
    ------
    InvalidInputError
        For more options than `solve_time` allows.
    """
    # Imported here because loading the compiled kernels takes longer than importing all the rest; by the calling
    # thread, where Ctrl-C ends their compilation.
    import copa.bounds.kernels.lower
    import copa.bounds.kernels.mixture  # noqa: F401 - both are used by the threads

    n_plans, n_options, dimension = points.shape
    require_solvable(n_options, dimension)
    bounds = BatchBounds(
        lower=np.zeros(n_plans),
        ceiling=np.ones(n_plans),
        upper=np.ones(n_plans),
        any_lower=np.zeros(n_plans),
        option_lower=np.zeros((n_plans, n_options)),
        weights=np.zeros((n_plans, n_options)),
        seconds=np.zeros(n_plans),
        proofs=Proofs.empty(n_plans, n_options, dimension),
    )
    for_each_chunk(
        lambda chunk: _bound_chunk(points, ball, bounds, chunk, tolerance),
        n_plans,
        CHUNK,
        n_jobs,
        in_kernels=min(n_plans, CHUNK) * estimated_seconds(n_options, dimension) > KERNEL_SECONDS,
    )
    return bounds


def _bound_chunk(points: Array, ball: AmbiguityBall, bounds: BatchBounds, chunk: slice, tolerance: float) -> None:
    """Fill in the bounds of one chunk of plans."""
    from copa.bounds.kernels.lower import lower_bounds
    from copa.bounds.kernels.mixture import surest_mixtures

    started = perf_counter()
    plans = points[chunk]
    means, roots, reach_roots, exponents = scores = ball.scores(plans)
    reaches = scores.reaches
    proofs, stop = bounds.proofs, interruption()

    each = single_option_lower(means, scores.spreads, reaches)
    lower_bounds(
        roots,
        means,
        reaches,
        tolerance,
        stop,
        proofs.directions[chunk],
        np.empty_like(means),
        proofs.matrices[chunk],
        proofs.penalties[chunk],
        proofs.blocks[chunk],
        bounds.weights[chunk],
        bounds.lower[chunk],
        bounds.ceiling[chunk],
    )
    surest_mixtures(roots, reach_roots, means, stop, proofs.any_mixtures[chunk], bounds.any_lower[chunk])
    surely_fails = np.zeros(len(plans))
    surest_mixtures(roots, reach_roots, -means, stop, proofs.upper_mixtures[chunk], surely_fails)
    bounds.upper[chunk] = 1.0 - surely_fails
    for mixtures in (proofs.any_mixtures[chunk], proofs.upper_mixtures[chunk]):
        mixtures[:] = _in_given_units(mixtures, exponents)
    bounds.option_lower[chunk] = each
    # The three kinds of bounds are computed by three routes; where they meet, rounding must not reverse their order.
    bounds.lower[chunk] = np.minimum(bounds.lower[chunk], each.min(axis=1))
    bounds.ceiling[chunk] = np.clip(bounds.ceiling[chunk], bounds.lower[chunk], each.min(axis=1))
    bounds.any_lower[chunk] = np.maximum(bounds.any_lower[chunk], each.max(axis=1))
    bounds.seconds[chunk] = (perf_counter() - started) / len(plans)


def _in_given_units(mixtures: Array, exponents: Exponents) -> Array:
    """Weights (N, J) of options as the caller gave them, from those of options in units 2**exponent; at most 1."""
    digits, sizes = np.frexp(mixtures)
    sizes = np.where(digits > 0.0, sizes - exponents, np.int32(-(2**30)))
    weights: Array = np.ldexp(digits, sizes - sizes.max(axis=1, keepdims=True))
    return weights
