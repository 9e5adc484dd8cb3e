"""From the search back to the table: rows a person can follow, spelled as the applicants' own."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa.arrays import Array
from copa.models.spelling import spell_choices, spell_numbers
from copa.planning.actions import ActionSpace, Places
from copa.schema.steps import multiples

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
    DataFrame of M rows with the columns and types of the table, numbered from 0
    """
    rows = table.iloc[owner].reset_index(drop=True)
    for k, feature in enumerate(space.lines):
        changed = values[:, k] != places.values[owner, k]
        if changed.any():
            numbers = _numbers(feature, values[changed, k])
            rows[feature.name] = _overwritten(rows[feature.name], changed, spell_numbers(numbers, table[feature.name]))
    for k, feature in enumerate(space.choices):
        changed = atoms[:, k] != places.atoms[owner, k]
        if changed.any():
            words = spell_choices(feature, atoms[changed, k] - space.ends[k], table[feature.name])
            rows[feature.name] = _overwritten(rows[feature.name], changed, words)
    return rows


def _numbers(feature: "Feature", values: Array) -> Array:
    """The values as multiples of the step, exact in decimals."""
    return values if feature.step is None else multiples(np.rint(values / feature.step), feature.step)


def _overwritten(column: "pd.Series[Any]", changed: npt.NDArray[np.bool_], entries: "pd.Series[Any]") -> Any:
    """The column with new entries, of the same type."""
    import pandas as pd

    array = column.array.copy()
    array[changed] = entries.array
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
