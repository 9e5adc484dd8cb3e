"""`copa plan`: menus for a file of applicants, block by block."""

from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

from copa._core.words import STATUSES, counted
from copa.cli.bundles import Bundle, load_bundle
from copa.cli.messages import FAILED, FINE, exit_code, progress, say, show, show_json
from copa.cli.options import (
    AsJson,
    BundleArgument,
    Delimiter,
    Group,
    Guarantee,
    Id,
    NJobs,
    NOptions,
    NStarts,
    RandomState,
    RawCells,
    ReportFile,
    Whom,
    require_outputs,
    set_up,
)
from copa.cli.output import PAGES, PLAN_FILES, PROOF_FILES, TABLES, plans_into, require_free_names
from copa.cli.runs import Shards
from copa.cli.tables_in import BLOCK, ApplicantStream, open_table, sha256_of

# Settings of the planner that do not change the plans.
WITHOUT_EFFECT = ("model", "schema", "moments", "drift", "n_jobs", "time_limit", "progress")
OUT_OF_TIME = 1e-3  # seconds for a block whose turn comes too late: each applicant gets the status "time_limit"


@dataclass(frozen=True)
class Outputs:
    """Files to write."""

    plans: Path
    certificates: Path | None
    report: Path | None
    group: str | None
    raw_cells: bool

    @property
    def paths(self) -> list[Path]:
        """All files that are wanted."""
        return [path for path in (self.plans, self.certificates, self.report) if path is not None]


def plan(  # noqa: PLR0913, PLR0917 - the options of the command
    bundle: BundleArgument,
    applicants: Annotated[Path, typer.Argument(help="Applicants: .csv or .parquet.", metavar="APPLICANTS")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Plans: .csv, .parquet or .json.", metavar="FILE")],
    report: ReportFile = None,
    certificates: Annotated[
        Path | None, typer.Option(help="Proofs for `copa verify`: .json, .zip or .copa.", metavar="FILE")
    ] = None,
    group: Group = None,
    label: Id = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from what an earlier run finished.")] = False,
    guarantee: Guarantee = None,
    guarantee_for: Whom = None,
    n_options: NOptions = None,
    diversity_weight: Annotated[float | None, typer.Option(help="What likeness of the options costs.")] = None,
    n_starts: NStarts = None,
    random_state: RandomState = None,
    time_limit: Annotated[float | None, typer.Option(help="Seconds for all applicants.", metavar="S")] = None,
    n_jobs: NJobs = None,
    delimiter: Delimiter = ",",
    raw_cells: RawCells = False,
    as_json: AsJson = False,
) -> int:
    """Build a menu of options for every applicant of a file."""
    started = perf_counter()
    files = {
        "--output": (output, PLAN_FILES),
        "--certificates": (certificates, PROOF_FILES),
        "--report": (report, PAGES),
    }
    require_outputs(files, bundle, applicants)
    opened = load_bundle(bundle)
    settings = {"diversity_weight": diversity_weight, "n_starts": n_starts, "random_state": random_state}
    set_up(
        opened.planner,
        guarantee=guarantee,
        guarantee_for=guarantee_for,
        n_options=n_options,
        time_limit=time_limit,
        n_jobs=n_jobs,
        **settings,
    )
    opened.planner.progress = False
    stream = ApplicantStream(open_table(applicants, delimiter), opened.kinds, label=label, group=group)
    if output.suffix.lower() in TABLES:
        require_free_names([*opened.kinds, group])
    outputs = Outputs(output, certificates, report, group, raw_cells)
    made_from = _made_from(opened, applicants, label=label, group=group, delimiter=delimiter)
    shards = Shards(output, made_from, outputs.paths)
    try:
        with shards.begun(resume=resume):
            _plan_blocks(opened, stream, shards, np.inf if time_limit is None else started + time_limit)
            counts = _finish(opened, stream, shards, outputs)
    except KeyboardInterrupt as interruption:
        say(_stopped(shards, stream.n_blocks))
        return exit_code(interruption)
    _show(counts, stream.n_rows, [str(path) for path in outputs.paths], as_json=as_json)
    hopeless = counts["infeasible"] + counts["error"] + counts["time_limit"]
    return FAILED if hopeless == stream.n_rows else FINE


def _stopped(shards: Shards, n_blocks: int) -> str:
    """What an interruption leaves, in words."""
    done = len(shards.finished)
    if not done:
        return "stopped. No block of applicants was finished, and nothing is kept."
    return (
        f"stopped. {done} of {counted(n_blocks, 'block')} of applicants are done, and kept in "
        f"{shards.folder}; go on with the same command and --resume."
    )


def _made_from(opened: Bundle, applicants: Path, **reading: Any) -> dict[str, Any]:
    settings = opened.planner.get_params(deep=False)
    return {
        "bundle": opened.sha256,
        "input": sha256_of(applicants),
        "settings": {name: value for name, value in settings.items() if name not in WITHOUT_EFFECT} | reading,
    }


def _plan_blocks(opened: Bundle, stream: ApplicantStream, shards: Shards, deadline: float) -> None:
    finished, limit = shards.finished, opened.planner.time_limit
    if finished:
        say(f"{len(finished)} of {counted(stream.n_blocks, 'block')} were finished before.")
    with progress() as bar:
        task = bar.add_task("planning", total=stream.n_rows)
        for number, block in stream.blocks(finished):
            bar.update(task, completed=number * BLOCK)
            if deadline < np.inf:
                opened.planner.time_limit = max(deadline - perf_counter(), OUT_OF_TIME)
            batch = opened.planner.plan(block)
            # How long it took is no result, and would make two runs differ.
            shards.keep(number, replace(batch, seconds=np.full(len(batch), np.nan)))
        bar.update(task, completed=stream.n_rows)
    opened.planner.time_limit = limit


def _finish(opened: Bundle, stream: ApplicantStream, shards: Shards, outputs: Outputs) -> Counter[str]:
    """Stream the shards into the outputs, and remove them."""
    counts: Counter[str] = Counter()
    builder = None
    if outputs.report is not None:
        from copa.report import ReportBuilder

        builder = ReportBuilder(planner=opened.planner, group=outputs.group)
    with ExitStack() as stack, progress() as bar:
        writers: list[Any] = [stack.enter_context(plans_into(outputs.plans, raw_cells=outputs.raw_cells))]
        if outputs.certificates is not None:
            writers.append(stack.enter_context(plans_into(outputs.certificates, certificates=True)))
        for batch in bar.track(shards.read(stream.n_blocks), total=stream.n_blocks, description="writing"):
            for writer in [*writers, *([] if builder is None else [builder])]:
                writer.add(batch)
            counts.update(batch.status.tolist())
    if builder is not None and outputs.report is not None:
        builder.write(outputs.report)
    shards.remove()
    return counts


def _show(counts: Counter[str], n_rows: int, written: list[str], *, as_json: bool) -> None:
    if as_json:
        show_json({"applicants": n_rows, "statuses": dict(counts), "written": written})
        return
    parts = [f"{counts[status]:,} {status}" for status in STATUSES if counts[status]]
    show(f"{counted(n_rows, 'applicant')}: {', '.join(parts)}.")
    show(f"Written: {', '.join(written)}")
