"""`copa plan`: plans for a file of applicants, part by part."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from copa._core.progress import stage
from copa._core.words import STATUSES, counted
from copa.cli.commands import inherited, wants_json
from copa.cli.files import (
    open_bundle,
    open_data,
    plans_opened,
    read_wishes,
    require_folder,
    require_outputs,
    require_report,
    set_up,
)
from copa.cli.messages import FAILED, FINE, MisuseError, exit_code, misuse, say, show, show_json
from copa.cli.options import ApplicantOptions, BundleArgument, WishOptions
from copa.data.tables.files import read_applicants
from copa.plans.writers import BATCH_FILES, PAGES, TABLES, require_free_names

if TYPE_CHECKING:
    from copa.planner.bundle import Bundle
    from copa.planner.runs import Engine, Run

# Settings of the planner that do not change the plans.
WITHOUT_EFFECT = ("n_jobs", "time_limit", "progress")


def plan(
    bundle: BundleArgument,
    applicants: Annotated[
        Path, typer.Argument(help="Applicants: .csv, .parquet or a folder of .parquet.", metavar="APPLICANTS")
    ],
    output: Annotated[
        list[Path],
        typer.Option(
            "--output",
            "-o",
            help="Where the plans go: a table (.csv, .parquet), plans with their proofs (.json, .copa, .zip), a report "
            "(.html), or a folder, which becomes a run; repeatable.",
            metavar="PATH",
        ),
    ],
    people: ApplicantOptions,
    wishes: WishOptions,
    time_limit: Annotated[
        float | None, typer.Option(help="Time limit in seconds, for all applicants together.", metavar="S")
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="Plan on the workers of a Dask cluster: its scheduler, such as tcp://10.0.0.5:8786.", metavar="ADDRESS"
        ),
    ] = None,
) -> int:
    """Build a plan for every applicant of a file.

    The same command goes on where an earlier one was stopped.
    """
    started = perf_counter()
    folders = [path for path in output if path.suffix == "" or (path.is_dir() and path.suffix not in BATCH_FILES)]
    files = [path for path in output if path not in folders]
    if len(folders) > 1:
        raise MisuseError(f"the plans go into one folder, got {folders[0]} and {folders[1]}")
    if time_limit is not None and scheduler is not None:
        raise MisuseError("--time-limit is not there with --scheduler; leave one of them out")
    require_outputs(files, (*BATCH_FILES, *PAGES), bundle, applicants)
    for path in folders:
        require_folder(path, bundle, applicants)
    require_report(people, files)
    opened = open_bundle(bundle)
    asked = read_wishes(wishes, opened.planner.schema_)
    with misuse():
        planner = opened.planner.with_wishes(asked)
        set_up(planner, {"time_limit": time_limit})
    source = open_data(applicants)
    table = read_applicants(source, opened.template, label=people.label, group=people.group)
    if any(path.suffix.lower() in TABLES for path in files):
        require_free_names(table.columns)
    reading = {"label": people.label, "group": people.group, "delimiter": inherited("delimiter", ",")}
    from copa.planner.runs import Run, plan_here

    run = Run(
        folders[0] if folders else files[0].with_name(f"{files[0].name}.partial"),
        made_from(opened, planner, input=source.digest(), wishes=asked.to_dict(), **reading),
        table,
        outputs=files,
        private=not folders,
        say=say,
    )
    deadline = None if time_limit is None else started + time_limit
    try:
        with ExitStack() as stack:
            with misuse():
                stack.enter_context(run.begun())
            if run.finished:
                say(f"{len(run.finished):,} of {counted(len(run.names), 'part')} were finished before.")
            engine: Engine = partial(plan_here, planner, deadline=deadline)
            if scheduler is not None and len(run.finished) < len(run.names):
                engine = _cluster(scheduler, planner, stack)
            run.fill(engine)
            if files:
                _write(run, files, planner, people)
            if not folders:
                run.remove()
    except KeyboardInterrupt as interruption:
        say(f"stopped. {run.progress()}." if run.finished else "stopped. No part was finished, and nothing is kept.")
        return exit_code(interruption)
    return _end(run, [str(path) for path in output])


def made_from(opened: "Bundle", planner: Any, **more: Any) -> dict[str, Any]:
    """Return what plans are made from: bundle, applicants and settings."""
    from copa.planner.persistence import pack_settings

    settings = {name: value for name, value in pack_settings(planner).items() if name not in WITHOUT_EFFECT}
    return {"bundle": opened.sha256, "input": more.pop("input"), "settings": settings | more}


def _cluster(scheduler: str, planner: Any, stack: ExitStack) -> "Engine":
    from copa.planner.distributed import cluster_client
    from copa.planner.runs import plan_on

    with stage("connecting to the cluster"):
        client = stack.enter_context(cluster_client(scheduler))
    return partial(plan_on, client, planner)


def _write(run: "Run", files: list[Path], planner: Any, people: ApplicantOptions) -> None:
    with plans_opened(files, planner, people) as writers:
        for batch in run.batches():
            for writer in writers:
                writer.add(batch)


def _end(run: "Run", written: list[str]) -> int:
    """Say what was written, and return the exit code."""
    statuses = run.statuses
    if wants_json():
        show_json({"applicants": run.n_applicants, "statuses": statuses, "written": written})
    else:
        parts = [f"{statuses[status]:,} {status}" for status in STATUSES if statuses.get(status)]
        show(f"{counted(run.n_applicants, 'applicant')}: {', '.join(parts)}.")
        show(f"Written: {', '.join(written)}")
    hopeless = sum(statuses.get(status, 0) for status in ("infeasible", "error", "time_limit"))
    return FAILED if hopeless == run.n_applicants else FINE
