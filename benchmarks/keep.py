"""Keeping promises: `python -m benchmarks.keep` measures the solver and the refits, and writes both tables of a page.

The solver is held against cvxpy with Clarabel and against SciPy's SLSQP, which solve the same problem in the same
process and take turns with it; times are of the processor. The refits are after shifts of bundled data: a model is
fitted to the rows before, plans options for people whom it declines (at a low guarantee, so that some promises are in
danger), and is refitted to the rows after, plainly and
with the promises, on four of five folds of the rows after, and measured on the fifth; numbers are means over folds.
"""

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import ROOT
from copa import LaterModels, MomentBall, RecoursePlanner
from copa.data.datasets import load_german, load_student
from copa.promises import KeptModel, keep
from copa.promises.constrained_logistic import solve

sys.path.insert(0, str(ROOT / "tests"))
from oracle.constrained_programs import by_clarabel, by_slsqp, instance, random_instance

PAGE = ROOT / "benchmarks" / "PROMISES.md"
MARKS = "<!-- {} -->\n"
ROUNDS = 5
N_APPLICANTS = 60
REPEATS = 4  # of five folds
MOST_LOST = 0.01  # of the AUC
LEVEL = 0.05  # guarantee of the options: in effect, that the model of before accepts them


@dataclass(frozen=True)
class Line:
    """A line of a table, and whether its target is met."""

    cells: tuple[str, ...]
    met: bool = True


def fastest(run: Any, rounds: int = ROUNDS) -> tuple[float, Any]:
    """Least processor time of some rounds, and the answer."""
    times, answer = [], None
    for _ in range(rounds):
        before = process_time()
        answer = run()
        times.append(process_time() - before)
    return min(times), answer


def speed() -> list[Line]:
    """The solver beside others on one problem, and alone on a large one."""
    problem = instance(3, 500, 60, 100)
    size = "500 rows, 60 parameters, 100 promises"
    fastest(lambda: solve(problem, np.zeros(60)), 1)  # imports
    ours, found = fastest(lambda: solve(problem, np.zeros(60)))
    lines = []
    for name, run, target in (
        ("cvxpy and Clarabel", lambda: by_clarabel(problem, (1e-8,)), 10.0),
        ("SLSQP", lambda: by_slsqp(problem), 2.0),
    ):
        theirs, value = fastest(run, 3)
        ratio, apart = theirs / ours, abs(found.objective - value) / abs(value)
        cells = (f"{name}", size, f"{1e3 * ours:.1f} ms", f"{1e3 * theirs:.0f} ms", f"{ratio:.1f} times")
        lines.append(Line((*cells, f"{target:g} times", f"{apart:.0e}"), ratio >= target))
    large = instance(5, 100_000, 100, 10_000)
    seconds, found = fastest(lambda: solve(large, np.zeros(100)), 1)
    proof = f"gap {found.duality_gap / found.objective:.0e}"
    cells = ("alone", "100,000 rows, 100 parameters, 10,000 promises", f"{seconds:.1f} s", "", "", "30 s", proof)
    return [*lines, Line(cells, seconds < 30.0 and found.is_optimal(1e-8)), agreement()]


def agreement(number: int = 100) -> Line:
    """The largest difference from Clarabel on random problems."""
    worst, ours = 0.0, 0.0
    for seed in range(number):
        problem = random_instance(seed)
        seconds, found = fastest(lambda problem=problem: solve(problem, np.zeros(problem.fit.design.shape[1])), 1)
        value = by_clarabel(problem)
        worst, ours = max(worst, abs(found.objective - value) / max(1.0, abs(value))), ours + seconds
    size = f"{number} random problems, up to 400 rows, 40 parameters, 80 promises"
    cells = ("cvxpy and Clarabel", size, f"{1e3 * ours / number:.1f} ms each", "", "", "1e-06", f"{worst:.0e}")
    return Line(cells, worst <= 1e-6)


def encoder() -> Any:
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    return make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), make_column_selector(dtype_exclude="number")),
        (StandardScaler(), make_column_selector(dtype_include="number")),
    )


def learners() -> dict[str, Any]:
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    return {
        "logistic regression": make_pipeline(encoder(), LogisticRegression(max_iter=5000)),
        "boosting": make_pipeline(encoder(), HistGradientBoostingClassifier(max_iter=60, random_state=0)),
        "forest": make_pipeline(encoder(), RandomForestClassifier(100, random_state=0)),
    }


