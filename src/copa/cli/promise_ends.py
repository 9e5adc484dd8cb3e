"""`copa promises decide` and `waive`: what becomes of promises without a person's row."""

from typing import Annotated

import typer

from copa.cli.messages import FINE, misuse, show, show_json
from copa.cli.options import AsJson
from copa.cli.promised import By, LedgerUrl, open_ledger

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
    """Record that a promise binds no more: the person gave it up, or another one takes its place."""
    with open_ledger(ledger) as opened, misuse():
        opened.waive(promise, reason, recorded_by=recorded_by)
    return _said(promise, "waived", as_json=as_json)


def _said(promise: str, status: str, *, as_json: bool) -> int:
    if as_json:
        show_json({"promise": promise, "recorded": status})
    else:
        show(f"Promise {promise}: {status}.")
    return FINE
