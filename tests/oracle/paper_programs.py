"""The semidefinite programs of the paper's Theorems 1 and 2 in full dimension, and problem (P) of docs/theory.md.

Independent of `copa` on purpose: these are what its bounds are tested against and its benchmarks compare
with.

How literal. `verbatim_lower` and `verbatim_upper` hold every variable and constraint as printed. They are
good only for showing that the next two are the same programs: interior-point methods lose most of their
digits on them, because the ball is stated as a difference of large numbers, |mean|^2 - 2 mean'mu + tr(M + S -
2C) <= rho^2, and because they have no interior at rho = 0 or with a singular covariance. `paper_lower` and
`paper_upper` are the same programs, all blocks in full dimension, after four changes of coordinates that
cost no information:

units   theta is divided by c (mean / c, cov / c^2, radius / c) and every option by its length. The bounds do
        not change. Without it Clarabel says "optimal" at values wrong by 0.2 when |theta| is about 1000.
origin  the blocks are congruent to those of theta - mean: [[Z, z], [z', l]] becomes the same matrix about the
        mean, and x'z becomes x'z + l x'mean.
drift   of (mu, Sigma, C, M) only the displacement from the nominal moments is a variable, in units of rho.
        With S = F F': mu = mean + rho u, C = S + rho K F', Sigma = S + rho (K F' + F K') + rho^2 E, and M,
        about the nominal mean, is Sigma + rho^2 N. For a nonsingular S this is one to one with the paper's
        variables, and for a singular one it is exactly the face on which they lie (C vanishes where S does).
axes    the blocks of mass are written along the eigenvectors of S, each in the unit sqrt(s^2 + rho^2), s the
        standard deviation there: what the ball leaves possible in that direction. Without it a singular S beside a
        small rho leaves a block whose entries range down to rho^2; Clarabel then met 1e-8 at best, with errors
        up to 5e-7 either way, depending on the unit.

`paper_upper` solves the Lagrangian dual of Theorem 2's program (see `_upper_program`), in the same
coordinates. The word "optimal" of the solver is about its own residuals, relative to the size of its variables:
with a drift of condition number 1e7 or more it comes with wrong values (see `with_drift`).
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import clarabel
import cvxpy as cp
import numpy as np
import numpy.typing as npt
from scipy import sparse

Array = npt.NDArray[np.float64]

TOLERANCE = 1e-9
# Eigenvalues below this share of the largest are taken as zero when a singular covariance is factored.
RANK_TOLERANCE = 1e-12
# Units and tolerances tried in turn until Clarabel says "optimal": which unit suits an instance cannot be
# told in advance, and a degenerate optimum (duplicate options) may not be reached to the last digit in any of
# them.
ATTEMPTS = ((1.0, TOLERANCE), (0.3, TOLERANCE), (3.0, TOLERANCE), (0.1, TOLERANCE), (1.0, 1e-8), (0.3, 1e-8))


@dataclass(frozen=True)
class OracleValue:
    """A bound as the solver gave it (not clipped to [0, 1]), the solver's own word on it, and its solve time.

    `status` is "optimal" only if Clarabel met a tolerance of 1e-9, or 1e-8 at a second try; a value with any
    other status is no reference.
    """

    value: float
    status: str
    seconds: float

    @property
    def is_optimal(self) -> bool:
        return self.status == "optimal"


def paper_lower(points: Array, mean: Array, cov: Array, radius: float) -> OracleValue:
    """Solve the program of Theorem 1: the smallest probability over the ball that all options are valid.

    Parameters
    ----------
    points : (J, D), mean : (D,), cov : (D, D) positive semidefinite, radius : float >= 0
    """
    program = _CentredProgram.of(points, mean, cov, radius)
    if program is None or program.n_points == 0:
        return OracleValue(float(np.all(points @ mean > 0.0)), "optimal", 0.0)
    return _first_optimal(lambda unit, tol: _solve(_lower_program(program.in_units_of(unit)), tol))


def paper_upper(points: Array, mean: Array, cov: Array, radius: float) -> OracleValue:
    """Solve the program of Theorem 2: the largest probability over the ball that all options are valid.

    Parameters as in `paper_lower`.
    """
    program = _CentredProgram.of(points, mean, cov, radius)
    if program is None or program.n_points == 0:
        return OracleValue(float(np.all(points @ mean >= 0.0)), "optimal", 0.0)
    return _first_optimal(lambda unit, tol: _solve(_upper_program(program.in_units_of(unit)), tol))


def with_drift(points: Array, mean: Array, cov: Array, drift: Array | None = None) -> tuple[Array, Array, Array]:
    """Return (points, mean, cov) in coordinates where the ball of transport cost s'Q^{-1}s is the paper's.

    theta -> Q^{-1/2} theta; the bounds of the result at the same radius are those of the original with
    `drift` Q. Without a drift nothing changes.

    The moments are divided by Q on both sides and inherit its condition number. Measured with cond(Q) = k:
    the programs keep 1e-8 up to k = 1e6; at 1e7 the fifth digit is wrong, at 1e8 the second, and the solver
    still says "optimal". `canonical_lower`, which needs |x|_Q only, has no such limit. A singular Q has no
    such coordinates: ValueError.
    """
    if drift is None:
        return points, mean, cov
    values, vectors = np.linalg.eigh(drift)
    if values[0] <= RANK_TOLERANCE * values[-1]:
        raise ValueError(f"the drift must be positive definite, its eigenvalues go from {values[0]} to {values[-1]}")
    root = (vectors * np.sqrt(values)) @ vectors.T
    inverse_root = (vectors / np.sqrt(values)) @ vectors.T
    whitened = inverse_root @ cov @ inverse_root
    return points @ root, inverse_root @ mean, 0.5 * (whitened + whitened.T)


def verbatim_lower(points: Array, mean: Array, cov: Array, radius: float) -> OracleValue:
    """Solve the program of Theorem 1 exactly as printed: only for well-scaled data and a positive radius."""
    dim = mean.size
    mu, Sigma = cp.Variable((dim, 1)), cp.Variable((dim, dim), PSD=True)
    C, M = cp.Variable((dim, dim)), cp.Variable((dim, dim), PSD=True)
    # [[Z_j, z_j], [z_j', lambda_j]] as one variable: the paper asks that this block be positive semidefinite.
    blocks = [cp.Variable((dim + 1, dim + 1), PSD=True) for _ in points]
    one = np.ones((1, 1))
    constraints = [-x @ block[:dim, dim] >= 0 for x, block in zip(points, blocks, strict=True)]
    constraints += [
        cp.bmat([[M, mu], [mu.T, one]]) - sum(blocks) >> 0,
        cp.bmat([[Sigma, C], [C.T, cov]]) >> 0,
        cp.bmat([[M - Sigma, mu], [mu.T, one]]) >> 0,
        mean @ mean - 2 * mean @ mu[:, 0] + cp.trace(M) + np.trace(cov) - 2 * cp.trace(C) <= radius**2,
    ]
    return _solve(cp.Problem(cp.Minimize(1 - sum(block[dim, dim] for block in blocks)), constraints))


def verbatim_upper(points: Array, mean: Array, cov: Array, radius: float) -> OracleValue:
    """Solve the program of Theorem 2 exactly as printed: only for well-scaled data and a positive radius."""
    dim, (mean_column, root) = mean.size, (mean[:, None], _symmetric_root(cov))
    gamma, q = cp.Variable(nonneg=True), cp.Variable((1, 1), nonneg=True)
    z0, z = cp.Variable((1, 1)), cp.Variable((dim, 1))
    Z, Q = cp.Variable((dim, dim), PSD=True), cp.Variable((dim, dim), PSD=True)
    weights = cp.Variable(len(points), nonneg=True)
    half = cp.reshape(weights @ points, (dim, 1), order="C") / 2
    slack = gamma * np.eye(dim) - Z
    shift = gamma * mean_column + z
    constraints = [
        cp.bmat([[slack, gamma * root], [gamma * root, Q]]) >> 0,
        cp.bmat([[slack, shift], [shift.T, q]]) >> 0,
        cp.bmat([[Z, z], [z.T, z0]]) >> 0,
        cp.bmat([[Z, z - half], [(z - half).T, z0 - 1]]) >> 0,
    ]
    objective = z0[0, 0] + gamma * (radius**2 - mean @ mean - np.trace(cov)) + q[0, 0] + cp.trace(Q)
    return _solve(cp.Problem(cp.Minimize(objective), constraints))


def canonical_lower(points: Array, mean: Array, cov: Array, radius: float, drift: Array | None = None) -> OracleValue:
    """Solve problem (P) of docs/theory.md with Clarabel's own interface: the baseline of the benchmarks.

    `drift` may be singular. `seconds` is the solve time of the attempt whose value is returned.
    """
    lengths = _lengths(points, drift)
    margins = points @ mean
    if margins.min() <= 0.0:
        return OracleValue(0.0, "optimal", 0.0)
    spread = points @ _factor(cov)
    left, singular, _ = np.linalg.svd(spread, full_matrices=False)
    rank = int(np.sum(singular > RANK_TOLERANCE * max(singular[0], np.abs(margins).max()))) if singular.size else 0
    vectors = np.column_stack([left[:, :rank] * singular[:rank], margins])
    # An option that the drift does not move (|x|_Q = 0), or none at radius 0: any g is free, its length is
    # not used.
    still = (lengths == 0.0) | (radius == 0.0)
    vectors /= np.where(still, np.linalg.norm(vectors, axis=1), np.where(lengths == 0.0, 1.0, lengths))[:, None]
    if still.all():
        return _solve_canonical(_canonical_program(vectors, still, 0.0, 1.0))
    # g is of the order 1 / rho: with g = h / (rho |v|) neither its price nor its effect vanishes with rho.
    natural = radius * float(np.median(np.linalg.norm(vectors[~still], axis=1)))
    return _first_optimal(
        lambda unit, tolerance: _solve_canonical(_canonical_program(vectors, still, radius, unit * natural), tolerance)
    )


@dataclass(frozen=True)
class _CentredProgram:
    """What the centred programs need: options, their margins x'mean, F with F F' = S, the radius.

    `reach` (D,) is the radius in the units of the coordinates, which `in_units_of` chooses for each by itself.
    """

    points: Array
    margins: Array
    factor: Array
    reach: Array

    @property
    def n_points(self) -> int:
        return len(self.points)

    @property
    def dim(self) -> int:
        return len(self.factor)

    @property
    def is_ball(self) -> bool:
        return bool(self.reach.any())

    @classmethod
    def of(cls, points: Array, mean: Array, cov: Array, radius: float) -> "_CentredProgram | None":
        """Return the program's data, or None if theta is certain (no covariance, no ball)."""
        margins, factor = points @ mean, _factor(cov)
        if radius == 0.0:
            # theta - mean lies in the range of S: theta = mean + F y with y of covariance I, which is the
            # minimal face of the program. An option that does not depend on y is valid surely, or never.
            if factor.shape[1] == 0:
                return None
            points, factor = points @ factor, np.eye(factor.shape[1])
            constant = np.linalg.norm(points, axis=1) <= RANK_TOLERANCE * np.abs(margins)
            points[constant] = 0.0
            sure = constant & (margins > 0.0)
            points, margins = points[~sure], margins[~sure]
        if factor.shape[1] == 0:
            factor = np.zeros((mean.size, 1))  # theta is certain but for the ball
        return cls(points, margins, factor, np.full(len(factor), radius))

    def in_units_of(self, unit: float) -> "_CentredProgram":
        """Return the same program along its own axes, each in its own scale times `unit`, and options of length 1."""
        axes, deviations, _ = np.linalg.svd(self.factor)
        deviations = np.append(deviations, np.zeros(self.dim - deviations.size))
        scales = unit * np.hypot(deviations, self.reach)
        points, margins = self.points @ (axes * scales), self.margins
        lengths = np.hypot(np.linalg.norm(points, axis=1), margins)
        lengths[lengths == 0.0] = 1.0
        factor = axes.T @ self.factor / scales[:, None]
        return _CentredProgram(points / lengths[:, None], margins / lengths, factor, self.reach / scales)


