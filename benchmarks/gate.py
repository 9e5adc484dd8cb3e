"""A gate over 1,000,000 promises: seconds and memory, read from a ledger or generated block by block.

`python -m benchmarks.gate [--promises N] [--ledger]`: promised rows are drawn from the German credit data, three to an
applicant, and a logistic regression of the other half of the rows is tried on them, with the model in force beside it.
With `--ledger` they are recorded in an SQLite file first, which takes longer than the gate. Each gate runs in a process
of its own, which says how much memory it had at most. The target, on two cores: under 60 s and under 1 GB.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import copa
from benchmarks.portfolio import fitted
from copa.promises import gate
from copa.promises.promised_rows import join_facts

N_PROMISES, PER_APPLICANT = 1_000_000, 3
MOST_SECONDS, MOST_MEGABYTES = 60.0, 1000.0
MADE = [date(2026, month, 1) for month in range(1, 12)]
VERSIONS = ["2026-Q1", "2026-Q2", "2026-Q3"]


class GeneratedPromises:
    """Promises that are drawn block by block, with the same method as a ledger has.

    Parameters
    ----------
    rows : DataFrame
        Rows that are promised, drawn with replacement.
    n_promises : int
    """

    favourable = True

    def __init__(self, rows: pd.DataFrame, n_promises: int) -> None:
        self.rows, self.n_promises = rows, n_promises

    def blocks(self, status: str = "open", as_of: Any = None, size: int = 50_000) -> Iterator[pd.DataFrame]:  # noqa: ARG002 - all are open
        """Yield tables of at most `size` promises."""
        rng = np.random.default_rng(0)
        for first in range(0, self.n_promises, size):
            n = min(size, self.n_promises - first)
            numbers = first + np.arange(n)
            facts = pd.DataFrame(
                {
                    "applicant": [f"applicant {k}" for k in (numbers // PER_APPLICANT).tolist()],
                    "option": 1 + numbers % PER_APPLICANT,
                    "status": "open",
                    "option_guarantee": rng.uniform(0.8, 1.0, n),
                    "confidence": 0.95,
                    "model_version": rng.choice(VERSIONS, n),
                    "made": pd.Series(rng.choice(len(MADE), n)).map(dict(enumerate(MADE))),
                    "valid_until": date(2028, 1, 1),
                },
                index=[f"{k:028x}" for k in numbers.tolist()],
            )
            yield join_facts(facts, self.rows.iloc[rng.integers(0, len(self.rows), n)].reset_index(drop=True))


def models_and_rows() -> tuple[Any, Any, pd.DataFrame]:
    """The candidate, the model in force, and rows that the latter accepts."""
    data = copa.datasets.load_german()
    order = np.random.default_rng(0).permutation(len(data.features))
    current, candidate = fitted(data, np.sort(order[:500]), 0.1), fitted(data, np.sort(order[500:]), 0.1)
    return candidate, current, data.features[current.predict(data.features)]


def recorded(path: Path, n_promises: int) -> None:
    """Record as many promises in an SQLite file, one planned batch at different dates and versions."""
    from copa.promises import Ledger

    _, current, _ = models_and_rows()
    data = copa.datasets.load_german()
    planner = copa.RecoursePlanner(
        current, schema=data.schema, guarantee=0.7, n_options=PER_APPLICANT, later_models=copa.LaterModels(n_refits=100)
    )
    batch = planner.fit(data.features, data.favourable).plan(data.features[~current.predict(data.features)])
    batch = batch.select(batch.status == "ok")
    with Ledger.open(path, create=True) as ledger:
        k, turn, many = 0, 0, copa.PlanBatch.concat([batch] * max(1, 10_000 // len(batch.options)))
        while k < n_promises:
            own = many.applicants.set_axis([f"applicant {turn}.{i}" for i in range(len(many))])  # else it was recorded
            made = {"model_version": VERSIONS[turn % 3], "made": MADE[turn % len(MADE)]}
            k += len(ledger.record(replace(many, applicants=own), valid_for="24 months", **made))
            turn += 1
            print(f"recorded {k:,}", file=sys.stderr, flush=True)


def measure(promises: Any) -> None:
    """Gate them in this process, and print what it took."""
    candidate, current, _ = models_and_rows()
    start, used = time.perf_counter(), time.process_time()
    report = gate(candidate, promises, max_broken=0.02, current=current, groups=["housing"], favourable=True)
    seconds, processor = time.perf_counter() - start, time.process_time() - used
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    met = "met" if seconds <= MOST_SECONDS and memory <= MOST_MEGABYTES else "NOT MET"
    print(
        f"{report.n_promises:,} promises, {report.n_broken:,} broken: {seconds:.1f} s ({processor:.1f} s of "
        f"processor), {memory:.0f} MB at most; target {MOST_SECONDS:g} s and {MOST_MEGABYTES:g} MB: {met}",
        flush=True,
    )


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gate", description=__doc__)
    parser.add_argument("--promises", type=int, default=N_PROMISES, help="how many")
    parser.add_argument("--ledger", action="store_true", help="from an SQLite ledger as well")
    parser.add_argument("--measure", help=argparse.SUPPRESS)  # what a process of its own does
    arguments = parser.parse_args()
    if arguments.measure == "generated":
        measure(GeneratedPromises(models_and_rows()[2], arguments.promises))
    elif arguments.measure:
        from copa.promises import Ledger

        with Ledger.open(arguments.measure) as ledger:
            measure(ledger)
    else:
        own = [sys.executable, "-m", "benchmarks.gate", "--promises", str(arguments.promises), "--measure"]
        print("generated block by block:", flush=True)
        subprocess.run([*own, "generated"], check=True)  # noqa: S603 - ourselves
        if arguments.ledger:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "promises.db"
                recorded(path, arguments.promises)
                print("from a ledger in SQLite:", flush=True)
                subprocess.run([*own, str(path)], check=True)  # noqa: S603 - ourselves


if __name__ == "__main__":
    main()
