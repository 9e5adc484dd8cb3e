"""Tables of what `promised` measured: for the docs, for the sentence that the planner prints, and of variants."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.guarantees.populations import HELD_BACK, POPULATIONS
from copa.uncertainty.reliability import LEAST_RELIABILITY

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "src" / "copa" / "uncertainty" / "tested.json"
PAGE = ROOT / "docs" / "guarantees.md"
BEGIN, END = "<!-- begin: python -m benchmarks.guarantees.promised --write -->", "<!-- end -->"
MOST = 0.95  # share of its options that a good training set keeps
FEWEST = 10  # options from which on a training set can be the worst
LEVELS, CONFIDENCES = (0.8, 0.9, 0.95), (0.9, 0.95, 0.99)

Row = dict[str, Any]
Enough = Callable[[Row], bool]
"""Whether a training set has data enough for the planner to deliver anything."""


@dataclass(frozen=True)
class Pair:
    """What one training set delivered at one level and confidence.

    Attributes
    ----------
    row : dict
        The training set.
    level, confidence : float
    served : int
        Applicants with an "ok" plan.
    options, kept : int
        Delivered, and accepted by at least the level's share of the judges.
    effort : float
        Relative to plans that are not robust, for the same applicants.
    """

    row: Row
    level: float
    confidence: float | None
    served: int
    options: int
    kept: int
    effort: float

    @property
    def share(self) -> float:
        """Of the options, kept."""
        return self.kept / self.options

    @property
    def fragile(self) -> float:
        """Share of the applicants without an "ok" plan."""
        return 1.0 - self.served / self.row["applicants"]


def enough(row: Row) -> bool:
    """The planner's own rule."""
    return bool(row["reliability"] >= LEAST_RELIABILITY)


def whatever(row: Row) -> bool:  # noqa: ARG001 - for rules that deliver however few the data are
    """No condition."""
    return True


def pairs(rows: Iterable[Row], rule: str = "default", delivers: Enough = enough) -> list[Pair]:
    """Every level and confidence of every training set with enough data, whether it delivered or not."""
    found = []
    for row in rows:
        for made in row["outcomes"] if delivers(row) else ():
            if made["rule"] == rule:
                accepted, (effort, base) = np.array(made["accepted"]), made["effort"]
                kept = int((accepted >= made["level"] * row["judges"] - 1e-9).sum())
                ratio = effort / base if base else np.nan
                found.append(Pair(row, made["level"], made["confidence"], made["served"], len(accepted), kept, ratio))
    return found


def at(found: Iterable[Pair], *, level: float | None = None, confidence: float | None = None) -> list[Pair]:
    """Those at a level and a confidence that delivered something."""
    some = [p for p in found if p.options and (level is None or p.level == level)]
    return [p for p in some if confidence is None or p.confidence == confidence]


def mean_kept(found: list[Pair]) -> float:
    """Mean over training sets of the share of options kept."""
    return float(np.mean([p.share for p in found])) if found else np.nan


def good_sets(found: list[Pair]) -> float:
    """Share of the training sets that kept enough of their options."""
    return float(np.mean([p.share >= MOST for p in found])) if found else np.nan


def worst(found: list[Pair]) -> float:
    """Lowest share kept by a training set with some options."""
    return min((p.share for p in found if p.options >= FEWEST), default=np.nan)


def median_effort(found: list[Pair]) -> float:
    """Median over training sets of the effort beside plans that are not robust."""
    ratios = [p.effort for p in found if np.isfinite(p.effort)]
    return float(np.median(ratios)) if ratios else np.nan


def lowest_population(found: list[Pair]) -> tuple[float, str]:
    """The lowest mean over a population's training sets, and its name."""
    names = sorted({p.row["population"] for p in found})
    return min(
        ((mean_kept([p for p in found if p.row["population"] == name]), name) for name in names), default=(np.nan, "")
    )


def rules(rows: list[Row]) -> list[dict[str, Any]]:
    """The table that ships, one entry for each confidence, pooled over levels."""
    table, found = [], pairs(rows)
    for confidence in CONFIDENCES:
        some = at(found, confidence=confidence)
        sets = {(p.row["population"], p.row["n"], p.row["seed"]) for p in some}
        table.append(
            {
                "confidence": confidence,
                "n_samples": len(sets),
                "n_populations": len({name for name, _, _ in sets}),
                "kept": round(mean_kept(some), 4),
                "samples_below": round(1.0 - good_sets(some), 4),
                "worst": round(worst(some), 4),
            }
        )
    return table


