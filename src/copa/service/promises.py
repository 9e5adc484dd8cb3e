"""Promises of a service: its ledger, and what is recorded in it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any

from copa.plans.document import table_columns
from copa.plans.frames import option_numbers
from copa.promises import Ledger, portfolio_risk
from copa.promises.promised_rows import split_facts
from copa.promises.record import chosen_options, read_text
from copa.service.problems import ProblemError, invalid
from copa.tables.cells import as_json

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner import RecoursePlanner
    from copa.plans import PlanBatch
    from copa.service.state import Service

Entry = dict[str, Any]
SHOWN = ("applicant", "option", "status", "option_guarantee", "model_version", "made", "valid_until", "recorded_by")


class PromiseDesk:
    """The ledger of a service, and what is done with it.

    Parameters
    ----------
    service : Service
    url : str
        Of the ledger.
    """

    def __init__(self, service: "Service", url: str) -> None:
        self._service = service
        self.ledger = Ledger.open(url)  # `copa serve --create` has made it
        known = service.settings.model_version or service.bundle.sha256[:12]
        self._version = known or "unnamed"

    def close(self) -> None:
        """Close the ledger."""
        self.ledger.close()

    def record(self, planner: "RecoursePlanner", body: Any) -> Entry:
        """Plan once more, and record options; where the plan is not the one that was shown, nothing is."""
        read_text(body.name, "name")
        batch = self._planned(planner, body)
        if not len(batch.owner):
            raise invalid("/applicant", body.name, f"there is no option to promise: {batch.message[0]}")
        label = batch.applicants.index[0]
        options = None if body.options is None else {label: body.options}
        chosen = chosen_options(batch, options, include_fragile=body.include_fragile)
        if not len(chosen):
            raise invalid("/options", body.options, f"none can be promised: the plan is {batch.status[0]}")
        self._require_shown(batch, chosen, body.rows)
        promised = self.ledger.record(
            batch,
            model_version=body.model_version or self._version,
            valid_for=body.valid_for,
            made=body.made,
            model=self._service.planner,
            options=options,
            include_fragile=body.include_fragile,
            may_differ=body.may_differ,
            recorded_by=body.recorded_by,
        )
        numbers = option_numbers(batch)[chosen].tolist()
        told = [{"promise": key, "option": number} for key, number in zip(promised, numbers, strict=True)]
        return {"applicant": body.name, "promises": told}

    def _planned(self, planner: "RecoursePlanner", body: Any) -> "PlanBatch":
        tables, messages = self._service.reader.tables([body.applicant], [body.name])
        if messages:
            raise invalid("/applicant", body.applicant, messages[0])
        return planner.plan(tables[0].frame)

    def _require_shown(self, batch: "PlanBatch", chosen: Any, rows: Sequence[Mapping[str, Any]]) -> None:
        """What is recorded is what the person saw: another bundle may have come in between."""
        if not rows:
            return
        own = table_columns(batch.options.iloc[chosen])
        mine = [{name: cells[k] for name, cells in own.items()} for k in range(len(chosen))]
        if mine != [dict(row) for row in rows]:
            raise ProblemError("conflict", "the plan is no longer the one whose rows were sent; plan again, and look")

    def list(self, status: str, applicant: str | None, limit: int) -> Entry:
        """Promises of a status, the earliest first."""
        tables = self.ledger.blocks(status, size=limit + 1, applicant=applicant)
        found = list(islice((entry for table in tables for entry in _entries(*split_facts(table))), limit + 1))
        return {"promises": found[:limit], "more": len(found) > limit}

    def redeem(self, promise: str, body: Any) -> Entry:
        """A person comes back."""
        found = self.ledger.redeem(
            promise,
            body.row,
            self._service.planner,
            decision=body.decision,
            reason=body.reason,
            may_differ=body.may_differ,
            recorded_by=body.recorded_by,
        )
        return asdict(found) | {"differences": list(found.differences)}

    def summary(self) -> Entry:
        """How many promises there are of each status."""
        return {"counts": self.ledger.counts()}

    def check(self) -> Entry:
        """Whether the chain of events is whole."""
        return asdict(self.ledger.verify())

    def portfolio(self) -> Entry:
        """What the next model may do to the outstanding promises."""
        risk = portfolio_risk(self._service.planner, self.ledger)
        return risk.to_dict() | {"in_words": risk.in_words()}


def _entries(facts: "pd.DataFrame", rows: "pd.DataFrame") -> list[Entry]:
    cells = table_columns(rows)
    told = {name: [as_json(value) for value in facts[name].tolist()] for name in SHOWN}
    return [
        {
            "promise": str(key),
            **{name: values[k] for name, values in told.items()},
            "row": {name: values[k] for name, values in cells.items()},
        }
        for k, key in enumerate(facts.index.tolist())
    ]