def _lower_program(data: _CentredProgram) -> cp.Problem:
    """Theorem 1: one block of mass per option, against it; the rest may be anywhere."""
    dim = data.dim
    blocks = [cp.Variable((dim + 1, dim + 1), PSD=True) for _ in data.points]
    moments, constraints = _moments_in_ball(data)
    constraints += [
        x @ block[:dim, dim] + margin * block[dim, dim] <= 0
        for x, margin, block in zip(data.points, data.margins, blocks, strict=True)
    ]
    constraints.append(moments - sum(blocks) >> 0)
    return cp.Problem(cp.Minimize(1 - sum(block[dim, dim] for block in blocks)), constraints)


def _upper_program(data: _CentredProgram) -> cp.Problem:
    """Theorem 2, its Lagrangian dual: one block of mass that every option accepts; the rest may be anywhere.

    The multiplier of [[Z, z], [z', z0 - 1]] >= ... is the block [[Z, z], [z', l]] here, that of the two
    blocks in gamma and of gamma itself are the moments in the ball. The printed side has an interior (gamma,
    z0 and Z large), so the values agree; it is this side that has an attained optimum at radius 0 (gamma runs
    off to infinity there) and keeps its digits for small radii.
    """
    dim = data.dim
    block = cp.Variable((dim + 1, dim + 1), PSD=True)
    moments, constraints = _moments_in_ball(data)
    constraints.append(data.points @ block[:dim, dim] + data.margins * block[dim, dim] >= 0)
    constraints.append(moments - block >> 0)
    return cp.Problem(cp.Maximize(block[dim, dim]), constraints)


