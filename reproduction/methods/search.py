"""Where an option may lie: within the ranges of the data, with what is immutable as it is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reproduction.encoding import Array

if TYPE_CHECKING:
    from reproduction.case import Case


@dataclass(frozen=True, eq=False)
class Space:
    """The unit box, of which some coordinates are held at the applicant's values; the intercept always is."""

    held: npt.NDArray[np.intp]

    @classmethod
    def of(cls, case: "Case") -> "Space":
        """Read what may not change off a case."""
        return cls(np.concatenate([[0], case.fixed]).astype(np.intp))

    def project(self, origins: Array) -> Callable[[Array], Array]:
        """Return the projection for points (n, ..., D) of the applicants (n, D)."""

        def project(points: Array) -> Array:
            inside = np.clip(points, 0.0, 1.0)
            own = origins.reshape(len(origins), *[1] * (points.ndim - 2), origins.shape[-1])
            inside[..., self.held] = np.broadcast_to(own, points.shape)[..., self.held]
            return inside

        return project
