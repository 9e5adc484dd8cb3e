"""How many applicants a core plans for in a second: linear models, a forest, and whole files on the command line.

Linear rows and those of files are processor time of one core, of applicants drawn with replacement whose numbers are
shaken; fitting is not counted, starting the command is. The forest of 100 trees has two cores and is timed by the
clock. `--before FOLDER` names a checkout of an earlier version, whose L* of twenty options takes turns with ours.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

import copa
from benchmarks import ROOT
from benchmarks.black_boxes import DATA, GUARANTEE, MODELS, _pipeline
from benchmarks.reporting import Row, Section, load_average, surroundings
from copa.planner.bundle import save_bundle

NAMES = ("German Credit", "South German Credit", "Student")
SHAKEN = 0.05  # standard deviation of what is added to a number, in those of its column
N_LINEAR, N_FOREST, N_FILE, ROUNDS = 2000, 167, 20_000, 3
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
TWENTY = """
from time import process_time
import numpy as np
import copa
from benchmarks.plans import draw, draw_points
rng = np.random.default_rng(0)
ball = draw(rng, 20, 40)
points = draw_points(rng, ball.mean, rng.uniform(0.3, 0.6, ({n_plans}, 20)))
seconds = []
for _ in range(4):
    started = process_time()
    found = copa.validity_bounds(points, ball.mean, ball.cov, ball.radius, n_jobs=1)
    seconds.append(process_time() - started)