def _moments_in_ball(data: _CentredProgram) -> tuple[cp.Expression, list[cp.Constraint]]:
    """Return [[M, mu], [mu', 1]] about the nominal mean, and what keeps (mu, Sigma, C, M) in the ball."""
    dim, order = data.factor.shape
    R, F, one = sparse.csc_matrix(np.diag(data.reach)), data.factor, np.ones((1, 1))
    nominal = F @ F.T
    if not data.is_ball:
        return cp.Constant(np.block([[nominal, np.zeros((dim, 1))], [np.zeros((1, dim)), one]])), []
    u, N = cp.Variable((dim, 1)), cp.Variable((dim, dim), symmetric=True)
    K, E = cp.Variable((dim, order)), cp.Variable((dim, dim), symmetric=True)
    constraints = [
        cp.bmat([[E, K], [K.T, np.eye(order)]]) >> 0,
        cp.bmat([[N, u], [u.T, one]]) >> 0,
        cp.trace(E) + cp.trace(N) <= 1,
    ]
    second = nominal + R @ K @ F.T + F @ K.T @ R + R @ (E + N) @ R
    return cp.bmat([[second, R @ u], [u.T @ R, one]]), constraints


def _solve(problem: cp.Problem, tolerance: float = TOLERANCE) -> OracleValue:
    """Solve with Clarabel; a failure is a status, not an exception."""
    options = {"tol_gap_abs": tolerance, "tol_gap_rel": tolerance, "tol_feas": tolerance, "max_iter": 300}
    with warnings.catch_warnings():
        # cvxpy warns about inaccurate solutions; the status says so and the caller must look at it.
        warnings.filterwarnings("ignore", message="Solution may be inaccurate", category=UserWarning)
        try:
            problem.solve(solver=cp.CLARABEL, **options)
        except cp.SolverError:
            return OracleValue(float("nan"), "solver_error", 0.0)
    value = float("nan") if problem.value is None else float(problem.value)
    return OracleValue(value, str(problem.status), float(problem.solver_stats.solve_time or 0.0))