def markdown(heading: list[str], lines: list[list[str]]) -> str:
    """A table."""
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [heading, ["---"] * len(heading), *lines]) + "\n"


def number(value: float, digits: int = 3) -> str:
    """A share rounded down, so that it flatters nothing; a dash where there is none."""
    return "-" if not np.isfinite(value) else f"{np.floor(value * 10**digits + 1e-9) / 10**digits:.{digits}f}"


def shown(name: str) -> str:
    """The name of a population, marked if it was held back."""
    return f"{name} (held back)" if name in {make().name for make in HELD_BACK} else name


def groups(rows: list[Row]) -> list[tuple[str, int, list[Row]]]:
    """Training sets by population and size."""
    names = [make().name for make in POPULATIONS + HELD_BACK]
    keys = [(name, n) for name in names for n in sorted({row["n"] for row in rows})]
    found = [(name, n, [r for r in rows if (r["population"], r["n"]) == (name, n)]) for name, n in keys]
    return [group for group in found if group[2]]


def pooled_table(rows: list[Row], rule: str = "default", delivers: Enough = enough) -> str:
    """All populations together, by confidence and level."""
    found, lines = pairs(rows, rule, delivers), []
    for confidence in CONFIDENCES:
        for level in LEVELS:
            some = at(found, level=level, confidence=confidence)
            tried = [p for p in found if (p.level, p.confidence) == (level, confidence)]
            lowest, name = lowest_population(some)
            lines.append(
                [f"{confidence:g}", f"{level:g}", str(len(some)), str(sum(p.options for p in some)),
                 number(mean_kept(some)), number(good_sets(some)), number(worst(some), 2),
                 f"{number(lowest)} ({name})", f"{np.mean([p.fragile for p in tried]):.2f}" if tried else "-",
                 f"{median_effort(some):.2f}"]
            )  # fmt: skip
    heading = [
        "confidence",
        "level",
        "sets that deliver",
        "options",
        "kept, mean",
        f"sets with {MOST:g} kept",
        "worst set",
    ]
    return markdown([*heading, "lowest population", "applicants without", "effort"], lines)


def population_table(rows: list[Row]) -> str:
    """Mean share kept by population and size, at each confidence and level."""
    lines = []
    for name, n, some in groups(rows):
        found = pairs(some)
        middle = at(found, level=0.9, confidence=0.95)
        tried = [p for p in found if (p.level, p.confidence) == (0.9, 0.95)]
        cells = [number(mean_kept(at(found, level=level, confidence=c))) for c in CONFIDENCES for level in LEVELS]
        small, b = sum(not enough(row) for row in some), np.median([row["reliability"] for row in some])
        lines.append(
            [shown(name), f"{n:,}", str(len(some)), str(small), f"{b:.2f}",
             *cells, number(worst(middle), 2), f"{np.mean([p.fragile for p in tried]):.2f}" if tried else "-",
             f"{median_effort(middle):.2f}" if middle else "-"]
        )  # fmt: skip
    kept = [f"{level:g} / {c:g}" for c in CONFIDENCES for level in LEVELS]
    heading = [
        "population",
        "rows",
        "sets",
        "too small",
        "median b",
        *kept,
        "worst set",
        "applicants without",
        "effort",
    ]
    return markdown(heading, lines)


VARIANTS: dict[str, Enough] = {
    "b at least .5": lambda row: bool(row["reliability"] >= 0.5),
    "b at least .6": lambda row: bool(row["reliability"] >= 0.6),
    "b at least .65": lambda row: bool(row["reliability"] >= 0.65),
    "b at least .7": lambda row: bool(row["reliability"] >= 0.7),
    "b at least .75": lambda row: bool(row["reliability"] >= 0.75),
    "b at least .6, 1.5 rows of the rarer class for each column": lambda row: bool(
        row["reliability"] >= 0.6 and row["rarer"] >= 1.5 * row["columns"]
    ),
    "b at least .6, 2 rows of the rarer class for each column": lambda row: bool(
        row["reliability"] >= 0.6 and row["rarer"] >= 2 * row["columns"]
    ),
}


