"""Rows near applicants, as explorations meet them, and what is known of them."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa.planner.strategies.applicants import Applicants
from copa.search.cost import unit_of_effort
from copa.search.problem import ActionSpace, as_levels
from copa.search.rows import write_rows
from copa.tables.cells import snap
from copa.uncertainty.ambiguity import AmbiguitySet

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
    owner : ndarray of shape (M,)
        Position of each row's applicant.
    values : ndarray of shape (M, F)
    """

    owner: Indices
    values: Array

    def some(self, rows: npt.NDArray[np.bool_] | Indices) -> "Rows":
        """Some of the rows, without what is known of them."""
        return Rows(self.owner[rows], self.values[rows])

    def frame(self, space: ActionSpace, applicants: Applicants) -> "pd.DataFrame":
        """The rows as a model is given them."""
        return write_rows(space, applicants.table, applicants.regions, self.owner, self.values)

    def coordinates(self, space: ActionSpace, applicants: Applicants) -> Array:
        """The rows around their applicants, (M, 1 + A), in the units of effort.

        Coordinate 0 is 1; then the change of each numeric column, and for each level of each categorical one whether it
        is taken up (1), given up (-1) or neither (0). The applicant is (1, 0, ..., 0).
        """
        own, n = applicants.regions.own[self.owner], len(space.numeric)
        points = np.zeros((len(self.owner), 1 + space.n_directions))
        points[:, 0] = 1.0
        units = np.array([unit_of_effort(feature) for feature in space.numeric])
        points[:, 1 : 1 + n] = (self.values - own)[:, :n] / units
        everyone = np.arange(len(points))
        for f, _ in space.level_columns:
            points[everyone, 1 + as_levels(self.values[:, f])] += 1.0
            points[everyone, 1 + as_levels(own[:, f])] -= 1.0
        return points

    def allowed(self, space: ActionSpace, applicants: Applicants) -> npt.NDArray[np.bool_]:
        """Return whether the rows obey the rules and the cap on changes, (M,); their values are taken to be allowed.

        Where the slack of a rule is a matter of rounding, the rows are written out and judged as such.
        """
        own = applicants.regions.own[self.owner]
        slack = space.slack_after(applicants.slack[self.owner], own, self.values)
        least = slack.min(axis=1, initial=np.inf)
        good: npt.NDArray[np.bool_] = ((self.values != own).sum(axis=1) <= space.cap) & (least > -IN_DOUBT)
        doubtful = np.flatnonzero(good & (least < IN_DOUBT))
        if len(doubtful):
            some = Rows(self.owner[doubtful], self.values[doubtful])
            origins = applicants.origins.iloc[some.owner]
            good[doubtful] = space.schema.obeys(origins, some.frame(space, applicants))
        return good

    def halved(self, space: ActionSpace, applicants: Applicants) -> Array:
        """The rows with their numbers half way back to the applicants, on the grid of the steps, (M, F)."""
        own = applicants.regions.take(self.owner)
        halved = self.values.copy()
        for f, feature in enumerate(space.numeric):
            middle = 0.5 * (self.values[:, f] + own.own[:, f])
            middle = middle if feature.step is None else snap(middle, feature.step)
            middle = np.clip(middle, own.lower[:, f], own.upper[:, f])
            halved[:, f] = np.where(self.values[:, f] == own.own[:, f], own.own[:, f], middle)
        return halved


@dataclass(frozen=True, eq=False)
class Samples(Rows):
    """Rows with what is known of them.

    Attributes
    ----------
    points : ndarray of shape (M, 1 + A)
        Their coordinates around the applicants.
    scores : ndarray of shape (M,)
        By the model in force, which accepts from zero on.
    lower : ndarray of shape (M,)
        Guarantee of each (see `signed_guarantee`); NaN where it is not known.
    """

    points: Array
    scores: Array
    lower: Array

    @property
    def sizes(self) -> Array:
        """Distance of each row from its applicant, (M,)."""
        sizes: Array = np.abs(self.points[:, 1:]).sum(axis=1)
        return sizes

    def take(self, rows: npt.NDArray[np.bool_] | Indices) -> Self:
        """Some of the rows."""
        return type(self)(*(getattr(self, f.name)[rows] for f in fields(self)))

    def joined(self, *others: Self) -> Self:
        """These rows and others."""
        return type(self)(*(np.concatenate([getattr(part, f.name) for part in (self, *others)]) for f in fields(self)))


def signed_guarantee(ambiguity: AmbiguitySet, mean: Array, spread: Array, reach: Array) -> Array:
    """Guarantees of rows, (M,); below zero where nothing is guaranteed, the more the further a row is from it.

    Parameters
    ----------
    ambiguity : AmbiguitySet
    mean : ndarray of shape (M,)
        Of the rows' scores.
    spread : ndarray of shape (M,)
        Their standard deviations.
    reach : ndarray of shape (M,)
        How far the set lets each mean move.
    """
    lower = ambiguity.guarantee(mean, spread, reach)
    missing: Array = (np.arctan2(mean, spread) - np.arctan2(reach, spread)) / np.pi
    return np.where(lower > 0.0, lower, np.minimum(missing, 0.0))
