"""A service under load: `python -m benchmarks.service` prints a table, and fails where a target is missed.

German credit, numbers shaken so that no two applicants are alike; `copa serve` with two workers, and clients in
another process of the same machine. Clients that think ask again a while after the last request; clients that do not
ask as soon as they have an answer, which shows how much the service can do, and how long one waits when it is asked
for all of that. Memory is that of the processes of the service, over many requests. Lost answers are requests without
one.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np

from benchmarks.progress import write_loans

CLIENTS, SECONDS, REQUESTS = 50, 60.0, 20_000
TARGET = 50.0  # milliseconds, for 95 % of single-applicant plans
GROWTH = 0.05  # of memory, from a fifth of the requests on
FIT = "loans.csv --target paid --favourable yes --schema loans.yaml --drop quarter -o loans.bundle"
HEADS = ("clients", "requests", "errors", "lost", "per second", "50 %", "95 %", "99 %", "worst")


@dataclass(frozen=True)
class Load:
    """What clients do.

    Attributes
    ----------
    clients : how many there are
    seconds : for how long they ask
    pause : seconds from one request of a client to its next one, 0 for none
    most : requests after which they stop
    """

    clients: int
    seconds: float
    pause: float
    most: int = 10**9


@dataclass(frozen=True)
class Heard:
    """What clients heard: seconds of each answer, errors, and requests without an answer."""

    seconds: list[float]
    errors: int
    lost: int
    took: float


async def _ask(url: str, people: list[dict], load: Load, seed: int) -> Heard:
    """Ask for a plan again and again, from several clients."""
    taken, errors, lost = [], 0, 0
    begun = time.perf_counter()
    order = iter(np.random.default_rng(seed).permutation(len(people)).tolist() * 100)

    async def client(k: int) -> None:
        nonlocal errors, lost
        async with httpx.AsyncClient(base_url=url, timeout=60.0) as own:
            await asyncio.sleep(load.pause * k / load.clients)
            while time.perf_counter() - begun < load.seconds and len(taken) + errors + lost < load.most:
                sent = time.perf_counter()
                try:
                    answer = await own.post("/v1/plan", json={"applicants": [people[next(order)]]})
                except httpx.HTTPError:
                    lost += 1
                    continue
                if answer.status_code == 200 and answer.json()["plans"][0]["status"] != "error":
                    taken.append(time.perf_counter() - sent)
                else:
                    errors += 1
                if load.pause:
                    await asyncio.sleep(max(0.0, load.pause - (time.perf_counter() - sent)))

    await asyncio.gather(*(client(k) for k in range(load.clients)))
    return Heard(taken, errors, lost, time.perf_counter() - begun)


def _in_process(url: str, people: list[dict], load: Load, seed: int, results: multiprocessing.Queue) -> None:
    results.put(asyncio.run(_ask(url, people, load, seed)))


def ask(url: str, people: list[dict], load: Load, seed: int) -> Heard:
    """Let clients ask, from a process of their own."""
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    process = context.Process(target=_in_process, args=(url, people, load, seed, results))
    process.start()
    heard = results.get()
    process.join()
    return heard


def memory(process: subprocess.Popen) -> int:
    """Bytes in memory of a process and its children."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
    pages = [int(Path(f"/proc/{number}/statm").read_text(encoding="ascii").split()[1]) for number in children]
    own = int(Path(f"/proc/{process.pid}/statm").read_text(encoding="ascii").split()[1])
    return (own + sum(pages)) * os.sysconf("SC_PAGE_SIZE")


def start(folder: Path, workers: int) -> tuple[subprocess.Popen, str]:
    """Serve the bundle; returns when a plan was made by every worker, most likely."""
    command = [sys.executable, "-m", "copa.cli", "serve", "loans.bundle", "--port", "0", "--workers", str(workers)]
    log = folder / "serve.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output)  # noqa: S603 - our own command
    while not (found := re.search(r"serving at (\S+)", log.read_text(encoding="utf-8"))):
        if process.poll() is not None:
            sys.exit(log.read_text(encoding="utf-8"))
        time.sleep(0.05)
    return process, found[1]


def row(name: str, heard: Heard) -> str:
    """A line of the table."""
    cells = [f"{1e3 * quantile:.0f} ms" for quantile in np.quantile(heard.seconds, [0.5, 0.95, 0.99, 1.0])]
    n = len(heard.seconds)
    return f"| {name} | {n:,} | {heard.errors} | {heard.lost} | {n / heard.took:.0f} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service", description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--requests", type=int, default=REQUESTS, help="over which memory is watched")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--pause", type=float, nargs="*", default=[1.0, 0.0], help="seconds between requests")
    arguments = parser.parse_args()
    missed = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_loans(folder, 4000)
        subprocess.run([sys.executable, "-m", "copa.cli", "fit", *FIT.split()], cwd=folder, check=True)  # noqa: S603
        people = declined(folder)
        process, url = start(folder, arguments.workers)
        try:
            ask(url, people, Load(8, 20.0, 0.0, 200), 0)  # both workers have loaded the bundle and its kernels
            print("\n| " + " | ".join(HEADS) + " |\n" + "|---" * len(HEADS) + "|", flush=True)
            for k, pause in enumerate(arguments.pause):
                heard = ask(url, people, Load(CLIENTS, arguments.seconds, pause), k + 1)
                name = f"{CLIENTS}, one request each per {pause:g} s" if pause else f"{CLIENTS}, without a pause"
                print(row(name, heard), flush=True)
                missed += [f"errors or lost answers ({name})"] if heard.errors or heard.lost else []
                if 1e3 * np.quantile(heard.seconds, 0.95) > TARGET:
                    missed.append(f"95 % within {TARGET:g} ms ({name})")
            missed += watch_memory(process, url, people, arguments.requests)
        finally:
            process.send_signal(signal.SIGTERM)
            code = process.wait(60)
    if missed or code:
        sys.exit(f"missed: {'; '.join(missed) or f'exit code {code}'}")


def declined(folder: Path) -> list[dict]:
    """Applicants whom the bundle's model declines, as JSON has them."""
    import pandas as pd

    from copa.planner.bundle import load_bundle

    table = pd.read_csv(folder / "loans.csv").drop(columns=["paid", "quarter"])
    model = load_bundle(folder / "loans.bundle").fitted.model
    return json.loads(table[~model.accepts(table)].to_json(orient="records"))


def watch_memory(process: subprocess.Popen, url: str, people: list[dict], n_requests: int) -> list[str]:
    """Memory at each fifth of many requests; returns what is wrong with it."""
    seen = [memory(process)]
    for k in range(5):
        ask(url, people, Load(CLIENTS, 1e9, 0.0, n_requests // 5), 100 + k)
        seen.append(memory(process))
    told = ", ".join(f"{bytes_ / 1e6:.0f}" for bytes_ in seen)
    print(f"\nMB in memory at each fifth of {n_requests:,} requests: {told}", flush=True)
    return ["memory is not flat"] if seen[-1] > (1.0 + GROWTH) * seen[1] else []


if __name__ == "__main__":
    main()
