"""The events of recording promises, and of a person's return."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from copa.promises._storage.chain import NewEvent, Writer, new_ids
from copa.promises._storage.closing import decided
from copa.promises._storage.digests import canonical, identity_of
from copa.promises._storage.layouts import pack_cells
from copa.promises._storage.tables import PROMISED, REDEEMED
from copa.promises.record import NewPromise, Terms
from copa.promises.redeem import Promise, Redemption

if TYPE_CHECKING:
    import pandas as pd


def append_promises(writer: Writer, terms: Terms, new: list[NewPromise]) -> list[str]:
    """Append those that are not there, and return the ids of all."""
    if not new:
        return []
    number = writer.add_terms(terms.layout, terms.columns)
    digest = writer.digest_of_terms(number)
    identities = [identity_of(one.applicant, canonical(one.content), canonical(one.personal), digest) for one in new]
    known = writer.known_promises(identities)
    events = []
    for one, own, fresh in zip(new, identities, new_ids(len(new)), strict=True):
        if own not in known:
            known[own] = fresh
            events.append(NewEvent(PROMISED, fresh, one.content, number, one.applicant, one.personal, own))
    writer.append(events)
    return [known[own] for own in identities]


def redemption_events(
    found: Redemption, promise: Promise, row: "pd.DataFrame", asked: Mapping[str, Any], reason: str
) -> list[NewEvent]:
    """The events of a person's return; `asked` is how it was judged: the day, the model, columns that might differ."""
    content = {"accepted": found.accepted, "fulfilled": found.fulfilled, **asked}
    said = {"differences": list(found.differences), "row": pack_cells(row[list(promise.layout.columns)])[0]}
    events = [NewEvent(REDEEMED, found.promise, content, applicant=found.applicant, personal=said)]
    if found.fulfilled:
        events.append(NewEvent(found.outcome, found.promise))
    if found.decision is not None:
        events.append(decided(found.promise, found.applicant, found.decision, reason))
    return events
