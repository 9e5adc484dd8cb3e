"""Plans as tables: one with all options, or one per applicant."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from copa.adapters.applicants import positions, require_columns
from copa.exceptions import InvalidInputError
from copa.schema.names import listed

if TYPE_CHECKING:
    import pandas as pd

LABEL = "applicant"


class Wanted(NamedTuple):
    """Columns that are read: those that must be there, and others that are kept where a source has them."""

    names: list[str]
    others: list[str]

    def of(self, table: "pd.DataFrame") -> "pd.DataFrame":
        """The columns of a table that are wanted."""
        return table[[*self.names, *(name for name in self.others if name in table.columns)]]


class Owned(NamedTuple):
    """Applicants, options in the wanted columns as the source has them, and the position of each option's owner."""

    factuals: "pd.DataFrame"
    options: "pd.DataFrame"
    owner: Sequence[int]


def read_table(table: "pd.DataFrame", wanted: Wanted, factuals: "pd.DataFrame") -> Owned:
    """Read a table of all options, labelled with their owners by a column or an index level "applicant"."""
    if len(table) == 0:
        raise InvalidInputError("the table of options must have at least one row, got none")
    require_columns(table, wanted.names, "the table of options")
    if LABEL in table.columns and LABEL not in wanted.names:
        require_columns(table, [LABEL], "the table of options")
        owner = positions(table[LABEL], factuals.index)
    elif LABEL in table.index.names:
        owner = positions(table.index.get_level_values(LABEL).to_series(), factuals.index)
    elif len(factuals) == 1:
        owner = [0] * len(table)
    else:
        raise InvalidInputError(
            f"there are {len(factuals)} applicants, so the options need a column (or an index level) {LABEL!r} with "
            f"the label of each one's applicant; got the columns {listed(list(table.columns))}"
        )
    return Owned(factuals, wanted.of(table), owner)


def read_list(tables: Sequence[Any], wanted: Wanted, factuals: "pd.DataFrame") -> Owned:
    """Read one table per applicant, in the order of the applicants; an empty one (or None) is no options."""
    import pandas as pd

    if len(tables) != len(factuals):
        raise InvalidInputError(
            f"a list of options must have one table per applicant, {len(factuals)}, got {len(tables)}; "
            "where an applicant has no options, put an empty table"
        )
    for i, table in enumerate(tables):
        if table is not None and not isinstance(table, pd.DataFrame):
            raise InvalidInputError(f"entry {i} of the list of options must be a DataFrame, got {type(table).__name__}")
    filled = {i: table for i, table in enumerate(tables) if table is not None and len(table)}
    for i, table in filled.items():
        require_columns(table, wanted.names, f"entry {i} of the list of options")
    shared = [name for name in wanted.others if all(name in table.columns for table in filled.values())]
    columns = [*wanted.names, *shared]
    # As objects, so that putting tables of different dtypes together changes no value.
    blocks = [table[columns].astype(object) for table in filled.values()]
    options = pd.concat(blocks) if blocks else pd.DataFrame(columns=columns, dtype=object)
    return Owned(factuals, options, np.repeat(list(filled), [len(block) for block in blocks]).tolist())
