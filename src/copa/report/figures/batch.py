"""Figures about all applicants."""

from typing import TYPE_CHECKING

import numpy as np

from copa.arrays import Array
from copa.report.figures.base import (
    BLUE,
    GREY,
    KIND_COLOURS,
    KIND_DASHES,
    KIND_NAMES,
    VERMILLION,
    Figure,
    axis,
    figure,
    level_line,
    named_rows,
    numbers,
)

if TYPE_CHECKING:
    from copa.report.frontier import Frontier
    from copa.report.groups import Group

STEPS = 101  # guarantees at which the share of menus is drawn
BINS = 20


def reached_shares(values: Array) -> tuple[Array, Array]:
    """Guarantees from 0 to 1, and the share of the menus that reach each of them, both (STEPS,)."""
    levels = np.linspace(0.0, 1.0, STEPS)
    return levels, (values[:, None] >= levels - 1e-12).mean(axis=0)


def guarantees_figure(values: dict[str, Array], level: float | None) -> Figure:
    """Share of the menus that reach a guarantee, for each, any and all options."""
    data = []
    lowest = min(float(own.min()) for own in values.values())
    for kind, own in values.items():
        levels, shares = reached_shares(own)
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": KIND_NAMES[kind],
                "x": numbers(levels),
                "y": numbers(shares),
                "line": {"color": KIND_COLOURS[kind], "dash": KIND_DASHES[kind], "width": 2.5},
                "hovertemplate": "%{y:.0%} of the menus reach %{x:.2f}<extra></extra>",
            }
        )
    return figure(
        data,
        xaxis=axis("guarantee of at least", range=[max(0.0, np.floor(10.0 * lowest) / 10.0 - 0.1), 1]),
        yaxis=axis("share of menus", range=[0, 1.03], tickformat=".0%"),
        shapes=[] if level is None else [level_line(level, vertical=True)],
        showlegend=True,
    )


def efforts_figure(efforts: Array) -> Figure:
    """How many menus have a cheapest option of which effort."""
    counts, edges = np.histogram(efforts, bins=BINS)
    middle = 0.5 * (edges[:-1] + edges[1:])
    data = {
        "type": "bar",
        "x": numbers(middle),
        "y": counts.tolist(),
        "width": numbers(np.diff(edges)),
        "marker": {"color": BLUE, "line": {"color": "#ffffff", "width": 1}},
        "customdata": np.round(np.column_stack([edges[:-1], edges[1:]]), 2).tolist(),
        "hovertemplate": "%{y} menus from %{customdata[0]:.2f} to %{customdata[1]:.2f}<extra></extra>",
    }
    return figure([data], xaxis=axis("effort of the cheapest option"), yaxis=axis("menus", rangemode="tozero"))


def features_figure(names: list[str], shares: Array) -> Figure:
    """Share of the options that change each column."""
    data = {
        "type": "bar",
        "orientation": "h",
        "x": numbers(shares),
        "y": list(range(len(names))),
        "marker": {"color": BLUE},
        "hovertemplate": "%{x:.1%} of the options<extra></extra>",
    }
    shares_axis = axis("share of options", tickformat=".0%", rangemode="tozero", nticks=6)
    return named_rows([data], names, per_row=24, xaxis=shares_axis)


def groups_figure(groups: "list[Group]") -> Figure:
    """Least effort by group: median, middle half, and the range."""
    boxes = []
    for k, group in enumerate(groups):
        quarters = np.quantile(group.effort, [0.0, 0.25, 0.5, 0.75, 1.0]) if group.with_options else np.full(5, np.nan)
        low, first, median, third, high = ([value] for value in numbers(quarters, 3))
        boxes.append(
            {
                "type": "box",
                "orientation": "h",
                "y": [k],
                "lowerfence": low,
                "q1": first,
                "median": median,
                "q3": third,
                "upperfence": high,
                "line": {"color": BLUE, "width": 1.5},
                "fillcolor": "rgba(0,114,178,.18)",
                "hoverinfo": "x",
                "width": 0.5,
            }
        )
    efforts = axis("effort", rangemode="tozero", nticks=6)
    return named_rows(boxes, [group.name for group in groups], per_row=38, xaxis=efforts)


def overall_frontier_figure(frontier: "Frontier", level: float) -> Figure:
    """Median of the least effort at each level, over the applicants who reach it, and how many do."""
    reached = np.isfinite(frontier.effort)
    some = reached.any(axis=0)
    medians = np.full(len(frontier.levels), np.nan)
    medians[some] = [np.median(frontier.effort[reached[:, k], k]) for k in np.flatnonzero(some)]
    line = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": numbers(frontier.levels),
        "y": numbers(medians, 3),
        "customdata": [f"{count} of {len(reached)}" for count in reached.sum(axis=0).tolist()],
        "line": {"color": BLUE, "width": 2.5},
        "marker": {"size": 7},
        "hovertemplate": "level %{x}: median effort %{y:.2f}, reached by %{customdata}<extra></extra>",
    }
    return figure(
        [line],
        xaxis=axis("guarantee asked for"),
        yaxis=axis("least effort (median)", rangemode="tozero"),
        shapes=[level_line(level, vertical=True)],
    )


def corrections_figure(names: list[str], before: Array, after: Array) -> Figure:
    """L* of every plan before and after its correction."""
    rows = list(range(len(names)))
    lowest = float(min(before.min(), after.min()))
    lines = {
        "type": "scatter",
        "mode": "lines",
        "x": [x for a, b in zip(numbers(before), numbers(after), strict=True) for x in (a, b, None)],
        "y": [y for row in rows for y in (row, row, None)],
        "line": {"color": GREY, "width": 1.5},
        "hoverinfo": "skip",
        "showlegend": False,
    }
    dots = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "x": numbers(values),
            "y": rows,
            "marker": {"size": 9, "symbol": symbol, "color": colour},
            "hovertemplate": f"{name}: at least %{{x:.3f}}<extra></extra>",
        }
        for name, values, symbol, colour in (
            ("before", before, "circle-open", VERMILLION),
            ("after", after, "circle", BLUE),
        )
    ]
    least = axis("all hold with at least", range=[max(-0.02, lowest - 0.05), 1.02], nticks=6)
    return named_rows([lines, *dots], names, xaxis=least, showlegend=True)
