"""Reading arrays from the caller: one place where shapes, finiteness and definiteness are checked."""

import datetime as dt
from typing import Any

import numpy as np
import numpy.typing as npt

from copa.exceptions import InvalidInputError

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.int64]

# A covariance estimated from data is symmetric and positive semidefinite only up to rounding. Both are judged in units
# in which every variance is 1 (correlations), so that no coordinate can hide behind a larger one. Correlations may
# differ from those across the diagonal by the first number: a matrix inverted at a condition of 1e8 does. Times D, an
# eigenvalue that is below zero by the second is zero, by the third rounding that a product has amplified, and an error
# of the caller beyond.
ASYMMETRY_SLACK = 1e-8
EIGENVALUE_NOISE = 2**8 * float(np.finfo(np.float64).eps)
EIGENVALUE_SLACK = 2**16 * float(np.finfo(np.float64).eps)

# What NumPy turns into floats though it is no number; pandas' dates and durations are among them.
DATES = (np.datetime64, dt.date)
DURATIONS = (np.timedelta64, dt.timedelta)

# Scores are products of options and parameters, and their squares are added: entries beyond these sizes would overflow,
# or lose their digits, on the way. No meaningful unit is that far from one.
SMALLEST, LARGEST = 1e-60, 1e60


def as_floats(value: Any, name: str) -> Array:
    """Return `value` as a contiguous float64 array, or say why it is none."""
    require_unmasked(value, name)
    try:
        _require_plain_numbers(value)
        array = np.asarray(value, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        message = f"{name} must be an array of numbers, got {type(value).__name__}: {error}"
        raise InvalidInputError(message) from error
    return array


def require_unmasked(value: Any, name: str) -> None:
    """Raise if an array has masked entries: a plain array would show what is behind the mask."""
    if _is_masked(value):
        raise InvalidInputError(f"{name} must have no masked entries; fill them (value.filled(...)) or drop them first")


def _is_masked(value: Any) -> bool:
    """Return whether an array, or one in a list, has masked entries."""
    if isinstance(value, (list, tuple)):
        nested = (list, tuple, np.ma.MaskedArray)
        return any(_is_masked(item) for item in value if isinstance(item, nested))
    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.is_masked(value))


def _require_plain_numbers(value: Any) -> None:
    """Raise for complex numbers, dates and durations."""
    raw = np.asarray(value)
    if raw.dtype.kind == "c" or np.iscomplexobj(value):
        raise TypeError("complex numbers are not allowed")
    entries = list(raw.flat) if raw.dtype.kind == "O" else []
    if raw.dtype.kind == "M" or any(isinstance(entry, DATES) for entry in entries):
        raise TypeError("dates are not numbers; turn them into one, for instance days since a fixed date")
    if raw.dtype.kind == "m" or any(isinstance(entry, DURATIONS) for entry in entries):
        raise TypeError("durations are not numbers; divide them by a unit, for instance numpy.timedelta64(1, 'D')")


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
    """Return `value` as a finite symmetric matrix of the given order, exactly symmetric.

    What differs across the diagonal is judged beside the two coordinates' own sizes, roots of their diagonal entries.
    """
    matrix = as_floats(value, name)
    if matrix.shape != (order, order):
        raise InvalidInputError(f"{name} must have shape ({order}, {order}), got {matrix.shape}")
    require_finite(matrix, name)
    sizes = np.sqrt(np.abs(np.diag(matrix)))
    excess = np.abs(0.5 * matrix - 0.5 * matrix.T) - 0.5 * ASYMMETRY_SLACK * (sizes[:, None] * sizes)
    if (excess > 0.0).any():
        i, j = (int(k) for k in np.unravel_index(excess.argmax(), matrix.shape))
        i, j = min(i, j), max(i, j)
        raise InvalidInputError(
            f"{name} must be symmetric, got {matrix[i, j]!r} at ({i}, {j}) and {matrix[j, i]!r} at ({j}, {i}), beside "
            f"diagonal entries {matrix[i, i]:g} and {matrix[j, j]:g}"
        )
    average = matrix + 0.5 * (matrix.T - matrix)  # in this order no digit of a tiny variance is lost
    symmetric: Array = np.tril(average) + np.tril(average, -1).T
    return symmetric


