"""`copa promises`: the ledger of what was promised to people."""

from pathlib import Path
from typing import Annotated, Any

import typer

from copa._core.files import write_atomically
from copa._core.progress import counting, stage
from copa._core.words import counted, rounded_down
from copa.cli.commands import Command, Group, guarded, inherited, inherited_option, wants_json
from copa.cli.files import (
    LEDGER_VARIABLE,
    load_skops,
    open_ledger,
    require_outputs,
    require_plans,
    unquoted_promises,
)
from copa.cli.messages import FAILED, FINE, misuse, say, show, show_json, show_table
from copa.cli.options import AsOf, IncludeFragile, ModelVersion
from copa.data.tables.files import quoted_table, read_options
from copa.plans import PlanBatch
from copa.plans.storage import read_batches

SHOWN = 20  # promises on the terminal
COLUMNS = ("promise", "applicant", "option", "guarantee", "status", "made", "valid until")
PANEL = "Options of every command of `copa promises`"

PromiseId = Annotated[str, typer.Argument(help="Id of the promise.", metavar="PROMISE")]
Reason = Annotated[str, typer.Option(help="Reason; a refusal needs one.", metavar="TEXT")]
MayDiffer = Annotated[
    list[str] | None,
    typer.Option("--may-differ", help="Column in which a row may differ from the promised one; repeatable."),
]

commands = typer.Typer(cls=Group, no_args_is_help=True)


@commands.callback()
def promises(
    *,
    ledger: Annotated[
        str | None,
        inherited_option(
            "--ledger",
            envvar=LEDGER_VARIABLE,
            help="Ledger: postgresql://user@host/name, or an SQLite file. A password belongs in the variable.",
            metavar="URL",
            panel=PANEL,
        ),
    ] = None,
    by: Annotated[
        str | None,
        inherited_option(
            "--by", help="Who records it; default: the user of this process.", metavar="NAME", panel=PANEL
        ),
    ] = None,
) -> None:
    """Keep a ledger of what was promised to people, and of what became of it."""


def create() -> int:
    """Make a ledger; one that is there already stays as it is."""
    with open_ledger(create=True):
        pass
    if wants_json():
        show_json({"ledger": "ready"})
    else:
        show("The ledger is ready.")
    return FINE


def record(
    plans: Annotated[
        Path, typer.Argument(help="Plans of `copa plan`: a run, or a .copa or .zip file.", metavar="PLANS")
    ],
    model_version: Annotated[str, typer.Option(help="What you call the model.", metavar="TEXT")],
    valid_for: Annotated[str, typer.Option(help="'12 months', '90 days', or the last day.", metavar="SPAN")],
    *,
    made: Annotated[
        str | None,
        typer.Option(help="Day of the promises; default: today.", metavar="DATE"),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="Model of the plans, for its fingerprint: .skops.", metavar="FILE"),
    ] = None,
    may_differ: MayDiffer = None,
    include_fragile: IncludeFragile = False,
) -> int:
    """Record the options of saved plans as promises; those that are recorded already are not recorded again."""
    from copa.promises.record import FRAGILE, n_fragile, require_recordable

    require_plans(plans)
    terms = {
        "model_version": model_version,
        "valid_for": valid_for,
        "made": made,
        "model": None if model is None else load_skops(model, "the model"),
        "may_differ": may_differ or (),
        "recorded_by": inherited("by"),
    }
    with misuse():
        require_recordable(
            read_batches(PlanBatch, plans), terms
        )  # a damaged part must not leave half of the file in the ledger
    with open_ledger() as opened:
        ids, left_out = list[str](), 0
        for batch in read_batches(PlanBatch, plans):
            left_out += 0 if include_fragile else n_fragile(batch)
            taken = batch if include_fragile else batch.select(batch.status != FRAGILE)
            with misuse():
                ids += opened.record(taken, include_fragile=include_fragile, **terms)
    if wants_json():
        show_json({"promises": ids, "fragile_left_out": left_out})
        return FINE
    show(f"{counted(len(ids), 'promise')} in the ledger, of {plans}.")
    if left_out:
        show(f"{counted(left_out, 'option')} of fragile plans left out; --include-fragile records them.")
    return FINE


def list_promises(
    *,
    status: Annotated[str, typer.Option(help="open, kept, broken, expired, waived or all.", metavar="STATUS")] = "open",
    as_of: AsOf = None,
    model_version: ModelVersion = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write all of them to this .csv file.", metavar="FILE")
    ] = None,
) -> int:
    """List promises, with the rows that were promised in the output file."""
    require_outputs(output, (".csv",))
    with open_ledger() as opened, misuse():
        read = opened.blocks(status, as_of, model_version=model_version)
        n_promises, kept, written = 0, list[Any](), list[Any]()
        for block in counting(read, "reading promises", None, "blocks"):
            n_promises += len(block)
            kept.append(block.head(max(0, SHOWN - sum(map(len, kept)))))
            written += [] if output is None else [block]
    if output is not None:
        _write(output, written)
    rows = [_line(promise, row) for block in kept for promise, row in _facts(block).iterrows()]
    if wants_json():
        show_json({"promises": n_promises, "first": [dict(zip(COLUMNS, row, strict=True)) for row in rows]})
        return FINE
    if rows:
        show_table(COLUMNS, rows)
    more = f"; the first {len(rows)} are shown" if n_promises > len(rows) else ""
    show(f"{counted(n_promises, 'promise')}{more}.")
    return FINE


