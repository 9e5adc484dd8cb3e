"""The proof that comes with a lower bound, and its verifier."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from copa._core.archive import parse_json
from copa._core.arrays import SMALLEST, Array, require_finite, require_size, rounding_allowance, vary_together
from copa.bounds.canonical import CanonicalPlan, align, score_moments, slack_blocks, witness_matrices
from copa.bounds.points import read_plan, require_plan
from copa.exceptions import CertificateError, CopaError, InvalidInputError
from copa.uncertainty import gelbrich_distance
from copa.uncertainty.ambiguity import MomentBall

FORMAT = "copa.certificate"
VERSION = 1

# Rounding errors of the verifier itself, per row of a matrix and unit of its size: those of forming a block
# (two products) and of a symmetric eigenvalue solver are each a small multiple of n eps |block|.
ROUNDING = 16 * float(np.finfo(np.float64).eps)
# How far the square of a root may be from the matrix, per coordinate, in units in which the diagonal is 1: the root of
# a singular matrix turns eigenvalues that rounding made negative, and finding it adds a little.
ROOT_ERROR = 2**18 * float(np.finfo(np.float64).eps)
# Directions that the data give differently from the certificate by more than this belong to other data.
FOREIGN = 1e-6


@dataclass(frozen=True)
class Verification:
    """What a certificate proves, recomputed from its data with plain linear algebra.

    The lower bounds and `all_upper` hold for the covariance and drift as they are given, and for all within rounding of
    them. `upper`, the other side of L*, is that of moments with every variance raised by rounding (docs/theory.md,
    Section 8): where the covariance is singular, L* of the matrix as given may be larger.

    Attributes
    ----------
    lower, upper : proven bounds on L*, the worst-case probability that all options hold
    any_lower : proven lower bound on the probability that at least one option holds
    all_upper : proven upper bound on the probability that all options hold (U*)
    """

    lower: float
    upper: float
    any_lower: float
    all_upper: float

    @property
    def gap(self) -> float:
        """Length of the interval in which L* is proven to lie."""
        return self.upper - self.lower


@dataclass(frozen=True, eq=False)
class Certificate:
    """A plan, the ball it was judged in, and the numbers that prove its bounds.

    L* is bounded from below by any M >= 0 and g >= 0 with M + g v_j v_j' >= e e' for all options, and from above by
    any W_j >= 0 with sum W_j <= I and sum v_j' W_j v_j <= radius^2 (docs/theory.md). Stored are M, the product
    radius^2 g that the bound pays, and the W_j in the frames of the options, where small radii lose no digits.

    Attributes
    ----------
    points : (J, D) options
    ball : mean, covariance, radius and drift
    directions : (J, n) unit vectors that name the coordinates of M and W_j
    matrix : (n, n) M
    penalty : radius^2 g
    blocks : (J, n, n) X_j, with W_j = U_j X_j U_j' in the frame of option j
    any_mixture : (J,) weights of the mixture that proves `any_lower`
    upper_mixture : (J,) weights of the mixture that proves `all_upper`
    """

    points: Array
    ball: MomentBall
    directions: Array
    matrix: Array
    penalty: float
    blocks: Array
    any_mixture: Array
    upper_mixture: Array

    def __repr__(self) -> str:
        n_options, dimension = self.points.shape
        return f"Certificate({n_options} options, {dimension} parameters, radius {self.ball.radius:g})"

    @property
    def multiplier(self) -> float:
        """The price g of a unit of squared radius; infinite for a positive penalty at radius 0."""
        if self.ball.radius > 0.0:
            return self.penalty / self.ball.radius**2
        return math.inf if self.penalty > 0.0 else 0.0

    @property
    def witness(self) -> Array:
        """The matrices W_j, (J, n, n)."""
        return witness_matrices(self.aligned().frames, self.blocks)

    def aligned(self) -> CanonicalPlan:
        """Recompute the canonical form from the data, in this certificate's coordinates.

        Raises
        ------
        CertificateError
            If the data give other directions than those the certificate was made for.
        """
        plan = align(self.points, self.ball, self.directions)
        distance = max(float(np.abs(plan.directions - self.directions).max()), plan.lost)
        if not distance <= FOREIGN:
            raise CertificateError(
                f"the certificate is not about these data: its directions are off by {distance:.3g} "
                f"(at most {FOREIGN:g} is rounding); certify the plan again"
            )
        return plan

    def verify(self) -> Verification:
        """Recompute from the data what this certificate proves.

        Uses eigenvalues of small matrices and closed forms only, nothing of the solver. Where a matrix misses
        feasibility by some amount, rounding included, the bound pays for the amount: M + d I and g + d add at least
        d to every eigenvalue of every block. So the values returned are proven whatever the certificate says; a poor
        or damaged certificate proves less.
        """
        self._require_sound_numbers()
        any_lower = self._mixture_holds(self.any_mixture, sign=1.0)
        all_upper = 1.0 - self._mixture_holds(self.upper_mixture, sign=-1.0)
        if (score_moments(self.points, self.ball)[0] <= 0.0).any():
            # The mean itself does not accept an option (paper, Prop. 1, and docs/theory.md, Claim 7).
            return Verification(0.0, 0.0, any_lower, all_upper)
        plan = self.aligned()
        lower = max(0.0, self._proven_lower(plan))
        upper = min(1.0, self._proven_upper(plan), float(self.option_lower().min()))
        return Verification(lower, max(lower, upper), any_lower, all_upper)

    def _require_sound_numbers(self) -> None:
        """Raise if there is nothing to prove (an invalid plan of a batch), or arithmetic could overflow on the way."""
        try:
            require_plan(self.points)
            _require_roots(self.ball)
            score_moments(self.points, self.ball)
            numbers = (self.directions, self.matrix, self.blocks, self.any_mixture, self.upper_mixture)
            for array in (*numbers, np.asarray(self.penalty)):
                require_finite(array, "each number")
                require_size(array, "each array")
        except InvalidInputError as error:
            raise CertificateError(f"the certificate proves nothing: {error}") from error

    def _proven_lower(self, plan: CanonicalPlan) -> float:
        n_options, n = plan.directions.shape
        size = 1.0 + self.penalty + float(np.abs(np.diag(self.matrix)).sum())
        matrix = 0.5 * (self.matrix + self.matrix.T)
        blocks = np.concatenate([slack_blocks(plan.frames, matrix, self.penalty), matrix[None]])
        least = min(float(np.linalg.eigvalsh(blocks)[:, 0].min()), self.penalty)
        missing = max(0.0, (ROUNDING * n + 8.0 * plan.lost) * size - least)
        # The part of the options outside the coordinates needs up to J more axes, each at the same price.
        return float(1.0 - self.penalty - np.trace(self.matrix) - (n + 1 + n_options) * missing)

    def _proven_upper(self, plan: CanonicalPlan) -> float:
        values, vectors = np.linalg.eigh(self.blocks)
        blocks = (vectors * np.maximum(values, 0.0)[:, None, :]) @ np.swapaxes(vectors, 1, 2)
        witness = witness_matrices(plan.frames, blocks)
        excess = max(float(np.linalg.eigvalsh(witness.sum(axis=0))[-1]), float(blocks[:, 0, 0].sum()))
        shrink = max(1.0, excess + ROUNDING * len(self.matrix))
        return 1.0 - float(witness[:, -1, -1].sum()) / shrink

    def _mixture_holds(self, weights: Array, sign: float) -> float:
        """Worst-case probability that sign times the mixed option scores above zero.

        Only the proportions of the weights matter. Each option and the mixture are brought to size one first, so that
        no square is lost on the way; a mixture of which cancellation leaves nothing proves nothing.
        """
        shares = np.maximum(weights, 0.0) * np.abs(self.points).max(axis=1)
        if not shares.max() > 0.0:
            return 0.0
        mixed = (shares / shares.max()) @ (self.points / np.abs(self.points).max(axis=1, keepdims=True))
        size = np.abs(mixed).max()
        if not size > SMALLEST:
            return 0.0
        try:
            return float(self._hold(sign * mixed[None] / size)[0])
        except InvalidInputError:  # out of the range of the verifier's arithmetic
            return 0.0

    def option_lower(self) -> Array:
        """Worst-case probability that each option holds by itself, recomputed from the data, (J,)."""
        return self._hold(self.points)

    def _hold(self, points: Array) -> Array:
        """Worst-case probabilities of single options (J, D): all options together cannot do better than the least."""
        means, roots, reaches, _ = score_moments(points, self.ball)
        return self.ball.guarantee(means, np.linalg.norm(roots, axis=1), reaches)

    def worst_case(self) -> "WorstCase":
        """Distribution inside the ball under which all options hold with probability L* only."""
        return WorstCase.from_certificate(self)

    def to_json(self) -> str:
        """Write the certificate as JSON; numbers are kept to the last bit."""
        drift = None if self.ball.drift is None else self.ball.drift.tolist()
        return json.dumps(
            {
                "format": FORMAT,
                "version": VERSION,
                "points": self.points.tolist(),
                "mean": self.ball.mean.tolist(),
                "cov": self.ball.cov.tolist(),
                "radius": self.ball.radius,
                "drift": drift,
                "directions": self.directions.tolist(),
                "matrix": self.matrix.tolist(),
                "penalty": self.penalty,
                "blocks": self.blocks.tolist(),
                "any_mixture": self.any_mixture.tolist(),
                "upper_mixture": self.upper_mixture.tolist(),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> "Certificate":
        """Read a certificate written by `to_json`.

        Raises
        ------
        CertificateError
            If the text is no certificate, of a newer version, or misses or mis-shapes a field.
        """
        try:
            content = parse_json(text)
        except (TypeError, ValueError) as error:
            raise CertificateError(f"not a certificate: the text is not JSON ({error})") from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise CertificateError(f"not a certificate: expected an object with format {FORMAT!r}")
        if content.get("version") != VERSION:
            raise CertificateError(
                f"certificate version {content.get('version')!r} cannot be read, only {VERSION}; update COPA"
            )
        try:
            ball = MomentBall.read(content["mean"], content["cov"], content["radius"], content.get("drift"))
            return cls.from_numbers(content, ball)
        except KeyError as error:
            raise CertificateError(f"the certificate misses the field {error}") from error
        except CopaError as error:
            raise CertificateError(f"the certificate is damaged: {error}") from error

    @classmethod
    def from_numbers(cls, content: Mapping[str, Any], ball: MomentBall) -> "Certificate":
        """Read the points and numbers of a certificate in a ball that is known; a CopaError or KeyError if damaged."""
        points = read_plan(content["points"], ball.dimension)
        n_options = len(points)
        n = min(n_options, ball.dimension) + 1
        return cls(
            points=points,
            ball=ball,
            directions=_stored(content, "directions", (n_options, n)),
            matrix=_stored(content, "matrix", (n, n)),
            penalty=float(_stored(content, "penalty", ())),
            blocks=_stored(content, "blocks", (n_options, n, n)),
            any_mixture=_stored(content, "any_mixture", (n_options,)),
            upper_mixture=_stored(content, "upper_mixture", (n_options,)),
        )


def _stored(content: Mapping[str, Any], name: str, shape: tuple[int, ...]) -> Array:
    """Read a stored array of a given shape, with its matrices exactly symmetric."""
    try:
        array = np.array(content[name], dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise CertificateError(f"the certificate's {name} is not an array of numbers: {error}") from error
    if array.shape != shape or not np.isfinite(array).all():
        raise CertificateError(f"the certificate's {name} must be finite of shape {shape}, got {array.shape}")
    if name in ("matrix", "blocks") and not np.array_equal(array, np.swapaxes(array, -1, -2)):
        raise CertificateError(f"the certificate's {name} must be symmetric")
    return array


def _require_roots(ball: MomentBall) -> None:
    """Raise unless covariance and drift are squares F F' of their roots, each coordinate measured by its own size.

    A square is symmetric and positive semidefinite, so that this proves that the matrix can be a covariance. And the
    square must be more than the matrix in every direction, by a quarter of what its root allows for: the rest is for
    the rounding of this check. (A variance without covariances is right up to its last place.) So whatever the root, no
    score is taken to be surer than the matrix says.
    """
    for name, matrix, root in (("cov", ball.cov, ball.cov_root), ("drift", ball.drift, ball.drift_root)):
        if matrix is None or root is None:
            continue
        sizes = np.sqrt(np.maximum(np.diag(matrix), 0.0))
        units = np.where(sizes > 0.0, sizes, 1.0)
        rows = root / units[:, None]
        excess = rows @ rows.T - matrix / units[:, None] / units
        error = np.abs(excess)
        if not (error <= ROOT_ERROR * len(matrix) * (sizes > 0.0)).all():
            i, j = (int(k) for k in np.unravel_index(error.argmax(), error.shape))
            raise InvalidInputError(
                f"{name} is not positive semidefinite: its entry {matrix[i, j]:g} at ({i}, {j}) is impossible beside "
                "the others of these coordinates"
            )
        together = vary_together(matrix)
        least = np.linalg.eigvalsh(excess[np.ix_(together, together)]).min(initial=np.inf)
        alone = np.diag(excess)[~together].min(initial=np.inf)
        if not (least >= 0.25 * rounding_allowance(len(matrix)) and alone >= -ROUNDING):
            short = min(least, alone)
            raise InvalidInputError(f"the root of {name} does not square to all of it: {short:.3g} is the least excess")


# The covariance has to be carried by some mass. Where the attack would take all of it, this much is left over.
LEAST_REST = 1e-6
# An attack with less mass than this is none: its share of the second moments goes to the rest.
NEGLIGIBLE = 1e-12
# Negative eigenvalues of a part's covariance up to this, per row and in units of the second moments, are rounding.
SPREAD_ROUNDING = 100 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class WorstCase:
    """A mixture of J attacks and a rest, inside the ball, that attains the lower bound (paper, Section 3.2).

    Attack j has its whole mass where option j fails: on the hyperplane x_j' theta = 0 (or beyond, where the nominal
    mean is). The rest may hold every option, so the probability that all options hold is at most `rest_mass`.

    Attributes
    ----------
    mass : (J,) probability of the attack on each option, the paper's lambda_j
    location : (J, D) mean of theta within each attack: the change of model that breaks the option
    spread : (J, D, D) covariance of theta within each attack
    rest_mass, rest_location, rest_spread : float, (D,), (D, D); the same of the rest
    mean, cov : (D,), (D, D) moments of the whole mixture
    distance : Gelbrich distance of these moments from the nominal ones, in the geometry of the drift
    """

    mass: Array
    location: Array
    spread: Array
    rest_mass: float
    rest_location: Array
    rest_spread: Array
    mean: Array
    cov: Array
    distance: float

    @classmethod
    def from_certificate(cls, certificate: Certificate) -> "WorstCase":
        """Build the mixture from a certificate's witness (docs/theory.md, Claim 2)."""
        points, ball = certificate.points, certificate.ball
        nominal = _second_moments(ball.mean, ball.cov)
        attacks = _attack_moments(certificate)
        mass = attacks[:, -1, -1]
        attacks = attacks * min(1.0, (1.0 - LEAST_REST) / max(mass.sum(), NEGLIGIBLE))
        attacks[mass < NEGLIGIBLE] = 0.0
        rest = nominal - attacks.sum(axis=0)
        moved = np.array([_move_to_boundary(a, x, ball) for a, x in zip(attacks, points, strict=True)])
        mean, cov = _moments(moved.sum(axis=0) + rest, fallback=ball.mean)
        rest_location, rest_spread = _moments(rest, fallback=ball.mean)
        parts = [_moments(m, fallback=ball.mean) for m in moved]
        return cls(
            mass=moved[:, -1, -1],
            location=np.array([p[0] for p in parts]),
            spread=np.array([p[1] for p in parts]),
            rest_mass=float(rest[-1, -1]),
            rest_location=rest_location,
            rest_spread=rest_spread,
            mean=mean,
            cov=cov,
            distance=gelbrich_distance(ball.mean, ball.cov, mean, cov, drift=ball.drift),
        )


