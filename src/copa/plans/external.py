"""Plans made elsewhere, in one common form: tables, CSV files, and the results of COPA itself and of DiCE.

DiCE's results are the object of the Python package `dice-ml`, which is not imported, and its JSON. An entry of a result
is one query, the applicant, with its counterfactuals, the options. They are read in the sparse form, which is the one
that DiCE shows and saves, wherever it has one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.representation import short_repr
from copa._core.words import hint, listed, shown
from copa.data.tables.casting import cast_like
from copa.data.tables.files import read_json_file, read_json_text, read_options
from copa.data.tables.frames import as_pandas, is_table
from copa.exceptions import InvalidInputError
from copa.plans import document
from copa.plans.records import BatchRecord, PlanRecord

if TYPE_CHECKING:
    import pandas as pd

FORMS = (
    "a DataFrame of options, a list of DataFrames (one per applicant), a path to a .csv or .json file, "
    "a PlanBatch or Plan, a DiCE result (CounterfactualExplanations), or the JSON of one of these as text or dict"
)
LABEL = "applicant"
DICE_KEYS = {"test_data", "cfs_list", "feature_names_including_target"}

Entry = tuple["pd.DataFrame", "pd.DataFrame | None"]  # a query of one row, and its options


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


def read_plans(
    source: Any,
    columns: Sequence[str],
    applicants: "pd.DataFrame | None" = None,
    *,
    others: Sequence[str] = (),
) -> ExternalPlans:
    """Read plans from a table, a file, COPA or DiCE, as raw rows of the model's columns.

    Other columns of the source, such as an outcome, are left out. An applicant without options is kept.

    Parameters
    ----------
    source : object
        A DataFrame of options, whose column (or index level) "applicant" holds index labels of `applicants`, and may be
        left out if there is only one of them; a list of DataFrames, one per applicant, in the order of `applicants`; a
        path to a .csv file of such a table; a `PlanBatch` or `Plan`; DiCE's `CounterfactualExplanations`; what
        `to_json()` of a batch or of DiCE's result gives (as text or dict), or a path to a .json file of it.
    columns : sequence of str
        Names of the model's raw feature columns, in order.
    applicants : DataFrame, optional
        The N applicants, with the dtypes that the model takes. Only a source from COPA or DiCE can do without. DiCE
        carries its queries, though without labels and with rounded decimals. Where COPA's plans are given with
        applicants, those are found by their labels.
    others : sequence of str
        Names of further columns, which the model does not use, to be kept; the applicants must have them, and an option
        that lacks one has its applicant's value.

    Returns
    -------
    ExternalPlans
        Applicants, options and whose they are.

    Raises
    ------
    InvalidInputError
        If the source has none of these forms, lacks a column, names an unknown applicant, or holds text for a number.

    Examples
    --------
    >>> import pandas as pd
    >>> from copa.plans.external import read_plans
    >>> applicant = pd.DataFrame({"income": [20], "debt": [5]}, index=["ann"])
    >>> plans = read_plans(pd.DataFrame({"income": [22, 20], "debt": [5, 2]}), ["income", "debt"], applicant)
    >>> plans.options.to_numpy().tolist(), plans.owner.tolist()
    ([[22, 5], [20, 2]], [0, 0])
    """
    names = _read_columns(columns)
    kept = [name for name in others if name not in names]
    factuals = None if applicants is None else _read_applicants(applicants, [*names, *kept])
    return _read(source, _Wanted(names, kept, factuals))


@dataclass(frozen=True, eq=False)
class _Wanted:
    """Columns to read from a source, and the applicants where they are given."""

    names: list[str]  # must be there
    others: list[str]  # are kept where the source has them
    factuals: "pd.DataFrame | None"

    def pick(self, table: "pd.DataFrame", what: str) -> "pd.DataFrame":
        """Return the wanted columns of a table."""
        _require_columns(table, self.names, what)
        return table[[*self.names, *(name for name in self.others if name in table.columns)]]

    def applicants(self) -> "pd.DataFrame":
        """Return the applicants, or raise if they are not given."""
        if self.factuals is None:
            raise InvalidInputError(
                "applicants must be given: a table of options does not say what the applicants are like today; "
                "pass the DataFrame of their rows, as the model takes them"
            )
        return self.factuals


def _read(source: Any, wanted: _Wanted) -> ExternalPlans:
    if isinstance(source, (str, Path)):
        source = _load(source)
    if isinstance(source, Mapping):
        return (_read_own_document if source.get("format") == document.FORMAT else _read_dice_json)(source, wanted)
    if isinstance(source, PlanRecord):
        source = source.batch[source.row : source.row + 1]
    if isinstance(source, BatchRecord):
        return _read_own(source.applicants, source.options, source.owner.tolist(), wanted)
    if _is_dice_result(source):
        return _read_dice_result(source, wanted)
    if isinstance(source, (list, tuple)):
        return _read_list(source, wanted)
    if not is_table(source):
        raise InvalidInputError(f"source must be {FORMS}; got {type(source).__name__}: {shown(source)}")
    return _read_table(as_pandas(source, "the table of options"), wanted)


def _read_own_document(content: Mapping[str, Any], wanted: _Wanted) -> ExternalPlans:
    """Read the JSON object that `PlanBatch.to_json` writes."""
    if content.get("version") != document.VERSION:
        raise InvalidInputError(
            f"the JSON document of plans has version {shown(content.get('version'))}, this copa reads version "
            f"{document.VERSION}; update copa-recourse"
        )
    try:
        applicants, options, owner = document.tables_of(content)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(f"the JSON document of plans is damaged: {type(error).__name__}: {error}") from error
    if not len(applicants):
        raise InvalidInputError("the JSON document of plans must have at least one applicant, got none")
    return _read_own(applicants, options, owner, wanted)


def _read_own(own: "pd.DataFrame", options: "pd.DataFrame", owner: Sequence[int], wanted: _Wanted) -> ExternalPlans:
    """Read options for the applicants of the plans themselves, or for the given ones with the same labels."""
    own = wanted.pick(own, "the table of applicants in the plans")
    factuals = own if wanted.factuals is None else wanted.factuals
    if not own.index.equals(factuals.index):  # the same labels in the same order may repeat
        owner = _positions(own.index[list(owner)].to_series(), factuals.index)
    return ExternalPlans.read(factuals, options, owner)


def _load(source: str | Path) -> Any:
    """Read a file, or JSON given as text."""
    text = str(source)
    if isinstance(source, str) and text.lstrip().startswith("{"):
        return read_json_text(text, "source")
    kind = Path(text).suffix.lower()
    if kind == ".csv":
        return read_options(Path(source))
    if kind == ".json":
        return read_json_file(Path(source))
    raise InvalidInputError(
        f"source must be {FORMS}; got the text {shown(text)}, which is no JSON object and no such path"
    )


def _read_columns(columns: Sequence[str]) -> list[str]:
    """Check the names of the model's columns and return them as a list."""
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise InvalidInputError(f"columns must be a list of column names, got {shown(columns)}")
    names = list(columns)
    repeated = [name for i, name in enumerate(names) if name in names[:i]]
    if not names or repeated:
        received = f"{shown(repeated[0])} twice" if repeated else "none"
        raise InvalidInputError(f"columns must name each raw column of the model once, got {received}")
    return names


