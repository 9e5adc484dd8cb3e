"""Any dataframe at the edge: pandas inside, and results in the kind of table that came in.

Tables of pandas pass as they are. All others go through narwhals, which knows polars, pyarrow, modin and cuDF by one
interface and is imported only for them.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from copa._core.words import shown
from copa.exceptions import InvalidInputError, MissingPackageError

if TYPE_CHECKING:
    import pandas as pd

PANDAS = "pandas"
KINDS = "pandas, polars or pyarrow"


def is_table(value: Any) -> bool:
    """Return whether a value is a table that `as_pandas` reads."""
    return backend_of(value) is not None


def backend_of(value: Any) -> str | None:
    """The library that a table is of, "pandas", "polars", "pyarrow" and so on; None for anything else."""
    import pandas as pd

    if isinstance(value, pd.DataFrame):
        return PANDAS
    frame = _wrapped(value)
    return None if frame is None else str(frame.implementation.value)


def as_pandas(value: Any, what: str = "X") -> "pd.DataFrame":
    """Return a table of any kind as one of pandas; rows of another kind are numbered from 0.

    Parameters
    ----------
    value : object
        A table.
    what : str
        Its name in errors.

    Raises
    ------
    InvalidInputError
        If it is no table, or has a column twice.
    """
    import pandas as pd

    if isinstance(value, pd.DataFrame):
        _require_once(list(value.columns), what)
        return value
    _require_once(list(getattr(value, "column_names", ())), what)  # of pyarrow, where narwhals would only say that
    frame = _wrapped(value)
    if frame is None:
        lazy = "; call its collect() first" if hasattr(value, "collect") else ""
        raise InvalidInputError(
            f"{what} must be a DataFrame with named columns (of {KINDS}), got {type(value).__name__}{lazy}"
        )
    try:
        table: pd.DataFrame = frame.to_pandas()
    except ImportError as error:
        raise MissingPackageError(
            f"{what} is a table of {frame.implementation.value}, and reading it takes pyarrow: pip install pyarrow"
        ) from error
    return table


def as_backend(table: "pd.DataFrame", backend: str) -> Any:
    """Return a table of pandas as one of another library, without its index; that of pandas as it is.

    A column of values of different kinds, which other libraries do not have, becomes text.
    """
    if backend == PANDAS:
        return table
    import narwhals.stable.v1 as nw

    library: Any = backend  # one of the names that `backend_of` returns
    made = nw.from_dict({str(name): _plain(table[name]) for name in table.columns}, backend=library)
    empty = [str(name) for name in table.columns if table[name].dtype.kind == "f" and table[name].isna().all()]
    return made.with_columns(
        nw.col(name).cast(nw.Float64) for name in empty
    ).to_native()  # numbers, though none is known


def with_columns(table: "pd.DataFrame", columns: Mapping[str, Any]) -> "pd.DataFrame":
    """Return a table with some columns replaced or added, whatever they are called (`assign` takes none named "self").

    Parameters
    ----------
    table : DataFrame
    columns : mapping of str to array_like
        From a name to the cells of the column.
    """
    changed = table.assign()  # a copy
    for name, cells in columns.items():
        changed[name] = cells
    return changed


def _wrapped(value: Any) -> Any:
    """A table in the interface of narwhals, None if it is none."""
    import narwhals.stable.v1 as nw

    frame = nw.from_native(value, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def _plain(column: "pd.Series[Any]") -> list[Any]:
    """The cells of a column as Python's own, None where there is none."""
    from copa.data.tables.cells import as_text, cells_of, is_missing, plain

    cells = [None if is_missing(cell) else plain(cell) for cell in cells_of(column)]
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds == {int, float}:
        return [None if cell is None else float(cell) for cell in cells]
    if len(kinds) < 2:
        return cells
    return [cell if cell is None or isinstance(cell, str) else as_text(cell) for cell in cells]


def _require_once(names: list[Any], what: str) -> None:
    """Raise if two columns have the same name, saying which they are."""
    seen: dict[Any, int] = {}
    for place, name in enumerate(names, 1):
        if name in seen:
            raise InvalidInputError(
                f"{what} has more than one column {shown(name)}, numbers {seen[name]} and {place} of {len(names)}; "
                "rename one of them or leave it out, of pandas with X.loc[:, ~X.columns.duplicated()]"
            )
        seen[name] = place
