"""Importing COPA and the first calls, each in a fresh interpreter.

The package is built as a wheel and installed into a temporary folder, as `pip install` does it. Seconds of the first
bound and of the plan are of the processor, on all cores together. The bound is `copa.validity_bounds` on one plan of
five options in fifteen dimensions, without the imports; the plan is that of the README, fit and ten applicants.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from benchmarks import ROOT
from benchmarks.interpreters import fresh
from benchmarks.reporting import Row

IMPORT = """
from time import perf_counter
start = perf_counter()
import copa
print(perf_counter() - start)
"""

CLOCK = """
import os
from time import perf_counter
def processor():
    return sum(os.times()[:4])
"""
BOUND = """
import numpy as np
import copa
import copa.theory.bounds.validity
rng = np.random.default_rng(0)
mean = rng.standard_normal(15)
points = 0.3 * rng.standard_normal((5, 15)) + mean
start = processor()
copa.validity_bounds(points, mean, 0.1 * np.eye(15), 0.1)
print(processor() - start)
start = perf_counter()
copa.validity_bounds(points, mean, 0.1 * np.eye(15), 0.1)
print(perf_counter() - start)
"""
PLAN = """
start = processor()
import copa
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
data = copa.datasets.load_german()
X, y, numbers = data.features, data.favourable, data.features.select_dtypes("number").columns
encoder = make_column_transformer((OneHotEncoder(), X.columns.difference(numbers)), (StandardScaler(), numbers))
model = make_pipeline(encoder, LogisticRegression(C=0.1)).fit(X, y)
planner = copa.RecoursePlanner(model, schema=data.schema, guarantee=0.8, n_options=3).fit(X, y)
planner.plan(X[~model.predict(X)].head(10))
print(processor() - start)
"""


def run(*, quick: bool) -> list[Row]:
    repeats = 3 if quick else 9
    importing = min(fresh(IMPORT)[0] for _ in range(repeats))
    with tempfile.TemporaryDirectory() as place:
        building = install(Path(place))
        bounds = [fresh(CLOCK + BOUND, PYTHONPATH=place) for _ in range(repeats)]
        plan = min(fresh(CLOCK + PLAN, PYTHONPATH=place)[0] for _ in range(repeats))
    least = f"least of {repeats}"
    return [
        Row(name="import copa", size=least, seconds=importing, measured=importing, unit="s", at_most=1.0),
        _bounded("build of the wheel, by the clock", "once", building, 90.0),
        _bounded("first bound", least, min(first for first, _ in bounds), 0.2),
        _bounded("first fit and plan", least, plan, 8.0),
        Row(name="second bound, by the clock", size=least, seconds=min(second for _, second in bounds)),
    ]


def install(folder: Path) -> float:
    """Build a wheel and install it into a folder; return the seconds that the build took."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    with tempfile.TemporaryDirectory() as wheels:
        start = perf_counter()
        subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", wheels, str(ROOT)], check=True)  # noqa: S603 - our own
        seconds = perf_counter() - start
        (wheel,) = Path(wheels).glob("*.whl")
        subprocess.run([*pip, "install", "--no-deps", "--target", str(folder), str(wheel)], check=True)  # noqa: S603
    return seconds


def _bounded(name: str, size: str, seconds: float, at_most: float) -> Row:
    return Row(name=name, size=size, seconds=seconds, measured=seconds, unit="s", at_most=at_most)
