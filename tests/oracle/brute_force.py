"""Radius-0 bounds in two dimensions by linear programming over atoms of theta, with no semidefinite program.

The generalised moment problem behind Theorems 1 and 2 at rho = 0: choose masses on points of the plane, with
the given mean and second moment, so that the mass where the plan fails (or holds) is largest. Every solution
of the linear program is a true distribution, so its value bounds L* from above (U* from below). Its dual is a
quadratic that dominates the indicator on the atoms; corrected so that it does so on the whole plane, its
nominal expectation bounds the other side. Atoms are added where that quadratic is lowest (a closed form for a
quadratic on a line) until the two sides meet. What is returned is the middle, with half the distance as
error: a bracket, not an estimate, up to the linear program's own feasibility tolerance of 1e-10.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

Array = npt.NDArray[np.float64]

GRID = 41  # atoms per axis and per boundary line at the start
EXTENT = 30.0  # how far they reach, in standard deviations
FARTHEST = 1e4  # how far atoms may be added
ROUNDS = 60
LP_TOLERANCE = 1e-10


@dataclass(frozen=True)
class BruteForceValue:
    """A bound and the half-width of the bracket that contains it."""

    value: float
    error: float


def brute_force_lower(points: Array, mean: Array, cov: Array, *, target: float = 1e-7) -> BruteForceValue:
    """Return L* at radius 0 (paper, Thm. 1): one less the largest mass outside the open cone.

    Parameters
    ----------
    points : (J, 2), mean : (2,), cov : (2, 2) positive definite
    target : stop when the bracket is this narrow
    """
    lines = _boundary_lines(points, mean, cov)
    if min(line.height for line in lines) <= 0.0:
        return BruteForceValue(0.0, 0.0)  # Prop. 1: the mean itself is outside the open cone
    failing = _Region([(line, -np.inf, np.inf) for line in lines], lambda y: min(_heights(lines, y)) <= 0.0)
    largest = _largest_mass(failing, target)
    return BruteForceValue(1.0 - largest.value, largest.error)


def brute_force_upper(points: Array, mean: Array, cov: Array, *, target: float = 1e-7) -> BruteForceValue:
    """Return U* at radius 0 (paper, Thm. 2): the largest mass in the closed cone. Parameters as above."""
    lines = _boundary_lines(points, mean, cov)
    if min(line.height for line in lines) >= 0.0:
        return BruteForceValue(1.0, 0.0)
    pieces = [(line, *_part_inside(line, lines)) for line in lines]
    pieces = [piece for piece in pieces if piece[1] <= piece[2]]
    return _largest_mass(_Region(pieces, lambda y: min(_heights(lines, y)) >= 0.0), target)


@dataclass(frozen=True)
class _Line:
    """{y : normal'y + height = 0} in coordinates y of mean 0 and covariance I; the option holds above it."""

    normal: Array
    height: float

    def at(self, t: Array | float) -> Array:
        """Return the points at signed distance t from the foot of the perpendicular from the mean."""
        along = np.array([-self.normal[1], self.normal[0]])
        return -self.height * self.normal + np.multiply.outer(t, along)


def _boundary_lines(points: Array, mean: Array, cov: Array) -> list[_Line]:
    """Return the options' boundaries after theta = mean + F y, F F' = cov."""
    if points.shape[1] != 2:
        raise ValueError(f"brute force is for two dimensions, got options of {points.shape[1]}")
    factor = np.linalg.cholesky(cov)
    normals = points @ factor
    lengths = np.linalg.norm(normals, axis=1)
    return [_Line(n / s, float(x @ mean) / s) for n, s, x in zip(normals, lengths, points, strict=True)]


def _part_inside(line: _Line, lines: list[_Line]) -> tuple[float, float]:
    """Return the interval of t on `line` where every option holds; empty if it is reversed."""
    low, high = -np.inf, np.inf
    origin, along = line.at(0.0), line.at(1.0) - line.at(0.0)
    for other in lines:
        slope, level = float(other.normal @ along), float(other.normal @ origin + other.height)
        if abs(slope) < 1e-12:  # parallel: all of the line or none of it, up to rounding
            if level < -1e-9 * (1.0 + abs(other.height)):
                return np.inf, -np.inf
        elif slope > 0.0:
            low = max(low, -level / slope)
        else:
            high = min(high, -level / slope)
    # All boundaries pass through theta = 0: where a line meets the cone there only, rounding may reverse the
    # ends.
    if low > high and low - high < 1e-9 * (1.0 + abs(low)):
        low = high = 0.5 * (low + high)
    return low, high


def _heights(lines: list[_Line], y: Array) -> list[float]:
    return [float(line.normal @ y) + line.height for line in lines]


@dataclass(frozen=True)
class _Region:
    """A closed set without the mean: the pieces (line, from, to) of its boundary, and what belongs to it."""

    pieces: list[tuple[_Line, float, float]]
    contains: Callable[[Array], bool]


def _largest_mass(region: _Region, target: float) -> BruteForceValue:
    """Return the largest mass that a distribution of mean 0 and covariance I can put on the region.

    A convex quadratic is lowest on the region at its boundary, or at its overall minimum if that is inside:
    these are the places where atoms can be missing.
    """
    if not region.pieces:
        return BruteForceValue(0.0, 0.0)  # the cone is empty within the support
    axis = np.sinh(np.linspace(-1.0, 1.0, GRID) * np.arcsinh(EXTENT))
    plane = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    boundary = np.concatenate([line.at(np.clip(axis, low, high)) for line, low, high in region.pieces])
    atoms = np.concatenate([plane, boundary])
    worth = np.concatenate([np.zeros(len(plane)), np.ones(len(boundary))])
    lower, upper = 0.0, 1.0
    for _ in range(ROUNDS):
        attained, quadratic = _solve_program(atoms, worth)
        dominating, lowest, lowest_worth = _certify(quadratic, region)
        lower, upper = max(lower, attained), min(upper, dominating)
        if upper - lower <= target:
            break
        atoms, worth = np.concatenate([atoms, lowest]), np.concatenate([worth, lowest_worth])
    return BruteForceValue(0.5 * (lower + upper), 0.5 * abs(upper - lower) + LP_TOLERANCE)


def _solve_program(atoms: Array, worth: Array) -> tuple[float, Array]:
    """Return the largest worth of masses on the atoms, and the dual quadratic as a matrix on (y, 1)."""
    first, second = atoms.T
    moments = np.stack([np.ones_like(first), first, second, first**2, first * second, second**2])
    # An atom at distance R has mass of order 1 / R^2: columns of equal size keep the program well scaled.
    size = 1.0 + first**2 + second**2
    result = linprog(
        -worth / size,
        A_eq=moments / size,
        b_eq=np.array([1.0, 0.0, 0.0, 1.0, 0.0, 1.0]),
        bounds=(0.0, None),
        method="highs-ds",
        options={"primal_feasibility_tolerance": LP_TOLERANCE, "dual_feasibility_tolerance": LP_TOLERANCE},
    )
    if result.status != 0:
        raise RuntimeError(f"the linear program over atoms was not solved: {result.message}")
    c, b1, b2, a11, a12, a22 = -result.eqlin.marginals
    quadratic = np.array([[a11, a12 / 2, b1 / 2], [a12 / 2, a22, b2 / 2], [b1 / 2, b2 / 2, c]])
    return float(-result.fun), quadratic


def _certify(quadratic: Array, region: _Region) -> tuple[float, Array, Array]:
    """Return the expectation of the quadratic made >= 0 everywhere and >= 1 on the region.

    Also where it is lowest, the next atoms, and what each is worth.
    """
    eigenvalues = np.linalg.eigvalsh(quadratic)
    # Adding a multiple of 1 + |y|^2 makes it non-negative; a little more makes it strictly convex.
    convex = quadratic + (max(0.0, -eigenvalues[0]) + 1e-13 * eigenvalues[-1]) * np.eye(3)
    minimum = np.linalg.solve(convex[:2, :2], -convex[:2, 2])
    atoms, values = [np.clip(minimum, -FARTHEST, FARTHEST)], []
    if region.contains(minimum):
        values.append(_value(convex, minimum))
    for line, low, high in region.pieces:
        origin, along = np.append(line.at(0.0), 1.0), np.append(line.at(1.0) - line.at(0.0), 0.0)
        t = float(np.clip(-(along @ convex @ origin) / (along @ convex @ along), low, high))
        values.append(_value(convex, line.at(t)))
        atoms.append(line.at(float(np.clip(t, max(low, -FARTHEST), min(high, FARTHEST)))))
    worth = np.ones(len(atoms))
    worth[0] = float(region.contains(atoms[0]))
    # E[y y'] = I and E[y] = 0, so the expectation is the trace; dividing by the least value lifts it to 1
    # there.
    least = min(values)
    expectation = float(np.trace(convex)) / least if least > 0.0 else np.inf
    return expectation, np.array(atoms), worth


def _value(quadratic: Array, y: Array) -> float:
    extended = np.append(y, 1.0)
    return float(extended @ quadratic @ extended)