print(min(seconds), float(found.lower.sum()))
"""


def applicants(table: pd.DataFrame, schema: copa.FeatureSchema, n_rows: int) -> pd.DataFrame:
    """Draw rows of a table with replacement, their whole numbers shaken within what the table has."""
    rng = np.random.default_rng(0)
    drawn = table.iloc[rng.integers(len(table), size=n_rows)].reset_index(drop=True)
    for feature in schema.features:
        if feature.is_numeric:
            own = drawn[feature.name]
            moved = np.rint(own + rng.normal(0.0, SHAKEN * own.std(), n_rows)).clip(own.min(), own.max())
            drawn[feature.name] = moved.astype(own.dtype)
    return drawn


def linear_planner(data: Any) -> tuple[copa.RecoursePlanner, pd.DataFrame]:
    """A planner with five options at the default guarantee, and the rows that its model declines."""
    table, good = data.features, data.favourable.astype(int)
    model = _pipeline(data.schema, table, LogisticRegression(max_iter=2000)).fit(table, good)
    planner = copa.RecoursePlanner(
        model, schema=data.schema, favourable=1, n_options=5, random_state=0, n_jobs=1, progress=False
    ).fit(table, good)
    return planner, table[model.predict(table) == 0]


def run(*, quick: bool, before: Path | None = None) -> list[Row]:
    rows = []
    with threadpool_limits(1):
        for name, load in zip(NAMES, DATA, strict=True):
            data = load()
            planner, declined = linear_planner(data)
            people = applicants(declined, data.schema, N_LINEAR // (10 if quick else 1))
            rows.append(_linear(name, planner, people))
            if name == NAMES[0]:
                rows += _files(planner, applicants(declined, data.schema, N_FILE // (20 if quick else 1)))
    rows.append(_forest(quick=quick))
    if before is not None:
        rows.append(_twenty(before, 20 if quick else 200))
    return rows


def _linear(name: str, planner: copa.RecoursePlanner, people: pd.DataFrame) -> Row:
    planner.plan(people.head(4))  # whatever is loaded at the first call
    seconds = []
    for _ in range(ROUNDS):
        started = process_time()
        batch = planner.plan(people)
        seconds.append(process_time() - started)
    return Row(
        name=f"linear model, {name}",
        size=f"{len(people):,} applicants, 5 options, one core",
        seconds=min(seconds),
        measured=len(people) / min(seconds),
        unit="applicants/s of a core",
        at_least=500.0 if name == NAMES[0] else None,
        status=_counts(batch.status),
    )


def _files(planner: copa.RecoursePlanner, people: pd.DataFrame) -> list[Row]:
    """`copa plan` on a file against `planner.plan` on the table."""
    started = process_time()
    planner.plan(people)
    ours, rows = process_time() - started, []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_bundle(folder / "loans.bundle", planner, people.head(50), {})
        people.to_csv(folder / "people.csv", index=False)
        people.to_parquet(folder / "people.parquet")
        for ending in ("csv", "parquet"):
            command = ["plan", "loans.bundle", f"people.{ending}", "-o", f"plans.{ending}", "--n-jobs", "1"]
            seconds = _processor_time([sys.executable, "-m", "copa.cli", *command], folder)
            rows.append(
                Row(
                    name=f"copa plan, .{ending} to .{ending}",
                    size=f"{len(people):,} applicants, German Credit, one core",
                    seconds=seconds,
                    baseline="planner.plan",
                    baseline_seconds=ours,
                    measured=ours / seconds,
                    unit="of its rate",
                    at_least=0.8,
                    status=f"{len(people) / seconds:,.0f} applicants/s, start included",
                )
            )
    return rows


def _processor_time(command: list[str], folder: Path) -> float:
    """Processor time of a command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    paths = os.pathsep.join(str(path) for path in (ROOT / "src", ROOT))
    subprocess.run(  # noqa: S603 - our own interpreter and command
        command, cwd=folder, env=os.environ | ONE_THREAD | {"PYTHONPATH": paths}, check=True, capture_output=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _forest(*, quick: bool) -> Row:
    seconds, statuses, lower, effort = 0.0, [], [], []
    for load in DATA:
        data = load()
        table, good = data.features, data.favourable.astype(int)
        model = _pipeline(data.schema, table, MODELS["forest of 100 trees"]).fit(table, good)
        planner = copa.RecoursePlanner(
            model, schema=data.schema, favourable=1, guarantee=GUARANTEE, random_state=0, n_jobs=2, progress=False
        ).fit(table, good)
        declined = table[model.predict(table) == 0].head(8 if quick else N_FOREST)
        planner.plan(declined.head(1))
        started = perf_counter()
        batch = planner.plan(declined)
        seconds += perf_counter() - started
        statuses.append(batch.status)
        lower.append(batch.option_lower)
        effort.append(batch.effort)
    n = sum(map(len, statuses))
    return Row(
        name="forest of 100 trees, three data sets",
        size=f"{n} applicants, 5 options at {GUARANTEE:g}, two cores",
        seconds=seconds,
        measured=n / seconds,
        unit="applicants/s",
        at_least=15.0,
        status=_counts(np.concatenate(statuses)),
        accuracy=f"guarantee {np.concatenate(lower).mean():.6f}, effort {np.concatenate(effort).mean():.6f} on average",
    )


def _twenty(before: Path, n_plans: int) -> Row:
    """L* of twenty options, ours and an earlier version's: the least of rounds that take turns."""
    found: dict[Path, list[list[float]]] = {ROOT: [], before.resolve(): []}
    for _ in range(ROUNDS):
        for place, measured in found.items():
            paths = os.pathsep.join(str(path) for path in (place / "src", place))
            done = subprocess.run(  # noqa: S603 - our own lines, our own interpreter
                [sys.executable, "-c", TWENTY.format(n_plans=n_plans)],
                cwd=place,
                env=os.environ | ONE_THREAD | {"PYTHONPATH": paths},
                capture_output=True,
                text=True,
                check=True,
            )
            measured.append([float(word) for word in done.stdout.split()])
    (ours, value), (theirs, other) = (min(measured) for measured in found.values())
    return Row(
        name="L*, complete call",
        size=f"{n_plans} plans, J = 20, D = 40, one core",
        seconds=ours,
        baseline="earlier version",
        baseline_seconds=theirs,
        measured=ours / theirs,
        unit="x its time",
        at_most=1.0,
        accuracy=f"mean of the bounds differs by {abs(value - other) / n_plans:.0e}",
    )


def _counts(statuses: Any) -> str:
    words, counts = np.unique(statuses, return_counts=True)
    return ", ".join(f"{count:,} {word}" for word, count in zip(words, counts, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.throughput", description=__doc__)
    parser.add_argument(
        "--before", type=Path, metavar="FOLDER", help="checkout of an earlier version, for L* at J = 20"
    )
    parser.add_argument("--quick", action="store_true", help="fewer applicants, for a first impression")
    arguments = parser.parse_args()
    print(surroundings(load_average()))
    rows = run(quick=arguments.quick, before=arguments.before)
    print(Section("throughput", __doc__, rows).as_text())


if __name__ == "__main__":
    main()
