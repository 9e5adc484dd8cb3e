"""Reading plans that others made: the common form, and the door that every kind of source enters by."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from copa._core.words import shown
from copa.data.tables.files import read_json_file, read_json_text, read_options
from copa.data.tables.frames import as_pandas, is_table
from copa.exceptions import InvalidInputError
from copa.plans import document
from copa.plans.external.dice import is_dice_result, read_dice_json, read_dice_result
from copa.plans.external.external_plans import (
    ExternalPlans,
    Wanted,
    positions,
    read_applicants,
    read_columns,
    read_list,
    read_table,
)
from copa.plans.records import BatchRecord, PlanRecord

if TYPE_CHECKING:
    import pandas as pd

FORMS = (
    "a DataFrame of options, a list of DataFrames (one per applicant), a path to a .csv or .json file, "
    "a PlanBatch or Plan, a DiCE result (CounterfactualExplanations), or the JSON of one of these as text or dict"
)


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
    names = read_columns(columns)
    kept = [name for name in others if name not in names]
    factuals = None if applicants is None else read_applicants(applicants, [*names, *kept])
    return _read(source, Wanted(names, kept, factuals))


def _read(source: Any, wanted: Wanted) -> ExternalPlans:
    if isinstance(source, (str, Path)):
        source = _load(source)
    if isinstance(source, Mapping):
        return (_read_own_document if source.get("format") == document.FORMAT else read_dice_json)(source, wanted)
    if isinstance(source, PlanRecord):
        source = source.batch[source.row : source.row + 1]
    if isinstance(source, BatchRecord):
        return _read_own(source.applicants, source.options, source.owner.tolist(), wanted)
    if is_dice_result(source):
        return read_dice_result(source, wanted)
    if isinstance(source, (list, tuple)):
        return read_list(source, wanted)
    if not is_table(source):
        raise InvalidInputError(f"source must be {FORMS}; got {type(source).__name__}: {shown(source)}")
    return read_table(as_pandas(source, "the table of options"), wanted)


def _read_own_document(content: Mapping[str, Any], wanted: Wanted) -> ExternalPlans:
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


def _read_own(own: "pd.DataFrame", options: "pd.DataFrame", owner: Sequence[int], wanted: Wanted) -> ExternalPlans:
    """Read options for the applicants of the plans themselves, or for the given ones with the same labels."""
    own = wanted.pick(own, "the table of applicants in the plans")
    factuals = own if wanted.factuals is None else wanted.factuals
    if not own.index.equals(factuals.index):  # the same labels in the same order may repeat
        owner = positions(own.index[list(owner)].to_series(), factuals.index)
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
