"""What later models keep of what the planner promises, on populations with a known law.

Training sets are drawn, the planner is fitted to each, and applicants whom its model declines get plans at every level
and confidence. Judges are pipelines trained on fresh samples of the same size, encoder included. An option is kept if
at least the level's share of the judges accept it; only options of plans with the status "ok" count as delivered.

`python -m benchmarks.guarantees.promised` measures and appends to a file of JSON lines, one per training set, so that a
run can be stopped and resumed; `--tables` prints what is in it, and `--write` writes the table that ships with the
package and docs/evidence.md from it (see `tables`).
"""

import argparse
import copy
import json
import sys
import time
import warnings
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

import copa
from benchmarks.guarantees.fits import design, fit_sample
from benchmarks.guarantees.former_rule import resampling_radius
from benchmarks.guarantees.populations import HELD_BACK, POPULATIONS, Array, Population, generator, level_names
from benchmarks.guarantees.summary import CONFIDENCES, LEVELS, SIZES
from copa.models import LinearModel
from copa.models.refits.reliability import LEAST_RELIABILITY
from copa.planner.strategies.linear import Linear
from copa.planner.strategies.next_parameters import shrunk
from copa.theory.sets.location_set import LocationSet

CACHE = Path(__file__).with_name("cache")
N_SETS, N_JUDGES, N_APPLICANTS = 14, 200, 15
POOL = 400  # fresh rows that declined applicants are taken from
TRIED = {"development": (0.8, 0.9, 0.95, 0.98), "report": CONFIDENCES}  # 0.8 and 0.98 for a variant, see `tables`
FILES = {"development": "tried.jsonl", "report": "report.jsonl"}
FLOOR = {"development": 0.5, "report": LEAST_RELIABILITY}  # reliability below which no plans are made
OLD_SIZES = (300, 1000)  # where the default of version 0.3 is measured too
SLOW = (("wide", 300),)  # measured last: 60 columns, and next to nothing to be found
PLANNING = {
    "later_models": copa.LaterModels(n_refits=200),
    "n_options": 3,
    "n_starts": 4,
    "n_jobs": 1,
    "progress": False,
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Wordless(Linear):
    """The strategy without explanations of why levels are out of reach, which nobody reads here."""

    def explain(self, applicants: Any, *_: Any) -> list[str]:
        """No words."""
        return [""] * len(applicants)


@dataclass(frozen=True, eq=False)
class Case:
    """One training set: its model, its fitted planner, those whom it declines, and the judges of its population.

    Attributes
    ----------
    population : Population
    planner : RecoursePlanner
    X : DataFrame
        The training data.
    y : ndarray of shape (n,)
    declined : DataFrame
        Fresh applicants.
    judges : ndarray of shape (J, D)
        In the units of the population.
    """

    population: Population
    planner: copa.RecoursePlanner
    X: pd.DataFrame
    y: Array
    declined: pd.DataFrame
    judges: Array


def pipeline(population: Population) -> Pipeline:
    """An encoder and a logistic regression, fitted to rounding."""
    levels = [f"c{c}" for c in range(len(population.sizes))]
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), levels), remainder=StandardScaler())
    return make_pipeline(encoder, LogisticRegression(C=population.C, solver="newton-cholesky", tol=1e-8, max_iter=1000))


def judges(population: Population, n: int, phase: str, n_judges: int = N_JUDGES) -> Array:
    """Parameters of pipelines trained on fresh samples, (J, D)."""
    rng = generator(population.name, n, phase, "judges")
    return np.array([fit_sample(population, population.draw(n, rng)) for _ in range(n_judges)])


def kept_judges(population: Population, n: int, phase: str) -> Array:
    """The same, from the cache if they are there."""
    path = CACHE / f"judges {phase} {population.name} {n}.npy"
    if not path.exists():
        np.save(path, judges(population, n, phase))
    found: Array = np.load(path)
    return found


