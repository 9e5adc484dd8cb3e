"""`copa letter`: a letter for every declined applicant of a file."""

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from copa._core.progress import stage
from copa._core.words import counted, listed
from copa.cli.messages import FAILED, FINE, MisuseError, exit_code, misuse, say, show, show_json
from copa.cli.options import (
    AsJson,
    Delimiter,
    ExpectedRate,
    Fixed,
    Guarantee,
    Id,
    IncludeFragile,
    LeastPlausibility,
    MaxChange,
    NJobs,
    NOptions,
    NStarts,
    RandomState,
    Weight,
    Whom,
    asking,
    open_bundle,
    open_data,
)
from copa.cli.plan import BLOCK, made_from, plan_blocks, stopped_words
from copa.cli.runs import Shards
from copa.data.tables.files import read_applicants
from copa.plans import PlanBatch

if TYPE_CHECKING:
    from copa.planner.bundle import Bundle
    from copa.report.letters import LetterSettings
    from copa.report.letters.folder import LetterFolder

SAVED = (".copa", ".zip")
WISHED = {"max_change": "--max-change", "immutable": "--fixed", "weight": "--weight"}  # fields that wishes change
NO_LETTER = {  # what there is to say of applicants without one
    "accepted": "{} accepted by the model: no letter",
    "unreadable": "{} whose row cannot be used: no letter; `copa plan` says what is wrong",
    "unfinished": "{} whose options were not found within the time limit: no letter",
}


def letter(  # noqa: PLR0913, PLR0917 - the options of the command
    bundle: Annotated[Path | None, typer.Argument(help="Bundle made by `copa fit`.", metavar="BUNDLE")] = None,
    applicants: Annotated[
        Path | None, typer.Argument(help="Applicants: .csv or .parquet.", metavar="APPLICANTS")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for the letters.", metavar="DIR")
    ] = None,
    plans: Annotated[
        Path | None,
        typer.Option(
            help="Saved plans (.copa or .zip) in place of APPLICANTS; if made with --max-change, --fixed or --weight, "
            "give the same here.",
            metavar="FILE",
        ),
    ] = None,
    label: Id = None,
    sender: Annotated[str, typer.Option(help="Who writes: the first line of each letter.", metavar="TEXT")] = "",
    contact: Annotated[str, typer.Option(help="Whom applicants may ask.", metavar="TEXT")] = "",
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
        typer.Option(
            help="Text for a template of your own, which has it as fields.NAME; repeatable.", metavar="NAME=TEXT"
        ),
    ] = None,
    template: Annotated[
        Path | None, typer.Option(help="Folder with your own sentences.j2 or page.html.j2.", metavar="DIR")
    ] = None,
    write_template: Annotated[
        Path | None, typer.Option(help="Write the template to this folder, to edit it, and end.", metavar="DIR")
    ] = None,
    without_protected: Annotated[
        bool,
        typer.Option(
            "--without-protected",
            help="Leave reasons out that look like protected attributes; the letters say that not all are listed.",
        ),
    ] = False,
    include_fragile: IncludeFragile = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the letters in the folder.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False,
    guarantee: Guarantee = None,
    expected: ExpectedRate = None,
    guarantee_for: Whom = None,
    n_options: NOptions = None,
    max_change: MaxChange = None,
    fixed: Fixed = None,
    weight: Weight = None,
    plausibility: LeastPlausibility = None,
    n_starts: NStarts = None,
    random_state: RandomState = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Time limit in seconds, for all applicants together.", metavar="S")
    ] = None,
    n_jobs: NJobs = None,
    delimiter: Delimiter = ",",
    as_json: AsJson = False,
) -> int:
    """Write a letter to every declined applicant: decision, reasons, options, and what is promised."""
    from copa.report.letters import LetterSettings

    started = perf_counter()
    if write_template is not None:
        return _write_template(write_template, as_json=as_json)
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
    if bundle is None or output is None or (applicants is None) == (plans is None):
        raise MisuseError(
            "give BUNDLE, APPLICANTS (or --plans FILE in their place) and -o DIR; or --write-template DIR alone"
        )
    asked = {
        "guarantee": guarantee,
        "expected": expected,
        "guarantee_for": guarantee_for,
        "n_options": n_options,
        "plausibility": plausibility,
        "n_starts": n_starts,
        "random_state": random_state,
        "time_limit": time_limit,
    }
    if plans is not None:
        _require_unasked(asked | {"id": label, "resume": resume or None})
    opened = open_bundle(bundle, **asked, n_jobs=n_jobs)
    opened, wishes = asking(opened, max_change, fixed, weight)
    if plans is not None:
        folder = _from_plans(opened, plans, output, settings, force=force)
        return _end(folder, as_json=as_json)
    assert applicants is not None  # noqa: S101 - one of the two is given
    people = read_applicants(open_data(applicants, delimiter), opened.template, label=label)
    folder = _folder(opened, output, settings)
    reading = {"label": label, "delimiter": delimiter, "wishes": wishes}
    shards = Shards(output.absolute(), made_from(opened, applicants, **reading))
    try:
        with shards.begun(resume=resume):
            if not force and not shards.finished:
                _require_free(folder)
            plan_blocks(opened, people, shards, folder, None if time_limit is None else started + time_limit)
            shards.remove()
    except KeyboardInterrupt as interruption:
        say(stopped_words(shards, len(people)))
        return exit_code(interruption)
    return _end(folder, as_json=as_json)


