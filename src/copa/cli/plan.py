"""`copa plan`: plans for a file of applicants, block by block."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import numpy as np
import typer

from copa._core.files import digest_of_file
from copa._core.progress import stage
from copa._core.words import STATUSES, counted
from copa.cli.messages import FAILED, FINE, exit_code, say, show, show_json
from copa.cli.options import (
    AsJson,
    BundleArgument,
    Delimiter,
    ExpectedRate,
    Fixed,
    Group,
    Guarantee,
    Id,
    LeastPlausibility,
    MaxChange,
    NJobs,
    NOptions,
    NStarts,
    RandomState,
    RawCells,
    ReportFile,
    TotalsOnly,
    Weight,
    Whom,
    asking,
    open_bundle,
    open_data,
    require_outputs,
    require_report,
)
from copa.cli.partitions import (
    Cluster,
    EngineName,
    EngineOption,
    PartitionRows,
    Scheduler,
    Workers,
    plan_partitions,
    require_folder,
)
from copa.cli.runs import Shards
from copa.data.tables.files import read_applicants
from copa.plans import PlanBatch
from copa.plans.writers import PAGES, PLAN_FILES, PROOF_FILES, TABLES, plans_into, require_free_names

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner import RecoursePlanner
    from copa.planner.bundle import Bundle

BLOCK = 500  # applicants: a second of work for a linear model, which is what an interruption costs at most
# Settings of the planner that do not change the plans.
WITHOUT_EFFECT = ("n_jobs", "time_limit", "progress")
OUT_OF_TIME = 1e-3  # seconds for a block whose turn comes too late: each applicant gets the status "time_limit"


class OpensWriters(Protocol):
    """What blocks of plans are written to."""

    def opened(self, planner: "RecoursePlanner", /) -> AbstractContextManager[Sequence[Any]]:
        """Writers, each with a method `add`, of files that are whole when all is written."""


@dataclass(frozen=True)
class Outputs:
    """Files to write."""

    plans: Path
    certificates: Path | None
    report: Path | None
    group: str | None
    raw_cells: bool
    totals_only: bool

    @property
    def paths(self) -> list[Path]:
        """All files that are wanted."""
        return [path for path in (self.plans, self.certificates, self.report) if path is not None]

    @contextmanager
    def opened(self, planner: "RecoursePlanner") -> Iterator[list[Any]]:
        """Writers of the files, each of which appears when all is written; the report is the last."""
        builder = None
        if self.report is not None:
            from copa.report import ReportBuilder

            builder = ReportBuilder(planner=planner, group=self.group, totals_only=self.totals_only)
        with ExitStack() as stack:
            writers: list[Any] = [stack.enter_context(plans_into(self.plans, raw_cells=self.raw_cells))]
            if self.certificates is not None:
                writers.append(stack.enter_context(plans_into(self.certificates, certificates=True)))
            yield writers if builder is None else [*writers, builder]
        if builder is not None and self.report is not None:
            with stage("writing the report"):
                builder.write(self.report)


def plan(  # noqa: PLR0913, PLR0917 - the options of the command
    bundle: BundleArgument,
    applicants: Annotated[
        Path, typer.Argument(help="Applicants: .csv, .parquet or a folder of .parquet.", metavar="APPLICANTS")
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="Plans: .csv, .parquet or .json; or a folder, a file per partition.", metavar="FILE"
        ),
    ],
    report: ReportFile = None,
    totals_only: TotalsOnly = False,
    certificates: Annotated[
        Path | None,
        typer.Option(help="Write plans with certificates, for `copa verify`: .json, .zip or .copa.", metavar="FILE"),
    ] = None,
    group: Group = None,
    label: Id = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False,
    guarantee: Guarantee = None,
    expected: ExpectedRate = None,
    guarantee_for: Whom = None,
    n_options: NOptions = None,
    max_change: MaxChange = None,
    fixed: Fixed = None,
    weight: Weight = None,
    plausibility: LeastPlausibility = None,
    diversity_weight: Annotated[float | None, typer.Option(help="Weight of the diversity penalty.")] = None,
    n_starts: NStarts = None,
    random_state: RandomState = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Time limit in seconds, for all applicants together.", metavar="S")
    ] = None,
    n_jobs: NJobs = None,
    delimiter: Delimiter = ",",
    raw_cells: RawCells = False,
    engine: EngineOption = EngineName.LOCAL,
    scheduler: Scheduler = None,
    workers: Workers = None,
    partition_rows: PartitionRows = None,
    as_json: AsJson = False,
) -> int:
    """Build a plan for every applicant of a file."""
    started = perf_counter()
    cluster = Cluster(engine, scheduler, workers, partition_rows)
    in_partitions = cluster.is_wanted(applicants, output)
    if in_partitions:
        alone = {"certificates": certificates, "report": report, "time_limit": time_limit, "raw_cells": raw_cells}
        require_folder(output, bundle, applicants, **alone)
    else:
        files = {
            "--output": (output, PLAN_FILES),
            "--certificates": (certificates, PROOF_FILES),
            "--report": (report, PAGES),
        }
        require_outputs(files, bundle, applicants)
    require_report(totals_only, report)
    opened = open_bundle(
        bundle,
        guarantee=guarantee,
        expected=expected,
        guarantee_for=guarantee_for,
        n_options=n_options,
        plausibility=plausibility,
        diversity_weight=diversity_weight,
        n_starts=n_starts,
        random_state=random_state,
        time_limit=time_limit,
        n_jobs=n_jobs,
    )
    opened, wishes = asking(opened, max_change, fixed, weight)
    reading = {"label": label, "group": group, "delimiter": delimiter}
    if in_partitions:
        made = made_from(opened, None, wishes=wishes, **reading)
        folder = plan_partitions(opened, applicants, output, cluster, made, **reading)
        if isinstance(folder, int):
            return folder
        return _end(Counter(folder.statuses), folder.n_applicants, [str(output)], as_json=as_json)
    people = read_applicants(open_data(applicants, delimiter), opened.template, label=label, group=group)
    if output.suffix.lower() in TABLES:
        require_free_names(people.columns)
    outputs = Outputs(output, certificates, report, group, raw_cells, totals_only)
    origin = made_from(opened, applicants, wishes=wishes, **reading)
    shards = Shards(output, origin, outputs.paths)
    try:
        with shards.begun(resume=resume):
            counts = plan_blocks(opened, people, shards, outputs, None if time_limit is None else started + time_limit)
            shards.remove()
    except KeyboardInterrupt as interruption:
        say(stopped_words(shards, len(people)))
        return exit_code(interruption)
    return _end(counts, len(people), [str(path) for path in outputs.paths], as_json=as_json)


def _end(counts: Counter[str], n_rows: int, written: list[str], *, as_json: bool) -> int:
    """Say what was written, and return the exit code."""
    _show(counts, n_rows, written, as_json=as_json)
    hopeless = counts["infeasible"] + counts["error"] + counts["time_limit"]
    return FAILED if hopeless == n_rows else FINE


def plan_blocks(
    opened: "Bundle", people: "pd.DataFrame", shards: Shards, outputs: OpensWriters, deadline: float | None
) -> Counter[str]:
    """Plan block after block, keep each and write it to the outputs at once; blocks kept by an earlier run are read."""
    finished, limit, counts = shards.finished, opened.planner.time_limit, Counter[str]()
    if finished:
        say(f"{len(finished)} of {counted(_n_blocks(len(people)), 'block')} were finished before.")
    left = len(people) - sum(len(_block(people, number)) for number in finished)
    with ExitStack() as stack, stage("planning", left, "applicants"):
        writers: Sequence[Any] = []
        for number in range(_n_blocks(len(people))):
            if number in finished:
                batch = shards.read(number)
            else:
                batch = _plan_block(opened.planner, _block(people, number), deadline)
                shards.keep(number, batch)
            # Not before: a run that is stopped during its first block leaves nothing.
            writers = writers or stack.enter_context(outputs.opened(opened.planner))
            for writer in writers:
                writer.add(batch)
            counts.update(batch.status.tolist())
        opened.planner.time_limit = limit
    return counts


def _block(people: "pd.DataFrame", number: int) -> "pd.DataFrame":
    return people.iloc[number * BLOCK : (number + 1) * BLOCK]


def _plan_block(planner: "RecoursePlanner", block: "pd.DataFrame", deadline: float | None) -> PlanBatch:
    if deadline is not None:
        planner.time_limit = max(deadline - perf_counter(), OUT_OF_TIME)
    batch = planner.plan(block)
    # How long it took is no result, and would make two runs differ.
    return replace(batch, seconds=np.full(len(batch), np.nan))


def _n_blocks(n_applicants: int) -> int:
    return -(-n_applicants // BLOCK)


def stopped_words(shards: Shards, n_applicants: int) -> str:
    """What an interruption leaves, in words."""
    done = len(shards.finished)
    if not done:
        return "stopped. No block of applicants was finished, and nothing is kept."
    return (
        f"stopped. {done} of {counted(_n_blocks(n_applicants), 'block')} of applicants are done, and kept in "
        f"{shards.folder}; go on with the same command and --resume."
    )


def made_from(opened: "Bundle", applicants: Path | None, **reading: Any) -> dict[str, Any]:
    """What plans are made from: bundle, applicants (if they are a file) and settings."""
    from copa.planner.persistence import pack_settings

    settings = pack_settings(opened.planner)
    return {
        "bundle": opened.sha256,
        **({} if applicants is None else {"input": digest_of_file(applicants)}),
        "settings": {name: value for name, value in settings.items() if name not in WITHOUT_EFFECT} | reading,
    }


def _show(counts: Counter[str], n_rows: int, written: list[str], *, as_json: bool) -> None:
    if as_json:
        show_json({"applicants": n_rows, "statuses": dict(counts), "written": written})
        return
    parts = [f"{counts[status]:,} {status}" for status in STATUSES if counts[status]]
    show(f"{counted(n_rows, 'applicant')}: {', '.join(parts)}.")
    show(f"Written: {', '.join(written)}")
