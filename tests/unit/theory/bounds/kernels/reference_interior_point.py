"""The interior-point method of the lower bound in dense NumPy, written to be read and not to be fast.

The same program, the same start, the same directions and the same step rule as the kernel `interior_point`.
Two things are done the plain way: the Newton equations are put to `np.linalg.solve` as the explicit matrix of their
linear operator, and the largest step is exact, from an eigenvalue.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

MAX_ITERATIONS = 60
PATIENCE = 5


def frames_of(directions, reach):
    """U_j = H_j diag(t_j, 1, ..., 1) with H_j the reflection between the first axis and -sign(u_j1) u_j."""
    frames = []
    for direction, t in zip(directions, reach, strict=True):
        axis = direction.copy()
        axis[0] += np.copysign(1.0, direction[0])
        frame = np.eye(len(axis)) - 2.0 * np.outer(axis, axis) / (axis @ axis)
        frame[:, 0] *= t
        frames.append(frame)
    return np.array(frames)


@dataclass(frozen=True)
class Pair:
    """A strictly feasible pair: (M, g) of the program and X_1 .. X_J of its dual; the rest follows."""

    frames: np.ndarray  # (J, n, n)
    M: np.ndarray  # (n, n)
    g: float
    X: np.ndarray  # (J, n, n)

    @cached_property
    def slacks(self):
        """S_1 .. S_J and M, (J + 1, n, n)."""
        target = self.M.copy()
        target[-1, -1] -= 1.0
        S = np.array([U.T @ target @ U for U in self.frames])
        S[:, 0, 0] += self.g
        return np.concatenate([S, self.M[None]])

    @cached_property
    def multipliers(self):
        """X_1 .. X_J and X_0 = I - sum_j U_j X_j U_j', (J + 1, n, n)."""
        used = sum(U @ X @ U.T for U, X in zip(self.frames, self.X, strict=True))
        return np.concatenate([self.X, (np.eye(len(self.M)) - used)[None]])

    @cached_property
    def x_g(self):
        """Multiplier of g >= 0."""
        return 1.0 - self.X[:, 0, 0].sum()

    @cached_property
    def gap(self):
        """Distance of the two objectives: the sum of all complementarity products."""
        return np.sum(self.slacks * self.multipliers) + self.g * self.x_g

    @cached_property
    def order(self):
        """Number of complementarity products."""
        return (len(self.X) + 1) * len(self.M) + 1

    @cached_property
    def value(self):
        """Objective of the program: an upper bound on 1 - L*."""
        return self.g + np.trace(self.M)


@dataclass(frozen=True)
class Direction:
    """A search direction, its blocks in the order of `slacks` and `multipliers`."""

    dg: float
    dx_g: float
    slacks: np.ndarray  # (J + 1, n, n)
    multipliers: np.ndarray  # (J + 1, n, n)


def first_pair(directions, reach):
    """M = 2 I, g = 1, X_j = I / 2J."""
    n_options, n = directions.shape
    X = np.broadcast_to(np.eye(n) / (2.0 * n_options), (n_options, n, n))
    return Pair(frames_of(directions, reach), 2.0 * np.eye(n), 1.0, X)


def symmetric_part(matrices):
    """(A + A') / 2."""
    return 0.5 * (matrices + np.swapaxes(matrices, -1, -2))


def change_of_slacks(pair, dM, dg):
    """What dM and dg do to S_1 .. S_J and M."""
    changes = np.array([U.T @ dM @ U for U in pair.frames])
    changes[:, 0, 0] += dg
    return np.concatenate([changes, dM[None]])


def newton_multipliers(pair, dM, dg, *, target, correction, correction_g):
    """Changes of the multipliers that the linearised products X S = target I ask for, and that of x_g."""
    S, X = pair.slacks, pair.multipliers
    inverses = np.linalg.inv(S)
    dX = target * inverses - X - symmetric_part(X @ change_of_slacks(pair, dM, dg) @ inverses) - correction
    dx_g = target / pair.g - pair.x_g - pair.x_g * dg / pair.g - correction_g
    return dX, dx_g


