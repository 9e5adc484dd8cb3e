"""Very many applicants on a cluster: `python -m benchmarks.distributed` checks it, and writes the sizes of a page.

Declined applicants of German Credit, drawn with replacement and their numbers shaken, are planned for by `copa plan` as
a user runs it: in one process, on one and two workers of a Dask cluster on this machine, with a worker that is killed
half-way, and with a client that is killed and run again. All must leave the same bytes. Times are those of whole
commands, without the start of the cluster; memory is the most that a process ever had resident (VmHWM).
"""

import argparse
import hashlib
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import pandas as pd
import psutil

from benchmarks import ROOT
from benchmarks.progress import shaken_loans
from benchmarks.reporting import Row, Section, load_average, machine
from copa.data.datasets import load_german
from copa.planner.bundle import load_bundle

PAGE = ROOT / "benchmarks" / "SIZING.md"
BEGIN, END = "<!-- sizing -->\n", "<!-- end of sizing -->\n"
APPLICANTS, LARGER, FOREST = 100_000, 200_000, 400
COMMAND = "import sys; from copa.planner import runs; runs.PART_ROWS = {}; from copa.cli import main; sys.exit(main())"
PARTS = 10  # of the smallest runs, so that there is somebody to kill half-way
FIT = "--target paid --favourable yes --schema loans.yaml --guarantee 0.9 --random-state 0"
COMPUTED = (8, 32)  # numbers of cores that are not here
SPEED_UP, HOUR = 1.7, 3600.0
MEMORY = 600.0  # MB that a worker has resident at most, whatever the number of applicants
HEADS = "| model | cores | | applicants per hour | a million takes | memory of a worker | of the client |"


@dataclass
class Run:
    """What was seen of a command.

    Attributes
    ----------
    seconds, processor : how long it took, on the clock and on all processors together
    client_processor : the part of the latter that the command's own process took
    worker_memory, client_memory : most memory of one of the workers, and of the command's own process, in MB
    digests : what it left, by the names of the files
    """

    seconds: float
    processor: float
    client_processor: float
    worker_memory: float
    client_memory: float
    digests: dict[str, str]


def prepare(folder: Path, n_applicants: int) -> None:
    """Training data, schema, a bundle of each model, and declined applicants."""
    data = load_german()
    table = data.features.assign(paid=data.favourable.map({True: "yes", False: "no"}))
    table.to_csv(folder / "loans.csv", index=False)
    data.schema.save(folder / "loans.yaml")
    _copa(folder, f"fit loans.csv {FIT} -o linear.bundle")
    write_declined(folder, "linear", n_applicants)


def prepare_forest(folder: Path, n_applicants: int) -> None:
    """A forest of 100 trees on the same columns, its bundle, and applicants whom it declines."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from skops.io import dump

    data = load_german()
    codes = (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number"))
    encoder = make_column_transformer(codes, remainder="passthrough")
    model = make_pipeline(encoder, RandomForestClassifier(100, min_samples_leaf=5, random_state=0))
    dump(model.fit(data.features, data.favourable.map({True: "yes", False: "no"})), folder / "forest.skops")
    _copa(folder, f"fit loans.csv {FIT} --model forest.skops --guarantee 0.8 -o forest.bundle")
    write_declined(folder, "forest", n_applicants)


def write_declined(folder: Path, model: str, n_applicants: int) -> None:
    """Write rows that a bundle's model declines: who is accepted needs no plan, and would cost no time."""
    fitted = load_bundle(folder / f"{model}.bundle").planner.strategy_
    tables, n_found, seed = [], 0, 0
    while n_found < n_applicants:
        table, _ = shaken_loans(20_000, seed)
        tables.append(table[~fitted.model.accepts(table)])
        n_found, seed = n_found + len(tables[-1]), seed + 1
    everybody = pd.concat(tables, ignore_index=True).head(n_applicants)
    everybody.to_parquet(folder / f"{model}.parquet", index=False)


def _copa(folder: Path, words: str) -> None:
    command = [sys.executable, "-m", "copa.cli", *words.split()]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own command


def plan(
    folder: Path,
    words: str,
    output: str,
    *,
    n_workers: int = 0,
    model: str = "linear",
    n_applicants: int,
    rows: int | None = None,
    kill: tuple[str, float] = ("", 0.5),
) -> Run:
    """Plan for the first so many applicants; kill a "worker" or the "client" when that share of the files is there."""
    people = folder / f"{model}-{n_applicants}.parquet"
    rows = part_rows(n_applicants) if rows is None else rows
    if not people.exists():
        pd.read_parquet(folder / f"{model}.parquet").head(n_applicants).to_parquet(people, index=False)
    with ExitStack() as stack:
        cluster = stack.enter_context(_cluster(n_workers)) if n_workers else None
        scheduler = f" --scheduler {cluster.scheduler_address}" if cluster else ""
        arguments = f"plan {model}.bundle {people.name} -o {output} {words}{scheduler}"
        own = [psutil.Process(nanny.pid) for nanny in cluster.workers.values()] if cluster else []
        return _watched(folder, output, arguments, own, rows=rows, kill=kill, n_applicants=n_applicants)


