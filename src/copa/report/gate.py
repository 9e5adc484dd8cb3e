"""A gate as a page: which promises a candidate would break, whose, and why."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.words import counted
from copa.data.tables.cells import as_text
from copa.report import figures
from copa.report.page import page
from copa.report.portfolio import portfolio_view

if TYPE_CHECKING:
    from copa.promises.gate_counts import Part, SwapSet
    from copa.promises.gate_report import GateReport
    from copa.promises.portfolio_report import PortfolioRisk

MOST_LISTED = 200  # broken promises on the page; the JSON document and the table have more
MOST_PARTS = 3  # of a change of score


def gate_page(report: "GateReport", path: str | Path | None = None, *, portfolio: "PortfolioRisk | None" = None) -> str:
    """Return a page about a gate, one HTML document that needs no network.

    Parameters
    ----------
    report : GateReport
    path : str or Path, optional
        File to write it to as well.
    portfolio : PortfolioRisk, optional
        What the next models are expected to do to the same promises.

    Returns
    -------
    str

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from copa.promises import gate
    >>> from copa.report import gate_page
    >>> past = pd.DataFrame({"income": range(20, 60)})
    >>> candidate = LogisticRegression().fit(past, past["income"] >= 40)
    >>> "1 of 2 outstanding promises" in gate_page(gate(candidate, pd.DataFrame({"income": [36, 45]})))
    True
    """
    view = None if portfolio is None else portfolio_view(portfolio, report.broken_share)
    calibration = report.calibration
    drawn = {} if calibration.empty else {"calibration": calibration_figure(report)}
    return page(
        "gate.html.j2",
        path=path,
        title=f"Gate: {counted(report.n_promises, 'outstanding promise')}",
        passed=report.passed,
        facts=_facts(report),
        sentences=report.in_words(),
        parts_of=[(name, [_part(part) for part in parts]) for name, parts in report.parts.items()],
        calibrated=not calibration.empty,
        swaps=[_swap(name, it) for name, it in (("promised rows", report.swap), ("reference", report.reference)) if it],
        swap_groups=_swap_groups(report),
        causes=[_cause(cause) for cause in report.causes],
        why_not=report.why_not,
        unit=report.unit,
        compared=report.swap is not None,
        broken=[_broken(key, row) for key, row in report.broken.head(MOST_LISTED).iterrows()],
        n_more=max(0, report.n_broken - MOST_LISTED),
        portfolio=view,
        data={"figures": drawn | ({} if view is None else view["figures"])},
    )


def calibration_figure(report: "GateReport") -> figures.Figure:
    """Draw the share accepted against the mean guarantee, by band of guarantees."""
    bands = report.calibration
    marks = figures.trace(
        "scatter",
        figures.numbers(bands["guaranteed"]),
        figures.numbers(bands["accepted"]),
        "%{customdata} promises guaranteed %{x:.3f}: %{y:.3f} accepted",
        mode="markers+lines",
        name="this candidate",
        customdata=[f"{n:,}" for n in bands["promises"].tolist()],
        marker={"size": 10, "color": figures.BLUE},
        line={"color": figures.BLUE, "width": 2},
    )
    low = max(0.0, float(bands[["guaranteed", "accepted"]].to_numpy().min()) - 0.05)
    line = figures.trace(
        "scatter",
        [low, 1.0],
        [low, 1.0],
        mode="lines",
        name="as guaranteed",
        line={"color": figures.GREY, "width": 1.5, "dash": "dash"},
    )
    return figures.figure(
        [line, marks],
        xaxis=figures.axis("mean guarantee", range=[low, 1.01]),
        yaxis=figures.axis("share accepted", range=[low, 1.03]),
        showlegend=True,
    )


def _facts(report: "GateReport") -> list[tuple[str, str, str]]:
    interval = f"{report.interval.low:.2%} to {report.interval.high:.2%}"
    facts = [
        ("Promises tried", f"{report.n_promises:,}", f"to {counted(report.n_applicants, 'applicant')}"),
        ("Broken", f"{report.n_broken:,}", f"{report.broken_share:.2%}, exact: all were tried"),
        ("Allowed", f"{report.n_allowed:,}", f"max_broken={report.limit.given}"),
        ("Interval", interval, "for promises made in the same way to other people"),
        ("As of", report.as_of.isoformat(), ""),
    ]
    if report.expected_share is not None:
        facts.insert(3, ("By the guarantees", f"{report.expected_share:.2%}", "one minus their mean; see below"))
    return facts


def _part(part: "Part") -> list[str]:
    guaranteed = "not known" if part.guaranteed is None else f"{part.guaranteed:.3f}"
    counts = [f"{part.n_promises:,}", f"{part.n_broken:,}", f"{part.broken_share:.2%}"]
    return [part.name, *counts, f"{1.0 - part.broken_share:.3f}", guaranteed]


def _swap(name: str, swap: "SwapSet") -> list[str]:
    cells = [swap.n_rows, swap.n_accepted, swap.gained, swap.lost, swap.both, swap.neither]
    return [name, *("not known" if value is None else f"{value:,}" for value in cells)]


def _swap_groups(report: "GateReport") -> list[tuple[str, list[list[str]]]]:
    """Return by column the groups of the promised rows and of the reference."""
    tables = []
    for words, swap in (("promised rows", report.swap), ("reference", report.reference)):
        for name, groups in ({} if swap is None else swap.groups).items():
            rows = [[g["name"], f"{g['n_rows']:,}", f"{g['gained']:,}", f"{g['lost']:,}"] for g in groups]
            tables.append((f"{name}, {words}", rows))
    return tables


def _cause(cause: Any) -> list[str]:
    before = "" if cause.score_in_force is None else f"{cause.score_in_force:.3f}"
    changes = ", ".join(f"{name} {change:+.3f}" for name, change in cause.changes[:MOST_PARTS])
    return [cause.promise, cause.applicant, before, f"{cause.score:.3f}", changes]


def _broken(key: Any, row: Any) -> list[str]:
    score = "" if not np.isfinite(row["score"]) else f"{row['score']:.3f}"
    guarantee = row["option_guarantee"]
    guaranteed = "" if guarantee is None or not np.isfinite(guarantee) else f"{guarantee:.3f}"
    others = ["" if row[name] is None else as_text(row[name]) for name in ("applicant", "option", "model_version")]
    made = "" if row["made"] is None else str(row["made"])[:10]
    return [str(key), *others, guaranteed, made, score]