def _second_moments(mean: Array, cov: Array) -> Array:
    """Second moments of (theta; 1), (D + 1, D + 1)."""
    joint = np.append(mean, 1.0)
    result = np.outer(joint, joint)
    result[:-1, :-1] += cov
    return result


def _moments(second: Array, fallback: Array) -> tuple[Array, Array]:
    """Mean and covariance of a part from its share of the second moments of (theta; 1)."""
    mass = second[-1, -1]
    if mass <= 0.0:
        return fallback.copy(), np.zeros_like(second[:-1, :-1])
    mean = second[:-1, -1] / mass
    cov = second[:-1, :-1] / mass - np.outer(mean, mean)
    # A difference of two products: where the covariance is (nearly) zero beside the second moments, rounding alone can
    # make it negative. As a square of a root it is a covariance in the units of every coordinate.
    sizes = np.sqrt(np.maximum(np.diag(second)[:-1] / mass, 0.0))
    units = np.where(sizes > 0.0, sizes, 1.0)
    values, vectors = np.linalg.eigh(0.5 * (cov + cov.T) / units[:, None] / units)
    if values[0] >= -SPREAD_ROUNDING * len(cov):
        root = sizes[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
        cov = root @ root.T
    return mean, 0.5 * (cov + cov.T)


def _attack_moments(certificate: Certificate) -> Array:
    """Shares of the attacks in the nominal second moments of (theta; 1), (J, D + 1, D + 1)."""
    points, ball = certificate.points, certificate.ball
    means, _, reaches, _ = score_moments(points, ball)
    broken = means <= reaches
    if broken.any():
        # L* = 0: the mean can be moved to where an option fails, and all the mass with it.
        attacks = np.zeros((len(points), ball.dimension + 1, ball.dimension + 1))
        joint = np.append(ball.mean, 1.0)
        chosen = np.where(broken, np.trace(certificate.blocks, axis1=1, axis2=2), -1.0)
        attacks[np.argmax(chosen)] = np.outer(joint, joint)
        return attacks
    plan = certificate.aligned()
    witness = witness_matrices(plan.frames, certificate.blocks)
    lift = np.zeros((ball.dimension + 1, witness.shape[1]))
    lift[:-1, :-1] = ball.cov_root @ plan.isometry
    lift[:, -1] = np.append(ball.mean, 1.0)
    attacks = lift @ witness @ lift.T
    return 0.5 * (attacks + np.swapaxes(attacks, 1, 2))


def _move_to_boundary(second: Array, point: Array, ball: MomentBall) -> Array:
    """Second moments after moving a part along Q x, at least cost, onto the hyperplane x' theta = 0."""
    along = point if ball.drift is None else ball.drift @ point
    reach = ball.radius * (along @ point)
    score = point @ second[:-1, -1]
    if not (reach > 0.0 and score > 0.0):
        return second  # nothing can move it, or (attacks of L* = 0 sit in one point) it fails already
    move = np.eye(len(second))
    move[:-1, :-1] -= np.outer(along, point) / (along @ point)
    moved: Array = move @ second @ move.T
    return moved
