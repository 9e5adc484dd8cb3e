"""`validity_bounds`: the question asked of every plan, and its answer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa._core.solve_time import KERNEL_SECONDS, estimated_seconds, require_solvable
from copa._core.threads import for_each_chunk, interruption
from copa.bounds.certificate import Certificate
from copa.bounds.points import complaints, read_points, require_plan
from copa.uncertainty.ambiguity import Exponents, MomentBall

TOLERANCE = 1e-9  # gap at which a plan counts as solved: a thousandth of what is called tight
CHUNK = 256  # plans per task: a few milliseconds of work, and a few megabytes of certificates


class CertificateList(Sequence[Certificate]):
    """The certificates of a batch, each built when it is asked for."""

    def __init__(self, points: Array, ball: MomentBall, proofs: "Proofs") -> None:
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
    points: Array, ball: MomentBall, n_jobs: int | None = None, tolerance: float = TOLERANCE
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
    import copa.bounds._kernels.lower
    import copa.bounds._kernels.mixture  # noqa: F401 - both are used by the threads

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


def _bound_chunk(points: Array, ball: MomentBall, bounds: BatchBounds, chunk: slice, tolerance: float) -> None:
    """Fill in the bounds of one chunk of plans."""
    from copa.bounds._kernels.lower import lower_bounds
    from copa.bounds._kernels.mixture import surest_mixtures

    started = perf_counter()
    plans = points[chunk]
    means, roots, reach_roots, exponents = scores = ball.scores(plans)
    reaches = scores.reaches
    proofs, stop = bounds.proofs, interruption()

    each = ball.guarantee(means, scores.spreads, reaches)
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


TIGHT = 1e-6  # a gap up to this is "tight"


@dataclass(frozen=True, eq=False)
class ValidityBounds:
    """How likely a plan is to hold, whatever distribution in the ball the next parameters come from.

    For one plan the fields have the shapes given; for a batch each has a leading N, and `bounds[i]` is plan i.

    Attributes
    ----------
    lower : float, L*: all options hold with at least this probability. Proven by the certificate.
    upper : float, U*: all options hold with at most this probability.
    any_lower : float, at least one option holds with at least this probability.
    option_lower : (J,), each option by itself holds with at least this probability.
    weights : (J,), the worst distribution's mass against each option (the paper's lambda*): the largest
        breaks first.
    gap : float, L* is proven to lie in [lower, lower + gap].
    status : str, "tight" (gap up to 1e-6), "loose" (proven, but with a larger gap) or "invalid" (a plan of a batch
        that is none; its bounds are the vacuous 0 and 1).
    message : str, what is wrong with an invalid plan, else empty.
    certificate : Certificate, or a sequence of N of them
    seconds : float, time spent, averaged over plans that were solved together.
    """

    lower: Array
    upper: Array
    any_lower: Array
    option_lower: Array
    weights: Array
    gap: Array
    status: npt.NDArray[np.str_]
    message: npt.NDArray[np.str_]
    certificate: Certificate | CertificateList
    seconds: Array

    def __len__(self) -> int:
        if np.ndim(self.lower) == 0:
            raise TypeError("bounds of one plan have no length; those of a batch do")
        return len(self.lower)

    def __getitem__(self, index: int) -> "ValidityBounds":
        if not isinstance(self.certificate, CertificateList):
            raise TypeError("bounds of one plan cannot be indexed; those of a batch can")
        return ValidityBounds(
            lower=self.lower[index],
            upper=self.upper[index],
            any_lower=self.any_lower[index],
            option_lower=self.option_lower[index],
            weights=self.weights[index],
            gap=self.gap[index],
            status=self.status[index],
            message=self.message[index],
            certificate=self.certificate[index],
            seconds=self.seconds[index],
        )


def validity_bounds(
    points: Any,
    mean: Any,
    cov: Any,
    radius: Any = 0.0,
    drift: Any = None,
    *,
    n_jobs: int | None = None,
) -> ValidityBounds:
    """Bound the probability that a plan holds, over all distributions in the ball (paper, Thm. 1 and 2).

    Parameters
    ----------
    points : (J, D) one plan, or (N, J, D) a batch; vectors include the intercept as coordinate 0, value 1
    mean, cov : (D,), (D, D) nominal mean and covariance of the model's parameters
    radius : float >= 0, how far the moments may be from the nominal ones (Gelbrich distance)
    drift : (D, D) positive semidefinite shape of the ball; None is the identity, the paper's ball
    n_jobs : threads for a batch, None for all cores; results do not depend on it

    Returns
    -------
    ValidityBounds

    Raises
    ------
    InvalidInputError
        For a wrong shape, NaN or infinity, an asymmetric or indefinite matrix, a negative radius, an empty plan or a
        zero option. In a batch, a plan with bad entries gets status "invalid" instead, and the others are bounded.
    """
    ball = MomentBall.read(mean, cov, radius, drift)
    array = read_points(points, ball.dimension)
    if array.ndim == 2:
        require_plan(array)
        bounds = bound_plans(array[None], ball, n_jobs=1)
        return _report(bounds, np.full(1, "", dtype=np.str_), CertificateList(array[None], ball, bounds.proofs))[0]
    messages = complaints(array)
    good = messages == ""
    # A stand-in keeps the shapes; what it yields is overwritten by vacuous bounds.
    plans = array if good.all() else np.where(good[:, None, None], array, 1.0)
    bounds = bound_plans(plans, ball, n_jobs)
    return _report(bounds, messages, CertificateList(array, ball, bounds.proofs))


def _report(bounds: BatchBounds, messages: npt.NDArray[np.str_], certificates: CertificateList) -> ValidityBounds:
    """Present a batch, with vacuous bounds for invalid plans."""
    bad = messages != ""
    gap = bounds.ceiling - bounds.lower
    for array, vacuous in (
        (bounds.lower, 0.0),
        (bounds.upper, 1.0),
        (bounds.any_lower, 0.0),
        (bounds.option_lower, 0.0),
        (bounds.weights, 0.0),
        (gap, 1.0),
    ):
        array[bad] = vacuous
    return ValidityBounds(
        lower=bounds.lower,
        upper=bounds.upper,
        any_lower=bounds.any_lower,
        option_lower=bounds.option_lower,
        weights=bounds.weights,
        gap=gap,
        status=np.select([bad, gap <= TIGHT], ["invalid", "tight"], default="loose"),
        message=messages,
        certificate=certificates,
        seconds=bounds.seconds,
    )