def _cluster(n_workers: int) -> Any:
    from distributed import LocalCluster

    return LocalCluster(n_workers=n_workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0")


def _watched(
    folder: Path,
    output: str,
    arguments: str,
    own: list[psutil.Process],
    *,
    rows: int,
    kill: tuple[str, float],
    n_applicants: int,
) -> Run:
    whom, share = kill
    used = sum(map(_processor_of, own))
    seconds_before, processor_before = perf_counter(), _processor_of_children()
    with (folder / f"{output}.log").open("w") as said:
        command = [sys.executable, "-c", COMMAND.format(rows), *arguments.split()]
        process = psutil.Popen(command, cwd=folder, stdout=said, stderr=said)
    workers, client_memory, client_processor = dict[int, float](), 0.0, 0.0
    while process.poll() is None:
        workers |= {worker.pid: peak_memory(worker.pid) or workers.get(worker.pid, 0.0) for worker in own}
        client_memory = peak_memory(process.pid) or client_memory
        client_processor = _processor_of(process) or client_processor
        if whom and len(list((folder / output).glob("part-*"))) >= share * n_applicants / rows:
            (process if whom == "client" else own[0]).kill()
            print(f"  killed a {whom} after {perf_counter() - seconds_before:.0f} s", flush=True)
            whom = ""
        sleep(0.2)
    if process.returncode != (-9 if kill[0] == "client" else 0) or whom:
        sys.exit(f"copa {arguments} ended with {process.returncode}:\n{(folder / f'{output}.log').read_text()}")
    return Run(
        perf_counter() - seconds_before,
        _processor_of_children() - processor_before + sum(map(_processor_of, own)) - used,
        client_processor,
        max(workers.values(), default=float("nan")),
        client_memory,
        digests(folder / output),
    )


def part_rows(n_applicants: int) -> int:
    """What the command takes by itself, or less if there would be few parts."""
    return max(min(n_applicants // PARTS, 500), 1)


def peak_memory(pid: int) -> float:
    """Most memory that a process has had resident, in MB; 0 if it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0.0
    return next((float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


def _processor_of(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return 0.0
    return float(times.user + times.system)


def _processor_of_children() -> float:
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def digests(folder: Path) -> dict[str, str]:
    """What is in a folder, by the names of its files."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def check_workers(folder: Path, n: int) -> tuple[list[Row], dict[int, Run]]:
    """One worker against two, both against one process, and two of which one is killed half-way."""
    here = plan(folder, "--n-jobs 2", "here", n_applicants=n)
    runs = {k: plan(folder, "", f"on-{k}", n_workers=k, n_applicants=n) for k in (1, 2)}
    killed = plan(folder, "", "killed", n_workers=2, n_applicants=n, kill=("worker", 0.5))
    size = f"{n:,} applicants"
    named = {"one process, two threads": here, "one worker": runs[1], "two workers": runs[2]}
    rows = [
        Row(
            name=name,
            size=size,
            seconds=run.seconds,
            measured=n / run.seconds,
            unit="applicants/s",
            status=f"{run.processor:.0f} s of processor time, {run.client_processor:.1f} s of it in this process",
            accuracy="" if run is here else _compared(run, here),
        )
        for name, run in named.items()
    ]
    faster = Row(
        name="two workers against one",
        size=size,
        seconds=runs[2].seconds,
        baseline="one worker",
        baseline_seconds=runs[1].seconds,
        at_least=SPEED_UP,
        status=f"{runs[2].processor / runs[1].processor:.2f} of its processor time",
    )
    return [*rows, faster, _same_bytes("one of two workers killed half-way", n, killed, here)], runs


def check_killed_client(folder: Path, n: int) -> list[Row]:
    """The client is killed half-way; the same command again does the rest."""
    here = plan(folder, "", "reference", n_applicants=n)
    plan(folder, "", "rerun", n_workers=2, n_applicants=n, kill=("client", 0.5))
    n_kept = len(list((folder / "rerun").glob("part-*")))
    again = plan(folder, "", "rerun", n_workers=2, n_applicants=n)
    return [_same_bytes(f"client killed after {n_kept} files, run again", n, again, here)]


def _same_bytes(name: str, n: int, run: Run, here: Run) -> Row:
    return Row(
        name=name,
        size=f"{n:,} applicants",
        seconds=run.seconds,
        measured=_different(run, here),
        unit="files differ",
        at_most=0,
        status=f"of {len(here.digests):,} files",
    )


def check_million(folder: Path, n: int, rows: int, small: Run) -> tuple[list[Row], Run]:
    """How long a million takes, and whether memory grows with their number."""
    run = plan(folder, "", "larger", n_workers=2, n_applicants=n, rows=rows)
    found = [
        Row(
            name="two workers",
            size=f"{n:,} applicants",
            seconds=run.seconds,
            measured=run.seconds * 1e6 / n,
            unit="s for a million, extrapolated",
            at_most=HOUR,
        ),
        Row(
            name="memory of a worker",
            size=f"{n:,} applicants",
            seconds=run.seconds,
            measured=run.worker_memory,
            unit="MB at most",
            at_most=MEMORY,
            accuracy=f"{small.worker_memory:.0f} MB with fewer; client {run.client_memory:.0f} MB",
        ),
    ]
    return found, run


def _different(run: Run, other: Run) -> int:
    """Number of files that are not the same, or not in both."""
    names = {*run.digests, *other.digests}
    return sum(run.digests.get(name) != other.digests.get(name) for name in names)


def _compared(run: Run, other: Run) -> str:
    n = _different(run, other)
    return f"{n} files differ" if n else "the same bytes"


def size_lines(model: str, runs: dict[int, tuple[int, Run]]) -> list[str]:
    """Lines of the table: measured ones, and computed ones at the rate per core of the largest that was measured."""
    lines = []
    for cores in (*runs, *COMPUTED):
        n, run = runs.get(cores, runs[max(runs)])
        rate = n / run.seconds * (1 if cores in runs else cores / max(runs))
        how = f"measured with {n:,}" if cores in runs else "computed"
        memory = f"{run.worker_memory:.0f} MB | {run.client_memory:.0f} MB" if cores in runs else "the same | the same"
        lines.append(f"| {model} | {cores} | {how} | {_rounded(3600 * rate)} | {_duration(1e6 / rate)} | {memory} |")
    return lines


def _rounded(value: float) -> str:
    """Two digits: more are noise."""
    return f"{float(f'{value:.2g}'):,.0f}"


def _duration(seconds: float) -> str:
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{float(f'{seconds / size:.2g}'):g} {unit}"
    return f"{seconds:.0f} s"


def write_sizes(lines: list[str], rows: list[Row], largest: Run, load: str) -> None:
    """Put the tables into the page, between its marks."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    _, after = rest.split(END)
    busy = largest.client_processor / largest.seconds / 2
    checks = [
        f"| {row.name} | {row.size} | {row.cells()[5]} | {row.target} | {row.accuracy or row.status} |" for row in rows
    ]
    content = [
        f"Measured on {machine()}, load {load} before the run, by `python -m benchmarks.distributed`:",
        "",
        *_table(HEADS, lines),
        "",
        f"In the longest of these runs the client was busy for {busy:.1%} of the time per worker.",
        "",
        *_table("| what | with | measured | wanted | |", checks),
        "",
    ]
    PAGE.write_text("\n".join([f"{before}{BEGIN}", *content, f"{END}{after}"]), encoding="utf-8")


def _table(heads: str, lines: list[str]) -> list[str]:
    return [heads, "|---" * (heads.count("|") - 1) + "|", *lines]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.distributed", description=__doc__)
    parser.add_argument("--applicants", type=int, default=APPLICANTS, help="of the run in which a worker is killed")
    parser.add_argument("--larger", type=int, help="from which a million is extrapolated; default: twice as many")
    parser.add_argument("--forest", type=int, default=FOREST, help="applicants of the black box; 0 leaves it out")
    arguments = parser.parse_args()
    load, n = load_average(), arguments.applicants
    larger = 2 * n if arguments.larger is None else arguments.larger
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        prepare(folder, max(n, larger))
        rows, runs = check_workers(folder, n)
        say(rows)
        rows += check_killed_client(folder, max(n // 5, 1))
        say(rows[-1:])
        more, largest = check_million(folder, larger, part_rows(n), runs[2])
        say(more)
        lines = size_lines("linear, 20 columns", {1: (n, runs[1]), 2: (larger, largest)})
        if arguments.forest:
            prepare_forest(folder, arguments.forest)
            sizes = {k: max(k * arguments.forest // 2, 1) for k in (1, 2)}
            found = {
                k: (m, plan(folder, "", f"forest-{k}", n_workers=k, model="forest", n_applicants=m))
                for k, m in sizes.items()
            }
            lines += size_lines("forest of 100 trees", found)
    rows += more
    print("\n".join(lines))
    write_sizes(lines, rows, largest, load)
    if missed := [row.name for row in rows if row.met == "NO"]:
        sys.exit(f"missed: {', '.join(missed)}")


def say(rows: list[Row]) -> None:
    print(Section("distributed", __doc__, rows).as_text(), flush=True)


if __name__ == "__main__":
    main()
