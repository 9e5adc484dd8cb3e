"""Sections of the figures, with what can be said about them in numbers, and their pictures (PNG and PDF)."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from copa import DataError
from reproduction.data.shifted import DATA_SETS, TITLES
from reproduction.experiments.figures import PRINTED_A, count_outside
from reproduction.pages.page import Grid, Picture, Section, number

if TYPE_CHECKING:
    import pandas as pd

COLOURS = {"DiCE": "#b0413e", "MahalanobisCrr": "#d99a2b", "COPA": "#2f6f9f"}
SHADE = 0.15


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
                str(count_outside(part)),
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


def require_matplotlib() -> None:
    """Raise if the package that draws is not installed."""
    if find_spec("matplotlib") is None:
        raise DataError("pictures need matplotlib; pip install 'copa-recourse[baselines]' brings it")


def draw_radius(bounds: "pd.DataFrame", futures: "pd.DataFrame", folder: Path) -> None:
    """Draw bounds against futures, for a mean outside and inside the cone, one row of panels per plan."""
    plans = list(dict.fromkeys(futures["plan"]))
    figure, axes = _panels(len(plans), 2, 9.0, 3.4 * len(plans))
    for row, plan in zip(axes, plans, strict=True):
        for axis, where in zip(row, ("outside", "inside"), strict=True):
            points = futures[(futures["plan"] == plan) & (futures["mean"] == where)]
            axis.scatter(points["distance"], points["validity"], s=6, color="#3a8a5f", alpha=0.5, label="futures")
            lines = bounds[(bounds["plan"] == plan) & (bounds["mean"] == where)]
            axis.plot(lines["radius"], lines["lower"], color="#2f6f9f", label="L*")
            axis.plot(lines["radius"], lines["upper"], color="#b0413e", label="U*")
            axis.set(title=f"{plan}, mean {where} the cone", xlabel="Gelbrich distance", ylabel="validity")
            axis.set_ylim(-0.03, 1.03)
    axes[0][0].legend(frameon=False)
    _save(figure, folder, "fig_radius")


def draw_shift(table: "pd.DataFrame", folder: Path, name: str) -> None:
    """Draw validity by the size of each kind of shift, one line per method."""
    titles = {"mean": "mean shift", "covariance": "covariance shift", "both": "mean and covariance shift"}
    figure, axes = _panels(1, 3, 12.0, 3.4)
    for axis, (kind, title) in zip(axes[0], titles.items(), strict=True):
        for method, rows in table[table["kind"] == kind].groupby("method", sort=False):
            colour = COLOURS[str(method)]
            axis.plot(rows["size"], rows["validity"], color=colour, label=method)
            low, high = rows["validity"] - rows["validity_sd"], rows["validity"] + rows["validity_sd"]
            axis.fill_between(rows["size"], low.clip(0.0), high.clip(upper=1.0), color=colour, alpha=SHADE, linewidth=0)
        axis.set(title=title, xlabel="share of the largest shift", ylabel="empirical validity", ylim=(-0.03, 1.03))
    axes[0][0].legend(frameon=False)
    _save(figure, folder, name)


def draw_mahalanobis(table: "pd.DataFrame", folder: Path, name: str) -> None:
    """Draw L*, diversity and proximity by number of corrections and by budget, one row of panels per data set."""
    data = [key for key in DATA_SETS if key in set(table["data"])]
    measures = {"lower": "L*", "diversity": "diversity", "proximity": "proximity"}
    figure, axes = _panels(len(data), 6, 16.0, 2.6 * len(data))
    sweeps = (("corrections", "n_corrections", "K"), ("budget", "budget", "Delta"))
    for row, key in enumerate(data):
        for half, (sweep, column, label) in enumerate(sweeps):
            rows = table[(table["data"] == key) & (table["sweep"] == sweep)]
            for k, (measure, title) in enumerate(measures.items()):
                axis = axes[row][3 * half + k]
                low, high = rows[measure] - rows[f"{measure}_sd"], rows[measure] + rows[f"{measure}_sd"]
                axis.plot(rows[column], rows[measure], color=COLOURS["COPA"], marker="o", markersize=3)
                axis.fill_between(rows[column], low, high, color=COLOURS["COPA"], alpha=SHADE, linewidth=0)
                axis.set(xlabel=label, title=f"{TITLES[key]}: {title}")
    _save(figure, folder, name)


def _panels(n_rows: int, n_columns: int, width: float, height: float) -> tuple[Any, Any]:
    """A figure of panels, drawn without a screen."""
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def _save(figure: Any, folder: Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for ending in ("png", "pdf"):
        figure.savefig(folder / f"{name}.{ending}", dpi=110)