def prepare(population: Population, n: int, seed: int, phase: str, asked: Array) -> Case:
    """Draw a training set, and fit a model and a planner to it."""
    rng = generator(population.name, n, phase, seed)
    sample = population.draw(n, rng)
    X, y = population.frame(sample), sample.favourable
    model = pipeline(population).fit(X, y)
    pool = population.frame(population.draw(POOL, rng))
    declined = pool[~model.predict(pool)].head(N_APPLICANTS)
    planner = copa.RecoursePlanner(model, schema=population.schema, random_state=seed, **PLANNING).fit(X, y)
    return Case(population, planner, X, y, declined, asked)


def accepting(case: Case, options: pd.DataFrame) -> Array:
    """How many judges accept each row, (M,)."""
    population = case.population
    numbers = options[[f"x{j}" for j in range(population.n_numeric)]].to_numpy(dtype=float)
    codes = np.zeros((len(options), len(population.sizes)), dtype=np.intp)
    for c, size in enumerate(population.sizes):
        codes[:, c] = pd.Index(level_names(size)).get_indexer(options[f"c{c}"])
    if (codes < 0).any():
        raise ValueError("an option has a level that the population does not know")
    counts: Array = (design(population, numbers, codes) @ case.judges.T >= 0.0).sum(axis=1)
    return counts


def plan(case: Case, strategy: Linear, level: float) -> copa.PlanBatch:
    """Plans of the applicants by the planner, with another state."""
    own = {field.name: getattr(strategy, field.name) for field in fields(strategy)}
    planner = copy.copy(case.planner).set_params(guarantee=level)
    planner.strategy_ = Wordless(**own)
    return planner.plan(case.declined)


def outcome(case: Case, batch: copa.PlanBatch, base: copa.PlanBatch) -> dict[str, Any]:
    """What a batch delivered, how many judges accept each option, and its effort beside a plan that is not robust."""
    served = np.flatnonzero(batch.status == "ok")
    flags = np.isin(batch.owner, served)
    common = [i for i in served if base.status[i] == "ok"]
    accepted = accepting(case, batch.options[flags]) if flags.any() else np.zeros(0, dtype=np.intp)
    return {
        "served": len(served),
        "accepted": accepted.tolist(),
        "effort": [round(_effort(batch, common), 4), round(_effort(base, common), 4)],
    }


def _effort(batch: copa.PlanBatch, applicants: list[int]) -> float:
    """Mean over applicants of the mean effort of their options."""
    return float(np.mean([batch.effort[batch.owner == i].mean() for i in applicants])) if applicants else 0.0


def non_robust(case: Case, strategy: Linear) -> copa.PlanBatch:
    """Plans that today's model accepts, and nothing more."""
    theta, cov = strategy.model.theta, strategy.parameters.cov
    certain = LocationSet(theta, cov, 0.0, cov, family="gaussian", simultaneous=False)
    return plan(case, replace(strategy.with_set(certain), reliability=None), 0.5)


def measure(
    case: Case, *, least: float = LEAST_RELIABILITY, confidences: tuple[float, ...] = CONFIDENCES, old: bool = False
) -> dict[str, Any]:
    """One line of the file: what the training set is like, and the outcome of every rule, level and confidence.

    Parameters
    ----------
    case : Case
    least : float
        Reliability below which no plans are made.
    confidences : tuple of float
    old : bool
        Whether the default of version 0.3 is measured too.
    """
    strategy = case.planner.strategy_
    b = float(strategy.reliability)
    found: dict[str, Any] = {
        "reliability": b,
        "rarer": int(min(case.y.sum(), (~case.y).sum())),
        "columns": strategy.n_columns,
        "applicants": len(case.declined),
        "judges": len(case.judges),
        "outcomes": [],
    }
    if len(case.declined) == 0:
        return found
    base = non_robust(case, strategy) if b >= least or old else None
    unshrunk = replace(strategy.parameters, mean=strategy.moments(1).mean)
    for confidence in confidences if b >= least else ():
        for level in LEVELS:
            state = replace(strategy.with_set(shrunk(unshrunk, b, confidence)), confidence=confidence, reliability=None)
            result = outcome(case, plan(case, state, level), base)
            found["outcomes"].append({"rule": "default", "level": level, "confidence": confidence, **result})
    if old:
        state = replace(strategy.with_set(shrunk(unshrunk, 1.0, 0.95)), reliability=None)
        result = outcome(case, plan(case, state, 0.9), base)
        found["outcomes"].append({"rule": "b = 1", "level": 0.9, "confidence": 0.95, **result})
        result = outcome(case, plan(case, old_default(case), 0.9), base)
        found["outcomes"].append({"rule": "0.3", "level": 0.9, "confidence": None, **result})
    return found


