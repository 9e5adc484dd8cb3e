"""Random training subsets."""

from typing import Any

import numpy as np
import numpy.typing as npt

from copa.arrays import Array
from copa.exceptions import InvalidInputError, RetrainingError

Indices = npt.NDArray[np.intp]
MAX_DRAWS = 1000


def as_generator(random_state: Any) -> np.random.Generator:
    """Return a numpy Generator for None, an int, a Generator (used as it is) or a RandomState (advanced)."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    allowed = random_state is None or isinstance(random_state, (int, np.integer, np.random.Generator))
    if not allowed or isinstance(random_state, bool):
        raise InvalidInputError(
            f"random_state must be None, an int, a numpy Generator or a numpy RandomState, got {random_state!r}"
        )
    try:
        return np.random.default_rng(random_state)
    except ValueError as error:
        raise InvalidInputError(f"random_state must not be negative, got {random_state!r}") from error


def subset_size(n_rows: int, fraction: float) -> int:
    """Return the number of rows that `fraction` of `n_rows` stands for."""
    if not 0.0 < fraction <= 1.0:
        raise InvalidInputError(f"fraction must lie in (0, 1], got {fraction!r}")
    return max(1, round(fraction * n_rows))


def draw_subset(target: Array, size: int, rng: np.random.Generator) -> Indices:
    """Return `size` sorted row indices, uniform among the subsets in which both classes occur.

    Parameters
    ----------
    target : ndarray of shape (n,)
        1.0 for rows of the positive class, else 0.0.
    """
    for _ in range(MAX_DRAWS):
        # The rows with the smallest random keys: several times faster than Generator.choice.
        keys = rng.random(target.size)
        indices: Indices = np.flatnonzero(keys <= np.partition(keys, size - 1)[size - 1])[:size]
        if 0.0 < target[indices].sum() < size:
            return indices
    rarer = int(min(target.sum(), target.size - target.sum()))
    raise RetrainingError(
        f"{MAX_DRAWS} subsets of {size} out of {target.size} rows all lacked a class (the rarer has {rarer} "
        "rows); use a larger fraction or more rows of the rarer class"
    )


def draw_bootstrap(target: Array, rng: np.random.Generator) -> Indices:
    """Return n row indices drawn with replacement, both classes among them."""
    for _ in range(MAX_DRAWS):
        indices: Indices = rng.integers(target.size, size=target.size)
        if 0.0 < target[indices].sum() < indices.size:
            return indices
    rarer = int(min(target.sum(), target.size - target.sum()))
    raise RetrainingError(
        f"{MAX_DRAWS} bootstrap samples all lacked a class (the rarer has {rarer} of the {target.size} rows); a radius "
        "from data needs more rows of it"
    )
