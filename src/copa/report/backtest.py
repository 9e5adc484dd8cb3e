"""A backtest as a page: what was promised as of earlier versions, and what the later ones said."""

import math
from pathlib import Path
from typing import Any

from copa._core.words import counted, rounded_down
from copa.analysis.backtest_record import SPLITS, Backtest, p_value_text
from copa.analysis.verdicts import CONFIDENCE, ERROR
from copa.report import figures
from copa.report.page import page

COLOURS = (figures.BLUE, figures.ORANGE, figures.GREEN, figures.VERMILLION)
SYMBOLS = ("circle", "square", "diamond", "triangle-up")
DASHES = ("solid", "dash", "dot", "dashdot")
CAPTIONS = {"horizons": "What was promised, and what the later models said", "basis": "What this rests on"}
COLUMNS = {  # of the tables
    "horizons": ["horizon", "verdict", "promised", "accepted", "lowest", "guaranteed", "expected"],
    "basis": [
        "horizon",
        "n_transitions",
        "n_needed",
        "highest_level",
        "lower",
        "p_value",
        "n_promises",
        "inside",
        "below",
        "effort",
    ],
    "starts": ["version", "n_older", "n_applicants", "n_served", "n_options", "guaranteed", "expected", "radius"],
    "sources": ["version", "radius_source"],
    "transitions": ["start", "later", "horizon", "n_promises", "accepted", "inside", "below"],
}
HEADS = {  # of columns that are called otherwise on the page
    "horizon": "retrainings ahead",
    "n_transitions": "transitions",
    "n_needed": "needed for kept",
    "highest_level": "support at most",
    "lower": "lower bound",
    "p_value": "p-value",
    "n_promises": "promises",
    "inside": "inside the set",
    "below": "below the set",
    "guaranteed": "guarantee",
    "expected": "expected rate",
    "n_older": "older ones",
    "n_applicants": "applicants",
    "n_served": "with a plan",
    "n_options": "options",
    "radius_source": "radius",
    "start": "from",
    "later": "by",
}


def backtest_page(backtest: Backtest, path: str | Path | None = None) -> str:
    """Return a page about a backtest, one HTML document that needs no network.

    Parameters
    ----------
    backtest : Backtest
    path : str or Path, optional
        File to write it to as well.

    Returns
    -------
    str

    Examples
    --------
    >>> import pandas as pd
    >>> from copa.analysis.backtest import Backtest
    >>> from copa.report import backtest_page
    >>> said = {"start": "2015", "later": "2016", "horizon": 1, "n_promises": 20, "accepted": 0.1}
    >>> found = Backtest(
    ...     kind="versions", versions=("2015", "2016"), guarantee=0.9, guarantee_for="each", weak=(),
    ...     starts=pd.DataFrame(), transitions=pd.DataFrame([said]), max_horizon=1,
    ... )
    >>> "There are too few transitions to say whether promises were kept." in backtest_page(found)
    True
    """
    drawn = {"versions": versions_figure(backtest), "horizons": horizons_figure(backtest)}
    n = len(backtest.versions) // 2 if backtest.kind == SPLITS else len(backtest.versions)
    return page(
        "backtest.html.j2",
        path=path,
        title=f"Backtest over {counted(n, 'split' if backtest.kind == SPLITS else 'version')}",
        facts=_facts(backtest),
        sentences=[backtest.in_words(h) for h in backtest.horizons.index],
        headline=backtest.headline,
        error=f"{ERROR:.0%}",
        confidence=f"{CONFIDENCE:.0%}",
        limits=backtest.limits,
        splits=backtest.kind == SPLITS,
        unit=backtest.unit,
        tables=backtest_tables(backtest),
        captions=CAPTIONS,
        data={"figures": drawn},
    )


def backtest_figure(backtest: Backtest) -> Any:
    """Draw the share of the promises that each later version accepts, for a notebook.

    Parameters
    ----------
    backtest : Backtest

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> import pandas as pd
    >>> from copa.analysis.backtest import Backtest
    >>> from copa.report import backtest_figure
    >>> said = {"start": "2015", "later": "2016", "horizon": 1, "n_promises": 20, "accepted": 0.1}
    >>> found = Backtest(
    ...     kind="versions", versions=("2015", "2016"), guarantee=0.9, guarantee_for="each", weak=(),
    ...     starts=pd.DataFrame(), transitions=pd.DataFrame([said]), max_horizon=1,
    ... )
    >>> list(backtest_figure(found).data[0].y)
    [0.1]
    """
    return figures.as_plotly(versions_figure(backtest))


