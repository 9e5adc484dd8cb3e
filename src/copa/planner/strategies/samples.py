"""Rows near applicants that explorations try, with their scores and guarantees."""

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa.data.schema.columns import LazyFrame, Read, ReadTable
from copa.data.tables.cells import snap
from copa.models.encoder_parts import plain_entries, plain_numbers
from copa.planner.search.problem import ActionSpace, as_levels
from copa.planner.search.rows import write_rows, written_numbers
from copa.planner.strategies.applicants import Applicants
from copa.plans.cost import unit_of_effort
from copa.theory.sets.ambiguity import AmbiguitySet

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
        """Return some of the rows, without scores and guarantees."""
        return Rows(self.owner[rows], self.values[rows])

    def table(self, space: ActionSpace, applicants: Applicants) -> ReadTable:
        """Return the rows as a model is given them."""
        return UnwrittenRows(space, applicants, self.owner, self.values)

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
        everyone = np.arange(len(points))[:, None]  # no two columns have a level in common
        points[everyone, 1 + as_levels(self.values[:, n:])] += 1.0
        points[everyone, 1 + as_levels(own[:, n:])] -= 1.0
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
            good[doubtful] = space.schema.obeys(applicants.origins, some.table(space, applicants), some.owner)
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


class UnwrittenRows(ReadTable):
    """Rows of the search, read from their codes and numbers; they never leave the search.

    They are written out where somebody asks for other cells, such as a pipeline that reads data frames.
    """

    def __init__(self, space: ActionSpace, applicants: Applicants, owner: Indices, values: Array) -> None:
        self._space, self._applicants, self._owner, self._values = space, applicants, owner, values
        self._changed = values != applicants.regions.own[owner]
        self._places = {feature.name: f for f, feature in enumerate(space.columns)}
        written = LazyFrame(lambda: write_rows(space, applicants.table, applicants.regions, owner, values).frame)
        super().__init__(written, len(owner))

    def _derived_block(self, read: Read, names: tuple[str, ...]) -> Any:
        if read is plain_numbers:
            return self._plain_numbers(names)
        return self._plain_entries(names) if read is plain_entries else None

    def _plain_numbers(self, names: tuple[str, ...]) -> Array | None:
        """The columns as numbers, (M, C); None where the rows must be written for that."""
        own = self._applicants.table.block(plain_numbers, names)
        if own is None:
            return None
        numbers: Array = own[self._owner]
        for k, name in enumerate(names):
            f = self._places.get(name)
            if f is None or not self._changed[:, f].any():
                continue
            written = self._new_numbers(f)
            if written is None:
                return None
            numbers[self._changed[:, f], k] = written
        return numbers

    def _new_numbers(self, f: int) -> Array | None:
        """The new numbers of a column, where it changes; None where the rows must be written for that."""
        feature, changed = self._space.columns[f], self._changed[:, f]
        values = self._values[changed, f]
        if feature.is_categorical:  # whole numbers for a model that reads its levels as such
            words = self._applicants.words(self._space, (feature.name,))
            levels = as_levels(values) - self._space.starts[f]
            return None if words is None else np.array([word for _, word in words[0]], dtype=np.float64)[levels]
        if feature.name in self._space.edges:
            values = self._applicants.regions.values[self._owner[changed], as_levels(values)]
        return written_numbers(feature.step, values)

    def _plain_entries(self, names: tuple[str, ...]) -> tuple[Indices, list[tuple[int, Any]]] | None:
        """The entries of the columns as positions (M, C) in a list; None where the rows must be written for that."""
        own = self._applicants.table.block(plain_entries, names)
        words = self._applicants.words(self._space, names)
        if own is None or words is None:
            return None
        cells, first = words
        positions = own[0][self._owner]
        places = [(k, self._places[name]) for k, name in enumerate(names) if name in self._places]
        here, columns = [k for k, _ in places], [f for _, f in places]
        levels = as_levels(self._values[:, columns]) + (len(own[1]) + first - self._space.starts[columns])
        positions[:, here] = np.where(self._changed[:, columns], levels, positions[:, here])
        return positions, [*own[1], *cells]


@dataclass(frozen=True, eq=False)
class Samples(Rows):
    """Rows with their coordinates, scores and guarantees.

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
        return type(self)(*[getattr(self, f.name)[rows] for f in fields(self)])

    def joined(self, *others: Self) -> Self:
        """These rows and others."""
        parts = [[getattr(part, f.name) for part in (self, *others)] for f in fields(self)]
        return type(self)(*map(np.concatenate, parts))


def signed_guarantee(ambiguity: AmbiguitySet, mean: Array, spread: Array, drift: Array) -> Array:
    """Guarantees of rows, (M,); below zero where nothing is guaranteed, the more the further a row is from it.

    Parameters
    ----------
    ambiguity : AmbiguitySet
    mean : ndarray of shape (M,)
        Of the rows' scores.
    spread : ndarray of shape (M,)
        Their standard deviations.
    drift : ndarray of shape (M,)
        How far the set lets each mean move.
    """
    lower = ambiguity.guarantee(mean, spread, drift)
    missing: Array = (np.arctan2(mean, spread) - np.arctan2(drift, spread)) / np.pi
    return np.where(lower > 0.0, lower, np.minimum(missing, 0.0))
