"""`PlanMapper`: what `mapInPandas` of Spark needs to plan for a table."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from copa._core.words import hint, shown
from copa.data.tables.casting import INTEGER, NUMBER, TEXT, TRUTH, ColumnReader, kinds_of
from copa.data.tables.cells import cells_of, is_missing, plain
from copa.exceptions import InvalidInputError
from copa.planner.distributed.work import PackedPlanner, plan_blocks
from copa.plans.writers import OWN_COLUMNS, require_free_names, written_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pandas as pd

    from copa.planner import Wishes

# Spark's name of each kind of column, and the dtype of pandas that it takes.
TYPES = {
    INTEGER: ("BIGINT", "Int64"),
    NUMBER: ("DOUBLE", "float64"),
    TRUTH: ("BOOLEAN", "boolean"),
    TEXT: ("STRING", "string"),
}
OWN_KINDS = {"option": INTEGER, "option_accepted": TRUTH}  # of the columns that every table of plans has
OWN_TEXTS = ("applicant", "plan_status", "plan_message", "option_changes")


class PlanMapper:
    """Plans for tables of applicants, one after another; Spark sends it to its workers.

    `applicants.mapInPandas(mapper, mapper.schema)` is the table of plans, with a row for each option, as
    `copa plan -o plans.parquet` writes them. The planner is opened once in each worker's process.

    Parameters
    ----------
    bundle : str or Path
        Made by `copa fit`.
    id : str
        Column that names the applicants; their rows have no order in Spark by which they could be numbered.
    wishes : Wishes, optional
        What is asked for in place of what the bundle's planner was told, such as the number of options.

    Attributes
    ----------
    schema : str
        Names and types of the columns of the plans, as Spark writes them.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> import copa
    >>> from copa.planner.bundle import save_bundle
    >>> draw = np.random.default_rng(0)
    >>> X = pd.DataFrame({"income": draw.integers(10, 60, 300), "debt": draw.integers(0, 20, 300)})
    >>> y = X["income"] - X["debt"] > 25
    >>> planner = copa.RecoursePlanner(LogisticRegression().fit(X, y), random_state=0, progress=False).fit(X, y)
    >>> bundle = Path(mkdtemp()) / "loans.bundle"
    >>> save_bundle(bundle, planner, X, {})
    >>> mapper = copa.planner.distributed.PlanMapper(bundle, id="name", wishes=copa.Wishes(n_options=2))
    >>> mapper.schema.split(", ")[:2]
    ['`applicant` STRING', '`option` BIGINT']
    >>> people = X.head(5).assign(name=list("abcde"))
    >>> [table["applicant"].unique().tolist() for table in mapper([people.head(3), people.tail(2)])]
    [['a', 'b', 'c'], ['d', 'e']]
    """

    def __init__(self, bundle: str | Path, *, id: str, wishes: "Wishes | None" = None) -> None:  # noqa: A002 - as the command calls it
        from copa.planner.bundle import load_bundle

        opened = load_bundle(Path(bundle))
        planner = opened.planner if wishes is None else opened.planner.with_wishes(wishes)
        require_free_names(opened.template.columns)
        self._id = id
        self._packed = PackedPlanner.of(planner)
        self._kinds = kinds_of(opened.template)
        own = {name: TEXT if name in OWN_TEXTS else OWN_KINDS.get(name, NUMBER) for name in OWN_COLUMNS}
        continuous = {feature.name for feature in planner.schema_.features if feature.kind == "numeric"}
        rows = {name: NUMBER if name in continuous else kind for name, kind in self._kinds.items()}
        self._columns = own | rows

    @property
    def schema(self) -> str:
        """Names and types of the columns of the plans, as Spark writes them."""
        return ", ".join(f"`{name.replace('`', '``')}` {TYPES[kind][0]}" for name, kind in self._columns.items())

    def __call__(self, tables: "Iterable[pd.DataFrame]") -> "Iterator[pd.DataFrame]":
        """Yield the plans for the applicants of some tables."""
        planner = self._packed.opened()
        for table in tables:
            if len(table):
                for batch in plan_blocks(planner, self._read(table)):
                    plans = written_table(batch)
                    yield plans.astype({name: TYPES[kind][1] for name, kind in self._columns.items()})

    def _read(self, table: "pd.DataFrame") -> "pd.DataFrame":
        """The applicants in the dtypes of the training data, as those of a file are read."""
        import pandas as pd

        for name in (*self._kinds, self._id):
            if name not in table.columns:
                raise InvalidInputError(
                    f"the applicants have no column {shown(name)}; {hint(name, list(table.columns))}"
                )
        readers = [ColumnReader(name, kind) for name, kind in self._kinds.items()]
        for reader in readers:
            reader.add(_cells(table[reader.name]))
        labels = ColumnReader(self._id, TEXT)
        labels.add(_cells(table[self._id]))
        return pd.DataFrame({reader.name: _whole(reader).array for reader in readers}, index=labels.series().array)


def _cells(column: "pd.Series[Any]") -> list[Any]:
    """The cells as a file has them: Python's own values, None for every kind of nothing."""
    return [None if is_missing(cell) else plain(cell) for cell in cells_of(column)]


def _whole(reader: ColumnReader) -> "pd.Series[Any]":
    """The column, whole numbers as such beside missing ones: 38 must not become 38.0 by what else is in the table."""
    column = reader.series()
    if reader.kind != INTEGER or column.dtype.kind != "f" or (column.dropna() % 1 != 0).any():
        return column
    return column.astype("Int64")