def versions_figure(backtest: Backtest) -> figures.Figure:
    """Draw the share of the promises that each later version accepts, a line for each horizon."""
    place = {name: k for k, name in enumerate(backtest.versions)}
    said = backtest.transitions.sort_values("later", key=lambda names: names.map(place), kind="stable")
    names = said["later"].unique().tolist()
    data = []
    for k, h in enumerate(backtest.horizons.index):
        asked = said[said["horizon"] == h]
        hollow = ["" if share < backtest.guarantee else "-open" for share in asked["accepted"]]
        style = {
            "mode": "lines+markers",
            "name": f"{h} ahead",
            "line": {"color": COLOURS[k % 4], "dash": DASHES[k % 4], "width": 2},
            "marker": {"size": 9, "symbol": [f"{SYMBOLS[k % 4]}{ending}" for ending in hollow]},
            "customdata": [figures.plain_text(name) for name in asked["start"]],
            "text": [figures.plain_text(name) for name in asked["later"]],
        }
        hover = f"%{{y:.3f}} of the {backtest.unit}s of %{{customdata}} accepted by %{{text}}"
        x = [names.index(name) for name in asked["later"]]
        data.append(figures.trace("scatter", x, figures.numbers(asked["accepted"]), hover, **style))
    ticks = {"tickmode": "array", "tickvals": list(range(len(names)))}
    ticks |= {"ticktext": [figures.plain_text(name) for name in names]}
    return figures.figure(
        data,
        xaxis=figures.axis("later version") | ticks,
        yaxis=figures.axis(f"share of {backtest.unit}s accepted", range=[-0.03, 1.05]),
        shapes=[figures.level_line(backtest.guarantee, "y", "x")],
        showlegend=len(data) > 1,
    )


def horizons_figure(backtest: Backtest) -> figures.Figure:
    """Draw the shares accepted on average and at least, and inside the ambiguity set, by horizon."""
    lines = (
        ("accepted", "accepted on average", figures.BLUE, "solid"),
        ("lowest", "accepted by the strictest version", figures.GREEN, "dash"),
        ("inside", "inside the ambiguity set", figures.GREY, "dot"),
    )
    data = []
    for name, words, colour, dash in lines:
        shares = backtest.horizons[name].dropna()
        if len(shares):
            style = {"mode": "lines+markers", "name": words, "line": {"color": colour, "dash": dash, "width": 2.5}}
            x, y = shares.index.tolist(), figures.numbers(shares)
            data.append(figures.trace("scatter", x, y, f"{words}: %{{y:.3f}}", **style))
    return figures.figure(
        data,
        xaxis=figures.axis("retrainings ahead", dtick=1),
        yaxis=figures.axis("share", range=[-0.03, 1.05]),
        shapes=[figures.level_line(backtest.guarantee, "y", "x")],
        showlegend=True,
    )


def _facts(backtest: Backtest) -> list[tuple[str, str, str]]:
    whom = {"each": "for each option", "all": "for all options of a plan", "any": "for at least one option of a plan"}
    served = backtest.share_served
    facts = [
        ("Promised", f"{backtest.guarantee:g}", whom[backtest.guarantee_for]),
        ("Planned as of", counted(len(backtest.starts), "split" if backtest.kind == SPLITS else "version"), ""),
        ("Asked", counted(len(backtest.transitions), "time"), "pairs of an earlier and a later model"),
    ]
    if served is not None:
        facts.append(("Applicants with a plan", rounded_down(served), "share of those planned for; others got none"))
    return facts


def backtest_tables(backtest: Backtest) -> dict[str, dict[str, list[Any]]]:
    """Return the tables of the page: the "head" of each, and its "rows" of texts."""
    results = backtest.horizons.reset_index()
    strictest = [f" (by {name})" if name else "" for name in results["lowest_at"]]
    lowest = [_text("lowest", share) + name for share, name in zip(results["lowest"], strictest, strict=True)]
    tables = {
        "horizons": results.assign(lowest=lowest),
        "basis": results,
        "starts": backtest.starts,
        "sources": backtest.starts,
        "transitions": backtest.transitions,
    }
    return {
        name: {
            "head": [HEADS.get(column, column) for column in columns],
            "rows": [[_text(*cell) for cell in row.items()] for row in tables[name][columns].to_dict("records")],
        }
        for name, columns in COLUMNS.items()
    }


def _text(column: str, value: Any) -> str:
    """Return a cell of a table as it is printed; bounds and shares are rounded down."""
    if isinstance(value, (str, int)):
        return f"{value:,}" if isinstance(value, int) else value
    if math.isnan(value):
        return "not known"
    formats = {"p_value": p_value_text, "effort": "{:.2f}".format, "radius": "{:.3g}".format}
    return formats.get(column, rounded_down)(value)
