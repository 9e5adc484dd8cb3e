"""Tables of what `promised` measured: for the docs, for the sentence that the planner prints, and of variants."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.guarantees.populations import HELD_BACK, POPULATIONS
from benchmarks.guarantees.summary import (
    CONFIDENCES,
    LEVELS,
    MOST,
    Enough,
    Row,
    at,
    enough,
    good_sets,
    kept_in_theory,
    lowest_population,
    mean_kept,
    median_effort,
    pairs,
    rules,
    whatever,
    worst,
)
from copa.models.refits.reliability import LEAST_RELIABILITY

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "src" / "copa" / "plans" / "tested.json"
PAGE = ROOT / "benchmarks" / "GUARANTEES.md"
EVIDENCE = ROOT / "docs" / "evidence.md"
BEGIN, END = "<!-- begin: python -m benchmarks.guarantees.promised --write -->", "<!-- end -->"


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
    """Variants of when data are enough and of the radius, by confidence, pooled over levels."""
    trials = [(words, delivers, c, c) for words, delivers in VARIANTS.items() for c in (0.9, 0.95)]
    trials += [
        ("b at least .6, radius of one direction", VARIANTS["b at least .6"], c, one_sided(c)) for c in CONFIDENCES
    ]
    lines = []
    for words, delivers, confidence, used in trials:
        found, small = pairs(rows, delivers=delivers), sum(not delivers(row) for row in rows)
        some = at(found, confidence=used)
        lowest, name = lowest_population(some)
        each = [number(good_sets(at(some, level=level)), 2) for level in LEVELS]
        lines.append(
            [words, str(small), f"{confidence:g}", str(len(some)), number(mean_kept(some)), number(good_sets(some)),
             " ".join(each), number(worst(some), 2), f"{number(lowest)} ({name})", f"{median_effort(some):.2f}"]
        )  # fmt: skip
    heading = ["rule", "sets too small", "confidence", "sets and levels that deliver", "kept, mean"]
    heading += [f"with {MOST:g} kept", "at each level", "worst", "lowest population", "effort"]
    return markdown(heading, lines)


def one_sided(confidence: float) -> float:
    """The confidence whose radius is the normal quantile of the given one."""
    return round(2.0 * confidence - 1.0, 6)


def former_table(rows: list[Row]) -> str:
    """What the radius of one direction kept, on seeds of its own."""
    found, lines = pairs(rows), []
    for confidence in CONFIDENCES:
        for level in (*LEVELS, None):
            some = at(found, level=level, confidence=one_sided(confidence))
            lowest, name = lowest_population(some)
            lines.append(
                [f"{confidence:g}", "all" if level is None else f"{level:g}", str(len(some)),
                 number(kept_in_theory(some)), number(mean_kept(some)), f"{confidence - 0.03:g}",
                 number(good_sets(some)), number(worst(some), 2), f"{number(lowest)} ({name})",
                 f"{median_effort(some):.2f}"]
            )  # fmt: skip
    heading = ["confidence", "level", "deliver", "kept in theory", "kept, mean", "asked of sets"]
    return markdown([*heading, f"sets with {MOST:g} kept", "worst", "lowest population", "effort"], lines)


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


def target_table(rows: list[Row]) -> str:
    """What was asked of the rule before it was measured, by level and for the levels together."""
    found, lines = pairs(rows), []
    for confidence in CONFIDENCES:
        for level in (*LEVELS, None):
            some = at(found, level=level, confidence=confidence)
            least = confidence - 0.03
            wanted = [(mean_kept(some), 0.97 if confidence == 0.95 else 0.0), (good_sets(some), least)]
            wanted.append((lowest_population(some)[0], 0.9))
            cells = [
                f"{number(got)} ({'-' if not asked else 'yes' if got >= asked else 'no'})" for got, asked in wanted
            ]
            lines.append(
                [
                    f"{confidence:g}",
                    "all" if level is None else f"{level:g}",
                    number(kept_in_theory(some)),
                    cells[0],
                    f"{least:g}",
                    *cells[1:],
                ]
            )
    heading = ["confidence", "level", "kept in theory", "kept, mean (at least .97?)", "asked of sets"]
    return markdown([*heading, f"sets with {MOST:g} kept (met?)", "lowest population (at least .90?)"], lines)


def printed_table(table: list[dict[str, Any]]) -> str:
    """The table that ships."""
    heading = ["confidence", "training sets that deliver", "populations", "kept", f"below {MOST:g}", "worst"]
    counts, shares = ("n_samples", "n_populations"), ("kept", "samples_below", "worst")
    lines = [
        [f"{rule['confidence']:g}", *(str(rule[k]) for k in counts), *(f"{rule[k]:.4f}" for k in shares)]
        for rule in table
    ]
    return markdown(heading, lines)


def summary(rows: list[Row]) -> str:
    """What was measured, the pooled table, and that of the populations that were held back: the part in the docs."""
    sets, small = len(rows), sum(not enough(row) for row in rows)
    parts = [
        (
            f"{sets} training sets of {len({row['population'] for row in rows})} populations, each judged by "
            f"{min(row['judges'] for row in rows)} models on fresh data; {small} of them were too small "
            f"(reliability below {LEAST_RELIABILITY:g}), and every plan made with them is `fragile`."
        ),
        "### All populations",
        pooled_table(rows),
        "### The held-back populations alone",
        pooled_table([row for row in rows if row["population"] in {make().name for make in HELD_BACK}]),
    ]
    return "\n\n".join(part.strip("\n") for part in parts)


def generated(rows: list[Row], development: list[Row], former: list[Row]) -> str:
    """The part of the page that is made of numbers."""
    table = rules(rows)
    asked = (
        "Asked for: a mean of .97 at confidence 0.95; .95 of the options kept in at least the confidence minus 3 "
        "points of the sets; no population below .90."
    )
    one_direction = (
        f"What the normal quantile of the confidence itself kept as the radius, on {len(former)} training sets of "
        f"other seeds ({sum(not enough(row) for row in former)} too small)."
    )
    parts = [
        summary(rows),
        "### Asked for, and measured",
        asked,
        target_table(rows),
        "### By population and size",
        "Mean share of options kept, at level / confidence; the last three columns are at 0.9 / 0.95.",
        population_table(rows),
        "### What the planner prints",
        printed_table(table),
        "### Beside other rules",
        "On the same training sets (300 and 1,000 rows), level 0.9; the default at confidence 0.95.",
        rival_table(rows),
        "### Variants compared on other seeds",
        f"On {len(development)} training sets of the development seeds, the three levels together.",
        variant_table(development),
        "### The quantile of one direction",
        one_direction,
        former_table(former),
    ]
    return "\n\n".join(part.strip("\n") for part in parts)


def write(rows: list[Row], development: list[Row], former: list[Row]) -> str:
    """Write the table that ships, the page and the summary in the docs; returns what was written, in words."""
    made_by = "python -m benchmarks.guarantees.promised --write"
    content = {"made_by": made_by, "levels": list(LEVELS), "rules": rules(rows)}
    SHIPPED.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    for page, numbers in ((PAGE, generated(rows, development, former)), (EVIDENCE, summary(rows))):
        before, rest = page.read_text(encoding="utf-8").split(BEGIN)
        after = rest.split(END, 1)[1]
        page.write_text(f"{before}{BEGIN}\n\n{numbers}\n\n{END}{after}", encoding="utf-8")
    return f"wrote {SHIPPED}, {PAGE} and {EVIDENCE}\n"
