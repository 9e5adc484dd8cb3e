"""The applicants whom plans are for: their rows, and which of them a label names."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from copa.exceptions import InvalidInputError
from copa.schema.names import hint, shown

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
