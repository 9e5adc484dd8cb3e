"""What every column does to the encoded vector at a given row: slopes of the lines, and each value of each choice."""

from dataclasses import dataclass, replace

import numpy as np

from copa.arrays import Array, Indices
from copa.models.feature_maps import raw_jacobian
from copa.planner.delivery import Applicants
from copa.planner.fitted import FittedPlanner
from copa.planner.tries.samples import Rows
from copa.planning.actions import ActionSpace


@dataclass(frozen=True, eq=False)
class Slopes:
    """Straight-line pictures of the model at M rows.

    Attributes
    ----------
    directions : (M, A, D) what a raw unit of each line, and each value of each choice, adds to the encoded vector
    encoded : (M, D) what the applicant's own row would be encoded as, were the picture true everywhere
    """

    directions: Array
    encoded: Array

    def space(self, fitted: FittedPlanner, k: int) -> ActionSpace:
        """The action space as it looks from row k."""
        return replace(fitted.space, directions=self.directions[k])


def slopes_at(fitted: FittedPlanner, applicants: Applicants, rows: Rows) -> Slopes:
    """Pictures of the model at rows of applicants; exact at the row, and along each choice taken by itself."""
    space, model = fitted.space, fitted.model
    m, n_lines = len(rows.owner), len(space.lines)
    directions = np.zeros((m, len(space.directions), fitted.ball.dimension))
    frame = rows.frame(space, applicants)
    if n_lines:
        names = [feature.name for feature in space.lines]
        slopes = raw_jacobian(model.transformers, frame[list(model.columns)], names)
        directions[:, :n_lines, 1:] = slopes.transpose(0, 2, 1)
    here = model.encode(frame)
    for k in range(len(space.choices)):
        values = np.arange(space.ends[k], space.ends[k + 1])
        directions[:, values] = _exchanged(fitted, applicants, rows, k, values) - here[:, None]
    own = applicants.places.take(rows.owner)
    back = np.einsum("ml,mld->md", own.values - rows.values, directions[:, :n_lines])
    everyone = np.arange(m)
    for k in range(len(space.choices)):
        back += directions[everyone, own.atoms[:, k]] - directions[everyone, rows.atoms[:, k]]
    return Slopes(directions, here + back)


def _exchanged(fitted: FittedPlanner, applicants: Applicants, rows: Rows, choice: int, values: Indices) -> Array:
    """Encoded rows (M, V, D) with each value of one choice in turn."""
    m, n_values = len(rows.owner), len(values)
    atoms = np.repeat(rows.atoms, n_values, axis=0)
    atoms[:, choice] = np.tile(values, m)
    trial = Rows(np.repeat(rows.owner, n_values), np.repeat(rows.values, n_values, axis=0), atoms)
    return fitted.model.encode(trial.frame(fitted.space, applicants)).reshape(m, n_values, -1)
