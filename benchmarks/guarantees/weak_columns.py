"""What later models keep where the columns that are left to an applicant say little.

Two counterexamples: a few columns carry the signal, and a person fixes them by a wish, or has them at the end of their
range; 10 to 40 columns of noise are left. Beside them the populations of `benchmarks.guarantees.populations` with their
two or four strongest columns fixed, and without wishes. Every sample is planned for twice: by the planner as it is, and
with one reliability for all directions. `python -m benchmarks.guarantees.weak_columns [--seeds N]` measures and appends
to a file of JSON lines, so that a run can be stopped and resumed; `--write` writes the table of docs/evidence.md.
"""

import argparse
import copy
import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import copa
from benchmarks.guarantees.populations import HELD_BACK, POPULATIONS, Array, Population, generator
from benchmarks.guarantees.promised import CACHE, PLANNING, Case, accepting, judges, pipeline, read_lines
from copa.models.refits.reliability import LEAST_RELIABILITY

EVIDENCE = Path(__file__).parents[2] / "docs" / "evidence.md"
BEGIN, END = "<!-- begin: python -m benchmarks.guarantees.weak_columns --write -->", "<!-- end weak columns -->"
N, LEVEL, N_JUDGES, N_APPLICANTS, POOL = 1000, 0.9, 60, 10, 3000
SIGNALS, NOISES = (2, 3), (10, 20, 40)
END_OF_RANGE = 1.5  # where signals are cut off, in their standard deviations before
FORMS = {
    "wish": "2 or 3 signals fixed by a wish, 10 to 40 columns of noise left",
    "ends": "signals at the end of their range, 10 to 40 columns of noise left",
    "two": "generated populations, the two strongest columns fixed",
    "four": "generated populations, the four strongest columns fixed",
    "free": "generated populations, no wishes",
}
TOP = {"two": 2, "four": 4, "free": 0}


def noisy(n_signals: int, n_noise: int, *, cut: bool) -> Population:
    """A population in which a few columns carry the signal.

    With `cut` their range ends, and one more column that nobody can change decides who is still declined there: most
    others have room.
    """
    end = END_OF_RANGE if cut else np.inf

    def draw_rows(n: int, rng: np.random.Generator) -> tuple[Array, Any]:
        numbers = rng.standard_normal((n, n_signals + cut + n_noise))
        numbers[:, :n_signals] = np.minimum(numbers[:, :n_signals], end)
        return numbers, np.zeros((n, 0), dtype=np.intp)

    def effect(x: Array, _: Any) -> Array:
        total: Array = x[:, :n_signals].sum(axis=1)
        return total + 3.0 * x[:, n_signals] if cut else total

    name = f"{n_signals} signals {n_noise} noise{' cut' if cut else ''}"
    return Population(name, (), draw_rows, effect, fixed=(n_signals,) if cut else ())


def strongest(planner: copa.RecoursePlanner, X: Any, n_columns: int) -> list[str]:
    """Columns whose changes move today's score most: by their spread, or from one level to another."""
    linear = planner.strategy_.linearisation
    moves: dict[str, float] = {}
    for f, feature in enumerate(linear.space.columns):
        effects = linear.directions[linear.space.levels(f)] @ linear.theta
        wide = np.ptp(effects) if len(effects) > 1 else 2.0 * abs(effects[0]) * X[feature.name].std()
        if not feature.immutable:
            moves[feature.name] = float(wide)
    return sorted(moves, key=lambda name: -moves[name])[:n_columns]


def prepare(population: Population, form: str, seed: int, asked: Array) -> Case:
    """Draw a training set, fit a planner to it, and take those declined applicants who are nearest to acceptance."""
    rng = generator(population.name, "weak", form, seed)
    sample = population.draw(N, rng)
    X, y = population.frame(sample), sample.favourable
    model = pipeline(population).fit(X, y)
    pool = population.draw(POOL, rng)
    if form == "ends":
        n_signals = int(population.name.split()[0])
        pool.numbers[:, :n_signals] = END_OF_RANGE
    table = population.frame(pool)
    declined = table[~model.predict(table)] if len(table) else table
    if form in ("wish", "ends") and len(declined):
        declined = declined.iloc[np.argsort(-model.decision_function(declined))]
    planner = copa.RecoursePlanner(model, schema=population.schema, random_state=seed, **PLANNING).fit(X, y)
    if form == "wish":
        planner = planner.with_wishes(copa.Wishes(fixed=[f"x{j}" for j in range(int(population.name.split()[0]))]))
    elif TOP.get(form):
        planner = planner.with_wishes(copa.Wishes(fixed=strongest(planner, X, TOP[form])))
    return Case(population, planner, X, y, declined.head(N_APPLICANTS).reset_index(drop=True), asked)


