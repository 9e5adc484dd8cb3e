"""What the model says near applicants: allowed rows around them, and around the boundary on their side of it."""

import numpy as np

from copa.arrays import Indices
from copa.planner.black_boxes.state import BlackBoxPlanner, readable_rows
from copa.planner.delivery import Applicants
from copa.planner.tries.samples import Rows, Samples
from copa.planning.neighbourhood import Draws, rows_around, rows_between

NEAR, FAR = 96, 192  # rows drawn around an applicant; and further ones where none of these is accepted
GATES = 16  # accepted rows towards which the boundary is looked for
HALVINGS = 4  # of the way to each
BESIDE = 2  # rows drawn beside each place where the boundary was met


def ask(fitted: BlackBoxPlanner, applicants: Applicants, rows: Rows) -> Samples:
    """Ask the model in force about rows."""
    points = rows.coordinates(fitted.space, applicants)
    with readable_rows():
        scores = fitted.model.scores(rows.frame(fitted.space, applicants))
    return Samples(rows.owner, rows.values, rows.atoms, points, scores, np.full(len(scores), np.nan))


def ask_beside(
    fitted: BlackBoxPlanner, applicants: Applicants, centres: Samples, draws: Draws, reach: float = 0.5
) -> Samples:
    """Ask the model in force about rows drawn beside others."""
    places = applicants.places.take(centres.owner)
    drawn = rows_around(fitted.space, places, centres.values, centres.atoms, draws, reach)
    return ask(fitted, applicants, Rows(np.repeat(centres.owner, len(draws)), *drawn))


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
    drawn = rows_around(fitted.space, places, places.values, places.atoms, draws, reach)
    return ask(fitted, applicants, Rows(np.repeat(whose, len(draws)), *drawn))


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
        met.append(ask(fitted, applicants, Rows(gates.owner, values, atoms)))
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
