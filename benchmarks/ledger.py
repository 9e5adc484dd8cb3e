"""How fast promises are recorded, read and verified, and in how much memory: `python -m benchmarks.ledger`.

Promises of German credit plans, repeated under other names, are recorded in batches on SQLite (with every commit on
disk) and, where PostgreSQL is installed, there too; then all of them are read in blocks, and the chain is verified.
"""

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import copa
from benchmarks import ROOT
from benchmarks.reporting import load_average, surroundings
from copa.plans import PlanBatch
from copa.promises import Ledger

PAGE = ROOT / "benchmarks" / "PROMISES.md"
BEGIN, END = "<!-- benchmark -->", "<!-- end -->"
TERMS = {"model_version": "2026-01", "valid_for": "12 months", "made": "2026-01-15", "recorded_by": "benchmark"}
AS_OF = "2026-06-30"
TARGET = 5_000  # promises per second, on SQLite
MOST_MEMORY = 1_000  # MB
HEADINGS = ("database", "promises", "recorded per s", "in batches of", "read", "verified", "size", "memory")


def german_plans() -> PlanBatch:
    """Plans for declined applicants of German credit."""
    data = copa.datasets.load_german()
    encode = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
    )
    model = make_pipeline(encode, LogisticRegression(max_iter=1_000)).fit(data.features, data.favourable)
    settings = {
        "schema": data.schema,
        "guarantee": 0.8,
        "n_options": 3,
        "later_models": copa.LaterModels(n_refits=50),
        "n_starts": 4,
    }
    planner = copa.RecoursePlanner(model, **settings, random_state=0, progress=False).fit(
        data.features, data.favourable
    )
    declined = data.features[~model.predict(data.features)]
    plans = planner.plan(declined.head(60))
    return plans.select(plans.status == "ok")


def batches(plans: PlanBatch, n_promises: int, size: int) -> Iterator[PlanBatch]:
    """Batches of about so many promises, each of applicants of their own."""
    times = -(-size // len(plans.options))
    many = plans.select(np.tile(np.arange(len(plans)), times))
    for k in range(max(1, n_promises // len(many.options))):
        labels = [f"applicant {k}-{i}" for i in range(len(many))]
        yield replace(many, applicants=many.applicants.set_axis(labels))


def measure(url: str, name: str, plans: PlanBatch, n_promises: int, size: int) -> dict[str, str]:
    """Record, read and verify, and say how long it took."""
    with Ledger.open(url, create=True) as ledger:
        taken, n_recorded = 0.0, 0
        for batch in batches(plans, n_promises, size):
            started = time.perf_counter()
            n_recorded += len(ledger.record(batch, **TERMS))
            taken += time.perf_counter() - started
        started = time.perf_counter()
        n_read = sum(len(block) for block in ledger.blocks(as_of=AS_OF))
        reading = time.perf_counter() - started
        started = time.perf_counter()
        check = ledger.verify()
        verifying = time.perf_counter() - started
    if not (n_read == n_recorded == check.events and check.ok):
        raise RuntimeError(f"{n_recorded} recorded, {n_read} read, {check}")
    file = Path(url.removeprefix("sqlite:///"))
    on_disk = f"{file.stat().st_size / 1e6:,.0f} MB" if file.exists() else ""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    cells = (
        name,
        f"{n_recorded:,}",
        f"{n_recorded / taken:,.0f}",
        f"{size:,}",
        f"{reading:.1f} s",
        f"{verifying:.1f} s",
        on_disk,
        f"{peak:,.0f} MB",
    )
    return dict(zip(HEADINGS, cells, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20,000 promises; writes no page")
    parser.add_argument("--promises", type=int, default=1_000_000, help="in the large ledger")
    arguments = parser.parse_args()
    quick, load = arguments.quick, load_average()
    plans = german_plans()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        n_promises = 20_000 if quick else arguments.promises
        rows.append(measure(f"sqlite:///{folder}/small.db", "SQLite", plans, 10_000, 100))
        rows.append(measure(f"sqlite:///{folder}/large.db", "SQLite", plans, n_promises, 10_000))
        rows += _on_postgres(plans, 20_000)
    lines = [f"| {' | '.join(HEADINGS)} |", f"|{'---|' * len(HEADINGS)}"]
    lines += [f"| {' | '.join(row[heading] for heading in HEADINGS)} |" for row in rows]
    print("\n".join(lines))
    large = rows[1]
    per_second, memory = (float(large[key].split()[0].replace(",", "")) for key in ("recorded per s", "memory"))
    print(f"recorded per second: {per_second:,.0f}, at least {TARGET:,}")
    print(f"MB of memory: {memory:,.0f}, at most {MOST_MEMORY:,}")
    if not quick:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        after = rest.partition(END)[2]
        PAGE.write_text("\n".join([f"{before}{BEGIN}", *lines, "", surroundings(load), f"{END}{after}"]))
    if per_second < TARGET or memory > MOST_MEMORY:
        sys.exit("a target is missed")


def _on_postgres(plans: PlanBatch, n_promises: int) -> list[dict[str, str]]:
    sys.path.insert(0, str(ROOT / "tests"))
    from postgres_server import reason_without, running_server

    reason = reason_without()
    if reason is not None:
        print(reason)
        return []
    with running_server() as server:
        return [measure(f"{server}/postgres", "PostgreSQL", plans, n_promises, 10_000)]


if __name__ == "__main__":
    main()
