"""Write rows of the search into the table, spelled as the applicants' own cells."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa.data.schema.columns import ReadTable
from copa.data.tables.cells import multiples
from copa.models.spelling import spell_levels, spell_numbers, with_room
from copa.planner.search.arguments import Regions
from copa.planner.search.problem import ActionSpace, Linearisation, as_levels

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from copa.data.schema import Feature


def write_rows(space: ActionSpace, table: ReadTable, regions: Regions, owner: Indices, rows: Array) -> ReadTable:
    """Rows of the table with the changed cells written in; every other cell is the applicant's, untouched.

    Parameters
    ----------
    space : ActionSpace
    table : ReadTable
        Applicants (N rows), all their columns, with room for what options may hold (`make_room`).
    regions : Regions
        The same as the search has them.
    owner : ndarray of shape (M,)
        Position of the applicant of each row.
    rows : ndarray of shape (M, F)

    Returns
    -------
    ReadTable
        M rows with the columns of the table and, wherever these can hold the values, their types; numbered from 0.
    """
    own, written = table.take(owner, renumbered=True), {}
    changed = rows != regions.own[owner]
    for f in np.flatnonzero(changed.any(axis=0)).tolist():
        feature, flags = space.columns[f], changed[:, f]
        column = own.frame[feature.name]
        if feature.is_numeric:
            numbers = rows[flags, f]
            if feature.name in space.edges:
                numbers = regions.values[owner[flags], as_levels(numbers)]
            words = spell_numbers(feature, written_numbers(feature.step, numbers), column)
        else:
            words = spell_levels(feature, as_levels(rows[flags, f]) - space.starts[f], _replaced(column, flags))
        written[feature.name] = overwritten(column, flags, words)
    return own.replaced(written)


def _replaced(column: "pd.Series[Any]", flags: npt.NDArray[np.bool_]) -> "pd.Series[Any]":
    """The entries of a column that are written over; of columns of one type, that type is all that is asked for."""
    return column[flags] if column.dtype == np.object_ else column


def with_numbers(table: ReadTable, features: "Sequence[Feature]", numbers: Array) -> ReadTable:
    """The rows with other numbers (M, L) in the columns of some features; missing cells stay as they are."""
    written = {}
    for f, feature in enumerate(features):
        column = table[feature.name]
        flags = (column.numbers != numbers[:, f]) & ~column.missing
        if flags.any():
            words = spell_numbers(feature, written_numbers(feature.step, numbers[flags, f]), column.series)
            written[feature.name] = overwritten(column.series, flags, words)
    return table.replaced(written)


def written_numbers(step: float | None, values: Array) -> Array:
    """The values as multiples of the step, exact in decimals."""
    return values if step is None else multiples(np.rint(values / step), step)


def make_room(space: ActionSpace, table: ReadTable) -> ReadTable:
    """The table with room in its categories for whatever options may move to; an error where that cannot be made."""
    import pandas as pd

    opened: dict[str, pd.Series[Any]] = {}
    for feature in space.columns:
        column = table[feature.name]
        if isinstance(column.dtype, pd.CategoricalDtype):
            roomy = with_room(feature, column.series)
            if roomy is not column.series:
                opened[feature.name] = roomy
    return table.replaced(opened) if opened else table


def overwritten(column: "pd.Series[Any]", flags: npt.NDArray[np.bool_], entries: "pd.Series[Any]") -> Any:
    """The column with new entries where the flags are, of its type, or of one that holds both."""
    import pandas as pd

    if entries.dtype != column.dtype:
        both = pd.concat([column, entries], ignore_index=True)
        sources = np.arange(len(column))
        sources[flags] = len(column) + np.arange(len(entries))
        return both.iloc[sources].set_axis(column.index)
    array = column.array.copy()
    array[flags] = entries.array
    return pd.Series(array, index=column.index, dtype=column.dtype)  # a bare array of objects would be taken for text


def relaxed_rows(linear: Linearisation, regions: Regions, encoded: Array, rows: Array) -> Array:
    """Encoded rows (M, D) that need not be on the grid: the applicant's, plus what the changes add.

    Parameters
    ----------
    linear : Linearisation
    regions, encoded : Regions, ndarray of shape (M, D)
        Of the applicant of each row.
    rows : ndarray of shape (M, F)
    """
    space = linear.space
    n, own = len(space.numeric), regions.own
    start = encoded + left_entries(linear, regions, (rows != own)[:, :n])
    moved: Array = start + ((rows - own)[:, None, :n] @ linear.directions[:n])[:, 0]
    for f in range(n, len(space.columns)):
        new, old = as_levels(rows[:, f]), as_levels(own[:, f])
        moved = moved + linear.directions[new] - linear.directions[old]
    return moved


def left_entries(linear: Linearisation, regions: Regions, flags: npt.NDArray[np.bool_]) -> Array:
    """Change of encoded rows (N, D) when irregular entries (N, L) are replaced by the numbers that stand for them."""
    space, added = linear.space, np.zeros((len(flags), linear.mean.size))
    for f in np.flatnonzero((flags & (regions.kinds > 0.0)).any(axis=0)):
        feature, rows = space.numeric[f], np.flatnonzero(flags[:, f] & (regions.kinds[:, f] > 0.0))
        if feature.name in linear.irregular:
            which = regions.kinds[rows, f].astype(np.int64) - 1
            added[rows] += linear.irregular[feature.name][which] + regions.own[rows, f, None] * linear.directions[f]
    return added
