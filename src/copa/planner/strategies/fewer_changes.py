"""Options with fewer and smaller changes: taken back as long as the option stays as sure as it should be."""

from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa.planner.search.problem import ActionSpace
from copa.planner.strategies.applicants import Applicants
from copa.planner.strategies.samples import Rows, Samples

Known = TypeVar("Known", bound=Samples)
Evaluated_co = TypeVar("Evaluated_co", bound=Samples, covariant=True)


class Evaluates(Protocol[Evaluated_co]):
    """Evaluates rows."""

    def score_today(self, rows: Rows) -> Array:
        """Return the scores of rows by the model in force."""

    def evaluate_accepted(self, rows: Rows) -> Evaluated_co:
        """Return those of the rows that the model in force accepts, with their guarantees."""


@dataclass(frozen=True, eq=False)
class Easing(Generic[Known]):
    """Makes options lighter, as long as each keeps a level of its own.

    Attributes
    ----------
    space : ActionSpace
    applicants : Applicants
    models : Evaluates
    options : Rows
        M options.
    least : ndarray of shape (M,)
        Level that each must keep.
    met : list of Samples
        Rows that were evaluated on the way.
    """

    space: ActionSpace
    applicants: Applicants
    models: Evaluates[Known]
    options: Rows
    least: Array
    met: list[Known] = field(default_factory=list)
    _lower: dict[bytes, float] = field(default_factory=dict)

    def ease(self) -> None:
        """Take changes back, then halve those of the numbers.

        Each option goes two ways, which lead to different rows: the changes that count least go first, or those that
        ask for most.
        """
        rows = Rows(np.tile(self.options.owner, 2), np.tile(self.options.values, (2, 1)))
        own = self.applicants.regions.own[rows.owner]
        for by_refits in (False, True):
            rows = self._reduce(rows, own, by_refits=by_refits)
        self._reduce(rows, rows.halved(self.space, self.applicants), by_refits=False)

    def _reduce(self, rows: Rows, targets: Array, *, by_refits: bool) -> Rows:
        """Put entries of rows (2 M, F) at their targets, as many as go without losing the level.

        First each by itself, judged by the model in force or by its refits as well. Of those that can go, the first
        two, three, ... together; the most that keep the level go.
        """
        lines, columns = np.nonzero(rows.values != targets)
        alone = rows.values[lines]
        alone[np.arange(len(lines)), columns] = targets[lines, columns]
        tried = Rows(rows.owner[lines], alone)
        least = np.tile(self.least, 2)
        rating = self.lower(tried) if by_refits else self._scores(tried)
        good = rating >= (least[lines] if by_refits else 0.0)
        lines, columns, rating, tried = lines[good], columns[good], rating[good], tried.some(good)
        if len(lines) == 0:
            return rows
        effort = self.space.effort(self.applicants.regions.take(tried.owner), tried.values)
        least_first = lines < len(self.least)
        order = np.lexsort((columns, effort, np.where(least_first, -rating, 0.0), lines))
        lines, columns = lines[order], columns[order]
        together = _one_after_another(rows.values, targets, lines, columns)
        kept = np.flatnonzero(self.lower(Rows(rows.owner[lines], together)) >= least[lines])
        most = kept[np.append(lines[kept][1:] != lines[kept][:-1], True)[: len(kept)]]
        values = rows.values.copy()
        values[lines[most]] = together[most]
        return Rows(rows.owner, values)

    def lower(self, rows: Rows) -> Array:
        """Guarantees of rows, (M,), each asked for once; minus infinity where a row is refused."""
        keys = _keys(rows)
        unknown = {key: k for k, key in enumerate(keys) if key not in self._lower}
        if unknown:
            self._lower.update(dict.fromkeys(unknown, -np.inf))
            some = rows.some(np.array(list(unknown.values())))
            found = self.models.evaluate_accepted(some.some(some.allowed(self.space, self.applicants)))
            self._lower.update(zip(_keys(found), found.lower.tolist(), strict=True))
            self.met.append(found)
        return np.array([self._lower[key] for key in keys])

    def _scores(self, rows: Rows) -> Array:
        """Scores of rows by the model in force, (M,); minus infinity where the schema does not allow a row."""
        allowed = rows.allowed(self.space, self.applicants)
        scores = np.full(len(allowed), -np.inf)
        if allowed.any():
            scores[allowed] = self.models.score_today(rows.some(allowed))
        return scores


def _keys(rows: Rows) -> list[bytes]:
    """One for each different row of an applicant."""
    return [b"%d:" % i + entries.tobytes() for i, entries in zip(rows.owner.tolist(), rows.values, strict=True)]


def _one_after_another(values: Array, targets: Array, lines: Indices, columns: npt.NDArray[np.intp]) -> Array:
    """Rows of the lines with their first, their first two, ... entries at the targets, (M, F)."""
    together = values[lines]
    for k in range(len(lines)):
        if k and lines[k] == lines[k - 1]:
            together[k] = together[k - 1]
        together[k, columns[k]] = targets[lines[k], columns[k]]
    return together
