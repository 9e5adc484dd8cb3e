"""COPA's own results: a batch of plans, one plan of it, and the JSON document that a batch is written as.

They are told by what they hold, not by their classes, which are made from what is read here.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.words import shown
from copa.exceptions import InvalidInputError
from copa.external.tables import Owned, Wanted, positions, require_columns

if TYPE_CHECKING:
    import pandas as pd

FORMAT, VERSION = "copa-plans", 1
BATCH_PARTS = ("applicants", "options", "owner", "terms")
PLAN_PARTS = ("factual", "options", "label", "terms")


def is_own_result(source: Any) -> bool:
    """Whether a source is a `PlanBatch` or a `Plan`."""
    return any(all(hasattr(source, part) for part in parts) for parts in (BATCH_PARTS, PLAN_PARTS))


def is_own_document(content: Mapping[str, Any]) -> bool:
    """Whether a JSON object is what `PlanBatch.to_json` writes."""
    return content.get("format") == FORMAT


def read_own_result(source: Any, wanted: Wanted, factuals: "pd.DataFrame | None") -> Owned:
    """Read a `PlanBatch` or a `Plan`."""
    if hasattr(source, "owner"):
        return _owned(source.applicants, source.options, source.owner.tolist(), wanted, factuals)
    return _owned(source.factual, source.options, [0] * len(source.options), wanted, factuals)


def read_own_document(content: Mapping[str, Any], wanted: Wanted, factuals: "pd.DataFrame | None") -> Owned:
    """Read the JSON object that `PlanBatch.to_json` writes: every option is its applicant's row, with its changes."""
    import pandas as pd

    if content.get("version") != VERSION:
        raise InvalidInputError(
            f"the JSON document of plans has version {shown(content.get('version'))}, this copa reads {VERSION}; "
            "update copa-recourse"
        )
    try:
        entries = list(content["applicants"])
        own = [dict(entry["factual"]) for entry in entries]
        changes = [[_changed_cells(option) for option in entry["options"]] for entry in entries]
        labels = [_as_label(entry["applicant"]) for entry in entries]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(f"the JSON document of plans is damaged: {type(error).__name__}: {error}") from error
    if not entries:
        raise InvalidInputError("the JSON document of plans must have at least one applicant, got none")
    names = list(own[0])
    index = pd.Index(labels, tupleize_cols=False)
    people = pd.DataFrame({name: pd.Series([row.get(name) for row in own]) for name in names}).set_axis(index)
    rows = [row | cells for row, options in zip(own, changes, strict=True) for cells in options]
    options = pd.DataFrame({name: pd.Series([row.get(name) for row in rows], dtype=object) for name in names})
    owner = np.repeat(np.arange(len(own)), [len(cells) for cells in changes]).tolist()
    return _owned(people, options, owner, wanted, factuals)


def _changed_cells(option: Mapping[str, Any]) -> dict[str, Any]:
    return {change["feature"]: change["to"] for change in option["changes"]}


def _as_label(label: Any) -> Any:
    return tuple(label) if isinstance(label, list) else label  # JSON has no tuples


def _owned(
    own: "pd.DataFrame",
    options: "pd.DataFrame",
    owner: Sequence[int],
    wanted: Wanted,
    factuals: "pd.DataFrame | None",
) -> Owned:
    """The options for the applicants of the plans themselves, or for the given ones with the same labels."""
    require_columns(own, wanted.names, "the table of applicants in the plans")
    if factuals is None:
        return Owned(wanted.of(own), wanted.of(options), owner)
    if not own.index.equals(factuals.index):  # the same labels in the same order may repeat
        owner = positions(own.index[list(owner)].to_series(), factuals.index)
    return Owned(factuals, wanted.of(options), owner)
