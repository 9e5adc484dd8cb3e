"""Random halves and thirds of the training rows."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa.models.refits.retraining import Indices, draw_subset, draw_with_both_classes


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


def draw_halves(n: int, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Rows of the two halves of a random split; the second has one more where the number is odd."""
    order = rng.permutation(n)
    return np.sort(order[: n // 2]), np.sort(order[n // 2 :])


def draw_third(target: Array, rng: np.random.Generator) -> Indices:
    """Rows of a random third in which both classes occur."""
    return draw_subset(target, max(1, round(target.size / 3)), rng)


def _bits(rows: Indices, n: int) -> npt.NDArray[np.uint8]:
    inside = np.zeros(n, dtype=bool)
    inside[rows] = True
    return np.packbits(inside)
