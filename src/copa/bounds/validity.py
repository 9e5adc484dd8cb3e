"""`validity_bounds`: the question asked of every plan, and its answer."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from copa.arrays import Array
from copa.bounds.ambiguity import AmbiguityBall
from copa.bounds.batch import BatchBounds, CertificateList, bound_plans
from copa.bounds.certificate import Certificate
from copa.bounds.points import complaints, read_points, require_plan

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
    ball = AmbiguityBall.read(mean, cov, radius, drift)
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