def variant_table(rows: list[Row]) -> str:
    """Variants of when data are enough, by confidence, pooled over levels."""
    lines = []
    for words, delivers in VARIANTS.items():
        found, small = pairs(rows, delivers=delivers), sum(not delivers(row) for row in rows)
        for confidence in CONFIDENCES:
            some = at(found, confidence=confidence)
            lowest, name = lowest_population(some)
            lines.append(
                [words, str(small), f"{confidence:g}", str(len(some)), number(mean_kept(some)),
                 number(good_sets(some)), number(worst(some), 2), f"{number(lowest)} ({name})"]
            )  # fmt: skip
    heading = ["enough is", "sets too small", "confidence", "sets and levels that deliver", "kept, mean"]
    return markdown([*heading, f"with {MOST:g} kept", "worst", "lowest population"], lines)


def rival_table(rows: list[Row]) -> str:
    """The rule beside others on the same training sets, at level 0.9."""
    same = [row for row in rows if any(made["rule"] == "0.3" for made in row["outcomes"])]
    rivals = {
        "the default": at(pairs(same), level=0.9, confidence=0.95),
        "without b (b = 1)": at(pairs(same, "b = 1", whatever)),
        "the default of 0.3": at(pairs(same, "0.3", whatever)),
    }
    lines = []
    for words, some in rivals.items():
        served = sum(p.served for p in some) / sum(row["applicants"] for row in same) if same else np.nan
        lowest, name = lowest_population(some)
        lines.append(
            [words, f"{len(some)} of {len(same)}", number(mean_kept(some)), number(good_sets(some)),
             number(worst(some), 2), f"{number(lowest)} ({name})", f"{1.0 - served:.2f}", f"{median_effort(some):.2f}"]
        )  # fmt: skip
    heading = ["rule", "sets that deliver", "kept, mean", f"sets with {MOST:g} kept", "worst set", "lowest population"]
    return markdown([*heading, "applicants without", "effort"], lines)


def as_text(rows: list[Row]) -> str:
    """Everything, to read at a terminal."""
    parts = [pooled_table(rows), population_table(rows), variant_table(rows), rival_table(rows)]
    return "\n".join(parts) + "\n" + json.dumps(rules(rows), indent=1) + "\n"


def printed_table(table: list[dict[str, Any]]) -> str:
    """The table that ships."""
    heading = ["confidence", "training sets that deliver", "populations", "kept", f"below {MOST:g}", "worst"]
    counts, shares = ("n_samples", "n_populations"), ("kept", "samples_below", "worst")
    lines = [
        [f"{rule['confidence']:g}", *(str(rule[k]) for k in counts), *(f"{rule[k]:.4f}" for k in shares)]
        for rule in table
    ]
    return markdown(heading, lines)


def generated(rows: list[Row], development: list[Row]) -> str:
    """The part of the page that is made of numbers."""
    table = rules(rows)
    sets, small = len(rows), sum(not enough(row) for row in rows)
    summary = (
        f"{sets} training sets of {len({row['population'] for row in rows})} populations, each judged by "
        f"{min(row['judges'] for row in rows)} models on fresh data; {small} of them were too small "
        f"(reliability below {LEAST_RELIABILITY:g}), and every plan made with them is `fragile`."
    )
    parts = [
        summary,
        "### All populations",
        pooled_table(rows),
        "### The held-back populations alone",
        pooled_table([row for row in rows if row["population"] in {make().name for make in HELD_BACK}]),
        "### By population and size",
        "Mean share of options kept, at level / confidence; the last three columns are at 0.9 / 0.95.",
        population_table(rows),
        "### What the planner prints",
        printed_table(table),
        "### Beside other rules",
        "On the same training sets (300 and 1,000 rows), level 0.9; the default at confidence 0.95.",
        rival_table(rows),
        "### Variants compared before the rule was fixed",
        f"On {len(development)} other training sets, the three levels together.",
        variant_table(development),
    ]
    return "\n\n".join(part.strip("\n") for part in parts)


def write(rows: list[Row], development: list[Row]) -> str:
    """Write the table that ships and the generated part of the page; returns what was written, in words."""
    made_by = "python -m benchmarks.guarantees.promised --write"
    content = {"made_by": made_by, "levels": list(LEVELS), "rules": rules(rows)}
    SHIPPED.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    after = rest.split(END, 1)[1]
    PAGE.write_text(f"{before}{BEGIN}\n\n{generated(rows, development)}\n\n{END}{after}", encoding="utf-8")
    return f"wrote {SHIPPED} and {PAGE}\n"
