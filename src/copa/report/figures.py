"""Figures as plain dictionaries, which the page's script hands to plotly.js."""

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array
from copa._core.words import visible
from copa.analysis.curves import KINDS, RadiusCurves
from copa.plans.wording import shortened

if TYPE_CHECKING:
    from copa.analysis.frontier import Frontier
    from copa.analysis.groups import Group


# Okabe and Ito's colours, which every kind of colour vision tells apart; dashes and shapes say the same again.
BLUE, ORANGE, GREEN, VERMILLION, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#5f6b76"
KIND_COLOURS = {"each": BLUE, "any": GREEN, "all": VERMILLION}
KIND_DASHES = {"each": "solid", "any": "dash", "all": "dot"}
KIND_NAMES = {"each": "each option", "any": "at least one", "all": "all"}

WIDE_NAME, NARROW_NAME = 40, 24  # characters of a name beside a row; the text below says the most important in full

Figure = dict[str, Any]


def plain_text(text: Any) -> str:
    """Text of a user: the drawing library reads tags and entities in text, so that both must be spelt out."""
    return escape(visible(text), quote=False)


def numbers(values: Any, digits: int = 4) -> list[float | None]:
    """Numbers as JSON holds them, None where there is none."""
    return [round(float(v), digits) if np.isfinite(v) else None for v in np.asarray(values, dtype=np.float64)]


def axis(title: str = "", **settings: Any) -> dict[str, Any]:
    """An axis with a title; nothing on it moves when a finger slides over the page."""
    return {"title": {"text": title}, "fixedrange": True, **settings}


def figure(data: list[dict[str, Any]], height: int = 280, **layout: Any) -> Figure:
    """A figure as the page's script draws it."""
    return {"data": data, "layout": {"height": height, "bargap": 0.35, **layout}}


def level_line(level: float, *, vertical: bool = False) -> dict[str, Any]:
    """A line across the figure at the level asked for."""
    here, across = ("x", "y") if vertical else ("y", "x")
    return {
        "type": "line",
        f"{here}0": level,
        f"{here}1": level,
        f"{across}0": 0,
        f"{across}1": 1,
        f"{across}ref": "paper",
        "line": {"color": GREY, "width": 1.5, "dash": "dash"},
    }


def named_rows(data: list[dict[str, Any]], names: list[str], per_row: int = 26, **layout: Any) -> Figure:
    """A figure with one named row per entry, the first on top; a narrow page shows shorter names.

    Parameters
    ----------
    names : of the rows, which lie at 0, 1, 2, ... of the vertical axis
    per_row : height of a row in pixels
    """
    wide, narrow = ([plain_text(shortened(name, length)) for name in names] for length in (WIDE_NAME, NARROW_NAME))
    rows = axis(
        tickmode="array",
        tickvals=list(range(len(names))),
        ticktext=wide,
        range=[len(names) - 0.4, -0.6],
        automargin=True,
        showgrid=False,
        zeroline=False,
    )
    return figure(data, height=100 + per_row * len(names), yaxis=rows, **layout) | {"narrow": narrow}


def radius_figure(curves: RadiusCurves, level: float | None) -> Figure:
    """Guarantees against the radius of the ball; the script adds the line of the slider."""
    single = curves.option_lower.shape[1] == 1
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": "the option" if single else KIND_NAMES[kind],
            "x": numbers(curves.radii, 6),
            "y": numbers(np.floor(1000.0 * curves.lower(kind)) / 1000.0),
            "line": {"color": KIND_COLOURS[kind], "dash": KIND_DASHES[kind], "width": 2.5},
            "hovertemplate": "radius %{x:.3g}: at least %{y:.3f}<extra></extra>",
        }
        for kind in (KINDS[:1] if single else KINDS)
    ]
    return figure(
        data,
        xaxis=axis("radius of the ball", range=[0, float(curves.radii[-1])]),
        yaxis=axis("holds with at least", range=[0, 1.03]),
        shapes=[] if level is None else [level_line(level)],
        showlegend=not single,
    )


def frontier_figure(levels: Array, effort: Array, own: tuple[float, float]) -> Figure:
    """Least effort against the level, with the plan at hand.

    Parameters
    ----------
    levels, effort : (L,) of one applicant; NaN where no menu reaches the level
    own : guarantee and effort of the plan at hand
    """
    line = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": "least effort found",
        "x": numbers(levels),
        "y": numbers(effort, 3),
        "line": {"color": BLUE, "width": 2.5},
        "marker": {"size": 7},
        "hovertemplate": "guarantee %{x}: effort %{y:.2f}<extra></extra>",
    }
    point = {
        "type": "scatter",
        "mode": "markers",
        "name": "this plan",
        "x": numbers([np.floor(1000.0 * own[0]) / 1000.0]),
        "y": numbers([own[1]], 3),
        "marker": {"size": 14, "symbol": "diamond", "color": ORANGE, "line": {"color": "#3b3b3b", "width": 1.5}},
        "hovertemplate": "this plan: guarantee %{x:.3f}, effort %{y:.2f}<extra></extra>",
    }
    return figure(
        [line, point],
        xaxis=axis("guarantee"),
        yaxis=axis("least effort", rangemode="tozero"),
        showlegend=True,
    )


def leaning_figure(names: list[str], change: Array) -> Figure:
    """What the worst case takes from, or adds to, the score of an option, part by part."""
    data = {
        "type": "bar",
        "orientation": "h",
        "x": numbers(change),
        "y": list(range(len(names))),
        "marker": {"color": [VERMILLION if value < 0.0 else GREY for value in change.tolist()]},
        "hovertemplate": "%{x:+.3f}<extra></extra>",
    }
    change_axis = axis("change of score", zeroline=True, zerolinecolor=GREY, nticks=6)
    return named_rows([data], names, xaxis=change_axis)


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