def shifts() -> dict[str, tuple[pd.DataFrame, Any, Any]]:
    """Rows, whether the outcome was favourable, and which rows come after."""
    german, student = load_german(), load_student()
    young = (german.features["age"] < 33).to_numpy()
    other = (student.features["school"] == "MS").to_numpy()
    without = student.features.drop(columns=["school", "G1", "G2"])
    return {
        "German Credit, from 33 years on to below": (german.features, german.favourable.to_numpy(), young),
        "German Credit, below 33 years to from 33 on": (german.features, german.favourable.to_numpy(), ~young),
        "Student, school GP to MS": (student.features.drop(columns="school"), student.favourable.to_numpy(), other),
        "Student without earlier grades, school GP to MS": (without, student.favourable.to_numpy(), other),
    }


def promised_rows(features: pd.DataFrame, labels: Any, after: Any, n_applicants: int) -> pd.DataFrame:
    """Options that a logistic regression of the rows before accepts, for people whom it declines."""
    model = learners()["logistic regression"].fit(features[~after], labels[~after])
    planner = RecoursePlanner(
        model,
        n_options=3,
        guarantee=LEVEL,
        later_models=LaterModels(ambiguity=MomentBall(radius=0.0), n_refits=100),
        n_starts=8,
        random_state=0,
        n_jobs=1,
        progress=False,
    )
    planner.fit(features[~after], labels[~after])
    declined = features[~after][~model.predict(features[~after])].head(n_applicants)
    return planner.plan(declined).options


def refits(n_applicants: int = N_APPLICANTS) -> list[Line]:
    """Every shift with every learner: promises broken, and the AUC, before and after."""
    lines = []
    for shift, (features, labels, after) in shifts().items():
        options = promised_rows(features, labels, after, n_applicants)
        for name, model in learners().items():
            own = options[model.fit(features[~after], labels[~after]).predict(options)].reset_index(drop=True)
            lines.append(refit_line(shift, name, folds(model, features[after], labels[after], own)))
            print(*lines[-1].cells, sep=" | ", flush=True)
    return lines


def folds(model: Any, features: pd.DataFrame, labels: Any, promised: pd.DataFrame) -> list[KeptModel]:
    """Keep the promises in each of some folds, and measure on the rest."""
    from sklearn.model_selection import RepeatedStratifiedKFold

    found = []
    for fitted, rest in RepeatedStratifiedKFold(n_splits=5, n_repeats=REPEATS, random_state=0).split(features, labels):
        held_out = (features.iloc[rest], labels[rest])
        found.append(keep(model, features.iloc[fitted], labels[fitted], promised, held_out=held_out))
    return found


def refit_line(shift: str, name: str, found: list[KeptModel]) -> Line:
    """Means over the folds."""
    before, after = ([getattr(kept, f"n_broken_{when}") for kept in found] for when in ("before", "after"))
    auc, loss = (sum(kept.metrics[metric] for kept in found) / len(found) for metric in ("auc", "log_loss"))
    numbers = (f"{auc['plain']:.3f}", f"{auc['kept']:.3f}", f"{loss['plain']:.3f}", f"{loss['kept']:.3f}")
    counts = (str(found[0].n_promises), f"{np.mean(before):.1f}", f"{np.mean(after):g}")
    return Line((shift, name, *counts, *numbers), max(after) == 0 and auc["difference"] >= -MOST_LOST)


SPEED = ("beside", "size", "COPA", "the other", "faster by", "target", "difference of the objectives, or gap", "met")
REFITS = ("shift", "learner", "promises", "broken by the plain refit", "broken afterwards", "AUC of the plain refit")
REFITS = (*REFITS, "AUC afterwards", "log loss of the plain refit", "log loss afterwards", "met")


def table(heads: tuple[str, ...], lines: list[Line]) -> str:
    """A table in Markdown."""
    rows = [heads, ["---"] * len(heads), *((*line.cells, "yes" if line.met else "NO") for line in lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def write(mark: str, text: str, page: Path = PAGE) -> None:
    """Put a table between its marks on the page."""
    pattern = re.compile(re.escape(MARKS.format(mark)) + ".*?(?=<!-- end -->)", re.DOTALL)
    found, count = pattern.subn(lambda _: f"{MARKS.format(mark)}\n{text}\n\n", page.read_text(encoding="utf-8"))
    if count != 1:
        sys.exit(f"{page} has no place for the table {mark}")
    page.write_text(found, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.keep", description=__doc__)
    parser.add_argument("--only", choices=("speed", "refits"))
    parser.add_argument("--applicants", type=int, default=N_APPLICANTS)
    arguments = parser.parse_args()
    missed = 0
    for mark, heads, run in (("speed", SPEED, speed), ("refits", REFITS, lambda: refits(arguments.applicants))):
        if arguments.only in (None, mark):
            lines = run()
            print(text := table(heads, lines))
            write(f"keep {mark}", text)
            missed += sum(not line.met for line in lines)
    sys.exit(f"{missed} targets missed" if missed else 0)


if __name__ == "__main__":
    main()
