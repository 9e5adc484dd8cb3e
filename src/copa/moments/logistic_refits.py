"""Many logistic regressions on subsets of the same rows, fitted together.

A refit on half of the rows lies close to the fit on all of them. From there it takes a Newton step or two, and
chord steps (gradient new, Hessian kept) do the rest; a new Hessian is formed only while they are slow. Written
for a batch of c refits, every part is a matrix product: with the row weights in a (c, n) matrix, all gradients
are (c, n) @ (n, p), and all Hessians are (c, n) @ (n, p(p+1)/2), the right-hand side holding the products of
features. The few refits that do not settle this way get a damped Newton method each.

Progress is measured by the Newton decrement sqrt(g'H^{-1}g): the norm of the gradient that does not depend on
the units of the features, and the distance to the minimiser in standard errors of the fit.
"""

from collections.abc import Iterator
from itertools import islice

import numpy as np
import numpy.typing as npt

from copa.arrays import Array
from copa.moments.logistic_newton import MAX_INFLATION, LogisticProblem, damped_newton

TOLERANCE = 1e-9  # predicted decrement after the last step
MAX_STEPS = 12
SLOW = 0.1  # a chord step that shrinks the decrement by less than ten is time for a new Hessian
BATCH_NUMBERS = 2**23  # numbers in one (c, n) or (c, p, p) array, of which a handful live at a time
MAX_BATCH = 256
BLOCK_NUMBERS = 2**16  # numbers in one (c, rows) array: half a megabyte, to stay in the cache


def refit_logistic(problem: LogisticProblem, weights: Iterator[Array], start: Array) -> Array:
    """Return the minimisers for K vectors of row weights.

    Parameters
    ----------
    problem : LogisticProblem
    weights : iterator over K arrays of shape (n,)
        Zero for a row that is not in the refit's subset. Consumed batch by batch, so that memory stays
        bounded.
    start : ndarray of shape (p,)
        Where every refit starts: the fit on all rows.

    Returns
    -------
    ndarray of shape (K, p)
    """
    n, p = problem.design.shape
    size = min(MAX_BATCH, max(1, BATCH_NUMBERS // max(n, p * p)))
    batches = []
    while rows := list(islice(weights, size)):
        fitted, unsettled = _chord_steps(problem, np.stack(rows), start)
        for k in unsettled:
            fitted[k] = damped_newton(problem, rows[k], start)
        batches.append(fitted)
    return np.concatenate(batches)


def _chord_steps(problem: LogisticProblem, weights: Array, start: Array) -> tuple[Array, npt.NDArray[np.intp]]:
    """Chord iterations for weights (c, n): parameters (c, p), and the places of those that did not settle."""
    fitted = np.empty((len(weights), start.size))
    unsettled = np.arange(len(weights))
    theta = start[np.newaxis]  # one row as long as all refits stand at the same place
    previous = np.zeros(len(weights))
    refresh = True
    with np.errstate(invalid="ignore", over="ignore"):  # a refit that runs away stays unsettled
        for iteration in range(MAX_STEPS):
            gradient, hessian = _derivatives(problem, weights, theta, with_hessian=refresh)
            if hessian is not None:
                inverse, regular = _inverses(hessian)
            step = (inverse @ gradient[..., np.newaxis])[..., 0]
            decrement = np.sqrt(np.einsum("kp,kp->k", gradient, step))
            theta = theta - step
            # The step just taken shrinks the decrement about as the one before did, by decrement / previous.
            going = ~(regular & (decrement * decrement <= TOLERANCE * previous))
            fitted[unsettled] = theta
            refresh = iteration == 0 or bool((decrement > SLOW * previous)[going].any())
            previous = decrement
            if not going.all():
                unsettled, weights, theta, inverse, regular, previous = (
                    part[going] for part in (unsettled, weights, theta, inverse, regular, previous)
                )
            if not regular.any():  # all settled, or none to be settled this way
                break
    return fitted, unsettled


def _derivatives(
    problem: LogisticProblem, weights: Array, theta: Array, *, with_hessian: bool
) -> tuple[Array, Array | None]:
    """Return the gradients (c, p) and, if asked for, the Hessians (c, p, p) at theta (c, p) or (1, p).

    Rows are taken in blocks that stay in the processor's cache from the log-odds to the sums.
    """
    from scipy.special import expit

    n, p = problem.design.shape
    gradient = np.zeros((len(weights), p)) + problem.ridge * theta
    packed = np.zeros((len(weights), p * (p + 1) // 2))
    block = min(1024, max(64, BLOCK_NUMBERS // len(weights)))
    for first in range(0, n, block):
        rows = slice(first, first + block)
        design, inside = problem.design[rows], weights[:, rows]
        probability = expit(theta @ design.T)
        gradient += (inside * (probability - problem.target[rows])) @ design
        if with_hessian:
            probability *= 1.0 - probability
            packed += (inside * probability) @ _feature_products(design).T
    return gradient, _unpacked(packed, problem.ridge) if with_hessian else None


def _feature_products(design: Array) -> Array:
    """Return the products of all pairs of columns of (n, p), ordered as triu_indices: (p(p+1)/2, n)."""
    columns = np.ascontiguousarray(design.T)
    return np.concatenate([columns[j] * columns[j:] for j in range(len(columns))])


def _unpacked(packed: Array, ridge: Array) -> Array:
    """Return the symmetric matrices (c, p, p) from their upper triangles (c, p(p+1)/2), plus diag(ridge)."""
    p = ridge.size
    place = np.zeros((p, p), dtype=np.intp)
    upper = np.triu_indices(p)
    place[upper] = place.T[upper] = np.arange(packed.shape[1])
    matrices: Array = packed[:, place]
    matrices[:, np.arange(p), np.arange(p)] += ridge
    return matrices


def _inverses(hessians: Array) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Return the inverses (c, p, p), and whether each can be trusted (c,)."""
    try:
        inverses = np.asarray(np.linalg.inv(hessians), dtype=np.float64)
    except np.linalg.LinAlgError:  # raised for the batch if one member is exactly singular
        return np.zeros_like(hessians), np.zeros(len(hessians), dtype=bool)
    inflation = np.einsum("kpp,kpp->kp", hessians, inverses)
    return inverses, np.all((inflation > 0.0) & (inflation < MAX_INFLATION), axis=1)
