"""Rows of a benchmark, tables on the terminal, benchmarks/PERFORMANCE.md, and its short table in docs/evidence.md."""

import inspect
import os
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from benchmarks import ROOT

PAGE = ROOT / "benchmarks" / "PERFORMANCE.md"
EVIDENCE = ROOT / "docs" / "evidence.md"
BEGIN, END = "<!-- begin: python -m benchmarks -->", "<!-- end of benchmarks -->"
README = ROOT / "README.md"
PACKAGES = ("copa-recourse", "numpy", "scipy", "scikit-learn", "cvxpy", "clarabel")
HEADINGS = ("what", "size", "COPA", "baseline", "baseline took", "measured", "target", "met", "status", "accuracy")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One measurement: our seconds, those of the baseline if there is one, and the number that has a target.

    Attributes
    ----------
    measured, unit : the number that counts; left out, it is how many times faster than the baseline we are
    at_least, at_most : its target, if it has one
    status : how the results ended, on either side
    accuracy : proven gap, difference of the two sides, or what else says that the same thing was computed
    """

    name: str
    size: str
    seconds: float
    baseline: str = ""
    baseline_seconds: float | None = None
    measured: float | None = None
    unit: str = "x faster"
    at_least: float | None = None
    at_most: float | None = None
    status: str = ""
    accuracy: str = ""

    @property
    def value(self) -> float | None:
        """The number that counts."""
        if self.measured is not None or self.baseline_seconds is None:
            return self.measured
        return self.baseline_seconds / self.seconds

    @property
    def target(self) -> str:
        """Its target in words, empty without one."""
        if self.at_least is not None:
            return f"at least {self.at_least:,g}"
        return "" if self.at_most is None else f"at most {self.at_most:,g}"

    @property
    def met(self) -> str:
        """`yes`, `NO`, or empty without a target."""
        if not self.target or self.value is None:
            return ""
        above = self.at_least is None or self.value >= self.at_least
        below = self.at_most is None or self.value <= self.at_most
        return "yes" if above and below else "NO"

    def cells(self) -> list[str]:
        """One text per heading."""
        value = "" if self.value is None else f"{_number(self.value)} {self.unit}"
        baseline = "" if self.baseline_seconds is None else _duration(self.baseline_seconds)
        ours = [self.name, self.size, _duration(self.seconds)]
        return [*ours, self.baseline, baseline, value, self.target, self.met, self.status, self.accuracy]


@dataclass(frozen=True)
class Section:
    """One question, what it means (the docstring of its file), and the rows that answer it."""

    name: str
    meaning: str
    rows: list[Row]

    def as_text(self) -> str:
        """For the terminal."""
        table = self._table()
        widths = [max(len(line[k]) for line in table) for k in range(len(table[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in table]
        return "\n".join(["", f"== {self.name}: {self.meaning.splitlines()[0]}", *lines])

    def as_markdown(self) -> str:
        """For the page."""
        head, *body = ["| " + " | ".join(line) + " |" for line in self._table()]
        rule = "|" + "---|" * head.count(" | ") + "---|"
        return "\n".join([f"## {self.name}", "", inspect.cleandoc(self.meaning), "", head, rule, *body, ""])

    def _table(self) -> list[list[str]]:
        """Headings and cells, without the columns that are empty in every row."""
        lines = [list(HEADINGS), *(row.cells() for row in self.rows)]
        used = [k for k in range(len(HEADINGS)) if any(line[k] for line in lines[1:])]
        return [[line[k] for k in used] for line in lines]


def load_average() -> str:
    """What the machine was already doing: a busy one makes every number worse."""
    return f"{os.getloadavg()[0]:.2f}"


def machine() -> str:
    """Its processor and cores."""
    return f"{_processor()}, {os.cpu_count()} cores"


def surroundings(load: str) -> str:
    """Date, machine and versions, as a Markdown list."""
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return "\n".join(
        [
            f"- Date: {datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
            f"- Machine: {machine()}, load {load} before the run; {platform.system()}",
            f"- Python {platform.python_version()}, {packages}",
        ]
    )


def write_page(sections: list[Section], load: str) -> None:
    """Write sections into benchmarks/PERFORMANCE.md in place of their namesakes, and targets into docs/evidence.md."""
    stamp = f"Measured {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, load {load} before the run."
    parts = _known_parts() | {section.name: f"{section.as_markdown()}\n{stamp}\n" for section in sections}
    yes, no = (sum(part.count(f"| {word} |") for part in parts.values()) for word in ("yes", "NO"))
    verdict = f"{yes} of {yes + no} targets met" + (f"; missed in {', '.join(_missed(parts))}." if no else ".")
    head = [
        "# Performance",
        "",
        "Generated by `make bench` (`python -m benchmarks [names]`); do not edit. Both sides of every comparison ran",
        "in the same process and took turns; one core unless a row says otherwise.",
        "",
        surroundings(load),
        "",
        verdict,
        "",
    ]
    PAGE.write_text("\n".join(head) + "\n" + "\n".join(parts.values()), encoding="utf-8")
    before, rest = EVIDENCE.read_text(encoding="utf-8").split(BEGIN)
    EVIDENCE.write_text(f"{before}{BEGIN}\n{targets_table(parts)}{END}{rest.split(END)[1]}", encoding="utf-8")


def targets_table(parts: dict[str, str]) -> str:
    """Describe in short the first row of each section that has a target."""
    columns = ("what", "size", "baseline", "measured", "target")
    lines = ["| benchmark | " + " | ".join(columns) + " |", "|" + "---|" * (1 + len(columns))]
    for name, part in parts.items():
        table = [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("| ")]
        rows = [dict(zip(table[0], cells, strict=False)) for cells in table[1:]]
        first = next((row for row in rows if row.get("target")), None)
        if first is not None:
            lines.append(f"| {name} | " + " | ".join(first.get(column, "") for column in columns) + " |")
    return "\n".join(lines) + "\n"


def _known_parts() -> dict[str, str]:
    """Sections of the page as it is, by name."""
    if not PAGE.exists():
        return {}
    _, *parts = PAGE.read_text(encoding="utf-8").split("\n## ")
    return {part.split("\n", 1)[0]: f"## {part.rstrip()}\n" for part in parts}


def _missed(parts: dict[str, str]) -> list[str]:
    return [name for name, part in parts.items() if "| NO |" in part]


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _duration(seconds: float) -> str:
    if seconds >= 1.0:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} us"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100.0 else f"{value:.3g}"


def write_first_calls(seconds: dict[str, float]) -> None:
    """State in the README what the first calls take, between its two marks."""
    text = README.read_text(encoding="utf-8")
    before, rest = text.split("<!-- written by `make bench` -->\n")
    _, after = rest.split("<!-- end -->\n")
    plan, bound = seconds["first fit and plan"], seconds["second bound, by the clock"]
    README.write_text(
        f"{before}<!-- written by `make bench` -->\n"
        f"The first `fit` and `plan` above take {plan:.1f} s, a bound {bound * 1e3:.1f} ms: "
        f"[performance](docs/evidence.md#performance).\n<!-- end -->\n"
        f"{after}",
        encoding="utf-8",
    )
