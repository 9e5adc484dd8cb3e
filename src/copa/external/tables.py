"""Plans as tables: one with all options, or one per applicant."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from copa._core.words import hint, listed, shown
from copa.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd


def read_columns(columns: Sequence[str]) -> list[str]:
    """Check the names of the model's columns and return them as a list."""
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise InvalidInputError(f"columns must be a list of column names, got {shown(columns)}")
    names = list(columns)
    repeated = [name for i, name in enumerate(names) if name in names[:i]]
    if not names or repeated:
        received = f"{shown(repeated[0])} twice" if repeated else "none"
        raise InvalidInputError(f"columns must name each raw column of the model once, got {received}")
    return names


def require_columns(table: "pd.DataFrame", columns: Sequence[str], what: str) -> None:
    """Raise if the table lacks one of the columns, or has it twice, naming it and the nearest that the table has."""
    present = list(table.columns)
    for name in columns:
        if name not in present:
            others = [str(other) for other in present if other not in columns]
            raise InvalidInputError(
                f"{what} has no column {shown(name)}; {hint(name, others or [str(n) for n in present])}"
            )
        if present.count(name) > 1:
            raise InvalidInputError(f"{what} has {present.count(name)} columns named {shown(name)}; keep one of them")


def read_applicants(applicants: Any, columns: list[str]) -> "pd.DataFrame":
    """Check the applicants' table and return its model columns, in the model's order."""
    import pandas as pd

    if not isinstance(applicants, pd.DataFrame):
        raise InvalidInputError(
            f"applicants must be a DataFrame with one row per applicant, got {type(applicants).__name__}; "
            "of a table, `table.loc[[label]]` gives one applicant as a DataFrame"
        )
    if len(applicants) == 0:
        raise InvalidInputError("applicants must have at least one row, got an empty DataFrame")
    require_columns(applicants, columns, "applicants")
    return applicants[columns]


def positions(labels: "pd.Series[Any]", index: "pd.Index[Any]") -> list[int]:
    """Return the position in `index` of each label.

    A label that is not in the index as it stands is looked up by its text: a CSV file holds nothing else.
    """
    repeated = index[index.duplicated()]
    if len(repeated):
        raise InvalidInputError(
            f"the index of applicants has {shown(repeated[0])} more than once, so that a label does not say whose an "
            "option is; number the rows anew with `applicants.reset_index(drop=True)`"
        )
    missing = labels.isna().tolist()
    if any(missing):
        raise InvalidInputError(f"the option in row {missing.index(True)} does not say which applicant it is for")
    exact = {label: i for i, label in enumerate(index)}
    by_text: dict[str, int] = {}
    for i, label in enumerate(index):
        by_text.setdefault(str(label), i)
    found = [exact.get(label, by_text.get(str(label), -1)) for label in labels.tolist()]
    if -1 in found:
        row = found.index(-1)
        label = labels.tolist()[row]
        raise InvalidInputError(
            f"the option in row {row} is for applicant {shown(label)}, who is not in the index of applicants; "
            f"{hint(str(label), list(by_text))}"
        )
    return found


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
