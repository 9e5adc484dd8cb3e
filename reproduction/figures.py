"""Pictures of the results, as PNG and PDF."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from copa import DataError
from reproduction.data import DATA_SETS, TITLES

if TYPE_CHECKING:
    import pandas as pd

COLOURS = {"DiCE": "#b0413e", "MahalanobisCrr": "#d99a2b", "COPA": "#2f6f9f"}
SHADE = 0.15


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