def _first_optimal(attempt: Callable[[float, float], OracleValue]) -> OracleValue:
    """Return the first attempt that the solver calls optimal, else the first with a value at all."""
    results = []
    for unit, tolerance in ATTEMPTS:
        results.append(attempt(unit, tolerance))
        if results[-1].is_optimal:
            return results[-1]
    return next((result for result in results if np.isfinite(result.value)), results[0])


@dataclass(frozen=True)
class _ConicProgram:
    """Minimise cost'x subject to offset - matrix x in the product of the cones, Clarabel's form."""

    cost: Array
    matrix: sparse.csc_matrix
    offset: Array
    cones: list[object]


def _canonical_program(vectors: Array, still: npt.NDArray[np.bool_], radius: float, unit: float) -> _ConicProgram:
    """Build (P) over x = (svec M, h), g = h / unit: M >= 0, h >= 0, M + g v_j v_j' - e e' >= 0.

    For an option in `still` the block is restricted to the complement of v_j, as docs/theory.md says for t_j = 0.
    """
    order = vectors.shape[1]
    size = order * (order + 1) // 2
    last = np.zeros((order, order))
    last[-1, -1] = 1.0
    identity, empty = sparse.identity(size, format="csc"), sparse.csc_matrix((size, 1))
    rows = [
        sparse.hstack([-identity, empty]),
        sparse.csc_matrix(([-1.0], ([0], [size])), shape=(1, size + 1)),
    ]
    offsets = [np.zeros(size), np.zeros(1)]
    cones = [clarabel.PSDTriangleConeT(order), clarabel.NonnegativeConeT(1)]
    for v, is_still in zip(vectors, still, strict=True):
        if is_still:
            if order == 1:
                continue  # the complement of v is empty: the option is surely valid
            complement = np.linalg.svd(v[None, :])[2][1:]
            restricted = sparse.csc_matrix(_compression(complement))
            rows.append(sparse.hstack([-restricted, sparse.csc_matrix((restricted.shape[0], 1))]))
            offsets.append(-_svec(complement @ last @ complement.T))
            cones.append(clarabel.PSDTriangleConeT(order - 1))
        else:
            column = sparse.csc_matrix(_svec(np.outer(v, v))[:, None] / unit)
            rows.append(sparse.hstack([-identity, -column]))
            offsets.append(-_svec(last))
            cones.append(clarabel.PSDTriangleConeT(order))
    cost = np.append(_svec(np.eye(order)), radius**2 / unit)
    return _ConicProgram(cost, sparse.csc_matrix(sparse.vstack(rows)), np.concatenate(offsets), cones)