def measure(case: Case) -> dict[str, Any]:
    """Return what is delivered with the reliability of each applicant, and with one for all."""
    strategy = case.planner.strategy_
    b = float(strategy.reliability)
    found: dict[str, Any] = {"reliability": b, "applicants": len(case.declined)}
    if len(case.declined) == 0:
        return found
    former = copy.copy(case.planner)
    former.strategy_ = replace(strategy, reliability=None, confidence=None)
    batches = {"local": case.planner.set_params(guarantee=LEVEL).plan(case.declined)}
    batches["global"] = former.set_params(guarantee=LEVEL).plan(case.declined)
    served = {rule: (batch.status == "ok") & (b >= LEAST_RELIABILITY) for rule, batch in batches.items()}
    both = served["local"] & served["global"]
    for rule, batch in batches.items():
        flags = served[rule][batch.owner]
        accepted = accepting(case, batch.options[flags]) if flags.any() else np.zeros(0, dtype=np.intp)
        efforts = [float(batch.effort[batch.owner == i].mean()) for i in np.flatnonzero(both)]
        found[rule] = {
            "served": int(served[rule].sum()),
            "accepted": (accepted / N_JUDGES).round(4).tolist(),
            "expected": batch.expected_rate[flags].round(4).tolist(),
            "effort": float(np.mean(efforts)) if efforts else None,
        }
    return found


def to_do(n_seeds: int, first: int) -> list[tuple[str, Population, int]]:
    """Forms, populations and seeds, every form in turn."""
    wide = [(s, k) for s in SIGNALS for k in NOISES]
    tasks = []
    for seed in range(first, first + n_seeds):
        s, k = wide[seed % len(wide)]
        tasks += [("wish", noisy(s, k, cut=False), seed), ("ends", noisy(s, k, cut=True), seed)]
        makes = (*POPULATIONS, *HELD_BACK)
        tasks += [(form, makes[seed % len(makes)](), seed) for form in TOP]
    return tasks


def run(n_seeds: int, first: int, forms: list[str]) -> None:
    """Measure what is not in the file yet."""
    CACHE.mkdir(exist_ok=True)
    path = CACHE / "weak_columns.jsonl"
    done = {(row["form"], row["population"], row["seed"]) for row in read_lines(path)}
    kept: dict[str, Array] = {}
    for form, population, seed in to_do(n_seeds, first):
        if form not in forms or (form, population.name, seed) in done:
            continue
        if population.name not in kept:
            kept[population.name] = judges(population, N, "weak", N_JUDGES)
        row = {"form": form, "population": population.name, "seed": seed}
        row |= measure(prepare(population, form, seed, kept[population.name]))
        with path.open("a") as lines:
            lines.write(json.dumps(row) + "\n")


def summarise(rows: list[dict[str, Any]], rule: str) -> list[str]:
    """Cells of one line of the table."""
    rows = [row for row in rows if rule in row]
    shares = [np.array(row[rule]["accepted"]) for row in rows]
    accepted, expected = np.concatenate(shares), np.concatenate([row[rule]["expected"] for row in rows])
    several = [share for share in shares if len(share) >= 4]
    low = sum((share >= LEVEL).mean() < 0.8 for share in several)
    applicants, served = sum(row["applicants"] for row in rows), sum(row[rule]["served"] for row in rows)
    efforts = [(row["local"]["effort"], row["global"]["effort"]) for row in rows if row["local"]["effort"]]
    ratio = np.mean([one / other for one, other in efforts]) if efforts else np.nan
    some = len(accepted) > 0
    return [
        f"{served / max(applicants, 1):.2f}",
        f"{len(accepted)}",
        f"{(accepted >= LEVEL).mean():.3f}" if some else "-",
        f"{low} of {len(several)}",
        f"{accepted.mean():.3f} / {expected.mean():.3f}" if some else "-",
        f"{ratio:.2f}" if rule == "local" and efforts else "-" if rule == "local" else "1",
    ]


def table(rows: list[dict[str, Any]]) -> str:
    """Return the table of docs/evidence.md."""
    heads = ("columns left", "reliability", "samples", "served", "options", "kept", "samples with under .8 kept")
    heads += ("accepted / expected rate", "effort")
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for form, words in FORMS.items():
        own = [row for row in rows if row["form"] == form]
        for rule, name in (("local", "each applicant's"), ("global", "one for all")) if own else ():
            lines.append(f"| {words} | {name} | {len(own)} | {' | '.join(summarise(own, rule))} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, or write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=200, help="seed of the first; those below chose the rule")
    parser.add_argument("--forms", nargs="*", default=list(FORMS), choices=list(FORMS))
    parser.add_argument("--write", action="store_true", help="write the table of docs/evidence.md")
    given = parser.parse_args()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        if not given.write:
            run(given.seeds, given.first, given.forms)
    text = table(read_lines(CACHE / "weak_columns.jsonl"))
    print(text)
    if given.write:
        before, _, rest = EVIDENCE.read_text(encoding="utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        EVIDENCE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