def old_default(case: Case) -> Linear:
    """The state of the default of version 0.3: Cantelli's bound, moments of refits with the encoder held fixed."""
    known = LinearModel.read(case.planner.model, case.X.columns)
    encoded, n_models = known.encode(case.X)[:, 1:], PLANNING["later_models"].n_refits
    same = {"random_state": 0, "n_jobs": 1}
    moments = copa.WeightMoments.from_retraining(known.classifier, encoded, case.y, n_models=n_models, **same)
    radius = resampling_radius(known.classifier, encoded, case.y, moments, n_samples=20)
    ball = copa.MomentBall(moments.mean, moments.cov, radius, drift="cov")
    planner = copa.RecoursePlanner(**{**case.planner.get_params(deep=False), "later_models": ball}).fit(case.X, case.y)
    return planner.strategy_


def to_do(phase: str, seeds: range, sizes: tuple[int, ...], names: list[str]) -> list[tuple[Population, int, int]]:
    """Populations, sizes and seeds, every population in turn."""
    populations = [make() for make in POPULATIONS + (HELD_BACK if phase == "report" else ())]
    found = [(p, n, seed) for seed in seeds for n in sizes for p in populations if not names or p.name in names]
    return sorted(found, key=lambda case: (case[0].name, case[1]) in SLOW)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Training sets that were measured."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run(args: argparse.Namespace) -> None:
    """Measure what is not in the file yet."""
    CACHE.mkdir(exist_ok=True)
    path = CACHE / FILES[args.phase]
    done = {(row["population"], row["n"], row["seed"]) for row in read_lines(path)}
    for population, n, seed in to_do(
        args.phase, range(args.first, args.first + args.sets), tuple(args.sizes), args.only
    ):
        if (population.name, n, seed) in done:
            continue
        started = time.process_time()
        case = prepare(population, n, seed, args.phase, kept_judges(population, n, args.phase))
        old = seed < args.first + args.old and n in OLD_SIZES
        measured = measure(case, least=FLOOR[args.phase], confidences=TRIED[args.phase], old=old)
        row = {"population": population.name, "n": n, "seed": seed} | measured
        with path.open("a") as lines:
            lines.write(json.dumps(row | {"seconds": round(time.process_time() - started, 2)}) + "\n")


def main() -> None:
    """Measure, print or write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--phase", default="report", choices=("development", "report"), help="which seeds")
    parser.add_argument("--sets", type=int, default=N_SETS, help="training sets for each population and size")
    parser.add_argument("--first", type=int, default=0, help="seed of the first of them")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES, help="rows of the training sets")
    parser.add_argument("--only", nargs="*", default=[], help="names of populations")
    parser.add_argument("--old", type=int, default=0, help="sets on which other rules are measured too")
    parser.add_argument("--tables", action="store_true", help="print what was measured")
    parser.add_argument("--write", action="store_true", help="write the shipped table and the page of the docs")
    args = parser.parse_args()
    if args.tables or args.write:
        from benchmarks.guarantees import tables

        rows = read_lines(CACHE / FILES[args.phase])
        tried, former = read_lines(CACHE / FILES["development"]), read_lines(CACHE / "former.jsonl")
        sys.stdout.write(tables.as_text(rows) if args.tables else tables.write(rows, tried, former))
        return
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        run(args)


if __name__ == "__main__":
    main()
