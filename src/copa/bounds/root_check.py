"""What the verifier checks of an ambiguity set before it relies on the roots of its matrices."""

import numpy as np

from copa._core.arrays import rounding_allowance, vary_together
from copa.exceptions import InvalidInputError
from copa.uncertainty.ambiguity import AmbiguitySet

# Rounding errors of the verifier itself, per row of a matrix and unit of its size: those of forming a block
# (two products) and of a symmetric eigenvalue solver are each a small multiple of n eps |block|.
ROUNDING = 16 * float(np.finfo(np.float64).eps)
# How far the square of a root may be from the matrix, per coordinate, in units in which the diagonal is 1: the root of
# a singular matrix turns eigenvalues that rounding made negative, and finding it adds a little.
ROOT_ERROR = 2**18 * float(np.finfo(np.float64).eps)


def require_roots(ambiguity: AmbiguitySet) -> None:
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
