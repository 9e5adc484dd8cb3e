"""Random subsets of the training rows, in each of which both classes occur."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa._core.reading import read_share
from copa.exceptions import RetrainingError

Indices = npt.NDArray[np.intp]
MAX_DRAWS = 1000
THIRD = 1.0 / 3.0  # of the rows


def subset_size(n_rows: int, fraction: float) -> int:
    """Return the number of rows that `fraction` of `n_rows` stands for."""
    return max(1, round(read_share(fraction, "fraction", or_one=True) * n_rows))


def draw_subset(target: Array, size: int, rng: np.random.Generator) -> Indices:
    """Return `size` sorted row indices, uniform among the subsets in which both classes occur.

    Parameters
    ----------
    target : ndarray of shape (n,)
        1.0 for rows of the positive class, else 0.0.
    size : int
    rng : numpy.random.Generator

    Raises
    ------
    RetrainingError
        If the subsets keep missing a class.
    """

    def draw() -> Indices:
        # The rows with the smallest random keys: several times faster than Generator.choice.
        keys = rng.random(target.size)
        return np.flatnonzero(keys <= np.partition(keys, size - 1)[size - 1])[:size]

    return draw_with_both_classes(draw, target, f"subsets of {size} out of {target.size} rows")


Sample = TypeVar("Sample", Indices, tuple[Indices, Indices])


def draw_with_both_classes(draw: Callable[[], Sample], target: Array, what: str) -> Sample:
    """Draw a sample of rows, or a pair of samples, until both classes occur in each."""
    for _ in range(MAX_DRAWS):
        sample = draw()
        if all(0.0 < target[rows].sum() < rows.size for rows in (sample if isinstance(sample, tuple) else (sample,))):
            return sample
    rarer = int(min(target.sum(), target.size - target.sum()))
    raise RetrainingError(
        f"{MAX_DRAWS} {what} all lacked a class (the rarer has {rarer} of the {target.size} rows); give more rows of "
        "the rarer class, or draw a larger fraction of them"
    )


def draw_halves(n: int, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Rows of the two halves of a random split; the second has one more where the number is odd."""
    order = rng.permutation(n)
    return np.sort(order[: n // 2]), np.sort(order[n // 2 :])


def draw_third(target: Array, rng: np.random.Generator) -> Indices:
    """Rows of a random third in which both classes occur."""
    return draw_subset(target, subset_size(target.size, THIRD), rng)


def draw_thirds_in_halves(
    target: Array, n_samples: tuple[int, ...], n_sides: int, rng: np.random.Generator
) -> list[Indices]:
    """Random thirds of the rows, without replacement, each within one half of a split and with both classes.

    Around a fit to all n rows, fits to m of them vary by (n - m) / m times the variance of a fit to n fresh rows: with
    a third, as a model on fresh data varies around today's, both being samples. A refit inside one half has seen
    nothing of the other one.

    Parameters
    ----------
    target : ndarray of shape (n,)
    n_samples : tuple of int
        Of each group of samples, which follow one another; sample k of each is in half k % n_sides.
    n_sides : int
        Number of halves, even: 2 i and 2 i + 1 are those of one split.
    rng : numpy.random.Generator
    """
    size = subset_size(target.size, THIRD)
    halves: list[Indices] = []
    for _ in range(n_sides // 2):
        halves += draw_halves(target.size, rng)

    def draw(half: Indices) -> Indices:
        few = min(size, half.size)
        what = f"subsets of {few} out of {half.size} rows"
        return draw_with_both_classes(lambda: np.sort(rng.choice(half, few, replace=False)), target, what)

    return [draw(halves[k % n_sides]) for n in n_samples for k in range(n)]


@dataclass(frozen=True, eq=False)
class Subsets:
    """Rows of refits: K halves, of which 2i and 2i + 1 are those of one split, and then T thirds.

    Attributes
    ----------
    n_rows : int
        Rows that they are drawn from.
    packed : ndarray of shape (K + T, ceil(n_rows / 8))
        One bit for each row, set for the rows of a subset.
    """

    n_rows: int
    packed: npt.NDArray[np.uint8]

    @classmethod
    def draw(cls, target: Array, n_halves: int, n_thirds: int, seed: int) -> "Subsets":
        """Draw subsets in each of which both classes occur; the first do not depend on how many follow.

        Parameters
        ----------
        target : ndarray of shape (n,)
            1.0 for rows of the positive class, else 0.0.
        n_halves, n_thirds : int
        seed : int
        """
        n = target.size
        splits, thirds = np.random.default_rng(seed).spawn(2)
        packed = np.zeros((n_halves + n_thirds, -(-n // 8)), dtype=np.uint8)
        for first in range(0, n_halves, 2):
            halves = draw_with_both_classes(lambda: draw_halves(n, splits), target, "pairs of halves")
            for k, rows in enumerate(halves[: n_halves - first]):
                packed[first + k] = _bits(rows, n)
        for k in range(n_halves, n_halves + n_thirds):
            packed[k] = _bits(draw_third(target, thirds), n)
        return cls(n, packed)

    def __len__(self) -> int:
        return len(self.packed)

    def rows(self, k: int) -> Indices:
        """Sorted rows of subset k."""
        return np.flatnonzero(np.unpackbits(self.packed[k], count=self.n_rows))


def _bits(rows: Indices, n: int) -> npt.NDArray[np.uint8]:
    inside = np.zeros(n, dtype=bool)
    inside[rows] = True
    return np.packbits(inside)
