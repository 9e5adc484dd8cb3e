"""Plans as the service answers them: what to change and into what, and how sure that is."""

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from copa.plans.document import BOUNDS, option_entries, table_columns
from copa.plans.units import name_and_unit
from copa.plans.wording import assumption
from copa.tables.cells import as_json

if TYPE_CHECKING:
    from copa.plans import PlanBatch
    from copa.schema import FeatureSchema

Entry = dict[str, Any]


def plan_entries(batch: "PlanBatch", *, cards: bool = False) -> list[Entry]:
    """Return an entry for each plan of a batch, in its order.

    Parameters
    ----------
    batch : PlanBatch
    cards : bool
        Whether each has what `cards.js` draws.
    """
    own = table_columns(batch.applicants)
    options = _options(batch, own)
    ends = np.cumsum(batch.counts)
    entries = []
    for i, label in enumerate(batch.applicants.index):
        mine = options[int(ends[i] - batch.counts[i]) : int(ends[i])]
        entry = {
            "applicant": as_json(label),
            "status": str(batch.status[i]),
            "message": str(batch.message[i]),
            "options": mine,
            **{key: float(getattr(batch, name)[i]) if mine else None for key, name in BOUNDS.items()},
            "highest_level": as_json(batch.highest_level[i]),
        }
        if cards:
            entry["card"] = card_of(batch, i)
        entries.append(entry)
    return entries


def card_of(batch: "PlanBatch", i: int) -> Entry:
    """What `cards.js` draws of the i-th plan, and what is said beside it."""
    from copa.report.card_data import card_data
    from copa.report.views import beside_cards

    alone = batch[i : i + 1]
    return card_data(alone) | beside_cards(alone)


def error_entry(label: Any, message: str) -> Entry:
    """The entry of an applicant that cannot be read."""
    return {
        "applicant": as_json(label),
        "status": "error",
        "message": message,
        "options": [],
        **dict.fromkeys(BOUNDS),
        "highest_level": None,
    }


def _options(batch: "PlanBatch", own: dict[str, list[Any]]) -> list[Entry]:
    titles = _titles(batch.basis.schema)
    rows = table_columns(batch.options)
    rates = batch.expected_rate.tolist()
    found = []
    for k, told in enumerate(option_entries(batch, own)):
        changes = []
        for change in told["changes"]:
            name = change["feature"]
            title, unit = titles.get(name, (name, ""))
            values = {key: change.get(key) for key in ("from", "to", "at_least", "at_most", "effort")}
            changes.append({"column": name, "title": title, "unit": unit, **values})
        found.append(
            {
                "option": told["option"],
                "row": {name: cells[k] for name, cells in rows.items()},
                "changes": changes,
                "guarantee": told["guarantee"],
                "expected": as_json(rates[k]),
                "effort": told["effort"],
                "plausibility": told["plausibility"],
                "accepted": told["accepted"],
                "ranges": told.get("ranges"),
            }
        )
    return found


def _titles(schema: "FeatureSchema") -> dict[str, tuple[str, str]]:
    return {feature.name: name_and_unit(feature.heading) for feature in schema.features}


def asked_of(batch: "PlanBatch") -> Entry:
    """What was asked of plans, and what their guarantees rest on."""
    request = batch.request
    return {
        "guarantee": request.level,
        "expected_rate": request.guarantee if request.aim == "expected" else None,
        "guarantee_for": request.guarantee_for,
        "n_options": request.n_options,
        "plausibility": request.plausibility,
        "assumption": assumption(batch.ambiguity, batch.basis, request),
    }


def encoded(content: Entry) -> bytes:
    """JSON in ASCII, whatever is in it."""
    return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")