def _require_columns(table: "pd.DataFrame", columns: Sequence[str], what: str) -> None:
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


def _read_applicants(applicants: Any, columns: list[str]) -> "pd.DataFrame":
    """Check the applicants' table and return its model columns, in the model's order."""
    if not is_table(applicants):
        raise InvalidInputError(
            f"applicants must be a DataFrame with one row per applicant, got {type(applicants).__name__}; "
            "of a table, `table.loc[[label]]` gives one applicant as a DataFrame"
        )
    applicants = as_pandas(applicants, "applicants")
    if len(applicants) == 0:
        raise InvalidInputError("applicants must have at least one row, got an empty DataFrame")
    _require_columns(applicants, columns, "applicants")
    return applicants[columns]


def _positions(labels: "pd.Series[Any]", index: "pd.Index[Any]") -> list[int]:
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


def _read_table(table: "pd.DataFrame", wanted: _Wanted) -> ExternalPlans:
    """Read a table of all options, labelled with their owners by a column or an index level "applicant"."""
    factuals = wanted.applicants()
    if len(table) == 0:
        raise InvalidInputError("the table of options must have at least one row, got none")
    options = wanted.pick(table, "the table of options")
    if LABEL in table.columns and LABEL not in wanted.names:
        _require_columns(table, [LABEL], "the table of options")
        owner = _positions(table[LABEL], factuals.index)
    elif LABEL in table.index.names:
        owner = _positions(table.index.get_level_values(LABEL).to_series(), factuals.index)
    elif len(factuals) == 1:
        owner = [0] * len(table)
    else:
        raise InvalidInputError(
            f"there are {len(factuals)} applicants, so the options need a column (or an index level) {LABEL!r} with "
            f"the label of each one's applicant; got the columns {listed(list(table.columns))}"
        )
    return ExternalPlans.read(factuals, options, owner)


