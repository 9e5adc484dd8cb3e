"""The canonical form of a plan in plain NumPy: what the kernels work on, and what a certificate is checked in.

A plan enters its lower bound only through the vectors y_j = (F'x_j ; mu'x_j), with F F' = cov, and the reaches
r_j = radius |x_j|_Q of its options (docs/theory.md, "Canonical form"). They are used as unit directions
u_j = y_j / |y_j| and relative reaches t_j = r_j / |y_j|, in coordinates of the span of the y_j and the last unit
vector e. Any rotation that keeps e is as good as another, so a certificate names the coordinates it is written in by
its directions, and `align` finds the isometry that leads there.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import LARGEST, SMALLEST, Array, Indices, as_floats, require_finite, require_size
from copa._core.words import shown
from copa.exceptions import InvalidInputError
from copa.theory.sets.ambiguity import AmbiguitySet


def read_points(points: Any, dimension: int) -> Array:
    """Check the shape of one plan (J, D) or a batch (N, J, D) and return a read-only copy.

    The entries are checked plan by plan, by `require_plan` or `plan_violations`.
    """
    array = as_floats(points, "points").copy()
    if array.ndim not in (2, 3) or array.shape[-1] != dimension:
        raise InvalidInputError(
            f"points must have shape (J, {dimension}) or (N, J, {dimension}) to match mean, got {array.shape}"
        )
    if array.shape[-2] == 0:
        raise InvalidInputError(f"a plan needs at least one option, got points of shape {array.shape}")
    array.setflags(write=False)
    return array


def read_plan(points: Any, dimension: int) -> Array:
    """Check one plan (J, D), its shape and its entries, and return a read-only copy."""
    plan = read_points(points, dimension)
    if plan.ndim != 2:
        raise InvalidInputError(f"expected one plan of shape (J, {dimension}), got {plan.shape}")
    require_plan(plan)
    return plan


def read_plans(points: Any, dimension: int) -> tuple[Array, bool]:
    """Read one plan (J, D) or a batch as plans (N, J, D), and whether it was one; raise at the first bad plan."""
    array = read_points(points, dimension)
    if array.ndim == 2:
        require_plan(array)
        return array[None], True
    for i, message in enumerate(plan_violations(array)):
        if message:
            raise InvalidInputError(f"plan {i}: {message}")
    return array, False


def read_owned_options(points: Any, owner: Any, n_plans: int, dimension: int) -> tuple[Array, Indices]:
    """Check the shape of options (M, D), and that each has a plan of 0 to N - 1, in ascending order."""
    array, plans = as_floats(points, "points"), np.asarray(owner)
    if array.ndim != 2 or array.shape[1] != dimension:
        raise InvalidInputError(f"points must have shape (M, {dimension}), one row per option, got {array.shape}")
    if plans.shape != (len(array),) or (plans.size and plans.dtype.kind not in "iu"):
        raise InvalidInputError(
            f"owner must hold one whole number per option, shape ({len(array)},), got {plans.dtype} of shape "
            f"{plans.shape}"
        )
    if plans.size and (plans[0] < 0 or plans[-1] >= n_plans or (plans[1:] < plans[:-1]).any()):
        raise InvalidInputError(
            f"owner must hold positions of applicants, 0 to {n_plans - 1}, in ascending order, got {shown(plans)}"
        )
    return array, plans.astype(np.int64)


def require_plan(plan: Array) -> None:
    """Raise if the entries of a plan (J, D) are not finite, or an option is zero or of a size out of range."""
    require_finite(plan, "points")
    for j, option in enumerate(plan):
        require_size(option, f"option {j}", SMALLEST)
        if not option.any():
            raise InvalidInputError(
                f"option {j} is the zero vector, which no model accepts or rejects; "
                "an option needs at least its intercept coordinate, 1"
            )


def plan_violations(plans: Array) -> npt.NDArray[np.str_]:
    """Say what is wrong with each plan of a batch (N, J, D); empty where nothing is."""
    with np.errstate(invalid="ignore"):
        sizes = np.abs(plans).max(axis=2)  # NaN where an entry is, and then no comparison below holds
        good = ((sizes >= SMALLEST) & (sizes <= LARGEST)).all(axis=1)
    messages = [""] * len(plans)
    for i in np.flatnonzero(~good):
        try:
            require_plan(plans[i])
        except InvalidInputError as error:
            messages[i] = str(error)
    return np.array(messages, dtype=np.str_)


@dataclass(frozen=True, eq=False)
class CanonicalPlan:
    """One plan in the coordinates of a certificate.

    Attributes
    ----------
    directions : (J, n) unit vectors u_j
    reach : (J,) relative reaches t_j
    lengths : (J,) |y_j|
    isometry : (D, n - 1) orthonormal columns: the coordinates' axes, e left out
    lost : float, length of the part of the u_j outside these axes (rounding, if the coordinates fit)
    frames : (J, n, n) U_j = H_j diag(t_j, 1, ..., 1), where the reflection H_j takes the first axis to u_j up to sign
    """

    directions: Array
    reach: Array
    lengths: Array
    isometry: Array
    lost: float
    frames: Array


def align(points: Array, ball: AmbiguitySet, coordinates: Array) -> CanonicalPlan:
    """Bring a plan into the coordinates in which its directions are nearest to the given ones.

    Parameters
    ----------
    points : (J, D) options
    ball : the ambiguity ball
    coordinates : (J, n) directions that name the coordinates
    """
    means, roots, reaches, sizes = score_moments(points, ball)
    lengths = np.hypot(np.linalg.norm(roots, axis=1), means)
    scale = 1.0 / np.where(lengths > 0.0, lengths, 1.0)
    roots = roots * scale[:, None]
    isometry = _isometry(coordinates[:, :-1].T, roots.T)
    inside = roots @ isometry
    lost = float(np.linalg.norm(roots - inside @ isometry.T, axis=1).max())
    directions = np.column_stack([inside, means * scale])
    norms = np.linalg.norm(directions, axis=1, keepdims=True)
    directions = directions / np.where(norms > 0.0, norms, 1.0)
    reach = reaches * scale
    frames = _frames(directions, reach, np.copysign(1.0, coordinates[:, 0]))
    return CanonicalPlan(directions, reach, lengths * sizes, isometry, lost, frames)


def score_moments(points: Array, ball: AmbiguitySet) -> tuple[Array, Array, Array, Array]:
    """Means (J,), roots (J, D), reaches (J,) of the scores of options (J, D), divided by the sizes (J,) returned last.

    The verifier's own arithmetic. Each option is divided by its entry that weighs most, entry times parameter, and each
    parameter by its size: what is added up are ratios of at most one, so that no product vanishes which matters.

    Raises
    ------
    InvalidInputError
        If entries of an option, or parameters, differ so much that a ratio of two leaves the floating-point range.
    """
    drift_root = np.eye(ball.dimension) if ball.drift_root is None else ball.drift_root
    parts = np.column_stack([ball.mean, ball.cov_root, ball.radius * drift_root])
    units = np.abs(parts).max(axis=1)
    rows = parts / np.where(units > 0.0, units, 1.0)[:, None]
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        heaviest = np.argmax(np.log(np.abs(points)) + np.log(units), axis=1)
        top, unit = np.abs(np.take_along_axis(points, heaviest[:, None], axis=1)), units[heaviest][:, None]
        matters = (points != 0.0) & (units > 0.0)
        ratios = np.where(matters, (points / top) * (units / unit), 0.0)
    if not np.isfinite(ratios).all():
        j = int(np.flatnonzero(~np.isfinite(ratios).all(axis=1))[0])
        raise InvalidInputError(
            f"option {j} has entries, or meets parameters, whose ratios leave the floating-point range; choose units "
            "in which they are of similar size"
        )
    moments = ratios @ rows
    reaches = np.linalg.norm(moments[:, ball.dimension + 1 :], axis=1)
    return moments[:, 0], moments[:, 1 : ball.dimension + 1], reaches, (top * unit)[:, 0]


def _isometry(source: Array, target: Array) -> Array:
    """Orthonormal columns P with P @ source nearest to target, given that such a P exists up to rounding.

    The columns are taken along the source's singular directions, strongest first, and made orthonormal in this order.
    So a weak direction, known to few digits, cannot disturb a strong one, and a vanishing one is completed somehow.
    """
    left, _, right = np.linalg.svd(source, full_matrices=False)
    images, triangle = np.linalg.qr(target @ right.T)
    result: Array = (images * np.copysign(1.0, np.diag(triangle))) @ left.T
    return result


def _frames(directions: Array, reach: Array, side: Array) -> Array:
    """Frames of the options, (J, n, n).

    H_j = I - 2 w w' with w along u_j + side_j e_1. The side is the sign of the first coordinate, which avoids
    cancellation; it is taken from the certificate, because a coordinate that is zero to rounding may change its sign.
    """
    axes = directions.copy()
    axes[:, 0] += side
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    result = np.eye(directions.shape[1]) - 2.0 * axes[:, :, None] * axes[:, None, :]
    result[:, :, 0] *= reach[:, None]
    return result


def slack_blocks(frames: Array, matrix: Array, penalty: float) -> Array:
    """Blocks S_j = U_j'(M - e e')U_j + g E_11 that must be positive semidefinite, (J, n, n)."""
    target = matrix.copy()
    target[-1, -1] -= 1.0
    blocks: Array = np.swapaxes(frames, 1, 2) @ target @ frames
    blocks[:, 0, 0] += penalty
    return 0.5 * (blocks + np.swapaxes(blocks, 1, 2))


def witness_matrices(frames: Array, blocks: Array) -> Array:
    """Matrices W_j = U_j X_j U_j' of the dual program, (J, n, n)."""
    matrices: Array = frames @ blocks @ np.swapaxes(frames, 1, 2)
    return 0.5 * (matrices + np.swapaxes(matrices, 1, 2))
