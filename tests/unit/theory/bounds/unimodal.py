"""An ambiguity set of another family, as a user of the library would write one."""

import math

import numpy as np

from copa.theory.sets.ambiguity import AmbiguitySet


class UnimodalMeanSet(AmbiguitySet):
    """Scores with one mode, whose mean may move by the reach: the one-sided Vysochanskij-Petunin inequality."""

    def level_coefficients(self, level):
        """(kappa, 1)."""
        if level >= 5.0 / 6.0:
            return math.sqrt(4.0 / (9.0 * (1.0 - level)) - 1.0), 1.0
        return math.sqrt(3.0 * level / (4.0 - 3.0 * level)), 1.0

    def guarantee(self, mean, std, reach):
        """The inverse of kappa at (mean - reach) / std."""
        room = np.maximum(np.asarray(mean) - reach, 0.0)
        square, variance = room**2, np.asarray(std) ** 2
        total = np.where(square + variance > 0.0, square + variance, 1.0)
        below, above = 4.0 * square / (3.0 * total), 1.0 - 4.0 * variance / (9.0 * total)
        lower = np.where(square >= 5.0 / 3.0 * variance, above, below)
        return np.where(room > 0.0, lower, 0.0)
