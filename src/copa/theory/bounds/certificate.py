"""The proof that comes with a lower bound, and its verifier."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from copa._core.archive import parse_json
from copa._core.arrays import SMALLEST, Array, require_finite, require_size, rounding_allowance, vary_together
from copa.exceptions import CertificateError, CopaError, InvalidInputError
from copa.theory.bounds.canonical import (
    CanonicalPlan,
    align,
    read_plan,
    require_plan,
    score_moments,
    slack_blocks,
    witness_matrices,
)
from copa.theory.bounds.worst_case import WorstCase
from copa.theory.bounds.worst_option import worst_of_option
from copa.theory.sets.ambiguity import AmbiguitySet, is_exact
from copa.theory.sets.set_files import MOMENTS, set_from_json, set_to_json

FORMAT = "copa.certificate"
VERSION = 1  # of certificates in the paper's set
OTHER_SETS = 2  # of all others, which say what their set is

# Directions that the data give differently from the certificate by more than this belong to other data.
FOREIGN = 1e-6
# Rounding errors of the verifier itself, per row of a matrix and unit of its size: those of forming a block
# (two products) and of a symmetric eigenvalue solver are each a small multiple of n eps |block|.
ROUNDING = 16 * float(np.finfo(np.float64).eps)
# How far the square of a root may be from the matrix, per coordinate, in units in which the diagonal is 1: the root of
# a singular matrix turns eigenvalues that rounding made negative, and finding it adds a little.
ROOT_ERROR = 2**18 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Verification:
    """Bounds that a certificate proves, recomputed from its data with plain linear algebra.

    The lower bounds and `all_upper` hold for the covariance and drift as they are given, and for all within rounding of
    them. `upper`, the other side of L*, is that of moments with every variance raised by rounding (docs/theory.md,
    Section 8): where the covariance is singular, L* of the matrix as given may be larger.

    Attributes
    ----------
    lower, upper : float
        Proven bounds on L*, the worst-case probability that all options hold.
    any_lower : float
        Proven lower bound on the probability that at least one option holds.
    all_upper : float
        Proven upper bound on the probability that all options hold (U*).

    Examples
    --------
    >>> import copa
    >>> bounds = copa.validity_bounds([[1.0, 2.0]], mean=[0.0, 1.0], cov=[[0.1, 0.0], [0.0, 0.1]])
    >>> proven = bounds.certificate.verify()
    >>> round(proven.lower, 3), round(proven.upper, 3), proven.gap < 1e-6
    (0.889, 0.889, True)
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
    """A plan and the ambiguity set it was judged in: enough to recompute every bound.

    This is the certificate of any set: `verify` asks the set's own `guarantee`, in the verifier's arithmetic, and puts
    options together by `joint_guarantees`. The bounds of a `MomentBall` are better than that, and their certificates
    hold the numbers that prove it (`BallCertificate`).

    Parameters
    ----------
    points : ndarray of shape (J, D)
        The options.
    ambiguity : AmbiguitySet

    Examples
    --------
    >>> import copa
    >>> bounds = copa.validity_bounds([[1.0, 2.0], [1.0, 3.0]], mean=[0.0, 1.0], cov=[[0.1, 0.0], [0.0, 0.1]])
    >>> certificate = copa.Certificate.from_json(bounds.certificate.to_json())
    >>> proven = certificate.verify()
    >>> bool(proven.lower >= bounds.lower - 1e-9), round(proven.lower, 3)
    (True, 0.879)
    """

    points: Array
    ambiguity: AmbiguitySet

    def __repr__(self) -> str:
        n_options, dimension = self.points.shape
        return f"Certificate({n_options} options, {dimension} parameters, radius {self.ambiguity.radius:g})"

    def verify(self) -> Verification:
        """Recompute from the data what this certificate claims, with the formula of its set.

        This is the formula that made the numbers: it finds changed ones, and is no independent proof.

        Returns
        -------
        Verification

        Raises
        ------
        CertificateError
            If the data are out of range, or no plan and covariance at all.
        """
        self._require_sound_numbers()
        return self._by_options()

    def option_lower(self) -> Array:
        """Worst-case probability that each option holds by itself, recomputed from the data, (J,)."""
        return self._guarantees(self.points)

    def option_weights(self) -> Array:
        """Mass that may be against each option, (J,): the largest breaks first."""
        return 1.0 - self.option_lower()

    def worst_case(self) -> WorstCase:
        """Distribution of the set under which the least sure option holds with its guarantee only.

        Raises
        ------
        InvalidInputError
            If the set does not know where it is (`AmbiguitySet.worst_moments`).
        """
        return worst_of_option(self.points, self.ambiguity)

    def to_json(self) -> str:
        """Write the certificate as JSON; numbers are kept to the last bit.

        Raises
        ------
        InvalidInputError
            If the set is of a class that files do not know.
        """
        described = set_to_json(self.ambiguity)
        if is_exact(self.ambiguity):
            version, about = VERSION, described
        else:
            version, about = OTHER_SETS, {"set": described}
        proof = {name: np.asarray(numbers).tolist() for name, numbers in self.proof().items()}
        return json.dumps({"format": FORMAT, "version": version, "points": self.points.tolist()} | about | proof)

    @classmethod
    def from_json(cls, text: str) -> "Certificate":
        """Read a certificate written by `to_json`.

        Parameters
        ----------
        text : str

        Returns
        -------
        Certificate
            A `BallCertificate` where the set lies in a ball.

        Raises
        ------
        CertificateError
            If the text is no certificate, of a newer version or a set that is not known, or misses or mis-shapes a
            field.
        """
        try:
            content = parse_json(text)
        except (TypeError, ValueError) as error:
            raise CertificateError(f"not a certificate: the text is not JSON ({error})") from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise CertificateError(f"not a certificate: expected an object with format {FORMAT!r}")
        version = content.get("version")
        if version not in (VERSION, OTHER_SETS):
            raise CertificateError(
                f"certificate version {version!r} cannot be read, only {VERSION} and {OTHER_SETS}; update COPA"
            )
        try:
            moments = {name: content.get(name) for name in MOMENTS if name in content}
            ambiguity = set_from_json(moments if version == VERSION else content["set"])
            return Certificate.from_numbers(content, ambiguity)
        except KeyError as error:
            raise CertificateError(f"the certificate misses the field {error}") from error
        except CopaError as error:
            raise CertificateError(f"the certificate is damaged: {error}") from error

    @staticmethod
    def from_numbers(content: Mapping[str, Any], ambiguity: AmbiguitySet) -> "Certificate":
        """Read the points and numbers of a certificate in a set that is known; a CopaError or KeyError if damaged."""
        points = read_plan(content["points"], ambiguity.dimension)
        if not ambiguity.in_ball:
            return Certificate(points, ambiguity)
        shapes = proof_shapes(len(points), ambiguity.dimension)
        proof: dict[str, Any] = {name: _stored(content, name, shape) for name, shape in shapes.items()}
        return BallCertificate(points, ambiguity, **(proof | {"penalty": float(proof["penalty"])}))

    def _require_sound_numbers(self) -> None:
        """Raise if there is nothing to prove (an invalid plan of a batch), or arithmetic could overflow on the way."""
        try:
            require_plan(self.points)
            _require_roots(self.ambiguity)
            score_moments(self.points, self.ambiguity)
            for numbers in self.proof().values():
                require_finite(np.asarray(numbers), "each number")
                require_size(np.asarray(numbers), "each array")
        except InvalidInputError as error:
            raise CertificateError(f"the certificate proves nothing: {error}") from error

    def _by_options(self) -> Verification:
        """Return what the guarantees of the single options prove."""
        means, roots, reaches, _ = score_moments(self.points, self.ambiguity)
        moments = (means, np.linalg.norm(roots, axis=1), reaches)
        each = self.ambiguity.guarantee(*moments)
        lower, any_lower, all_upper = self.ambiguity.joint_guarantees(each, self.points)
        upper = max(float(lower), float(each.min())) if self.ambiguity.has_worst_case else 1.0
        most = float(self.ambiguity.upper_limit(*moments).min())
        return Verification(float(lower), upper, float(any_lower), min(float(all_upper), most))

    def _guarantees(self, points: Array) -> Array:
        """Worst-case probabilities of single options (J, D), in the verifier's own arithmetic."""
        means, roots, reaches, _ = score_moments(points, self.ambiguity)
        return self.ambiguity.guarantee(means, np.linalg.norm(roots, axis=1), reaches)

    def proof(self) -> dict[str, Any]:
        """The numbers of the proof by name; none where the set itself is all that is needed."""
        return {}


