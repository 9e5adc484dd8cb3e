"""What a menu is, on every bundled data set: draws docs/pictures/menus.svg and writes the table of docs/planning.md.

Run with `python -m benchmarks.menu_picture`. For the declined applicants of each data set menus are built at several
diversity weights; the picture shows how far the options lie apart against what they cost, the table what holds of the
menus at the default weight.
"""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import copa
from benchmarks import ROOT
from copa import datasets
from copa.planner import RecoursePlanner

PAGE, PICTURE = ROOT / "docs" / "planning.md", ROOT / "docs" / "pictures" / "menus.svg"
BEGIN, END = "<!-- written by `python -m benchmarks.menu_picture` -->", "<!-- end -->"
WEIGHTS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
N_APPLICANTS = 60
STYLE = {"German Credit": ("#0072b2", "o"), "South German Credit": ("#d55e00", "s"), "Student": ("#009e73", "^")}
DEFAULT = RecoursePlanner(None).diversity_weight


def main() -> None:
    mpl.use("svg")
    figure, axes = plt.subplots(figsize=(7.2, 4.2))
    lines = []
    for name, load in (
        ("German Credit", datasets.load_german),
        ("South German Credit", datasets.load_south_german),
        ("Student", datasets.load_student),
    ):
        planner, declined = _planner(load())
        curve = []
        for weight in WEIGHTS:
            batch = planner.set_params(diversity_weight=weight).plan(declined)
            curve.append(_costs_and_spread(batch))
            if weight == DEFAULT:
                lines.append(_table_line(name, batch))
        _draw(axes, name, np.array(curve))
    axes.set_xlabel("mean effort of the options, in units of the cheapest one")
    axes.set_ylabel("how different they are: det K")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, metadata={"Date": None})
    _write_table(lines, PAGE)
    print("\n".join(lines))


def _planner(data: Any) -> tuple[Any, pd.DataFrame]:
    table = data.features
    numbers = [f.name for f in data.schema.features if f.is_numeric]
    words = [name for name in table if name not in numbers]
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), words), (StandardScaler(), numbers))
    model = make_pipeline(encoder, LogisticRegression(C=0.1, max_iter=2000)).fit(table, data.favourable)
    planner = copa.RecoursePlanner(model, schema=data.schema).fit(table, data.favourable)
    return planner, table[~model.predict(table)].head(N_APPLICANTS)


def _costs_and_spread(batch: copa.PlanBatch) -> tuple[float, float]:
    """Mean effort in units of the cheapest option, and mean determinant of the menus with all their options."""
    ratios, spreads = [], []
    for i in np.flatnonzero(batch.counts == batch.request.n_options):
        effort = batch.effort[batch.owner == i]
        ratios.append(effort.mean() / effort.min())
        spreads.append(_determinant(batch, i))
    return float(np.mean(ratios)), float(np.mean(spreads))


def _determinant(batch: copa.PlanBatch, i: int) -> float:
    """Det K of one menu, distances between its rows in units of the cheapest effort."""
    rows = batch.options[batch.owner == i]
    total = np.zeros((len(rows), len(rows)))
    for feature in batch.basis.schema.features:
        if feature.is_numeric:
            column = rows[feature.name].to_numpy(dtype=float)
            total += feature.weight * np.abs(column[:, None] - column) / feature.spread
        else:
            code = batch.basis.schema.codes(rows, feature.name).astype(float)
            apart = np.abs(code[:, None] - code)
            total += feature.weight * (apart / feature.spread if feature.kind == "ordinal" else (apart > 0))
    unit = batch.effort[batch.owner == i].min()
    return float(np.linalg.det(1.0 / (1.0 + total / unit)))


def _table_line(name: str, batch: copa.PlanBatch) -> str:
    wanted = np.isin(batch.status, ["ok", "fragile"])
    full = wanted & (batch.counts == batch.request.n_options)
    dominated = sum(_has_dominated(batch, i) for i in np.flatnonzero(full))
    changed = np.mean([len(plan.changes(j + 1)) for plan in batch[:20] for j in range(len(plan.options))])
    statuses = ", ".join(f"{n} {s}" for s, n in zip(*np.unique(batch.status, return_counts=True), strict=True))
    share = full.sum() / max(wanted.sum(), 1)
    return f"| {name} | {len(batch)} | {statuses} | {share:.0%} | {dominated} | {changed:.1f} |"


def _has_dominated(batch: copa.PlanBatch, i: int) -> bool:
    """Whether one option of a menu asks for nothing that another does not ask for as well."""
    plan = batch[int(i)]
    asked = [{(c.column, c.after) for c in plan.changes(j + 1)} for j in range(len(plan.options))]
    return any(a <= b for a in asked for b in asked if a is not b)


def _draw(axes: Any, name: str, curve: np.ndarray) -> None:
    colour, marker = STYLE[name]
    axes.plot(curve[:, 0], curve[:, 1], color=colour, marker=marker, markersize=4, linewidth=1.2, label=name)
    chosen = WEIGHTS.index(DEFAULT)
    axes.plot(*curve[chosen], marker=marker, markersize=11, color=colour, fillstyle="none")


def _write_table(lines: list[str], page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    before, after = text.index(BEGIN) + len(BEGIN), text.index(END)
    head = "| data | declined | statuses | full plans | with a dominated option | columns an option changes |\n"
    table = head + "|---|---|---|---|---|---|\n" + "\n".join(lines)
    page.write_text(f"{text[:before]}\n{table}\n{text[after:]}", encoding="utf-8")


if __name__ == "__main__":
    main()
