"""From the search back to the table: rows a person can follow, spelled as the applicants' own."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa.models.spelling import spell_choices, spell_numbers, with_room
from copa.search.problem import ActionSpace, Places
from copa.tables.steps import multiples

if TYPE_CHECKING:
    import pandas as pd

    from copa.schema import Feature

Indices = npt.NDArray[np.int64]


def write_rows(
    space: ActionSpace, table: "pd.DataFrame", places: Places, owner: Indices, values: Array, atoms: Indices
) -> "pd.DataFrame":
    """Rows of the table with the changed cells written in; every other cell is the applicant's, untouched.

    Parameters
    ----------
    table : applicants (N rows), all their columns
    owner : (M,) position of the applicant of each row
    values, atoms : (M, L), (M, C) the rows, as the search has them

    Returns
    -------
    DataFrame of M rows with the columns of the table and, wherever these can hold the values, their types; numbered
    from 0
    """
    table = make_room(space, table)
    rows = table.iloc[owner].reset_index(drop=True)
    for k, feature in enumerate(space.lines):
        changed = values[:, k] != places.values[owner, k]
        if changed.any():
            numbers = _numbers(feature, values[changed, k])
            words = spell_numbers(feature, numbers, rows[feature.name])
            rows[feature.name] = overwritten(rows[feature.name], changed, words)
    for k, feature in enumerate(space.choices):
        changed = atoms[:, k] != places.atoms[owner, k]
        if changed.any():
            words = spell_choices(feature, atoms[changed, k] - space.ends[k], rows.loc[changed, feature.name])
            rows[feature.name] = overwritten(rows[feature.name], changed, words)
    return rows


def _numbers(feature: "Feature", values: Array) -> Array:
    """The values as multiples of the step, exact in decimals."""
    return values if feature.step is None else multiples(np.rint(values / feature.step), feature.step)


def make_room(space: ActionSpace, table: "pd.DataFrame") -> "pd.DataFrame":
    """The table with room in its categories for whatever options may move to; an error where that cannot be made."""
    for feature in space.columns:
        column = table[feature.name]
        roomy = with_room(feature, column)
        if roomy is not column:
            table = table.assign(**{feature.name: roomy})
    return table


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


def relaxed_rows(
    space: ActionSpace, places: Places, encoded: Array, owner: Indices, values: Array, atoms: Indices
) -> Array:
    """Encoded rows (M, D) that need not be on the grid: the applicant's, plus what the changes add."""
    shifts = (values - places.values[owner])[:, None] @ space.directions[: len(space.lines)]
    new, old = atoms, places.atoms[owner]
    moved: Array = encoded[owner] + shifts[:, 0]
    for k in range(len(space.choices)):
        moved = moved + space.directions[new[:, k]] - space.directions[old[:, k]]
    return moved
