"""How the authors' training differs from training to convergence, in numbers."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from copa.paper.causes import stopped_classifier, stopped_refits

if TYPE_CHECKING:
    import pandas as pd

    from copa.arrays import Array
    from copa.paper.case import Case
    from copa.paper.session import Session


def run(session: "Session") -> "pd.DataFrame":
    """Return one row per data set and way of training; also written as CSV."""
    import pandas as pd

    parts = []
    for case in session.cases("paper"):
        found = session.store.cell(f"training-{case.data.name}", partial(_facts, case))
        parts.append(found.assign(data=case.data.name))
    table = pd.concat(parts, ignore_index=True)
    session.store.table("training", table)
    return table


def one_hot_variance(case: "Case", cov: "Array") -> float:
    """Mean variance of the parameters along the directions that no row can see.

    Adding to the intercept and taking as much from all values of a category changes no score: data say nothing there.
    """
    found = []
    for name, _ in case.encoding.choices:
        direction = np.zeros(len(cov))
        direction[0] = 1.0
        direction[case.encoding.blocks[name]] = -1.0
        found.append(direction @ cov @ direction / (direction @ direction))
    return float(np.mean(found))


def _facts(case: "Case") -> "pd.DataFrame":
    import pandas as pd

    rows: list[dict[str, Any]] = []
    encoded = case.encoding.encode(case.data.present.features)
    ways = {"to convergence": (case, case.theta), "stopped": (stopped_refits(case), stopped_classifier(case).theta)}
    for way, (changed, theta) in ways.items():
        accepted = encoded @ theta >= 0.0
        rows.append(
            {
                "training": way,
                "from_mean": float(np.linalg.norm(theta - changed.moments.mean)),
                "accuracy": float((accepted == case.data.present.favourable).mean()),
                "declined": int((~accepted).sum()),
                "one_hot_variance": one_hot_variance(case, changed.moments.cov),
                "start_variance": 1.0 / (3.0 * (len(theta) - 1)),
                "distance": changed.distance,
            }
        )
    return pd.DataFrame(rows)