def _solve_canonical(program: _ConicProgram, tolerance: float = TOLERANCE) -> OracleValue:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = 300
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    no_quadratic = sparse.csc_matrix((program.cost.size, program.cost.size))
    start = time.perf_counter()
    solver = clarabel.DefaultSolver(no_quadratic, program.cost, program.matrix, program.offset, program.cones, settings)
    solution = solver.solve()
    seconds = time.perf_counter() - start
    names = {"Solved": "optimal", "AlmostSolved": "optimal_inaccurate"}
    if str(solution.status) not in names:
        return OracleValue(float("nan"), str(solution.status), seconds)
    return OracleValue(1.0 - float(solution.obj_val), names[str(solution.status)], seconds)


def _svec(matrix: Array) -> Array:
    """Upper triangle column by column, off-diagonal entries times sqrt 2: inner products are kept."""
    column, row = np.tril_indices(len(matrix))
    return matrix[row, column] * np.where(row == column, 1.0, np.sqrt(2.0))


def _compression(basis: Array) -> Array:
    """Return the matrix of svec(M) -> svec(B M B'), B of shape (k, n)."""
    order = basis.shape[1]
    column, row = np.tril_indices(order)
    images = []
    for i, j in zip(row, column, strict=True):
        outer = np.outer(basis[:, i], basis[:, j])
        images.append(_svec(outer if i == j else (outer + outer.T) / np.sqrt(2.0)))
    return np.column_stack(images)


def _factor(cov: Array) -> Array:
    """Return F (D, rank) with F F' = cov."""
    values, vectors = np.linalg.eigh(cov)
    kept = values > RANK_TOLERANCE * max(values[-1], 0.0)
    return vectors[:, kept] * np.sqrt(values[kept])


def _symmetric_root(cov: Array) -> Array:
    values, vectors = np.linalg.eigh(cov)
    return (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T


def _lengths(points: Array, drift: Array | None) -> Array:
    """Return |x|_Q of every option, with rounding noise of a singular Q set to zero."""
    if drift is None:
        return np.linalg.norm(points, axis=1)
    lengths = np.linalg.norm(points @ _factor(drift), axis=1)
    floor = np.sqrt(RANK_TOLERANCE * np.linalg.norm(drift, 2)) * np.linalg.norm(points, axis=1)
    return np.where(lengths > floor, lengths, 0.0)
