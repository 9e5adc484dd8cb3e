"""`copa plan` into a folder: partitions of the applicants, planned here or on a Dask cluster."""

from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from copa._core.files import digest_of_file
from copa._core.progress import stage
from copa._core.words import counted
from copa.cli.messages import MisuseError, exit_code, misuse, say
from copa.cli.options import open_data
from copa.data.tables.files import read_applicants
from copa.plans.writers import PLAN_FILES, require_free_names

if TYPE_CHECKING:
    from copa.planner.bundle import Bundle
    from copa.planner.distributed.folder import PlanFolder
    from copa.planner.distributed.sources import CutTable, ParquetFolder


class EngineName(StrEnum):
    """Who plans."""

    LOCAL = "local"
    DASK = "dask"


EngineOption = Annotated[
    EngineName,
    typer.Option("--engine", help="Plan in this process, or on the workers of a Dask cluster (into a folder)."),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        help="Scheduler of the Dask cluster, such as tcp://10.0.0.5:8786; default: a cluster on this machine.",
        metavar="ADDRESS",
    ),
]
Workers = Annotated[
    int | None, typer.Option(help="Processes of the Dask cluster on this machine; default: 2.", metavar="N", min=1)
]
PartitionRows = Annotated[
    int | None,
    typer.Option(help="Most applicants in a file of the output folder; default: 5000.", metavar="N", min=1),
]


@dataclass(frozen=True)
class Cluster:
    """What the command line says of partitions and of who plans for them."""

    engine: EngineName
    scheduler: str | None
    workers: int | None
    partition_rows: int | None

    def is_wanted(self, applicants: Path, output: Path) -> bool:
        """Whether plans go into a folder of partitions; raises where only a part of that was asked for."""
        folder = output.suffix.lower() not in PLAN_FILES and (output.suffix == "" or output.is_dir())
        dask = self.engine == EngineName.DASK
        if not dask and (self.scheduler is not None or self.workers is not None):
            raise MisuseError("--scheduler and --workers are about a Dask cluster; add --engine dask")
        if self.scheduler is not None and self.workers is not None:
            raise MisuseError("--workers starts a cluster on this machine, --scheduler uses another; give one of them")
        if not folder and (dask or applicants.is_dir() or self.partition_rows is not None):
            what = "--engine dask" if dask else "--partition-rows" if self.partition_rows else "a folder of applicants"
            raise MisuseError(f"with {what} the plans go into a folder, a file per partition; give -o FOLDER")
        return folder


def require_folder(output: Path, *inputs: Path, **refused: Any) -> None:
    """Raise if the plans cannot go into this folder, or for options that are about single files."""
    for name, value in refused.items():
        if value is not None and value is not False:
            raise MisuseError(f"--{name.replace('_', '-')} is not there for a folder of plans; leave it out")
    if output.exists() and not output.is_dir():
        raise MisuseError(f"{output} is a file; plans of partitions need a folder")
    if not output.absolute().parent.is_dir():
        raise MisuseError(f"the folder {output.absolute().parent} for {output.name} does not exist; make it first")
    for path in inputs:
        if output.resolve() == path.resolve():
            raise MisuseError(f"{output} is both read and written; give the output another name")


def plan_partitions(
    opened: "Bundle", applicants: Path, output: Path, cluster: Cluster, made_from: dict[str, Any], **reading: Any
) -> "PlanFolder | int":
    """Plan for all partitions; returns what is in the folder, or the exit code after an interruption."""
    from copa.planner.distributed.engines import DaskWorkers, Engine, ThisProcess, dask_client
    from copa.planner.distributed.folder import PartFolder
    from copa.planner.distributed.run import fill_folder
    from copa.planner.distributed.sources import PARTITION_ROWS
    from copa.planner.distributed.work import PackedPlanner

    rows = PARTITION_ROWS if cluster.partition_rows is None else cluster.partition_rows
    source = _open_source(opened, applicants, rows, **reading)
    origin = made_from | {"input": source.origin, "partition_rows": rows}
    folder = PartFolder(output, origin, len(source.partitions))
    try:
        with ExitStack() as stack:
            with misuse():
                stack.enter_context(folder.begun())
            if done := len(folder.finished):
                say(f"{done:,} of {counted(len(folder.names), 'partition')} were finished before.")
            engine: Engine = ThisProcess(opened.planner)
            if cluster.engine == EngineName.DASK and done < len(folder.names):
                with stage("starting the cluster"):
                    client = stack.enter_context(dask_client(cluster.scheduler, cluster.workers))
                engine = DaskWorkers(client, PackedPlanner.of(opened.planner))
            return fill_folder(folder, source, engine)
    except KeyboardInterrupt as interruption:
        say(
            f"stopped. {len(folder.finished):,} of {counted(len(folder.names), 'partition')} are done, and kept in "
            f"{output}; the same command goes on from there."
        )
        return exit_code(interruption)


def _open_source(
    opened: "Bundle",
    applicants: Path,
    rows: int,
    *,
    label: str | None,
    group: str | None,
    delimiter: str,
) -> "ParquetFolder | CutTable":
    """Applicants by what a path leads to: a folder of Parquet files, one such file, or a CSV file."""
    from copa.planner.distributed.sources import PARQUET, CutTable, ParquetFolder, Reading, parquet_files

    with misuse():
        first = parquet_files(applicants)[0] if applicants.is_dir() else applicants
    table = open_data(first, delimiter)
    if first.suffix.lower() in PARQUET:
        require_free_names(opened.template.columns)
        return ParquetFolder(applicants, Reading(opened.template, label, group), rows)
    people = read_applicants(table, opened.template, label=label, group=group)
    require_free_names(people.columns)
    return CutTable(people, str(applicants), digest_of_file(applicants), rows)
