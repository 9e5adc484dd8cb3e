"""Rows near applicants, and what is known of each."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from copa.arrays import Array, Indices
from copa.bounds.single_option import single_option_lower
from copa.planner.delivery import Applicants
from copa.planning.actions import ActionSpace, Places, unit_of_effort
from copa.planning.rows import write_rows
from copa.schema.steps import snap

if TYPE_CHECKING:
    import pandas as pd

# Rows with less slack of a rule, in its size, are written out and judged exactly. Rounding to single precision can make
# more of it where columns are large: what passes here for that reason, the last judge refuses.
IN_DOUBT = 1e-6


@dataclass(frozen=True, eq=False)
class Rows:
    """M rows near N applicants, as the search has them.

    Attributes
    ----------
    owner : (M,) position of each row's applicant
    values, atoms : (M, L), (M, C)
    """

    owner: Indices
    values: Array
    atoms: Indices

    def frame(self, space: ActionSpace, applicants: Applicants) -> "pd.DataFrame":
        """The rows as a model is given them."""
        return write_rows(space, applicants.table, applicants.places, self.owner, self.values, self.atoms)

    def coordinates(self, space: ActionSpace, applicants: Applicants) -> Array:
        """The rows around their applicants, (M, 1 + A), in the units of effort.

        Coordinate 0 is 1; then a line's change, and for each value of each choice whether it is taken up (1), given up
        (-1) or neither (0). The applicant is (1, 0, ..., 0).
        """
        own = applicants.places.take(self.owner)
        n_lines = len(space.lines)
        points = np.zeros((len(self.owner), 1 + space.ends[-1]))
        points[:, 0] = 1.0
        units = np.array([unit_of_effort(feature) for feature in space.lines])
        points[:, 1 : 1 + n_lines] = (self.values - own.values) / units
        everyone = np.arange(len(points))
        for k in range(len(space.choices)):
            points[everyone, 1 + self.atoms[:, k]] += 1.0
            points[everyone, 1 + own.atoms[:, k]] -= 1.0
        return points

    def allowed(self, space: ActionSpace, applicants: Applicants) -> npt.NDArray[np.bool_]:
        """Whether the rows obey the rules and the cap on changes, (M,); their values are taken to be allowed.

        Where the slack of a rule is a matter of rounding, the rows are written out and judged as such.
        """
        own = applicants.places.take(self.owner)
        changes = (self.values != own.values).sum(axis=1) + (self.atoms != own.atoms).sum(axis=1)
        shares = space.terrain[6]
        slack = applicants.slack[self.owner] - (self.values - own.values) @ shares[:, : len(space.lines)].T
        for k in range(len(space.choices)):
            slack -= shares[:, self.atoms[:, k]].T - shares[:, own.atoms[:, k]].T
        least = slack.min(axis=1, initial=np.inf)
        good: npt.NDArray[np.bool_] = (changes <= space.cap) & (least > -IN_DOUBT)
        doubtful = np.flatnonzero(good & (least < IN_DOUBT))
        if len(doubtful):
            some = Rows(self.owner[doubtful], self.values[doubtful], self.atoms[doubtful])
            origins = applicants.origins.iloc[some.owner]
            good[doubtful] = space.schema.obeys(origins, some.frame(space, applicants))
        return good

    def eased(self, space: ActionSpace, applicants: Applicants) -> "Rows":
        """Every row with one change less, each in turn, and with each change of a line half as large."""
        own = applicants.places.take(self.owner)
        n_lines = self.values.shape[1]
        changed = np.hstack([self.values != own.values, self.atoms != own.atoms])
        rows, columns = np.nonzero(changed & (changed.sum(axis=1) > 1)[:, None])
        values, atoms = self.values[rows], self.atoms[rows]
        for position, (row, column) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True)):
            if column < n_lines:
                values[position, column] = own.values[row, column]
            else:
                atoms[position, column - n_lines] = own.atoms[row, column - n_lines]
        halved, lines = np.nonzero(changed[:, :n_lines])
        smaller = self.values[halved]
        smaller[np.arange(len(halved)), lines] = self._half_way(space, own)[halved, lines]
        return Rows(
            np.concatenate([self.owner[rows], self.owner[halved]]),
            np.concatenate([values, smaller]),
            np.concatenate([atoms, self.atoms[halved]]),
        )

    def _half_way(self, space: ActionSpace, own: Places) -> Array:
        """The lines half way back to the applicants, on the grid of the steps, (M, L)."""
        middle = 0.5 * (self.values + own.values)
        for k, feature in enumerate(space.lines):
            if feature.step is not None:
                middle[:, k] = snap(middle[:, k], feature.step)
        return np.clip(middle, own.lower, own.upper)


@dataclass(frozen=True, eq=False)
class Samples(Rows):
    """Rows with what is known of them.

    Attributes
    ----------
    points : (M, 1 + A) their coordinates around the applicants
    scores : (M,) by the model in force, which accepts from zero on
    lower : (M,) how sure each is (see `sureness`); NaN where that was not asked
    """

    points: Array
    scores: Array
    lower: Array

    def take(self, rows: npt.NDArray[np.bool_] | Indices) -> "Samples":
        """Some of the rows."""
        return Samples(*(getattr(self, f.name)[rows] for f in fields(self)))

    def joined(self, other: "Samples") -> "Samples":
        """These rows and others."""
        return Samples(*(np.concatenate([getattr(part, f.name) for part in (self, other)]) for f in fields(self)))


def sureness(mean: Array, spread: Array, reach: Array) -> Array:
    """Probability that rows hold with, (M,); below zero where none can be promised, the more the less sure they are.

    Parameters
    ----------
    mean, spread : of the rows' scores
    reach : how far the ball lets the mean go
    """
    lower = single_option_lower(mean, spread, reach)
    missing: Array = (np.arctan2(mean, spread) - np.arctan2(reach, spread)) / np.pi
    return np.where(lower > 0.0, lower, np.minimum(missing, 0.0))