def _from_plans(
    opened: "Bundle", plans: Path, output: Path, settings: "LetterSettings", *, force: bool
) -> "LetterFolder":
    """Write the letters of saved plans."""
    from copa.report.letters.folder import WRITING

    if plans.suffix.lower() not in SAVED:
        raise MisuseError(f"--plans must be a file of plans, {' or '.join(SAVED)}, got {plans.name}")
    if not plans.is_file():
        raise MisuseError(f"the plans {plans} do not exist (looked for {plans.absolute()})")
    batch = PlanBatch.load(plans)
    _require_same_wishes(batch, opened)
    folder = _folder(opened, output, settings)
    if not force:
        _require_free(folder)
    with folder.opened(), stage(WRITING, len(batch), "letters"):
        for first in range(0, len(batch), BLOCK):
            folder.add(batch[first : first + BLOCK])
    return folder


def _folder(opened: "Bundle", output: Path, settings: "LetterSettings") -> "LetterFolder":
    from copa.report.letters import LetterWriter
    from copa.report.letters.folder import LetterFolder

    if not output.absolute().parent.is_dir():
        raise MisuseError(f"the folder {output.absolute().parent} for {output.name} does not exist; make it first")
    if output.exists() and not output.is_dir():
        raise MisuseError(f"{output} is a file; letters need a folder")
    with misuse():
        return LetterFolder(output, LetterWriter(opened.fitted, settings))


def _require_free(folder: "LetterFolder") -> None:
    with misuse():
        folder.require_free()


def _require_unasked(asked: dict[str, Any]) -> None:
    """Raise for options that say how to plan, where the plans are there already."""
    for name, value in asked.items():
        if value is not None:
            raise MisuseError(f"--{name.replace('_', '-')} has no effect on plans that are there already; leave it out")


def _require_same_wishes(batch: PlanBatch, opened: "Bundle") -> None:
    """Raise for plans that differ from the bundle only in wishes, which the command line gives."""
    own, theirs = opened.planner.schema_, batch.basis.schema
    if own.names != theirs.names:
        return
    changes: dict[str, dict[str, Any]] = {}
    for field in WISHED:
        for name in own.names:
            if getattr(own[name], field) != getattr(theirs[name], field):
                changes.setdefault(name, {})[field] = getattr(theirs[name], field)
    if changes and own.replace(changes) == theirs:
        options = [option for field, option in WISHED.items() if any(field in some for some in changes.values())]
        raise MisuseError(
            f"these plans were made with another {' and '.join(options)} of {listed(list(changes))}; give exactly the "
            f"{' and '.join(options)} that they were made with, and none if they were made without"
        )


def _read_fields(texts: list[str] | None) -> dict[str, str]:
    fields: dict[str, str] = {}
    for text in texts or []:
        name, separator, value = text.partition("=")
        if not separator or name in fields:
            raise MisuseError(f"--field {text}: write NAME=TEXT, each name once")
        fields[name] = value
    return fields


def _write_template(folder: Path, *, as_json: bool) -> int:
    from copa.report.letters.template import write_template

    with misuse():
        paths = [str(path) for path in write_template(folder)]
    if as_json:
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


def _end(folder: "LetterFolder", *, as_json: bool) -> int:
    """Say what was written."""
    say_protected(folder)
    say_left_out(folder)
    counts = folder.counts
    if as_json:
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
