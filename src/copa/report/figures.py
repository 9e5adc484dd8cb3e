"""Figures as plain dictionaries, which the page's script hands to plotly.js."""

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array
from copa._core.words import visible
from copa.analysis.totals import reached_shares
from copa.exceptions import MissingPackageError
from copa.plans.wording import shortened

if TYPE_CHECKING:
    import pandas as pd

    from copa.analysis.curves import RadiusCurves
    from copa.analysis.frontier import Frontier

# Okabe and Ito's colours, which every kind of colour vision tells apart; dashes and shapes say the same again.
BLUE, ORANGE, GREEN, VERMILLION, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#5f6b76"
KIND_COLOURS = {"each": BLUE, "any": GREEN, "all": VERMILLION}
KIND_DASHES = {"each": "solid", "any": "dash", "all": "dot"}
KIND_NAMES = {"each": "each option", "any": "at least one", "all": "all"}
WIDE_NAME, NARROW_NAME = 40, 24  # characters of a name beside a row; the text below says the most important in full
BINS = 20

Figure = dict[str, Any]


def radius_figure(curves: "RadiusCurves", level: float | None) -> Figure:
    """Draw guarantees against the radius of the ambiguity set; the script adds the line of the slider."""
    hover = "radius %{x:.3g}: at least %{y:.3f}"
    data = [_kind_line(kind, numbers(curves.radii, 6), _floored(curves.lower(kind)), hover) for kind in curves.kinds]
    if len(data) == 1:
        data[0]["name"] = "the option"
    return figure(
        data,
        xaxis=axis("radius of the ambiguity set", range=[0, float(curves.radii[-1])]),
        yaxis=axis("holds with at least", range=[0, 1.03]),
        shapes=[] if level is None else [level_line(level, "y", "x")],
        showlegend=len(data) > 1,
    )


def guarantees_figure(guarantees: "pd.DataFrame", level: float | None) -> Figure:
    """Draw the share of the plans that reach a guarantee, for each, any and all options."""
    hover = "%{y:.0%} of the menus reach %{x:.2f}"
    shares = {kind: reached_shares(values) for kind, values in guarantees.items()}
    data = [_kind_line(str(kind), numbers(x), numbers(y), hover) for kind, (x, y) in shares.items()]
    lowest = float(guarantees.to_numpy().min())
    return figure(
        data,
        xaxis=axis("guarantee of at least", range=[max(0.0, np.floor(10.0 * lowest) / 10.0 - 0.1), 1]),
        yaxis=axis("share of menus", range=[0, 1.03], tickformat=".0%"),
        shapes=[] if level is None else [level_line(level, "x", "y")],
        showlegend=True,
    )


def efforts_figure(efforts: Array) -> Figure:
    """Draw a histogram of the efforts of the cheapest options."""
    counts, edges = np.histogram(efforts, bins=BINS)
    bars = trace(
        "bar",
        numbers(0.5 * (edges[:-1] + edges[1:])),
        counts.tolist(),
        "%{y} menus from %{customdata[0]:.2f} to %{customdata[1]:.2f}",
        width=numbers(np.diff(edges)),
        marker={"color": BLUE, "line": {"color": "#ffffff", "width": 1}},
        customdata=np.round(np.column_stack([edges[:-1], edges[1:]]), 2).tolist(),
    )
    return figure([bars], xaxis=axis("effort of the cheapest option"), yaxis=axis("menus", rangemode="tozero"))


def features_figure(names: list[str], shares: Array) -> Figure:
    """Draw the share of the options that change each column."""
    bars = _row_bars(shares, BLUE, "%{x:.1%} of the options")
    shares_axis = axis("share of options", tickformat=".0%", rangemode="tozero", nticks=6)
    return _named_rows([bars], names, per_row=24, xaxis=shares_axis)


def attribution_figure(names: list[str], change: Array) -> Figure:
    """Draw what the worst case takes from, or adds to, the score of an option, part by part."""
    bars = _row_bars(change, [VERMILLION if value < 0.0 else GREY for value in change.tolist()], "%{x:+.3f}")
    change_axis = axis("change of score", zeroline=True, zerolinecolor=GREY, nticks=6)
    return _named_rows([bars], names, xaxis=change_axis)


def frontier_figure(levels: Array, effort: Array, own: tuple[float, float]) -> Figure:
    """Draw the least effort at each level, NaN where it is not reached; `own` is guarantee and effort of a plan."""
    line = _frontier_line(levels, effort, "guarantee %{x}: effort %{y:.2f}", name="least effort found")
    point = trace(
        "scatter",
        _floored([own[0]]),
        numbers([own[1]], 3),
        "this plan: guarantee %{x:.3f}, effort %{y:.2f}",
        mode="markers",
        name="this plan",
        marker={"size": 14, "symbol": "diamond", "color": ORANGE, "line": {"color": "#3b3b3b", "width": 1.5}},
    )
    efforts = axis("least effort", rangemode="tozero")
    return figure([line, point], xaxis=axis("guarantee"), yaxis=efforts, showlegend=True)


def overall_frontier_figure(frontier: "Frontier", level: float) -> Figure:
    """Draw the median of the least effort at each level, over the same applicants at all, and how many reach it."""
    hover = "level %{x}: median effort %{y:.2f}, reached by %{customdata}"
    drawn = frontier.n_drawn
    reached = [f"{count} of {len(frontier.effort)}" for count in frontier.n_reached[:drawn].tolist()]
    return figure(
        [_frontier_line(frontier.levels[:drawn], frontier.medians[:drawn], hover, customdata=reached)],
        xaxis=axis("guarantee asked for"),
        yaxis=axis("least effort (median)", rangemode="tozero"),
        shapes=[level_line(level, "x", "y")],
    )