def semidefinite_root(matrix: Array, name: str) -> Array:
    """Return F with F F' = matrix, for a positive semidefinite matrix.

    The Cholesky factor where the matrix is positive definite, else an eigenvalue root with rounding noise set to zero;
    an eigenvalue further below zero, of amplified rounding, counts with its size: as little is known of its sign, the
    larger spread is the safe one. Everything happens in units in which every diagonal entry is about 1. Raises, naming
    the coordinates, if the matrix is indefinite in these units: none is judged beside another's size.
    """
    sizes = _coordinate_sizes(matrix, name)
    units = np.where(sizes > 0.0, sizes, 1.0)
    exponents = np.frexp(units)[1]  # powers of two: dividing by them changes no digit
    try:
        factor = np.linalg.cholesky(np.ldexp(matrix, -exponents[:, None] - exponents))
        return as_floats(np.ldexp(factor, exponents[:, None]), name)
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(matrix / units[:, None] / units)
    if values[0] >= -EIGENVALUE_SLACK * len(matrix):
        kept = np.where(values < -EIGENVALUE_NOISE * len(matrix), -values, np.maximum(values, 0.0))
        return as_floats(sizes[:, None] * vectors * np.sqrt(kept), name)
    involved = np.flatnonzero(np.abs(vectors[:, 0]) >= 0.5 * np.abs(vectors[:, 0]).max()).tolist()
    raise InvalidInputError(
        f"{name} must be positive semidefinite, its most negative eigenvalue is {values[0]:.6g} (largest "
        f"{values[-1]:.6g}) in units in which every diagonal entry is 1, along the coordinates {involved}; a "
        "covariance has none below zero"
    )


def rounding_allowance(order: int) -> float:
    """Share by which variances are raised before a root is taken that must not fall short of the matrix.

    Twice the error bounds of Cholesky's factorisation, n (n + 1) eps / 2 in units in which the diagonal is 1, and of
    the product F F', n^2 eps / 2, together.
    """
    return 2.0 * order * (order + 1) * float(np.finfo(np.float64).eps)


def vary_together(matrix: Array) -> npt.NDArray[np.bool_]:
    """Flag the coordinates that have a covariance with another, (D,)."""
    coupled: npt.NDArray[np.bool_] = (matrix != np.diag(np.diag(matrix))).any(axis=1)
    return coupled


def covering_root(matrix: Array, name: str) -> Array:
    """Return F with F F' >= matrix by no more than rounding, for a positive semidefinite matrix.

    A matrix in floating-point numbers is known, and factorised, to some units in the last place of its entries only.
    Where it is singular, that decides between no variance and a little. So that no root makes a score surer than it is,
    the variances are raised by a share that is more than these units, and than any eigenvalue is below zero. Those of
    coordinates that vary with no other are left as they are: their roots are exact. Raises as `semidefinite_root` does.
    """
    sizes = _coordinate_sizes(matrix, name)
    exponents = np.frexp(np.where(sizes > 0.0, sizes, 1.0))[1]
    scaled = np.ldexp(matrix, -exponents[:, None] - exponents) + np.diag(sizes == 0.0)
    share, raised = rounding_allowance(len(matrix)), np.diag(vary_together(matrix))
    try:
        factor = np.linalg.cholesky(scaled * (1.0 + share * raised))
    except np.linalg.LinAlgError:
        semidefinite_root(matrix, name)
        units = np.sqrt(np.diag(scaled))
        below = max(0.0, -float(np.linalg.eigvalsh(scaled / units[:, None] / units)[0]))
        factor = np.linalg.cholesky(scaled * (1.0 + (below + 4.0 * share) * raised))
    return as_floats(np.where(sizes[:, None] > 0.0, np.ldexp(factor, exponents[:, None]), 0.0), name)


def _coordinate_sizes(matrix: Array, name: str) -> Array:
    """Roots of the diagonal; raise where an entry of it is negative, or zero beside entries that are not."""
    diagonal = np.diag(matrix)
    if (diagonal < 0.0).any():
        values, i = np.linalg.eigvalsh(matrix), int(diagonal.argmin())
        raise InvalidInputError(
            f"{name} must be positive semidefinite, its most negative eigenvalue is {values[0]:.6g} (largest "
            f"{values[-1]:.6g}): the diagonal entry of coordinate {i} is {diagonal[i]:g}; no variance is negative"
        )
    beside = np.where(diagonal[:, None] == 0.0, np.abs(matrix), 0.0)
    if beside.any():
        i, j = (int(k) for k in np.unravel_index(beside.argmax(), matrix.shape))
        raise InvalidInputError(
            f"{name} must be positive semidefinite, and coordinate {i} has variance 0 beside a covariance of "
            f"{matrix[i, j]:g} with coordinate {j}; what does not vary does not vary with another"
        )
    sizes: Array = np.sqrt(diagonal)
    return sizes
