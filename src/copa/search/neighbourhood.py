"""Rows near applicants that they could really be: drawn from what the schema allows, on the grid of the steps."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa.search.cost import unit_of_effort
from copa.search.problem import ActionSpace, Places
from copa.tables.steps import snap


@dataclass(frozen=True, eq=False)
class Draws:
    """Random numbers for m rows near an applicant; the same for everyone, so that no one depends on the others.

    Attributes
    ----------
    touch : (m, L + C) whether the row may leave the applicant's value in a column
    shares : (m, L + C) in (0, 1), where in its range the new value lies
    spreads : (m, L) how many units of effort a line moves; infinite where it may go anywhere in its range
    order : (m, C) in (0, 1), when a choice changes on the way from the applicant to the row
    """

    touch: npt.NDArray[np.bool_]
    shares: Array
    spreads: Array
    order: Array

    @classmethod
    def make(cls, n_rows: int, n_lines: int, n_choices: int, random_state: int) -> "Draws":
        """Draw them: rows that change few columns and rows that change all, a little and a lot."""
        rng = np.random.default_rng(random_state)
        n_columns = n_lines + n_choices
        chance = rng.uniform(1.0 / max(n_columns, 1), 1.0, (n_rows, 1))
        spreads = np.abs(rng.standard_normal((n_rows, n_lines))) * rng.choice([0.5, 1.0, 2.0, 4.0], (n_rows, 1))
        spreads[rng.random((n_rows, 1))[:, 0] < 0.3] = np.inf
        return cls(
            touch=rng.random((n_rows, n_columns)) < chance,
            shares=rng.random((n_rows, n_columns)),
            spreads=spreads,
            order=rng.random((n_rows, n_choices)),
        )

    def __len__(self) -> int:
        return len(self.touch)


def rows_around(
    space: ActionSpace, places: Places, values: Array, atoms: Indices, draws: Draws, reach: float = 1.0
) -> tuple[Array, Indices]:
    """Draw m allowed rows around each of N centres.

    Parameters
    ----------
    places : of the applicants whom the centres belong to, with a leading N
    values, atoms : (N, L), (N, C) centres
    reach : factor of how far the lines move

    Returns
    -------
    values (N m, L), atoms (N m, C): the m rows of the first centre, then those of the second, ...
    """
    n_lines, m = len(space.lines), len(draws)
    new_values = np.repeat(values[:, None], m, axis=1)
    new_atoms = np.repeat(atoms[:, None], m, axis=1)
    for k, feature in enumerate(space.lines):
        lower, upper, centre = places.lower[:, k, None], places.upper[:, k, None], values[:, k, None]
        room = np.minimum(draws.spreads[:, k] * reach * unit_of_effort(feature), (upper - lower) + 1.0)
        first, last = np.maximum(lower, centre - room), np.minimum(upper, centre + room)
        drawn = first + draws.shares[:, k] * (last - first)
        moved = _on_grid(drawn, feature.step, lower, upper)
        new_values[:, :, k] = np.where(draws.touch[:, k], moved, centre)
    for k in range(len(space.choices)):
        start, end = space.ends[k], space.ends[k + 1]
        allowed = places.allowed[:, start:end]
        wanted = np.floor(draws.shares[:, n_lines + k] * allowed.sum(axis=1)[:, None])  # the how-many-th allowed one
        rank = np.cumsum(allowed, axis=1) - 1
        found = start + np.argmax(allowed[:, None] & (rank[:, None] == wanted[:, :, None]), axis=2)
        new_atoms[:, :, k] = np.where(draws.touch[:, n_lines + k], found, atoms[:, k, None])
    return new_values.reshape(len(values) * m, n_lines), new_atoms.reshape(len(values) * m, len(space.choices))


def rows_between(
    space: ActionSpace, places: Places, values: Array, atoms: Indices, share: Array, order: Array
) -> tuple[Array, Indices]:
    """Rows on the way from M applicants to M rows of theirs: lines go a share of it, choices change one after another.

    Parameters
    ----------
    places : of the applicants, with a leading M
    values, atoms : (M, L), (M, C) rows
    share : (M,) how much of the way
    order : (M, C) the share at which each choice changes
    """
    between = places.values + share[:, None] * (values - places.values)
    for k, feature in enumerate(space.lines):
        between[:, k] = _on_grid(between[:, k], feature.step, places.lower[:, k], places.upper[:, k])
        between[:, k] = np.where(values[:, k] == places.values[:, k], places.values[:, k], between[:, k])
    return between, np.where(order < share[:, None], atoms, places.atoms)


def _on_grid(drawn: Array, step: float | None, lower: Array, upper: Array) -> Array:
    """The nearest values that a row may hold; the ends of the ranges are such values."""
    return np.clip(drawn if step is None else snap(drawn, step), lower, upper)
