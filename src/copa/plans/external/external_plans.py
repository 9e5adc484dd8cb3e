"""Plans as tables: one with all options, or one per applicant."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.representation import short_repr
from copa._core.words import hint, listed, shown
from copa.data.tables.casting import cast_like
from copa.data.tables.frames import as_pandas, is_table
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
    if not is_table(applicants):
        raise InvalidInputError(
            f"applicants must be a DataFrame with one row per applicant, got {type(applicants).__name__}; "
            "of a table, `table.loc[[label]]` gives one applicant as a DataFrame"
        )
    applicants = as_pandas(applicants, "applicants")
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
    owners = [exact.get(label, by_text.get(str(label), -1)) for label in labels.tolist()]
    if -1 in owners:
        row = owners.index(-1)
        label = labels.tolist()[row]
        raise InvalidInputError(
            f"the option in row {row} is for applicant {shown(label)}, who is not in the index of applicants; "
            f"{hint(str(label), list(by_text))}"
        )
    return owners


LABEL = "applicant"


@dataclass(frozen=True, eq=False)
class ExternalPlans:
    """Options that someone made for a number of applicants.

    Parameters
    ----------
    factuals : DataFrame
        The N applicants as given, in the model's raw columns and with their index labels.
    options : DataFrame
        All M options in the order of the source, in the columns of `factuals`, and with their dtypes wherever these can
        hold the values (a fraction among whole numbers makes a column float, an unknown category object).
    owner : ndarray of int of shape (M,)
        Position in `factuals` of the applicant of each option.

    Examples
    --------
    >>> import pandas as pd
    >>> from copa.plans.external import read_plans
    >>> applicants = pd.DataFrame({"income": [20, 30], "debt": [5, 9]}, index=["ann", "bob"])
    >>> options = pd.DataFrame({"applicant": ["bob", "ann", "bob"], "income": [31, 22, 30], "debt": [9, 5, 4]})
    >>> plans = read_plans(options, ["income", "debt"], applicants)
    >>> plans.owner.tolist(), plans.options["debt"].tolist()
    ([1, 0, 1], [9, 5, 4])
    """

    __repr__ = short_repr

    factuals: "pd.DataFrame"
    options: "pd.DataFrame"
    owner: npt.NDArray[np.intp]

    @classmethod
    def read(cls, factuals: "pd.DataFrame", options: "pd.DataFrame", owner: Sequence[int]) -> "ExternalPlans":
        """Give the options the columns of the applicants, with their dtypes where these can hold the values."""
        import pandas as pd

        positions = np.asarray(owner, dtype=np.intp)
        positions.setflags(write=False)
        rows, origins = options.reset_index(drop=True), factuals.iloc[positions].reset_index(drop=True)
        given = {name: rows[name] if name in rows.columns else origins[name] for name in factuals.columns}
        cells = {name: cast_like(column, factuals[name]) for name, column in given.items()}
        return cls(factuals, pd.DataFrame(cells), positions)


@dataclass(frozen=True, eq=False)
class Wanted:
    """The columns that are read from a source.

    Parameters
    ----------
    names : list of str
        Columns that must be there.
    others : list of str
        Columns that are kept where the source has them.
    factuals : DataFrame or None
        The applicants, where they are given.
    """

    names: list[str]
    others: list[str]
    factuals: "pd.DataFrame | None"

    def pick(self, table: "pd.DataFrame", what: str) -> "pd.DataFrame":
        """Return the wanted columns of a table."""
        require_columns(table, self.names, what)
        return table[[*self.names, *(name for name in self.others if name in table.columns)]]

    def applicants(self) -> "pd.DataFrame":
        """Return the applicants, or raise if they are not given."""
        if self.factuals is None:
            raise InvalidInputError(
                "applicants must be given: a table of options does not say what the applicants are like today; "
                "pass the DataFrame of their rows, as the model takes them"
            )
        return self.factuals


def read_table(table: "pd.DataFrame", wanted: Wanted) -> ExternalPlans:
    """Read a table of all options, labelled with their owners by a column or an index level "applicant"."""
    factuals = wanted.applicants()
    if len(table) == 0:
        raise InvalidInputError("the table of options must have at least one row, got none")
    options = wanted.pick(table, "the table of options")
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
    return ExternalPlans.read(factuals, options, owner)


def read_list(tables: Sequence[Any], wanted: Wanted) -> ExternalPlans:
    """Read one table per applicant, in the order of the applicants; an empty one (or None) is no options."""
    import pandas as pd

    factuals = wanted.applicants()
    if len(tables) != len(factuals):
        raise InvalidInputError(
            f"a list of options must have one table per applicant, {len(factuals)}, got {len(tables)}; "
            "where an applicant has no options, put an empty table"
        )
    read = {
        i: as_pandas(table, f"entry {i} of the list of options") for i, table in enumerate(tables) if table is not None
    }
    filled = {i: table for i, table in read.items() if len(table)}
    # As objects, so that putting tables of different dtypes together changes no value.
    blocks = [wanted.pick(table, f"entry {i} of the list of options").astype(object) for i, table in filled.items()]
    options = pd.concat(blocks, join="inner") if blocks else pd.DataFrame(columns=wanted.names, dtype=object)
    owner = np.repeat(list(filled), [len(block) for block in blocks]).tolist()
    return ExternalPlans.read(factuals, options, owner)
