"""Bounds on the probability that the options of plans hold, over all distributions of an ambiguity set."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa._core.records import Positions, segment_rows
from copa._core.solve_time import KERNEL_SECONDS, estimated_seconds, require_solvable
from copa._core.threads import for_each_chunk
from copa._core.words import counted, rounded_down, rounded_up
from copa.theory.bounds.ball_problem import BallSolution, certify
from copa.theory.bounds.canonical import plan_violations, read_owned_options, read_points, require_plan
from copa.theory.bounds.certificate import Certificate
from copa.theory.sets.ambiguity import AmbiguitySet, is_exact, read_set

TIGHT = 1e-6  # a gap up to this is "tight"
CHUNK = 256  # plans per task: a few milliseconds of work, and a few megabytes of certificates


@dataclass(frozen=True, eq=False)
class Certificates(Sequence[Certificate | None]):
    """Certificates of N plans in one ambiguity set, each made when it is asked for; None for one without options."""

    points: Array  # (M, D), the options of one plan after those of another
    counts: Positions  # (N,)
    ambiguity: AmbiguitySet

    def __repr__(self) -> str:
        return f"Certificates({counted(len(self), 'plan')})"

    def __len__(self) -> int:
        return len(self.counts)

    @overload
    def __getitem__(self, index: int) -> Certificate | None: ...
    @overload
    def __getitem__(self, index: slice) -> "Certificates": ...
    def __getitem__(self, index: int | slice) -> "Certificate | Certificates | None":
        plans = np.arange(len(self), dtype=np.intp)[index]
        rows = self.points[segment_rows(np.atleast_1d(plans), self.counts)]
        if isinstance(index, slice):
            return Certificates(rows, self.counts[index], self.ambiguity)
        return certify(rows, self.ambiguity) if len(rows) else None

    def __iter__(self) -> Iterator[Certificate | None]:
        return (self[i] for i in range(len(self)))


@dataclass(frozen=True, eq=False)
class ValidityBounds:
    """Bounds on the probability that plans hold, whatever distribution of the set the next parameters come from.

    For one plan the numbers have the shapes given. For a batch of N plans each has a leading N, and `bounds[i]` is plan
    i; where plans have different numbers of options (`bound_plans`), `option_lower` and `weights` have shape (M,), the
    options of one plan after those of another.

    Attributes
    ----------
    lower : float
        All options hold with at least this probability, proven by the certificate: L* of the paper, or in another set
        than its ball the larger of L* and Boole's bound.
    upper : float
        U*: all options hold with at most this probability.
    any_lower : float
        At least one option holds with at least this probability.
    gap : float
        The least probability that all options hold is proven to lie in [lower, lower + gap]; one minus `lower` for a
        set whose worst distributions are not known.
    option_lower : ndarray of shape (J,)
        Each option by itself holds with at least this probability.
    weights : ndarray of shape (J,)
        The worst distribution's mass against each option (the paper's lambda*): the largest breaks first. For another
        set than the paper's `MomentBall` of any distributions, one minus the option's guarantee.
    counts : int
        Number of options J.
    message : str
        What is wrong with an invalid plan, else empty.
    seconds : float
        Time spent, averaged over plans that were solved together.
    points : ndarray of shape (J, D)
        The options.
    ambiguity : AmbiguitySet

    Examples
    --------
    >>> import copa
    >>> bounds = copa.validity_bounds(
    ...     [[1.0, 2.0], [1.0, 3.0]], mean=[-0.5, 1.0], cov=[[0.1, 0.0], [0.0, 0.1]], radius=0.05
    ... )
    >>> bounds.status, bounds.option_lower.round(3)
    (np.str_('tight'), array([0.763, 0.819]))
    >>> round(float(bounds.lower), 3), round(float(bounds.any_lower), 3), float(bounds.upper)
    (0.755, 0.819, 1.0)
    """

    lower: Array
    upper: Array
    any_lower: Array
    gap: Array
    option_lower: Array
    weights: Array
    counts: Positions
    message: npt.NDArray[np.str_]
    seconds: Array
    points: Array
    ambiguity: AmbiguitySet

    def __repr__(self) -> str:
        if np.ndim(self.lower):
            return f"ValidityBounds({counted(len(self), 'plan')}, {counted(int(self.counts.sum()), 'option')})"
        least = f"all at least {rounded_down(float(self.lower))}, any at least {rounded_down(float(self.any_lower))}"
        most = f"all at most {rounded_up(float(self.upper))}"
        return f"ValidityBounds({counted(int(self.counts), 'option')}: {least}, {most}; {self.status})"

    @classmethod
    def vacuous(cls, points: Array, ambiguity: AmbiguitySet) -> "ValidityBounds":
        """Return bounds of plans (N, J, D) of which nothing is known; also room for better ones."""
        n_plans, n_options = points.shape[:2]
        return cls(
            lower=np.zeros(n_plans),
            upper=np.ones(n_plans),
            any_lower=np.zeros(n_plans),
            gap=np.ones(n_plans),
            option_lower=np.zeros((n_plans, n_options)),
            weights=np.zeros((n_plans, n_options)),
            counts=np.full(n_plans, n_options, dtype=np.intp),
            message=np.full(n_plans, "" if n_options else "a plan needs at least one option", dtype=np.str_),
            seconds=np.zeros(n_plans),
            points=points,
            ambiguity=ambiguity,
        )

    @property
    def status(self) -> npt.NDArray[np.str_]:
        """State of the bounds: "tight" (gap up to 1e-6), "loose" (proven, but with a larger gap) or "invalid".

        A plan of a batch that is none is invalid; its bounds are the vacuous 0 and 1.
        """
        words = np.where(self.message != "", "invalid", np.where(self.gap <= TIGHT, "tight", "loose"))
        status: npt.NDArray[np.str_] = words[()]
        return status

    @cached_property
    def certificate(self) -> Certificate | None:
        """The proof of one plan, made when it is first asked for; None for a plan without options."""
        if np.ndim(self.lower):
            raise TypeError("bounds of a batch have `certificates`, one for each plan")
        return certify(self.points, self.ambiguity) if self.counts else None

    @property
    def certificates(self) -> Certificates:
        """The proofs of a batch, each made when it is asked for."""
        if not np.ndim(self.lower):
            raise TypeError("bounds of one plan have one `certificate`, not a sequence of them")
        return Certificates(self.points.reshape(-1, self.ambiguity.dimension), self.counts, self.ambiguity)

    def __len__(self) -> int:
        if np.ndim(self.lower) == 0:
            raise TypeError("bounds of one plan have no length; those of a batch do")
        return len(self.lower)

    def __getitem__(self, index: int) -> "ValidityBounds":
        if np.ndim(self.lower) == 0:
            raise TypeError("bounds of one plan cannot be indexed; those of a batch can")
        position = range(len(self))[index]
        return self._picked(position, np.array([position]))

    def take(self, rows: Any) -> "ValidityBounds":
        """Return some plans of a batch.

        Parameters
        ----------
        rows : array_like of int or bool
            Positions, or a flag for each plan.
        """
        positions = np.arange(len(self), dtype=np.intp)[np.asarray(rows)]
        return self._picked(positions, positions)

    def _picked(self, index: Any, plans: Positions) -> "ValidityBounds":
        """Return one plan, or some, by their index; `plans` are its positions."""
        options = index if self.option_lower.ndim == 2 else segment_rows(plans, self.counts)
        per_plan = {name: getattr(self, name)[index] for name in PER_PLAN}
        per_option = {name: getattr(self, name)[options] for name in PER_OPTION}
        return ValidityBounds(**per_plan, **per_option, ambiguity=self.ambiguity)

    @classmethod
    def concat(cls, parts: Sequence["ValidityBounds"]) -> "ValidityBounds":
        """Put batches one after another.

        Parameters
        ----------
        parts : sequence of ValidityBounds
            At least one, each of a batch, in one ambiguity set.
        """
        if len(parts) == 1:
            return parts[0]
        if len({part.option_lower.shape[1:] for part in parts}) > 1:
            parts = [part.flattened() for part in parts]
        per_plan = {name: np.concatenate([getattr(part, name) for part in parts]) for name in PER_PLAN}
        per_option = {name: np.concatenate([getattr(part, name) for part in parts]) for name in PER_OPTION}
        return cls(**per_plan, **per_option, ambiguity=parts[0].ambiguity)

    def flattened(self) -> "ValidityBounds":
        """Return the same batch with the options of one plan after those of another, (M,) and (M, D)."""
        points = self.points.reshape(-1, self.ambiguity.dimension)
        return replace(self, option_lower=self.option_lower.ravel(), weights=self.weights.ravel(), points=points)


PER_PLAN = ("lower", "upper", "any_lower", "gap", "counts", "message", "seconds")
PER_OPTION = ("option_lower", "weights", "points")


def validity_bounds(
    points: Any,
    mean: Any = None,
    cov: Any = None,
    radius: Any = 0.0,
    drift: Any = None,
    *,
    family: str = "any",
    ambiguity: AmbiguitySet | None = None,
    n_jobs: int | None = None,
) -> ValidityBounds:
    """Bound the probability that a plan holds, over all distributions in a ball (paper, Thm. 1 and 2), or another set.

    Parameters
    ----------
    points : array_like of shape (J, D) or (N, J, D)
        One plan, or a batch; vectors include the intercept as coordinate 0, value 1.
    mean : array_like of shape (D,)
        Nominal mean of the model's parameters.
    cov : array_like of shape (D, D)
        Nominal covariance.
    radius : float
        How far the moments may be from the nominal ones (Gelbrich distance), at least 0.
    drift : array_like of shape (D, D), optional
        Positive semidefinite shape of the ball; None is the identity, the paper's ball.
    family : {"any", "unimodal", "gaussian"}
        What is assumed of the form of a score's distribution; "any", the paper's, is nothing.
    ambiguity : AmbiguitySet
        In place of all these, a set such as a `LocationSet`.
    n_jobs : int, optional
        Threads for a batch, None for all cores; results do not depend on it.

    Returns
    -------
    ValidityBounds

    Raises
    ------
    InvalidInputError
        For a wrong shape, NaN or infinity, an asymmetric or indefinite matrix, a negative radius, an empty plan or a
        zero option. In a batch, a plan with bad entries gets status "invalid" instead, and the others are bounded.

    Examples
    --------
    >>> import copa
    >>> cov = [[0.1, 0.0], [0.0, 0.1]]
    >>> plans = [[[1.0, 2.0], [1.0, 3.0]], [[1.0, 0.2], [1.0, 4.0]]]
    >>> bounds = copa.validity_bounds(plans, mean=[-0.5, 1.0], cov=cov, radius=0.05)
    >>> bounds.lower.round(3), bounds.upper.round(3)
    (array([0.755, 0.   ]), array([1.  , 0.65]))

    If the scores have one mode, and only the mean of the parameters is unknown:

    >>> location = copa.LocationSet([-0.5, 1.0], cov, radius=0.05, family="unimodal")
    >>> copa.validity_bounds(plans, ambiguity=location).lower.round(3)
    array([0.84, 0.  ])
    """
    ambiguity = read_set(mean, cov, radius, drift, family, ambiguity)
    array = read_points(points, ambiguity.dimension)
    if array.ndim == 2:
        require_plan(array)
        return bound_batch(ambiguity, array[None], n_jobs=1)[0]
    return _bound_readable(ambiguity, array, n_jobs)


def bound_plans(
    ambiguity: AmbiguitySet, points: Array, owner: Indices, n_applicants: int, n_jobs: int | None = None
) -> ValidityBounds:
    """Bound the plans that options make up, whatever the number of options of each.

    Parameters
    ----------
    ambiguity : AmbiguitySet
    points : ndarray of shape (M, D)
        Options of all applicants, those of one after those of another.
    owner : ndarray of shape (M,)
        Position of the applicant of each option, ascending.
    n_applicants : int
        Number of plans N; the bounds of one without options are vacuous.
    n_jobs : int, optional
        Threads, None for all cores; the result does not depend on it.

    Returns
    -------
    ValidityBounds
        Of N plans.

    Raises
    ------
    InvalidInputError
        If `points` has another shape, or `owner` is not ascending, or beyond the applicants.

    Examples
    --------
    >>> import numpy as np
    >>> import copa
    >>> from copa.theory.sets import MomentBall
    >>> ball = MomentBall(mean=[-0.5, 1.0], cov=[[0.1, 0.0], [0.0, 0.1]], radius=0.05)
    >>> points = np.array([[1.0, 2.0], [1.0, 3.0], [1.0, 4.0]])
    >>> bounds = copa.bound_plans(ball, points, owner=np.array([0, 0, 2]), n_applicants=3)
    >>> bounds.lower.round(3), bounds.option_lower.round(3)
    (array([0.755, 0.   , 0.84 ]), array([0.763, 0.819, 0.84 ]))
    """
    points, owner = read_owned_options(points, owner, n_applicants, ambiguity.dimension)
    counts = np.bincount(owner, minlength=n_applicants)
    starts = np.cumsum(counts) - counts
    whose = [np.flatnonzero(counts == size) for size in range(counts.max(initial=0) + 1)]
    parts = [ValidityBounds.vacuous(np.empty((len(whose[0]), 0, ambiguity.dimension)), ambiguity)]
    for size, plans in enumerate(whose[1:], start=1):
        if len(plans):
            batch = points[starts[plans][:, None] + np.arange(size)]
            batch.setflags(write=False)
            parts.append(_bound_readable(ambiguity, batch, n_jobs))
    bounds = ValidityBounds.concat([part.flattened() for part in parts])
    return bounds.take(np.argsort(np.concatenate(whose)))


def _bound_readable(ambiguity: AmbiguitySet, plans: Array, n_jobs: int | None) -> ValidityBounds:
    """Bounds of plans (N, J, D), vacuous for those with bad entries."""
    messages = plan_violations(plans)
    good = messages == ""
    if good.all():
        return bound_batch(ambiguity, plans, n_jobs)
    refused = replace(ValidityBounds.vacuous(plans[~good], ambiguity), message=messages[~good])
    order = np.argsort(np.concatenate([np.flatnonzero(good), np.flatnonzero(~good)]))
    return ValidityBounds.concat([bound_batch(ambiguity, plans[good], n_jobs), refused]).take(order)


def bound_batch(ambiguity: AmbiguitySet, points: Array, n_jobs: int | None = None) -> ValidityBounds:
    """Bounds for plans of one size whose entries are known to be good.

    Parameters
    ----------
    ambiguity : AmbiguitySet
    points : ndarray of shape (N, J, D)
    n_jobs : int, optional
        Threads to use, None for all cores; the result does not depend on it.

    Raises
    ------
    InvalidInputError
        For more options than `solve_time` allows.
    """
    n_plans, n_options, dimension = points.shape
    if ambiguity.in_ball:
        require_solvable(n_options, dimension)
    parts: dict[int, ValidityBounds] = {}

    def work(chunk: slice) -> None:
        parts[chunk.start] = _bound_chunk(ambiguity, points[chunk])

    in_kernels = ambiguity.in_ball and min(n_plans, CHUNK) * estimated_seconds(n_options, dimension) > KERNEL_SECONDS
    for_each_chunk(work, n_plans, CHUNK, n_jobs, in_kernels=in_kernels, what="bounding", unit="plans")
    if not parts:
        return ValidityBounds.vacuous(points, ambiguity)
    return ValidityBounds.concat([parts[start] for start in sorted(parts)])


def _bound_chunk(ambiguity: AmbiguitySet, plans: Array) -> ValidityBounds:
    """Bound some plans (N, J, D), solved one after another."""
    started = perf_counter()
    scores = ambiguity.scores(plans)
    moments = (scores.means, scores.spreads, scores.reaches)
    each = ambiguity.guarantee(*moments)
    bounds = ValidityBounds.vacuous(plans, ambiguity)
    bounds.option_lower[:] = each
    solved = BallSolution.of(scores) if ambiguity.in_ball else None
    if is_exact(ambiguity) and solved is not None:
        # Three routes to three kinds of bounds; where they meet, rounding must not reverse their order.
        np.minimum(solved.lower, each.min(axis=1), out=bounds.lower)
        np.maximum(solved.holds, each.max(axis=1), out=bounds.any_lower)
        bounds.upper[:], bounds.weights[:] = 1.0 - solved.fails, solved.weights
        bounds.gap[:] = np.clip(solved.ceiling, bounds.lower, each.min(axis=1)) - bounds.lower
    else:
        all_lower, any_lower, upper = ambiguity.joint_guarantees(each, plans)
        upper = np.minimum(upper, ambiguity.upper_limit(*moments).min(axis=1))
        if solved is not None:
            holds, fails = solved.mixtures_in(ambiguity)
            all_lower = np.minimum(np.maximum(all_lower, solved.lower), each.min(axis=1))
            any_lower = np.maximum(any_lower, holds)
            upper = np.minimum(upper, 1.0 - fails)
        bounds.lower[:], bounds.any_lower[:], bounds.upper[:] = all_lower, any_lower, upper
        bounds.weights[:] = 1.0 - each
        # Where each option's worst distribution is in the set, that of the least sure one is a limit to all together.
        bounds.gap[:] = (np.maximum(all_lower, each.min(axis=1)) if ambiguity.has_worst_case else 1.0) - all_lower
    bounds.seconds[:] = (perf_counter() - started) / len(plans)
    return bounds
