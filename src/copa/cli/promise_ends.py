"""`copa promises decide`, `waive`, `supersede` and `expire`: what becomes of promises without a person's row."""

from typing import Annotated

import typer

from copa._core.words import counted
from copa.cli.messages import FINE, misuse, show, show_json
from copa.cli.options import AsJson
from copa.cli.promised import AsOf, By, LedgerUrl, open_ledger

PromiseId = Annotated[str, typer.Argument(help="Id of the promise.", metavar="PROMISE")]
Reason = Annotated[str, typer.Option(help="Why.", metavar="TEXT")]


def decide(
    promise: PromiseId,
    decision: Annotated[str, typer.Argument(help="honour or refuse; a refusal needs a reason.", metavar="WORD")],
    ledger: LedgerUrl,
    *,
    reason: Reason = "",
    recorded_by: By = None,
    as_json: AsJson = False,
) -> int:
    """Record what was decided of a broken promise."""
    with open_ledger(ledger) as opened, misuse():
        opened.decide(promise, decision, reason, recorded_by=recorded_by)
    return _said(promise, f"decided: {decision}", as_json=as_json)


def waive(
    promise: PromiseId, ledger: LedgerUrl, *, reason: Reason = "", recorded_by: By = None, as_json: AsJson = False
) -> int:
    """Record that a person gave up a promise."""
    with open_ledger(ledger) as opened, misuse():
        opened.waive(promise, reason, recorded_by=recorded_by)
    return _said(promise, "waived", as_json=as_json)


def supersede(
    promise: PromiseId,
    other: Annotated[
        str, typer.Argument(help="Id of the promise to the same applicant that takes its place.", metavar="OTHER")
    ],
    ledger: LedgerUrl,
    *,
    reason: Reason = "",
    recorded_by: By = None,
    as_json: AsJson = False,
) -> int:
    """Record that another promise takes the place of one."""
    with open_ledger(ledger) as opened, misuse():
        opened.supersede(promise, other, reason, recorded_by=recorded_by)
    return _said(promise, "superseded", as_json=as_json)


def expire(ledger: LedgerUrl, *, as_of: AsOf = None, recorded_by: By = None, as_json: AsJson = False) -> int:
    """Record the end of all promises whose last day is over; they count as expired all the same."""
    with open_ledger(ledger) as opened, misuse():
        ids = opened.expire(as_of, recorded_by=recorded_by)
    if as_json:
        show_json({"expired": ids})
    else:
        show(f"{counted(len(ids), 'promise')} expired.")
    return FINE


def _said(promise: str, status: str, *, as_json: bool) -> int:
    if as_json:
        show_json({"promise": promise, "recorded": status})
    else:
        show(f"Promise {promise}: {status}.")
    return FINE