def _write(output: Path, blocks: list[Any]) -> None:
    """Write all promises as one table; cells of columns that a row does not have are empty."""
    from copa.promises.promised_rows import concat_facts

    table = concat_facts(blocks).reset_index()
    text = (table if inherited("raw_cells") else quoted_table(table)).to_csv(index=False, lineterminator="\n")
    write_atomically(output, text.encode())


def _facts(block: Any) -> Any:
    from copa.promises.promised_rows import split_facts

    return split_facts(block)[0]


def _line(promise: Any, row: Any) -> list[Any]:
    numbers = [int(row["option"]), rounded_down(row["option_guarantee"])]
    return [str(promise), row["applicant"], *numbers, row["status"], str(row["made"]), str(row["valid_until"])]


def redeem(
    promise: Annotated[str, typer.Argument(help="Id of the promise, or the applicant.", metavar="PROMISE")],
    row: Annotated[Path, typer.Argument(help="The person's row as of today: .csv or .parquet.", metavar="ROW")],
    *,
    model: Annotated[Path, typer.Option(help="Today's model: .skops.", metavar="FILE")],
    decision: Annotated[
        str | None, typer.Option(help="Decision on a broken promise: honour or refuse.", metavar="WORD")
    ] = None,
    reason: Reason = "",
    may_differ: MayDiffer = None,
    threshold: Annotated[
        float | None, typer.Option(help="Probability from which the model accepts; default: what `predict` says.")
    ] = None,
    as_of: AsOf = None,
) -> int:
    """Say whether a row fulfils a promise and what today's model answers, and record both.

    Exit code 0 if the promise is kept or honoured, 1 if not.
    """
    with misuse():
        person = _person(row)
    fitted = load_skops(model, "the model")
    with open_ledger() as opened, misuse():
        redemption = opened.redeem(
            promise,
            person,
            fitted,
            decision=decision,
            reason=reason,
            may_differ=may_differ or (),
            threshold=threshold,
            as_of=as_of,
            recorded_by=inherited("by"),
        )
    if wants_json():
        show_json(vars(redemption))
    else:
        answer = "accepts" if redemption.accepted else "does not accept"
        decided = "" if redemption.decision is None else f" Decided: {redemption.decision}."
        show(f"Promise {redemption.promise}: {redemption.outcome}; the model {answer} the row.{decided}")
        for difference in redemption.differences:
            show(f"  {difference}")
    return FINE if redemption.outcome == "kept" or redemption.decision == "honour" else FAILED


def _person(row: Path) -> Any:
    """Read the cells as they are written, which the promise gives their types; without the facts that `list` writes."""
    from copa.promises.promised_rows import split_facts

    return split_facts(unquoted_promises(row, read_options(row, inherited("delimiter", ","))))[1]


def decide(
    promise: PromiseId,
    decision: Annotated[str, typer.Argument(help="honour or refuse; a refusal needs a reason.", metavar="WORD")],
    *,
    reason: Reason = "",
) -> int:
    """Record what was decided of a broken promise."""
    with open_ledger() as opened, misuse():
        opened.decide(promise, decision, reason, recorded_by=inherited("by"))
    return _said(promise, f"decided: {decision}")


def waive(promise: PromiseId, *, reason: Reason = "") -> int:
    """Record that a promise binds no more: the person gave it up, or another one takes its place."""
    with open_ledger() as opened, misuse():
        opened.waive(promise, reason, recorded_by=inherited("by"))
    return _said(promise, "waived")


def _said(promise: str, status: str) -> int:
    if wants_json():
        show_json({"promise": promise, "recorded": status})
    else:
        show(f"Promise {promise}: {status}.")
    return FINE


def verify(
    *,
    expect: Annotated[
        str | None,
        typer.Option(help="Checkpoint that an earlier `verify` printed, kept elsewhere.", metavar="EVENTS:DIGEST"),
    ] = None,
) -> int:
    """Find any event that was changed, removed or put in another order, and print a checkpoint.

    Exit code 0 if the ledger is as it was recorded, 1 if not.
    """
    with open_ledger() as opened, misuse(), stage("verifying the ledger"):
        check = opened.verify(expect)
    if wants_json():
        show_json(vars(check))
    elif check.ok:
        show(f"{counted(check.events, 'event')}: all are as they were recorded.\nCheckpoint: {check.checkpoint}")
    if not check.ok:
        say(f"error: {check.message}")
    return FINE if check.ok else FAILED


def purge(
    before: Annotated[str, typer.Option(help="Promises that ended before this day.", metavar="DATE")],
) -> int:
    """Delete applicants and rows of promises that ended before a day; events and digests stay."""
    with open_ledger() as opened, misuse(), stage("purging"):
        n_promises = opened.purge(before, recorded_by=inherited("by"))
    if wants_json():
        show_json({"purged": n_promises})
    else:
        show(f"Personal data of {counted(n_promises, 'promise')} deleted. Backups are not reached.")
    return FINE


commands.command(cls=Command)(guarded(create))
commands.command(cls=Command)(guarded(record))
commands.command("list", cls=Command)(guarded(list_promises))
for act in (redeem, decide, waive, verify, purge):
    commands.command(cls=Command)(guarded(act))
