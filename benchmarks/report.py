"""How a report of 20,000 applicants opens, filters and weighs: writes benchmarks/REPORT.md.

Run with `python -m benchmarks.report`; it needs chromium and its driver. Plans of 300 applicants are repeated under
names of their own, with up to five options each; the page is opened from the disk in headless Chromium. Opening ends
when the page has loaded and the first person is drawn; filtering begins with a key and ends when the list is drawn.
"""

import argparse
import os
import shutil
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import copa
from benchmarks import ROOT
from copa.report import write_report

PAGE = ROOT / "benchmarks" / "REPORT.md"
BEGIN, END = "<!-- written by `python -m benchmarks.report` -->", "<!-- end -->"
N_APPLICANTS, N_PLANNED, N_OPTIONS = 20_000, 300, 5
TARGETS = {"megabytes": 40.0, "opening": 3.0, "filtering": 0.3}
REPEATS = 5
WORDS = ("applicant 19", "guarantor", "credit amount", "3900", "applicant 00017 duration")
# Types a word, and waits until the number of those found has changed and the list has been drawn.
TYPE = """
    const [word, done] = arguments, field = document.getElementById("search"), found = document.getElementById("found");
    const started = performance.now();
    const watcher = new MutationObserver(() => {
      watcher.disconnect();
      requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - started)));
    });
    watcher.observe(found, {childList: true});
    field.value = word;
    field.dispatchEvent(new Event("input"));
"""


@dataclass(frozen=True)
class Measured:
    """What a page takes: its size, the seconds to write it, to open and to search it in each browser, and its rows.

    Attributes
    ----------
    megabytes, writing : float
    openings, filterings : tuple of float
        Of every browser: seconds to open the page, and those of its slowest search.
    n_rows : int
        Rows of the list that are elements, the most of all browsers.
    load : float
        Load average of the machine over the minute before the last browser ended.
    """

    megabytes: float
    writing: float
    openings: tuple[float, ...]
    filterings: tuple[float, ...]
    n_rows: int
    load: float

    def missed(self) -> list[str]:
        """Targets that are not met, by the medians over the browsers."""
        found = {
            "megabytes": self.megabytes,
            "opening": median(self.openings),
            "filtering": median(self.filterings),
        }
        return [f"{name} {found[name]:.2f}" for name, most in TARGETS.items() if found[name] >= most]

    def row(self, n_applicants: int) -> str:
        """A line of the table."""
        opens, filters = (f"{median(all_):.2f} s, {max(all_):.2f} s" for all_ in (self.openings, self.filterings))
        cells = (f"{n_applicants:,}", f"{self.megabytes:.1f} MB", f"{self.writing:.0f} s", opens, filters)
        return f"| {' | '.join(cells)} | {self.load:.1f} |"


def many_plans(n_applicants: int) -> copa.PlanBatch:
    """Plans of so many applicants, from those of a few, with names of their own."""
    data = copa.datasets.load_german()
    table, numbers = data.features, data.features.select_dtypes("number").columns
    encoder = make_column_transformer((OneHotEncoder(), table.columns.difference(numbers)), (StandardScaler(), numbers))
    model = make_pipeline(encoder, LogisticRegression(C=0.1)).fit(table, data.favourable)
    settings = {
        "guarantee": 0.8,
        "n_options": N_OPTIONS,
        "later_models": copa.LaterModels(n_refits=100),
        "n_starts": 4,
        "random_state": 0,
    }
    planner = copa.RecoursePlanner(model, schema=data.schema, progress=False, **settings).fit(table, data.favourable)
    batch = planner.plan(table[~model.predict(table)].head(N_PLANNED))
    many = batch.select(np.arange(n_applicants) % len(batch))
    names = pd.Index([f"applicant {k:05d}" for k in range(n_applicants)])
    return replace(many, applicants=many.applicants.set_axis(names))


def measure(batch: copa.PlanBatch, path: Path) -> Measured:
    """Write a report and use it."""
    started = time.perf_counter()
    write_report(batch, path, title=f"{len(batch):,} loan applicants")
    writing = time.perf_counter() - started
    uses = [_used(path) for _ in range(REPEATS)]
    openings, filterings, n_rows = zip(*uses, strict=True)
    return Measured(path.stat().st_size / 1e6, writing, openings, filterings, max(n_rows), os.getloadavg()[0])


def _used(path: Path) -> tuple[float, float, int]:
    """Open a page in a fresh browser and search it: seconds to open, the longest search, rows that are elements."""
    browser = _browser()
    try:
        started = time.perf_counter()
        browser.get(path.as_uri())
        drawn = browser.execute_script("return document.querySelectorAll('#plan .copa-card').length")
        opening = time.perf_counter() - started
        if not drawn:
            raise RuntimeError("the page shows no options")
        searches = [browser.execute_async_script(TYPE, word) / 1000.0 for word in WORDS]
        return opening, max(searches), browser.execute_script("return document.querySelectorAll('.person-row').length")
    finally:
        browser.quit()


def _browser() -> Any:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))


def write_table(rows: dict[int, Measured], page: Path = PAGE) -> None:
    """Put the figures between the marks of the page."""
    text = page.read_text(encoding="utf-8")
    before, after = text.index(BEGIN) + len(BEGIN), text.index(END, text.index(BEGIN))
    lines = [
        "| applicants | size of the file | written in | opens in (median, worst) | filters in (median, worst) | load |",
        "|---:|---:|---:|---:|---:|---:|",
        *(measured.row(n) for n, measured in rows.items()),
        "",
    ]
    remark = (
        f"Up to {N_OPTIONS} options each. Median and worst of {REPEATS} openings, each in a fresh headless Chromium; "
        f"filtering is the slowest of {len(WORDS)} searches, with the pause after the last key. Measured on "
        f"{os.cpu_count()} cores shared with other work: the load is the machine's average over the minute before."
    )
    table = "\n".join([*lines, remark])
    page.write_text(f"{text[:before]}\n{table}\n{text[after:]}", encoding="utf-8")
    print(table)


def main() -> None:
    argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__).parse_args()
    everybody = many_plans(N_APPLICANTS)
    folder = Path(tempfile.mkdtemp())
    try:
        rows = {n: measure(everybody[:n], folder / f"{n}.html") for n in (1_000, N_APPLICANTS)}
    finally:
        shutil.rmtree(folder)
    write_table(rows)
    if missed := rows[N_APPLICANTS].missed():
        raise SystemExit(f"missed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
