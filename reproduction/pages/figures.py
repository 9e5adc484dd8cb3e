"""Sections of the figures, with what can be said about them in numbers."""

from typing import TYPE_CHECKING

import numpy as np

from reproduction.data import TITLES
from reproduction.pages.model import Grid, Picture, Section, number
from reproduction.radius_figure import outside
from reproduction.shift_figure import PRINTED_A

if TYPE_CHECKING:
    import pandas as pd


def radius_section(bounds: "pd.DataFrame", futures: "pd.DataFrame") -> Section:
    """Bounds against random futures."""
    rows = []
    for (plan, where), part in futures.groupby(["plan", "mean"], sort=False):
        line = bounds[(bounds["plan"] == plan) & (bounds["mean"] == where)]
        rows.append(
            [
                str(plan),
                f"{where} the cone",
                str(len(part)),
                f"{part['samples'].iloc[0]:,}",
                f"{part['validity'].min():.3f} to {part['validity'].max():.3f}",
                f"{line['lower'].iloc[0]:.3f} to {line['upper'].iloc[0]:.3f}",
                f"{line['lower'].iloc[-1]:.3f} to {line['upper'].iloc[-1]:.3f}",
                str(outside(part)),
            ]
        )
    header = [
        "plan",
        "mean",
        "futures",
        "models each",
        "validity",
        "bounds at 0",
        "bounds at 1",
        "outside beyond sampling error",
    ]
    text = (
        "One plan on the synthetic data, of DiCE as in the paper and of COPA beside it, nominal covariance 0.5 I. "
        "Every point is a random pair of moments within a Gelbrich distance of 1, with models drawn from a "
        "distribution that has them: normal, uniform on a sphere, or normal with outliers. A future counts as outside "
        "if its validity leaves [L*, U*] at its own distance by more than five standard errors of sampling."
    )
    return Section("Figure: radius", [text, Grid(header, rows), Picture("fig_radius", "Bounds and random futures")])


def shift_section(table: "pd.DataFrame", *, correlated: bool) -> Section:
    """Validity while the moments move."""
    rows = []
    for kind, part in table.groupby("kind", sort=False):
        for method, line in part.groupby("method", sort=False):
            first, last = line.iloc[0], line.iloc[-1]
            rows.append(
                [
                    str(kind),
                    str(method),
                    str(int(first["applicants"])),
                    number(first["validity"]),
                    number(last["validity"]),
                    f"{first['distance']:.2f} to {last['distance']:.2f}",
                ]
            )
    header = [
        "shift",
        "method",
        "applicants",
        "validity at the start",
        "at the end",
        "Gelbrich distance from the nominal",
    ]
    text = (
        "Nominal moments are the classifier's parameters and 0.5 I, and COPA has weights (2, 200) and no ranges. The "
        "true covariance is (1 + b) times "
    )
    text += (
        "the matrix A of the paper." if correlated else "the identity: even without a shift it is not the nominal one."
    )
    body: list[str | Grid | Picture] = [text]
    if correlated:
        values = ", ".join(f"{value:.3f}" for value in np.linalg.eigvalsh(PRINTED_A))
        body.append(
            f"The matrix A, printed as positive semidefinite, has the eigenvalues {values} and is no covariance. We "
            "take the eigenvalues without their signs, which is what NumPy's sampler does with such a matrix."
        )
    name = "fig_shift_correlated" if correlated else "fig_shift"
    title = "Figure: shift, correlated" if correlated else "Figure: shift"
    return Section(title, [*body, Grid(header, rows), Picture(name, "Validity by kind and size of the shift")])


def mahalanobis_section(table: "pd.DataFrame", protocol: str) -> Section:
    """The Mahalanobis correction with more options and larger budgets."""
    text = "Corrections of DiCE's plans: K options at a budget of 0.1 (left), and K = 3 at other budgets (right)."
    rows = []
    for data, part in table.groupby("data", sort=False):
        for sweep, column, name in (("corrections", "n_corrections", "K"), ("budget", "budget", "Delta")):
            line = part[part["sweep"] == sweep]
            first, last = line.iloc[0], line.iloc[-1]
            cells = [f"{first[m]:.3f} to {last[m]:.3f}" for m in ("lower", "diversity", "proximity")]
            rows.append([TITLES[str(data)], f"{name} from {first[column]:g} to {last[column]:g}", *cells])
    header = ["data", "what grows", "L*", "diversity", "proximity"]
    picture = Picture(f"fig_mahalanobis_{protocol}", "L*, diversity and proximity of corrected plans")
    return Section(f"Figure: Mahalanobis, {protocol} protocol", [text, Grid(header, rows), picture])
