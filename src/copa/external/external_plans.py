"""Reading plans that others made: the common form, and the door that every kind of source enters by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.words import shown
from copa.exceptions import InvalidInputError
from copa.external.dice import is_dice_result, read_dice_json, read_dice_result
from copa.external.own_plans import is_own_document, is_own_result, read_own_document, read_own_result
from copa.external.tables import Owned, Wanted, read_applicants, read_columns, read_list, read_table
from copa.tables.casting import cast_like
from copa.tables.files import read_csv, read_json_file, read_json_text

if TYPE_CHECKING:
    import pandas as pd

FORMS = (
    "a DataFrame of options, a list of DataFrames (one per applicant), a path to a .csv or .json file, "
    "a PlanBatch or Plan, a DiCE result (CounterfactualExplanations), or the JSON of one of these as text or dict"
)


@dataclass(frozen=True, eq=False)
class ExternalPlans:
    """Options that someone made for a number of applicants.

    Attributes
    ----------
    factuals : DataFrame of N rows, the applicants as given, in the model's raw columns and with their index labels
    options : DataFrame, all options in the order of the source; the columns of `factuals`, and their dtypes wherever
        these can hold the values (a fraction among whole numbers makes a column float, an unknown category object)
    owner : integers, one per row of `options`: the position in `factuals` of the applicant it is for
    """

    factuals: "pd.DataFrame"
    options: "pd.DataFrame"
    owner: npt.NDArray[np.intp]


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
    source : one of
        a DataFrame of options, whose column (or index level) "applicant" holds index labels of `applicants`, and may be
        left out if there is only one of them;
        a list of DataFrames, one per applicant, in the order of `applicants`;
        a path to a .csv file of such a table;
        a `PlanBatch` or `Plan`, DiCE's `CounterfactualExplanations`, what `to_json()` of a batch or of DiCE's result
        gives (as text or dict), or a path to a .json file of it
    columns : names of the model's raw feature columns, in order
    applicants : DataFrame of N rows, with the dtypes that the model takes
        Only a source from COPA or DiCE can do without. DiCE carries its queries, though without labels and with rounded
        decimals. Where COPA's plans are given with applicants, those are found by their labels.
    others : names of further columns, which the model does not use, to be kept; the applicants must have them, and an
        option that lacks one has its applicant's value

    Returns
    -------
    ExternalPlans

    Raises
    ------
    InvalidInputError
        If the source has none of these forms, lacks a column, names an unknown applicant, or holds text for a number.
    """
    import pandas as pd

    names = read_columns(columns)
    wanted = Wanted(names, [name for name in others if name not in names])
    factuals = None if applicants is None else read_applicants(applicants, [*names, *wanted.others])
    owned = _read(source, wanted, factuals)
    owner = np.asarray(owned.owner, dtype=np.intp)
    owner.setflags(write=False)
    rows, own = owned.options.reset_index(drop=True), owned.factuals.iloc[owner].reset_index(drop=True)
    given = {name: rows[name] if name in rows.columns else own[name] for name in owned.factuals.columns}
    options = pd.DataFrame({name: cast_like(column, owned.factuals[name]) for name, column in given.items()})
    return ExternalPlans(owned.factuals, options, owner)


def _read(source: Any, wanted: Wanted, factuals: "pd.DataFrame | None") -> Owned:
    import pandas as pd

    if isinstance(source, (str, Path)):
        source = _load(source)
    if isinstance(source, Mapping):
        read = read_own_document if is_own_document(source) else read_dice_json
        return read(source, wanted, factuals)
    if is_own_result(source) or is_dice_result(source):
        read_result = read_own_result if is_own_result(source) else read_dice_result
        return read_result(source, wanted, factuals)
    if not isinstance(source, (pd.DataFrame, list, tuple)):
        raise InvalidInputError(f"source must be {FORMS}; got {type(source).__name__}: {shown(source)}")
    if factuals is None:
        raise InvalidInputError(
            "applicants must be given: a table of options does not say what the applicants are like today; "
            "pass the DataFrame of their rows, as the model takes them"
        )
    if isinstance(source, pd.DataFrame):
        return read_table(source, wanted, factuals)
    return read_list(source, wanted, factuals)


def _load(source: str | Path) -> Any:
    """Read a file, or JSON given as text."""
    text = str(source)
    if isinstance(source, str) and text.lstrip().startswith("{"):
        return read_json_text(text, "source")
    kind = Path(text).suffix.lower()
    if kind == ".csv":
        return read_csv(Path(source))
    if kind == ".json":
        return read_json_file(Path(source))
    raise InvalidInputError(
        f"source must be {FORMS}; got the text {shown(text)}, which is no JSON object and no such path"
    )
