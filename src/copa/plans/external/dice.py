"""Results of DiCE: the object of the Python package `dice-ml`, and its JSON.

The package is not imported. An entry of a result is one query, the applicant, with its counterfactuals, the options.
They are read in the sparse form, which is the one that DiCE shows and saves, wherever it has one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from copa._core.words import listed, shown
from copa.data.tables.casting import cast_like
from copa.exceptions import InvalidInputError
from copa.plans.external.external_plans import ExternalPlans, Wanted, read_list

if TYPE_CHECKING:
    import pandas as pd

KEYS = {"test_data", "cfs_list", "feature_names_including_target"}

Entry = tuple["pd.DataFrame", "pd.DataFrame | None"]  # a query of one row, and its options


def is_dice_result(source: Any) -> bool:
    """Tell a DiCE result by what it holds."""
    return hasattr(source, "cf_examples_list")


def read_dice_result(result: Any, wanted: Wanted) -> ExternalPlans:
    """Read DiCE's `CounterfactualExplanations`."""
    entries = []
    for example in result.cf_examples_list:
        sparse = example.final_cfs_df_sparse
        entries.append((example.test_instance_df, example.final_cfs_df if sparse is None else sparse))
    return _read_entries(entries, wanted)


def read_dice_json(content: Mapping[str, Any], wanted: Wanted) -> ExternalPlans:
    """Read the JSON object that DiCE's `to_json` writes (version 2.0)."""
    if not KEYS.issubset(content):
        raise InvalidInputError(
            f"the JSON object is not from DiCE: it needs the keys {listed(sorted(KEYS))}, got "
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


def _read_entries(entries: Sequence[Entry], wanted: Wanted) -> ExternalPlans:
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
    return read_list([options for _, options in entries], wanted)


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

    Compared are whole numbers and choices only: DiCE rounds decimals, and does not keep truth values.
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