def violation(pair, dM, dg, **aim):
    """By how much these changes break sum_j U_j X_j U_j' + X_0 = I and sum_j (X_j)_11 + x_g = 1, as one vector."""
    dX, dx_g = newton_multipliers(pair, dM, dg, **aim)
    common = dX[-1] + sum(U @ D @ U.T for U, D in zip(pair.frames, dX[:-1], strict=True))
    return np.append(common[np.tril_indices(len(dM))], dX[:-1, 0, 0].sum() + dx_g)


def newton_direction(pair, *, target=0.0, correction=None, correction_g=0.0):
    """Solve for the changes that keep both equations: an affine function of (dM, dg) has to vanish."""
    n = len(pair.M)
    aim = {
        "target": target,
        "correction": np.zeros((len(pair.X) + 1, n, n)) if correction is None else correction,
        "correction_g": correction_g,
    }
    rows, columns = np.tril_indices(n)

    def unpack(unknowns):
        dM = np.zeros((n, n))
        dM[rows, columns] = dM[columns, rows] = unknowns[:-1]
        return dM, unknowns[-1]

    constant = violation(pair, np.zeros((n, n)), 0.0, **aim)
    operator = np.column_stack([violation(pair, *unpack(unit), **aim) - constant for unit in np.eye(len(constant))])
    dM, dg = unpack(np.linalg.solve(operator, -constant))
    dX, dx_g = newton_multipliers(pair, dM, dg, **aim)
    return Direction(dg, dx_g, change_of_slacks(pair, dM, dg), dX)


def largest_step(blocks, changes, number, number_change):
    """Largest step in [0, 1] that keeps the blocks positive semidefinite and the number non-negative."""
    inverse_roots = np.linalg.inv(np.linalg.cholesky(blocks))
    relative = inverse_roots @ changes @ np.swapaxes(inverse_roots, 1, 2)
    steepest = min(np.linalg.eigvalsh(symmetric_part(relative)).min(), number_change / number)
    return 1.0 if steepest >= -1.0 else -1.0 / steepest


def steps(pair, direction):
    """Largest steps of the slacks and of the multipliers."""
    return (
        largest_step(pair.slacks, direction.slacks, pair.g, direction.dg),
        largest_step(pair.multipliers, direction.multipliers, pair.x_g, direction.dx_g),
    )


def move(pair, direction, step_s, step_x):
    """The pair after a step."""
    return replace(
        pair,
        M=pair.M + step_s * direction.slacks[-1],
        g=pair.g + step_s * direction.dg,
        X=pair.X + step_x * direction.multipliers[:-1],
    )


def iterate(pair):
    """One predictor and corrector (Mehrotra), and the step along them."""
    predictor = newton_direction(pair)
    step_s, step_x = steps(pair, predictor)
    share = np.clip(move(pair, predictor, step_s, step_x).gap / pair.gap, 0.1, 1.0)
    corrector = newton_direction(
        pair,
        target=share**2 * pair.gap / pair.order,
        correction=symmetric_part(predictor.multipliers @ predictor.slacks @ np.linalg.inv(pair.slacks)),
        correction_g=predictor.dg * predictor.dx_g / pair.g,
    )
    part = 0.9 + 0.09 * min(step_s, step_x)
    step_s, step_x = steps(pair, corrector)
    return move(pair, corrector, part * step_s, part * step_x)


def solve(directions, reach, tolerance):
    """Minimise g + tr M; the pair with the smallest gap seen."""
    pair = best = first_pair(directions, reach)
    since_best = 0
    for _ in range(MAX_ITERATIONS):
        if best.gap < tolerance or since_best >= PATIENCE:
            break
        try:
            pair = iterate(pair)
            np.linalg.cholesky(pair.slacks)
            np.linalg.cholesky(pair.multipliers)
        except np.linalg.LinAlgError:
            break  # rounding has carried it over the boundary: the best pair stands
        best, since_best = (pair, 0) if pair.gap < best.gap else (best, since_best + 1)
    return best
