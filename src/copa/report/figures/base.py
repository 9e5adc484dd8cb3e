"""What all figures share: colours, axes, text that the drawing library takes as text."""

from html import escape
from typing import Any

import numpy as np

from copa.plans.visible import visible
from copa.report.words import shortened

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
