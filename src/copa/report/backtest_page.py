"""A backtest as a page: what was promised as of earlier versions, and what the later ones said."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from copa._core.words import counted, rounded_down
from copa.analysis.backtest_record import SPLITS, Backtest, HorizonResult, p_value_text
from copa.analysis.verdicts import CONFIDENCE, ERROR
from copa.report import figures
from copa.report.page import page

if TYPE_CHECKING:
    from copa.analysis.backtest_record import Start, Transition

COLOURS = (figures.BLUE, figures.ORANGE, figures.GREEN, figures.VERMILLION)
SYMBOLS = ("circle", "square", "diamond", "triangle-up")
DASHES = ("solid", "dash", "dot", "dashdot")
HEADS = {
    "horizon": ["retrainings ahead", "verdict", "promised", "accepted", "lowest", "guarantee", "expected rate"],
    "basis": [
        "transitions",
        "needed for kept",
        "support at most",
        "lower bound",
        "p-value",
        "promises",
        "inside the set",
        "below the set",
        "effort",
    ],
    "start": ["version", "older ones", "applicants", "with a plan", "options", "guarantee", "expected rate", "radius"],
    "transition": ["from", "by", "retrainings", "promises", "accepted", "inside the set", "below the set"],
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
    >>> from copa.analysis.backtest import Backtest, Start, Transition
    >>> from copa.report import backtest_page
    >>> start = Start("2015", 0, 9, 9, 20, 0.9, None, 3.0, 1.5, 1.64, "confidence")
    >>> said = Transition("2015", "2016", 1, 20, accepted=0.1, inside=0.2, below=0.8)
    >>> found = Backtest(
    ...     kind="versions", versions=("2015", "2016"), guarantee=0.9, guarantee_for="each", weak=(), starts=(start,),
    ...     transitions=(said,), max_horizon=1,
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
        sentences=[backtest.in_words(result.horizon) for result in backtest.horizons],
        headline=backtest.headline,
        error=f"{ERROR:.0%}",
        confidence=f"{CONFIDENCE:.0%}",
        limits=backtest.limits,
        splits=backtest.kind == SPLITS,
        unit=backtest.unit,
        heads=HEADS,
        rows=[horizon_row(result) for result in backtest.horizons],
        basis=[basis_row(result) for result in backtest.horizons],
        starts=[_start(start) for start in backtest.starts],
        sources=[(start.version, start.radius_source) for start in backtest.starts],
        transitions=[_transition(transition) for transition in backtest.transitions],
        data={"figures": drawn},
    )


def backtest_figure(backtest: Backtest) -> Any:
    """Return the shares of promises that each later version accepts as a figure of plotly, for a notebook."""
    return figures.as_plotly(versions_figure(backtest))


def versions_figure(backtest: Backtest) -> figures.Figure:
    """Share of the promises that each later version accepts, a line for each horizon."""
    names = list(dict.fromkeys(t.later for t in sorted(backtest.transitions, key=lambda t: _place(backtest, t.later))))
    data = []
    for k, result in enumerate(backtest.horizons):
        own = [t for t in backtest.transitions if t.horizon == result.horizon]
        own.sort(key=lambda t: _place(backtest, t.later))
        style = {
            "mode": "lines+markers",
            "name": f"{result.horizon} ahead",
            "line": {"color": COLOURS[k % 4], "dash": DASHES[k % 4], "width": 2},
            "marker": {
                "size": 9,
                "symbol": [f"{SYMBOLS[k % 4]}{'' if t.accepted < backtest.guarantee else '-open'}" for t in own],
            },
            "customdata": [figures.plain_text(t.start) for t in own],
        }
        hover = f"%{{y:.3f}} of the {backtest.unit}s of %{{customdata}} accepted by %{{text}}"
        x = [names.index(t.later) for t in own]
        y = figures.numbers([t.accepted for t in own])
        data.append(figures.trace("scatter", x, y, hover, text=[figures.plain_text(t.later) for t in own], **style))
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
    """Promised, accepted on average and at least, and inside the ambiguity set, by horizon."""
    shown = [result for result in backtest.horizons if result.accepted is not None]
    lines = (
        ("accepted", "accepted on average", figures.BLUE, "solid"),
        ("lowest", "accepted by the strictest version", figures.GREEN, "dash"),
        ("inside", "inside the ambiguity set", figures.GREY, "dot"),
    )
    data = []
    for name, words, colour, dash in lines:
        own = [(result.horizon, getattr(result, name)) for result in shown if getattr(result, name) is not None]
        if own:
            style = {"mode": "lines+markers", "name": words, "line": {"color": colour, "dash": dash, "width": 2.5}}
            x, y = [h for h, _ in own], figures.numbers([share for _, share in own])
            data.append(figures.trace("scatter", x, y, f"{words}: %{{y:.3f}}", **style))
    return figures.figure(
        data,
        xaxis=figures.axis("retrainings ahead", dtick=1),
        yaxis=figures.axis("share", range=[-0.03, 1.05]),
        shapes=[figures.level_line(backtest.guarantee, "y", "x")],
        showlegend=True,
    )


def _place(backtest: Backtest, name: str) -> int:
    return backtest.versions.index(name)


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


def _share(value: float | None) -> str:
    return "not known" if value is None else rounded_down(value)


def horizon_row(result: HorizonResult) -> list[str]:
    """A line of the table of what was promised and what later models said, as `HEADS["horizon"]` names its cells."""
    lowest = _share(result.lowest) + ("" if result.lowest_at is None else f" (by {result.lowest_at})")
    promised, accepted, guaranteed, expected = map(
        _share, (result.promised, result.accepted, result.guaranteed, result.expected)
    )
    return [str(result.horizon), result.verdict, promised, accepted, lowest, guaranteed, expected]


def basis_row(result: HorizonResult) -> list[str]:
    """A line of the table of what that rests on: the horizon, and what `HEADS["basis"]` names."""
    return [
        str(result.horizon),
        f"{result.n_transitions:,}",
        f"{result.n_needed:,}",
        _share(result.highest_level),
        _share(result.lower),
        p_value_text(result),
        f"{result.n_promises:,}",
        _share(result.inside),
        _share(result.below),
        "not known" if result.effort is None else f"{result.effort:.2f}",
    ]


def _start(start: "Start") -> list[str]:
    counts = [start.n_older, start.n_applicants, start.n_served, start.n_options]
    return [start.version, *map(str, counts), _share(start.guaranteed), _share(start.expected), f"{start.radius:.3g}"]


def _transition(transition: "Transition") -> list[str]:
    shares = [transition.accepted, transition.inside, transition.below]
    return [
        transition.start,
        transition.later,
        str(transition.horizon),
        f"{transition.n_promises:,}",
        *map(_share, shares),
    ]
