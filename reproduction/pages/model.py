"""What a page is made of, before it is HTML or Markdown."""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Grid:
    """A table of texts."""

    header: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Picture:
    """A picture in the folder of results, by the name of its files without ending, and what it shows."""

    name: str
    caption: str


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it: paragraphs, tables and pictures."""

    title: str
    body: list[str | Grid | Picture] = field(default_factory=list)


def number(value: float, digits: int = 3) -> str:
    """Write a number; a dash for none."""
    return "-" if value is None or np.isnan(value) else f"{value:.{digits}f}"


def spread(mean: float, sd: float) -> str:
    """Write a mean and its standard deviation."""
    return "-" if np.isnan(mean) else f"{mean:.3f} ± {sd:.3f}"


def share(value: float) -> str:
    """Write a share in per cent."""
    return "-" if np.isnan(value) else f"{100.0 * value:.0f} %"


def seconds(value: float) -> str:
    """Write a time."""
    if value >= 1.0:
        return f"{value:.0f} s"
    return f"{1e3 * value:.1f} ms"
