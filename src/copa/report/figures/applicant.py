"""Figures about one applicant."""

import numpy as np

from copa.arrays import Array
from copa.report.curves import KINDS, RadiusCurves
from copa.report.figures.base import (
    BLUE,
    GREY,
    KIND_COLOURS,
    KIND_DASHES,
    KIND_NAMES,
    ORANGE,
    VERMILLION,
    Figure,
    axis,
    figure,
    level_line,
    named_rows,
    numbers,
)


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
