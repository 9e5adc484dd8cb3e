"""Signs of life of every command on a large file: `python -m benchmarks.progress` writes the table of a page.

Each command is run twice: on a pseudo-terminal, and with its messages in a pipe as in a log. Whatever it writes to
stderr is dated as it comes: when the first of it came, and the longest time without any, to the end of the command.
"""

import argparse
import os
import pty
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd

from benchmarks import ROOT
from copa.data.datasets import load_german

PAGE = ROOT / "benchmarks" / "PROGRESS.md"
TABLE = re.compile(r"(<!-- progress -->\n).*?(?=<!-- end -->)", re.DOTALL)
FIRST, GAP = 2.0, 10.0  # seconds: what is promised
ROWS, MORE_ROWS = 50_000, 150_000
SMALL = "--n-options 1 --n-starts 1 --plausibility 0"
FIT = f"--target paid --favourable yes --schema loans.yaml --guarantee 0.8 --n-refits 64 {SMALL}"
PLANS = "loans.bundle plans.csv --applicants loans.csv"
COMMANDS = {
    "schema infer": "loans.csv --target paid --drop quarter -o inferred.yaml",
    "schema validate": "loans.yaml loans.csv",
    "fit": f"loans.csv {FIT} --drop quarter -o loans.bundle",
    "plan": "loans.bundle loans.csv -o plans.csv -o proofs.zip -o report.html",
    "letter": "loans.bundle proofs.zip -o letters --force",
    "verify": "proofs.zip",
    "audit": f"{PLANS} -o audited.csv -o audit.html",
    "correct": f"{PLANS} -o corrected.csv -o corrected.html --guarantee 0.85",
    "backtest": "loans.bundle loans.csv --by quarter",
    "demo": "-o demo",
}
HEADS = (
    "| command | rows | seconds | first sign, terminal | longest silence | first sign, log | longest silence | lines |"
)


@dataclass(frozen=True)
class Watched:
    """What was seen of a command.

    Attributes
    ----------
    code : exit code
    seconds : how long it took
    first : seconds to its first sign of life
    gap : the longest time without one
    said : all that it wrote to stderr
    """

    code: int
    seconds: float
    first: float
    gap: float
    said: str


def shaken_loans(n_rows: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """German Credit drawn with replacement, numbers shaken; and which row each comes from."""
    table, rng = load_german().features, np.random.default_rng(seed)
    rows = rng.integers(len(table), size=n_rows)
    table = table.iloc[rows].reset_index(drop=True)
    for name, shake in (("duration", 3), ("amount", 300), ("age", 3)):
        own = table[name]
        table[name] = (own + rng.integers(-shake, shake + 1, n_rows)).clip(own.min(), own.max())
    return table, rows


def write_loans(folder: Path, n_rows: int) -> None:
    """Such loans with an outcome, in eight quarters."""
    data, rng = load_german(), np.random.default_rng(1)
    table, rows = shaken_loans(n_rows)
    quarters = [f"{2020 + k // 4}Q{1 + k % 4}" for k in range(4)]
    paid = data.favourable.to_numpy()[rows] ^ (rng.random(n_rows) < 0.05)
    columns = {"paid": np.where(paid, "yes", "no"), "quarter": rng.choice(quarters, n_rows)}
    table.assign(**columns).to_csv(folder / "loans.csv", index=False)
    data.schema.save(folder / "loans.yaml")


def watch(arguments: list[str], folder: Path, *, terminal: bool) -> Watched:
    """Run a command, and date what it writes to stderr as it comes."""
    reading, writing = pty.openpty() if terminal else os.pipe()
    started = perf_counter()
    with (folder / "stdout").open("wb") as results:
        command = [sys.executable, "-m", "copa.cli", *arguments]
        process = subprocess.Popen(  # noqa: S603 - our own command
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=results, stderr=writing
        )
    os.close(writing)
    moments, said = [], b""
    for piece in _pieces(reading):
        moments.append(perf_counter() - started)
        said += piece
    os.close(reading)
    code, seconds = process.wait(), perf_counter() - started
    gaps = np.diff([0.0, *moments, seconds])
    return Watched(code, seconds, moments[0] if moments else seconds, float(gaps.max()), said.decode(errors="replace"))


def _pieces(descriptor: int) -> Iterator[bytes]:
    while True:
        try:
            piece = os.read(descriptor, 65536)
        except OSError:  # how a terminal ends
            return
        if not piece:
            return
        yield piece


def measure(folder: Path, name: str) -> tuple[Watched, Watched]:
    """One command on a terminal and in a log."""
    arguments = [*name.split(), *COMMANDS[name].split()]
    return watch(arguments, folder, terminal=True), watch(arguments, folder, terminal=False)


def row(name: str, n_rows: int, terminal: Watched, log: Watched) -> str:
    """A line of the table."""
    lines = sum(line.startswith("copa ") for line in log.said.splitlines())
    times = f"{terminal.first:.1f} s | {terminal.gap:.1f} s | {log.first:.1f} s | {log.gap:.1f} s"
    return f"| `copa {name}` | {n_rows:,} | {log.seconds:.0f} | {times} | {lines} |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.progress", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--only", nargs="*", default=list(COMMANDS))
    arguments = parser.parse_args()
    late = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for n_rows, names in ((arguments.rows, arguments.only), (3 * arguments.rows, ["fit"])):
            write_loans(folder, n_rows)
            for name in names:
                found = measure(folder, name)
                line = row(name, n_rows if name != "demo" else 1000, *found)
                print(line, flush=True)
                print(found[1].said, file=sys.stderr, flush=True)
                late += [name for one in found if one.code or one.first > FIRST or one.gap > GAP]
                if arguments.rows == ROWS and name not in late:
                    write_row(line)
    if late:
        sys.exit(f"too late, too long without a sign, or failed: {', '.join(late)}")


def write_row(line: str) -> None:
    """Put a line into the table of the page, in place of that of the same command and number of rows."""
    text = PAGE.read_text(encoding="utf-8")
    there = [old for old in TABLE.search(text)[0].splitlines() if old.startswith("| `")]
    key = line.split("|")[1:3]
    lines = [HEADS, "|---" * (HEADS.count("|") - 1) + "|", *(old for old in there if old.split("|")[1:3] != key), line]
    PAGE.write_text(TABLE.sub(lambda found: f"{found[1]}\n" + "\n".join(lines) + "\n\n", text), encoding="utf-8")


if __name__ == "__main__":
    main()
