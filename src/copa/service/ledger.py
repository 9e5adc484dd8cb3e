"""The ledger of a service: promises are recorded, listed and redeemed with its planner."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any

from copa.data.tables.cells import as_json
from copa.plans.document import table_columns
from copa.plans.frames import option_numbers
from copa.promises import Ledger, portfolio_risk
from copa.promises.promised_rows import split_facts
from copa.promises.record import chosen_options, read_text
from copa.service.problems import ProblemError, invalid

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner import RecoursePlanner
    from copa.plans import PlanBatch
    from copa.service.rows import RowReader

Entry = dict[str, Any]
SHOWN = ("applicant", "option", "status", "option_guarantee", "model_version", "made", "valid_until", "recorded_by")


class ServiceLedger:
    """The ledger of a service.

    Parameters
    ----------
    url : str
        Of the ledger.
    planner : RecoursePlanner
        That the service plans with.
    reader : RowReader
        Reads applicants of requests.
    model_version : str
        What promises call the model unless a request says it.
    """

    def __init__(self, url: str, planner: "RecoursePlanner", reader: "RowReader", model_version: str) -> None:
        self.ledger = Ledger.open(url)  # `copa serve --create` has made it
        self._planner, self._reader, self._version = planner, reader, model_version

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
            model=self._planner,
            options=options,
            include_fragile=body.include_fragile,
            may_differ=body.may_differ,
            recorded_by=body.recorded_by,
        )
        numbers = option_numbers(batch)[chosen].tolist()
        promises = [{"promise": key, "option": number} for key, number in zip(promised, numbers, strict=True)]
        return {"applicant": body.name, "promises": promises}

    def _planned(self, planner: "RecoursePlanner", body: Any) -> "PlanBatch":
        tables, messages = self._reader.tables([body.applicant], [body.name])
        if messages:
            raise invalid("/applicant", body.applicant, messages[0])
        return planner.plan(tables[0].frame)

    def _require_shown(self, batch: "PlanBatch", chosen: Any, rows: Sequence[Mapping[str, Any]]) -> None:
        """Raise unless these are the rows that the person saw: another bundle may have come in between."""
        if not rows:
            return
        columns = table_columns(batch.options.iloc[chosen])
        planned = [{name: cells[k] for name, cells in columns.items()} for k in range(len(chosen))]
        if planned != [dict(row) for row in rows]:
            raise ProblemError("conflict", "the plan is no longer the one whose rows were sent; plan again, and look")

    def list(self, status: str, applicant: str | None, limit: int) -> Entry:
        """List promises of a status, the earliest first."""
        tables = self.ledger.blocks(status, size=limit + 1, applicant=applicant)
        entries = list(islice((entry for table in tables for entry in _entries(*split_facts(table))), limit + 1))
        return {"promises": entries[:limit], "more": len(entries) > limit}

    def redeem(self, promise: str, body: Any) -> Entry:
        """Judge and record the return of a person."""
        redemption = self.ledger.redeem(
            promise,
            body.row,
            self._planner,
            decision=body.decision,
            reason=body.reason,
            may_differ=body.may_differ,
            recorded_by=body.recorded_by,
        )
        return asdict(redemption) | {"differences": list(redemption.differences)}

    def summary(self) -> Entry:
        """Count the promises of each status."""
        return {"counts": self.ledger.counts()}

    def check(self) -> Entry:
        """Verify the chain of events."""
        return asdict(self.ledger.verify())

    def portfolio(self) -> Entry:
        """Forecast what the next model does to the outstanding promises."""
        risk = portfolio_risk(self._planner, self.ledger)
        return risk.to_dict() | {"in_words": risk.in_words()}


def _entries(facts: "pd.DataFrame", rows: "pd.DataFrame") -> list[Entry]:
    cells = table_columns(rows)
    shown = {name: [as_json(value) for value in facts[name].tolist()] for name in SHOWN}
    return [
        {
            "promise": str(key),
            **{name: values[k] for name, values in shown.items()},
            "row": {name: values[k] for name, values in cells.items()},
        }
        for k, key in enumerate(facts.index.tolist())
    ]