@dataclass(frozen=True, eq=False, repr=False)
class BallCertificate(Certificate):
    """A plan, the ambiguity set it was judged in, and the numbers that prove its bounds in the ball around the set.

    L* is bounded from below by any M >= 0 and g >= 0 with M + g v_j v_j' >= e e' for all options, and from above by
    any W_j >= 0 with sum W_j <= I and sum v_j' W_j v_j <= radius^2 (docs/theory.md). Stored are M, the product
    radius^2 g that the bound pays, and the W_j in the frames of the options, where small radii lose no digits.
    In a set that is a part of the ball, of another family or a `LocationSet`, L* of the ball is a valid bound, and the
    set's own guarantees may prove more.

    Parameters
    ----------
    points : ndarray of shape (J, D)
        The options.
    ambiguity : AmbiguitySet
        A `MomentBall`, or another set that lies in one (`in_ball`).
    directions : ndarray of shape (J, n)
        Unit vectors that name the coordinates of M and W_j.
    matrix : ndarray of shape (n, n)
        M.
    penalty : float
        radius^2 g.
    blocks : ndarray of shape (J, n, n)
        X_j, with W_j = U_j X_j U_j' in the frame of option j.
    any_mixture : ndarray of shape (J,)
        Weights of the mixture that proves `any_lower`.
    upper_mixture : ndarray of shape (J,)
        Weights of the mixture that proves `all_upper`.

    Examples
    --------
    >>> import copa
    >>> bounds = copa.validity_bounds([[1.0, 2.0], [1.0, 3.0]], [0.0, 1.0], [[0.1, 0.0], [0.0, 0.1]], radius=0.1)
    >>> proof = bounds.certificate
    >>> type(proof).__name__, bool(proof.verify().lower >= bounds.lower - 1e-9)
    ('BallCertificate', True)
    >>> proof.option_weights().round(3)  # how much of the worst case goes against each option
    array([0.143, 0.053])
    """

    directions: Array
    matrix: Array
    penalty: float
    blocks: Array
    any_mixture: Array
    upper_mixture: Array

    @property
    def multiplier(self) -> float:
        """The price g of a unit of squared radius; infinite for a positive penalty at radius 0."""
        if self.ambiguity.radius > 0.0:
            return self.penalty / self.ambiguity.radius**2
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
        plan = align(self.points, self.ambiguity, self.directions)
        distance = max(float(np.abs(plan.directions - self.directions).max()), plan.lost)
        if not distance <= FOREIGN:
            raise CertificateError(
                f"the certificate is not about these data: its directions are off by {distance:.3g} "
                f"(at most {FOREIGN:g} is rounding); certify the plan again"
            )
        return plan

    def verify(self) -> Verification:
        """Recompute from the data what this certificate proves.

        Returns
        -------
        Verification

        Notes
        -----
        Uses eigenvalues of small matrices and closed forms only, nothing of the solver. Where a matrix misses
        feasibility by some amount, rounding included, the bound pays for the amount: M + d I and g + d add at least
        d to every eigenvalue of every block. So the values returned are proven whatever the certificate says; a poor
        or damaged certificate proves less. In another set than the paper's ball, what is said of single options and
        of mixtures is recomputed with the formula of the set instead: no independent proof.
        """
        self._require_sound_numbers()
        any_lower = self._mixture_holds(self.any_mixture, sign=1.0)
        all_upper = 1.0 - self._mixture_holds(self.upper_mixture, sign=-1.0)
        if not is_exact(self.ambiguity):
            # A set inside the ball has the ball's L*, and what its own guarantees say of options and mixtures.
            alone = self._by_options()
            any_lower, all_upper = max(any_lower, alone.any_lower), min(all_upper, alone.all_upper)
        if (score_moments(self.points, self.ambiguity)[0] <= 0.0).any():
            # The mean itself does not accept an option (paper, Prop. 1, and docs/theory.md, Claim 7).
            return Verification(0.0, 0.0, any_lower, all_upper)
        plan = self.aligned()
        lower = max(0.0, self._proven_lower(plan))
        if not is_exact(self.ambiguity):
            lower = max(lower, alone.lower)
            return Verification(lower, max(lower, alone.upper), any_lower, all_upper)
        upper = min(1.0, self._proven_upper(plan), float(self.option_lower().min()))
        return Verification(lower, max(lower, upper), any_lower, all_upper)

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
            return float(self._guarantees(sign * mixed[None] / size)[0])
        except InvalidInputError:  # out of the range of the verifier's arithmetic
            return 0.0

    def option_weights(self) -> Array:
        """The worst distribution's mass against each option, (J,): the paper's lambda_j, where the set is its ball."""
        if not is_exact(self.ambiguity):
            return super().option_weights()
        mass: Array = self.witness[:, -1, -1]
        return mass

    def worst_case(self) -> WorstCase:
        """Distribution inside the ball under which all options hold with probability L* only.

        In another set than the paper's ball, one under which the least sure option holds with its guarantee only.
        """
        return WorstCase.from_certificate(self) if is_exact(self.ambiguity) else super().worst_case()

    def proof(self) -> dict[str, Any]:
        """The numbers of the proof by name."""
        return {name: getattr(self, name) for name in PROOF}


def proof_shapes(n_options: int, dimension: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the numbers that prove the bounds of a plan of J options in a ball, by name."""
    n = min(n_options, dimension) + 1
    return {
        "directions": (n_options, n),
        "matrix": (n, n),
        "penalty": (),
        "blocks": (n_options, n, n),
        "any_mixture": (n_options,),
        "upper_mixture": (n_options,),
    }


PROOF = tuple(proof_shapes(1, 1))


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


def _require_roots(ambiguity: AmbiguitySet) -> None:
    """Raise unless covariance and drift are squares F F' of their roots, each coordinate measured by its own size.

    A square is symmetric and positive semidefinite, so that this proves that the matrix can be a covariance. And the
    square must be more than the matrix in every direction, by a quarter of what its root allows for: the rest is for
    the rounding of this check. (A variance without covariances is right up to its last place.) So whatever the root, no
    score is taken to be surer than the matrix says.
    """
    for name, matrix, root in (
        ("cov", ambiguity.cov, ambiguity.cov_root),
        ("drift", ambiguity.drift, ambiguity.drift_root),
    ):
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
