"""Reading arrays from the caller: one place where shapes, finiteness and definiteness are checked."""

from typing import Any

import numpy as np
import numpy.typing as npt

from copa.exceptions import InvalidInputError

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

# A covariance estimated from data is positive semidefinite only up to rounding. Relative to its largest
# eigenvalue, anything below this is taken as zero, anything more negative is an error of the caller.
EIGENVALUE_SLACK = 1e-10
ASYMMETRY_SLACK = 1e-8

# Scores are products of options and parameters, and their squares are added: entries beyond these sizes would overflow,
# or lose their digits, on the way. No meaningful unit is that far from one.
SMALLEST, LARGEST = 1e-60, 1e60


def as_floats(value: Any, name: str) -> Array:
    """Return `value` as a contiguous float64 array, or say why it is none."""
    try:
        if np.iscomplexobj(value):
            raise TypeError("complex numbers are not allowed")  # noqa: TRY301 - one message for all kinds of non-numbers
        array = np.asarray(value, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        message = f"{name} must be an array of numbers, got {type(value).__name__}: {error}"
        raise InvalidInputError(message) from error
    return array


def require_finite(array: Array, name: str) -> None:
    """Raise if `array` holds NaN or infinity, naming the first place."""
    if not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InvalidInputError(f"{name} must be finite, got {array[place]} at index {place}")


def require_size(array: Array, name: str, smallest: float = 0.0, largest: float = LARGEST) -> None:
    """Raise if the largest entry, unless it is zero, has a size that cannot be computed with."""
    size = float(np.abs(array).max(initial=0.0))
    if size > largest or 0.0 < size < smallest:
        raise InvalidInputError(
            f"{name} must have a largest entry between {smallest:g} and {largest:g}, got {size:g}; choose other units"
        )


def as_vector(value: Any, name: str, length: int | None = None) -> Array:
    """Return `value` as a finite vector, of `length` entries where one is given."""
    vector = as_floats(value, name)
    if vector.ndim != 1 or vector.size == 0 or (length is not None and vector.size != length):
        allowed = "(D,)" if length is None else f"({length},)"
        raise InvalidInputError(f"{name} must have shape {allowed}, got {vector.shape}")
    require_finite(vector, name)
    return vector


def as_symmetric(value: Any, name: str, order: int) -> Array:
    """Return `value` as a finite symmetric matrix of the given order, exactly symmetric."""
    matrix = as_floats(value, name)
    if matrix.shape != (order, order):
        raise InvalidInputError(f"{name} must have shape ({order}, {order}), got {matrix.shape}")
    require_finite(matrix, name)
    asymmetry = float(np.abs(matrix - matrix.T).max())
    if asymmetry > ASYMMETRY_SLACK * float(np.abs(matrix).max()):
        i, j = (int(k) for k in np.unravel_index(np.abs(matrix - matrix.T).argmax(), matrix.shape))
        raise InvalidInputError(
            f"{name} must be symmetric, got {matrix[i, j]!r} at ({i}, {j}) and {matrix[j, i]!r} at ({j}, {i})"
        )
    symmetric: Array = 0.5 * matrix + 0.5 * matrix.T
    return symmetric


def semidefinite_root(matrix: Array, name: str) -> Array:
    """Return F with F F' = matrix, for a positive semidefinite matrix.

    The Cholesky factor where the matrix is positive definite, else an eigenvalue root with rounding noise set to zero.
    Noise is relative to each coordinate's own size where the matrix allows it (whatever the units of the coordinates),
    else to the matrix as a whole. Raises with the most negative eigenvalue if the matrix is indefinite.
    """
    try:
        return as_floats(np.linalg.cholesky(matrix), name)
    except np.linalg.LinAlgError:
        pass
    sizes = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    for scale in (np.where(sizes > 0.0, sizes, sizes.max() or 1.0), np.ones_like(sizes)):
        values, vectors = np.linalg.eigh(matrix / scale[:, None] / scale)
        if values[0] >= -EIGENVALUE_SLACK * values[-1]:
            return as_floats(scale[:, None] * vectors * np.sqrt(np.maximum(values, 0.0)), name)
    raise InvalidInputError(
        f"{name} must be positive semidefinite, its most negative eigenvalue is {values[0]:.6g} "
        f"(largest {values[-1]:.6g}); a covariance has none below zero"
    )