def groups_figure(groups: "pd.DataFrame") -> Figure:
    """Draw the least effort by group (as `compare_groups` returns them): median, middle half, and the range."""
    boxes = []
    for k, quartiles in enumerate(groups[[0.0, 0.25, 0.5, 0.75, 1.0]].to_numpy()):
        ends = zip(("lowerfence", "q1", "median", "q3", "upperfence"), numbers(quartiles, 3), strict=True)
        style = {"line": {"color": BLUE, "width": 1.5}, "fillcolor": "rgba(0,114,178,.18)", "width": 0.5}
        box = {"type": "box", "orientation": "h", "y": [k], "hoverinfo": "x", **style}
        boxes.append(box | {name: [value] for name, value in ends})
    return _named_rows(boxes, list(groups.index), per_row=38, xaxis=axis("effort", rangemode="tozero", nticks=6))


def corrections_figure(names: list[str], before: Array, after: Array) -> Figure:
    """Draw L* of every plan before and after its correction."""
    rows = list(range(len(names)))
    lines = trace(
        "scatter",
        [x for a, b in zip(numbers(before), numbers(after), strict=True) for x in (a, b, None)],
        [y for row in rows for y in (row, row, None)],
        mode="lines",
        line={"color": GREY, "width": 1.5},
        showlegend=False,
    )
    sides = (("before", before, "circle-open", VERMILLION), ("after", after, "circle", BLUE))
    dots = [
        trace(
            "scatter",
            numbers(values),
            rows,
            f"{name}: at least %{{x:.3f}}",
            mode="markers",
            name=name,
            marker={"size": 9, "symbol": symbol, "color": colour},
        )
        for name, values, symbol, colour in sides
    ]
    lowest = float(min(before.min(), after.min()))
    least = axis("all hold with at least", range=[max(-0.02, lowest - 0.05), 1.02], nticks=6)
    return _named_rows([lines, *dots], names, xaxis=least, showlegend=True)


def plain_text(text: Any) -> str:
    """Escape text of a user: the drawing library reads tags and entities in text."""
    return escape(visible(text), quote=False)


def numbers(values: Any, digits: int = 4) -> list[float | None]:
    """Return numbers as JSON holds them, None where there is none."""
    return [round(float(v), digits) if np.isfinite(v) else None for v in np.asarray(values, dtype=np.float64)]


def _floored(probabilities: Any) -> list[float | None]:
    """Return guarantees with three digits, never higher."""
    return numbers(np.floor(1000.0 * np.asarray(probabilities)) / 1000.0)


def trace(kind: str, x: list[Any], y: list[Any], hover: str = "", **style: Any) -> Figure:
    """Return numbers to be drawn in one style, and what a pointer over them says."""
    words = {"hovertemplate": f"{hover}<extra></extra>"} if hover else {"hoverinfo": "skip"}
    return {"type": kind, "x": x, "y": y, **words, **style}


def _kind_line(kind: str, x: list[Any], y: list[Any], hover: str) -> Figure:
    line = {"color": KIND_COLOURS[kind], "dash": KIND_DASHES[kind], "width": 2.5}
    return trace("scatter", x, y, hover, mode="lines", name=KIND_NAMES[kind], line=line)


def _frontier_line(levels: Array, effort: Array, hover: str, **more: Any) -> Figure:
    style = {"mode": "lines+markers", "line": {"color": BLUE, "width": 2.5}, "marker": {"size": 7}}
    return trace("scatter", numbers(levels), numbers(effort, 3), hover, **style, **more)


def _row_bars(values: Array, colour: Any, hover: str) -> Figure:
    rows = list(range(len(values)))
    return trace("bar", numbers(values), rows, hover, orientation="h", marker={"color": colour})


def axis(title: str = "", **settings: Any) -> Figure:
    """Return an axis with a title, which does not move when a finger slides over the page."""
    return {"title": {"text": title}, "fixedrange": True, **settings}


def figure(data: list[Figure], height: int = 280, **layout: Any) -> Figure:
    """Return a figure as the page's script draws it."""
    return {"data": data, "layout": {"height": height, "bargap": 0.35, **layout}}


def as_plotly(drawn: Figure) -> Any:
    """Return a figure as an object of plotly."""
    try:
        import plotly.graph_objects as plotly
    except ImportError as error:
        raise MissingPackageError("figures are drawn by plotly, which is not installed: pip install plotly") from error
    return plotly.Figure(drawn)


def level_line(level: float, here: str, across: str) -> Figure:
    """Return a line across the figure at the level asked for."""
    ends = {f"{here}0": level, f"{here}1": level, f"{across}0": 0, f"{across}1": 1, f"{across}ref": "paper"}
    return {"type": "line", "line": {"color": GREY, "width": 1.5, "dash": "dash"}, **ends}


def _named_rows(data: list[Figure], names: list[str], per_row: int = 26, **layout: Any) -> Figure:
    """Return a figure with one named row per entry, at 0, 1, 2, ... from the top; a narrow page shows shorter names."""
    wide, narrow = ([plain_text(shortened(name, length)) for name in names] for length in (WIDE_NAME, NARROW_NAME))
    ticks = {
        "tickmode": "array",
        "tickvals": list(range(len(names))),
        "ticktext": wide,
        "range": [len(names) - 0.4, -0.6],
    }
    rows = axis() | ticks | {"automargin": True, "showgrid": False, "zeroline": False}
    return figure(data, height=100 + per_row * len(names), yaxis=rows, **layout) | {"narrow": narrow}
