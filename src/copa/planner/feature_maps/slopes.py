"""What every column does to the encoded vector at a given row: slopes of the lines, and each value of each choice."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from copa.arrays import Array, Indices
from copa.exceptions import InvalidInputError
from copa.models.feature_maps import raw_jacobian
from copa.planner.delivery import Applicants
from copa.planner.fitted import FittedPlanner
from copa.planner.tries.samples import Rows
from copa.planning.actions import ActionSpace, unit_of_effort

if TYPE_CHECKING:
    import pandas as pd

SECANT = 0.1  # units of effort


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
    here = model.encode(frame)
    if n_lines:
        slopes = _slopes(fitted, frame)
        unknown = np.asarray(np.isnan(slopes).any(axis=(1, 2)))
        directions[:, :n_lines] = np.where(
            unknown[:, None, None], _secants(fitted, applicants, rows, here) if unknown.any() else 0.0, slopes
        )
    for k in range(len(space.choices)):
        values = np.arange(space.ends[k], space.ends[k + 1])
        directions[:, values] = _exchanged(fitted, applicants, rows, k, values) - here[:, None]
    own = applicants.places.take(rows.owner)
    back = np.einsum("ml,mld->md", own.values - rows.values, directions[:, :n_lines])
    everyone = np.arange(m)
    for k in range(len(space.choices)):
        back += directions[everyone, own.atoms[:, k]] - directions[everyone, rows.atoms[:, k]]
    return Slopes(directions, here + back)


def _slopes(fitted: FittedPlanner, frame: "pd.DataFrame") -> Array:
    """Slopes (M, L, D) of the lines at rows; NaN at rows where one is not finite, such as that of a root at zero."""
    names = [feature.name for feature in fitted.space.lines]
    slopes = np.zeros((len(frame), len(names), fitted.ball.dimension))
    given = frame[list(fitted.model.columns)]
    try:
        slopes[:, :, 1:] = raw_jacobian(fitted.model.transformers, given, names).transpose(0, 2, 1)
    except InvalidInputError:  # of some row: the others must not pay for it
        for k in range(len(frame)):
            try:
                slopes[k, :, 1:] = raw_jacobian(fitted.model.transformers, given.iloc[[k]], names)[0].T
            except InvalidInputError:
                slopes[k] = np.nan
    return slopes


def _secants(fitted: FittedPlanner, applicants: Applicants, rows: Rows, here: Array) -> Array:
    """Slopes (M, L, D) over a part of a unit of effort, towards the wider side of each line's range."""
    space, own = fitted.space, applicants.places.take(rows.owner)
    slopes = np.zeros((len(rows.owner), len(space.lines), here.shape[1]))
    for k, feature in enumerate(space.lines):
        above, below = own.upper[:, k] - rows.values[:, k], rows.values[:, k] - own.lower[:, k]
        step = max(SECANT * unit_of_effort(feature), feature.step or 0.0)
        way = np.where(above >= below, np.minimum(step, above), -np.minimum(step, below))
        moved = rows.values.copy()
        moved[:, k] += way
        there = fitted.model.encode(Rows(rows.owner, moved, rows.atoms).frame(space, applicants))
        slopes[:, k] = (there - here) / np.where(way == 0.0, np.inf, way)[:, None]
    return slopes


def _exchanged(fitted: FittedPlanner, applicants: Applicants, rows: Rows, choice: int, values: Indices) -> Array:
    """Encoded rows (M, V, D) with each value of one choice in turn."""
    m, n_values = len(rows.owner), len(values)
    atoms = np.repeat(rows.atoms, n_values, axis=0)
    atoms[:, choice] = np.tile(values, m)
    trial = Rows(np.repeat(rows.owner, n_values), np.repeat(rows.values, n_values, axis=0), atoms)
    return fitted.model.encode(trial.frame(fitted.space, applicants)).reshape(m, n_values, -1)
