"""`copa letter`: a letter for every declined applicant of saved plans."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from copa._core.progress import stage
from copa._core.words import counted, listed
from copa.cli.commands import wants_json
from copa.cli.files import open_bundle, require_folder, require_plans
from copa.cli.messages import FAILED, FINE, MisuseError, misuse, say, show, show_json
from copa.cli.options import IncludeFragile
from copa.plans import PlanBatch
from copa.plans.storage import read_batches

if TYPE_CHECKING:
    from copa.planner.strategies.base import Strategy
    from copa.report.letters import LetterSettings
    from copa.report.letters.folder import LetterFolder

WISHED = ("max_change", "immutable", "weight")  # fields of columns that wishes change
NO_LETTER = {  # what there is to say of applicants without one
    "accepted": "{} accepted by the model: no letter",
    "unreadable": "{} whose row cannot be used: no letter; `copa plan` says what is wrong",
    "unfinished": "{} whose options were not found within the time limit: no letter",
}


def letter(  # noqa: PLR0913 - the options of the command
    bundle: Annotated[Path | None, typer.Argument(help="Bundle made by `copa fit`.", metavar="BUNDLE")] = None,
    plans: Annotated[
        Path | None,
        typer.Argument(help="Plans of `copa plan`: a run, or a .copa or .zip file.", metavar="PLANS"),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for the letters.", metavar="DIR")
    ] = None,
    *,
    sender: Annotated[str, typer.Option(help="Sender: the first line of each letter.", metavar="TEXT")] = "",
    contact: Annotated[str, typer.Option(help="Whom applicants may contact.", metavar="TEXT")] = "",
    valid_until: Annotated[
        str | None,
        typer.Option(
            help="Day until which you stand by the options, such as 2027-03-31; default: until the model is updated.",
            metavar="DATE",
        ),
    ] = None,
    date: Annotated[str | None, typer.Option(help="Date of the letters; default: none.", metavar="DATE")] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(help="Text that a template of your own calls fields.NAME; repeatable.", metavar="NAME=TEXT"),
    ] = None,
    template: Annotated[
        Path | None, typer.Option(help="Folder of your own sentences.j2 or page.html.j2.", metavar="DIR")
    ] = None,
    write_template: Annotated[
        Path | None, typer.Option(help="Write the template to this folder for editing, and end.", metavar="DIR")
    ] = None,
    without_protected: Annotated[
        bool,
        typer.Option(
            "--without-protected",
            help="Leave out reasons that look like protected attributes; the letters say that not all are listed.",
        ),
    ] = False,
    include_fragile: IncludeFragile = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the letters in the folder.")] = False,
) -> int:
    """Write a letter to every declined applicant: decision, reasons, options, and what is promised."""
    from copa.report.letters import LetterSettings
    from copa.report.letters.folder import WRITING

    if write_template is not None:
        return _write_template(write_template)
    with misuse():
        settings = LetterSettings(
            sender=sender,
            contact=contact,
            valid_until=valid_until,
            date=date,
            fields=_read_fields(field),
            template=template,
            without_protected=without_protected,
            include_fragile=include_fragile,
        )
    if bundle is None or plans is None or output is None:
        raise MisuseError("give BUNDLE, PLANS and -o DIR; or --write-template DIR alone")
    require_plans(plans)
    require_folder(output, plans)
    batches = read_batches(PlanBatch, plans)
    first = next(batches)
    folder = _folder(_as_wished(open_bundle(bundle).planner.strategy_, first), output, settings)
    if not force:
        with misuse():
            folder.require_free()
    with folder.opened(), stage(WRITING, None, "letters"):
        for part in _small(chain([first], batches)):
            folder.add(part)
    return _end(folder)


def _small(batches: Iterator[PlanBatch]) -> Iterator[PlanBatch]:
    """Yield batches of no more applicants than a part of a run has, for the memory that reasons take."""
    from copa.planner.runs import PART_ROWS

    for batch in batches:
        for begin in range(0, len(batch), PART_ROWS):
            yield batch[begin : begin + PART_ROWS]


def _as_wished(strategy: "Strategy", batch: PlanBatch) -> "Strategy":
    """Return the bundle's strategy for the wishes that plans were made with, if they differ in these only."""
    own, theirs = strategy.schema, batch.basis.schema
    if own.names != theirs.names:
        return strategy
    changes = {
        name: {field: getattr(theirs[name], field) for field in WISHED}
        for name in own.names
        if any(getattr(own[name], field) != getattr(theirs[name], field) for field in WISHED)
    }
    if not changes or own.replace(changes) != theirs:
        return strategy
    say(f"note: these plans were made with limits, weights or fixed columns of their own: {listed(list(changes))}")
    return strategy.with_fields(changes)


def _folder(strategy: "Strategy", output: Path, settings: "LetterSettings") -> "LetterFolder":
    from copa.report.letters import LetterWriter
    from copa.report.letters.folder import LetterFolder

    with misuse():
        return LetterFolder(output, LetterWriter(strategy, settings))


def _read_fields(texts: list[str] | None) -> dict[str, str]:
    fields: dict[str, str] = {}
    for text in texts or []:
        name, separator, value = text.partition("=")
        if not separator or name in fields:
            raise MisuseError(f"--field {text}: write NAME=TEXT, each name once")
        fields[name] = value
    return fields


def _write_template(folder: Path) -> int:
    from copa.report.letters.template import write_template

    with misuse():
        paths = [str(path) for path in write_template(folder)]
    if wants_json():
        show_json({"written": paths})
    else:
        show(f"Written: {', '.join(paths)}. Edit them, and give the folder as --template.")
    return FINE


def say_protected(folder: "LetterFolder") -> None:
    """Tell the owner of reasons that look like protected attributes."""
    if not folder.n_protected:
        return
    columns = ", ".join(f"{name} ({count:,})" for name, count in folder.protected.most_common())
    say(
        f"note: {folder.n_protected:,} of {counted(folder.counts['letters'], 'letter')} give as a reason what looks "
        f"like a protected attribute: {columns}. Whether your model may use it, and what a letter must say of it, is "
        "for you to find out; `copa letter --without-protected` leaves it out"
    )


def say_left_out(folder: "LetterFolder") -> None:
    """Tell the owner of options that the letters do not offer."""
    if folder.n_fragile:
        say(
            f"note: {counted(folder.n_fragile, 'option')} of fragile plans left out of the letters; `copa letter "
            "--include-fragile` offers them"
        )


def _end(folder: "LetterFolder") -> int:
    """Say what was written."""
    say_protected(folder)
    say_left_out(folder)
    counts = folder.counts
    if wants_json():
        show_json(
            {
                "letters": counts["letters"],
                "without_letter": {why: counts[why] for why in NO_LETTER},
                "protected_reasons": dict(folder.protected),
                "fragile_left_out": folder.n_fragile,
                "written": str(folder.folder),
            }
        )
    else:
        show(
            f"{counted(counts['letters'], 'letter')} in {folder.folder}, each as .html and .txt; index.csv lists them."
        )
        for why, words in NO_LETTER.items():
            if counts[why]:
                show(f"{words.format(counted(counts[why], 'applicant'))}.")
    useless = counts["unreadable"] + counts["unfinished"]
    return FAILED if useless and useless == sum(counts.values()) else FINE