def _read_list(tables: Sequence[Any], wanted: _Wanted) -> ExternalPlans:
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


def _is_dice_result(source: Any) -> bool:
    """Recognise a DiCE result by its attribute."""
    return hasattr(source, "cf_examples_list")


def _read_dice_result(result: Any, wanted: _Wanted) -> ExternalPlans:
    """Read DiCE's `CounterfactualExplanations`."""
    entries = []
    for example in result.cf_examples_list:
        sparse = example.final_cfs_df_sparse
        entries.append((example.test_instance_df, example.final_cfs_df if sparse is None else sparse))
    return _read_entries(entries, wanted)


def _read_dice_json(content: Mapping[str, Any], wanted: _Wanted) -> ExternalPlans:
    """Read the JSON object that DiCE's `to_json` writes (version 2.0)."""
    if not DICE_KEYS.issubset(content):
        raise InvalidInputError(
            f"the JSON object is not from DiCE: it needs the keys {listed(sorted(DICE_KEYS))}, got "
            f"{listed(list(content)) or 'none'}"
        )
    try:
        entries = _entries_of(content)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(f"the JSON object from DiCE is damaged: {type(error).__name__}: {error}") from error
    return _read_entries(entries, wanted)


def _entries_of(content: Mapping[str, Any]) -> list[Entry]:
    import pandas as pd

    names = content["feature_names_including_target"]
    pairs = zip(content["test_data"], content["cfs_list"], strict=True)
    return [
        (pd.DataFrame(query, columns=names), None if options is None else pd.DataFrame(options, columns=names))
        for query, options in pairs
    ]


def _read_entries(entries: Sequence[Entry], wanted: _Wanted) -> ExternalPlans:
    import pandas as pd

    if not entries:
        raise InvalidInputError("the DiCE result must have at least one query, got none")
    picked = [wanted.pick(query, f"query {i} of the DiCE result") for i, (query, _) in enumerate(entries)]
    for i, query in enumerate(picked):
        if len(query) != 1:
            raise InvalidInputError(f"query {i} of the DiCE result must be one row, got {len(query)}")
    queries = pd.concat(picked, ignore_index=True)
    if wanted.factuals is None:
        _require_no_truths(queries)
        wanted = replace(wanted, factuals=queries)
    else:
        _require_same_applicants(queries, wanted.factuals)
    return _read_list([options for _, options in entries], wanted)


def _require_no_truths(queries: "pd.DataFrame") -> None:
    """Raise on truth values: dice-ml 0.12 goes through their text, which turns False into True in its queries."""
    truths = [name for name in queries if queries[name].dtype == bool]
    if truths:
        raise InvalidInputError(
            f"applicants must be given, because column {shown(truths[0])} holds true and false, which DiCE does not "
            "keep in its queries; pass the rows that DiCE was given"
        )


def _require_same_applicants(queries: "pd.DataFrame", factuals: "pd.DataFrame") -> None:
    """Raise if the queries are not the given applicants in the given order.

    Only whole numbers and levels are compared: DiCE rounds decimals, and does not keep truth values.
    """
    from pandas.api import types

    if len(queries) != len(factuals):
        raise InvalidInputError(
            f"applicants must be those that DiCE was given, {len(queries)} of them, got {len(factuals)} rows"
        )
    for name in queries:
        if types.is_float_dtype(factuals[name].dtype) or types.is_bool_dtype(factuals[name].dtype):
            continue
        theirs = cast_like(queries[name], factuals[name])
        for i, (their, our) in enumerate(zip(theirs, factuals[name], strict=True)):
            if str(their) != str(our):  # by their text, because a missing value equals nothing
                raise InvalidInputError(
                    f"applicants must be those that DiCE was given, in the same order; in row {i}, label "
                    f"{shown(factuals.index[i])}, {shown(name)} is {shown(our)}, but DiCE was given {shown(their)}"
                )
