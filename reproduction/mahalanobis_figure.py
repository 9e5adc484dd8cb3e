"""Figure "Mahalanobis": the correction with more options and with a larger budget (Appendix B)."""

from typing import TYPE_CHECKING, Any

import numpy as np

from reproduction.measures import measure
from reproduction.methods.base import Plans
from reproduction.methods.mahalanobis import correct

if TYPE_CHECKING:
    import pandas as pd

    from reproduction.case import Case
    from reproduction.session import Session

MEASURES = ("lower", "diversity", "proximity")
BUDGETS = tuple(np.linspace(0.05, 0.35, 7).round(3).tolist())


def run(session: "Session") -> "pd.DataFrame":
    """Return L*, diversity and proximity by number of corrections and by budget, per data set; written as CSV."""
    import pandas as pd

    parts = []
    for case in session.cases():
        key = f"fig-mahalanobis-{case.data.protocol}-{case.data.name}"
        found = session.cell(f"Mahalanobis correction of DiCE, {case.data.title}", key, _sweeps, session, case)
        if found is not None:
            parts.append(found.assign(data=case.data.name))
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    session.store.table(f"fig_mahalanobis_{session.protocol}", table)
    return table


def _sweeps(session: "Session", case: "Case") -> "pd.DataFrame":
    import pandas as pd

    settings = case.settings
    given = session.dice().plans(case)
    sweeps = [("corrections", k, settings.budget) for k in range(settings.n_options + 1)]
    sweeps += [("budget", settings.n_corrections, budget) for budget in BUDGETS]
    rows: list[dict[str, Any]] = []
    for sweep, n_corrections, budget in sweeps:
        points = correct(case, given.points, n_corrections=n_corrections, budget=budget)
        table = measure(case, Plans(given.who, points, given.seconds))
        means = {name: table[name].mean() for name in MEASURES}
        spreads = {f"{name}_sd": table[name].std(ddof=0) for name in MEASURES}
        rows.append({"sweep": sweep, "n_corrections": n_corrections, "budget": budget, **means, **spreads})
    return pd.DataFrame(rows)
