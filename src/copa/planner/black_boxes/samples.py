"""What the model says near applicants: allowed rows around them, and around the boundary on their side of it."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from copa.arrays import Array, Indices
from copa.planner.black_boxes.state import BlackBoxPlanner, ask_all, local_rows
from copa.planner.delivery import Applicants
from copa.planning.actions import ActionSpace, Places
from copa.planning.neighbourhood import Draws, rows_around, rows_between
from copa.planning.rows import write_rows

if TYPE_CHECKING:
    import pandas as pd

NEAR, FAR = 96, 192  # rows drawn around an applicant; and further ones where none of these is accepted
GATES = 16  # accepted rows towards which the boundary is looked for
HALVINGS = 4  # of the way to each
BESIDE = 2  # rows drawn beside each place where the boundary was met


@dataclass(frozen=True, eq=False)
class Samples:
    """M rows near N applicants, and what the model and its retrained fits say of them.

    Attributes
    ----------
    owner : (M,) position of each row's applicant
    values, atoms : (M, L), (M, C) the rows
    points : (M, D) in local coordinates
    scores : (M,) by the model in force
    """

    owner: Indices
    values: Array
    atoms: Indices
    points: Array
    scores: Array

    def take(self, rows: npt.NDArray[np.bool_] | Indices) -> "Samples":
        """Some of the rows."""
        return Samples(self.owner[rows], self.values[rows], self.atoms[rows], self.points[rows], self.scores[rows])

    def joined(self, other: "Samples") -> "Samples":
        """These rows and others."""
        return Samples(*(np.concatenate([getattr(part, f.name) for part in (self, other)]) for f in fields(self)))

    def frame(self, space: ActionSpace, applicants: Applicants) -> "pd.DataFrame":
        """The rows as the model is given them."""
        return write_rows(space, applicants.table, applicants.places, self.owner, self.values, self.atoms)


def ask(fitted: BlackBoxPlanner, applicants: Applicants, owner: Indices, values: Array, atoms: Indices) -> Samples:
    """Ask the model in force about rows."""
    space, places = fitted.space, applicants.places
    rows = write_rows(space, applicants.table, places, owner, values, atoms)
    return Samples(
        owner, values, atoms, local_rows(space, places.take(owner), values, atoms), fitted.model.scores(rows)
    )


def ask_beside(
    fitted: BlackBoxPlanner, applicants: Applicants, centres: Samples, draws: Draws, reach: float = 0.5
) -> Samples:
    """Ask the model in force about rows drawn beside others."""
    places = applicants.places.take(centres.owner)
    drawn = rows_around(fitted.space, places, centres.values, centres.atoms, draws, reach)
    return ask(fitted, applicants, np.repeat(centres.owner, len(draws)), *_flat(*drawn))


def ask_retrained(fitted: BlackBoxPlanner, applicants: Applicants, samples: Samples, n_jobs: int | None) -> Array:
    """Ask the retrained fits about rows, (K, M)."""
    return ask_all(fitted.retrained, samples.frame(fitted.space, applicants), n_jobs)


def explore(fitted: BlackBoxPlanner, applicants: Applicants, seed: int) -> Samples:
    """Rows around each applicant; where some are accepted, rows on the boundary and beside it as well."""
    space = fitted.space
    near = Draws.make(NEAR, len(space.lines), len(space.choices), seed)
    found = _around(fitted, applicants, np.arange(len(applicants)), near, reach=1.0)
    lost = np.setdiff1d(np.arange(len(applicants)), found.owner[found.scores >= 0.0])
    if len(lost):
        far = Draws.make(FAR, len(space.lines), len(space.choices), seed + 1)
        found = found.joined(_around(fitted, applicants, lost, far, reach=4.0))
    gates = found.take(_cheapest_accepted(found, len(applicants)))
    if len(gates.owner) == 0:
        return found
    met, boundary = _halve(fitted, applicants, gates, seed)
    beside = Draws.make(BESIDE, len(space.lines), len(space.choices), seed + 2)
    return found.joined(met).joined(ask_beside(fitted, applicants, boundary, beside))


def _around(fitted: BlackBoxPlanner, applicants: Applicants, whose: Indices, draws: Draws, reach: float) -> Samples:
    places = applicants.places.take(whose)
    values, atoms = entered(fitted.space, places)
    drawn = rows_around(fitted.space, places, values, atoms, draws, reach)
    return ask(fitted, applicants, np.repeat(whose, len(draws)), *_flat(*drawn))


def _flat(values: Array, atoms: Indices) -> tuple[Array, Indices]:
    """(N, m, L), (N, m, C) as (N m, L), (N m, C)."""
    return values.reshape(-1, values.shape[2]), atoms.reshape(-1, atoms.shape[2])


def entered(space: ActionSpace, places: Places) -> tuple[Array, Indices]:
    """The applicants' rows, brought into the allowed ranges where they lie outside."""
    values = np.clip(places.values, places.lower, places.upper)
    atoms = places.atoms.copy()
    for k in range(len(space.choices)):
        flags = places.allowed[:, space.ends[k] : space.ends[k + 1]]
        stays = flags[np.arange(len(atoms)), atoms[:, k] - space.ends[k]]
        atoms[:, k] = np.where(stays, atoms[:, k], space.ends[k] + np.argmax(flags, axis=1))
    return values, atoms


def _cheapest_accepted(samples: Samples, n_applicants: int) -> Indices:
    """Positions of up to GATES accepted rows per applicant, those that ask for least."""
    size = np.abs(samples.points[:, 1:]).sum(axis=1)
    chosen = []
    for i in range(n_applicants):
        rows = np.flatnonzero((samples.owner == i) & (samples.scores >= 0.0))
        chosen.append(rows[np.argsort(size[rows], kind="stable")[:GATES]])
    return np.concatenate(chosen) if chosen else np.zeros(0, dtype=np.int64)


def _halve(fitted: BlackBoxPlanner, applicants: Applicants, gates: Samples, seed: int) -> tuple[Samples, Samples]:
    """Look for the boundary between applicants and accepted rows: all rows met on the way, and the last ones."""
    draws = Draws.make(GATES, len(fitted.space.lines), len(fitted.space.choices), seed + 3)
    order = draws.order[_rank_within(gates.owner) % GATES]
    places = applicants.places.take(gates.owner)
    low, high = np.zeros(len(gates.owner)), np.ones(len(gates.owner))
    met: list[Samples] = []
    for _ in range(HALVINGS):
        share = 0.5 * (low + high)
        values, atoms = rows_between(fitted.space, places, gates.values, gates.atoms, share, order)
        met.append(ask(fitted, applicants, gates.owner, values, atoms))
        accepted = met[-1].scores >= 0.0
        high, low = np.where(accepted, share, high), np.where(accepted, low, share)
    everything = met[0]
    for some in met[1:]:
        everything = everything.joined(some)
    return everything, met[-1]


def _rank_within(owner: Indices) -> Indices:
    """The how-many-th row of its applicant each row is; rows of one applicant stand together."""
    first = np.searchsorted(owner, owner, side="left")
    return np.arange(len(owner)) - first
