"""How the authors' training differs from training to convergence, in numbers."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from reproduction.data.case import TRAINING_SHARE
from reproduction.experiments.causes import stopped_classifier, stopped_refits
from reproduction.methods.authors_program import both_ranges, program_classifier, random_starts, train_from

if TYPE_CHECKING:
    import pandas as pd

    from reproduction.data.case import Case
    from reproduction.data.encoding import Array
    from reproduction.session import Session

N_STARTS, EARLY = 200, 10


def run(session: "Session") -> "pd.DataFrame":
    """Return one row per data set and way of training; also written as CSV."""
    import pandas as pd

    parts = []
    for case in session.cases("paper"):
        found = session.store.cell(f"training-{case.data.name}", partial(_facts, case))
        early = session.store.cell(f"early-{case.data.name}", partial(early_stops, case))
        parts.append(found.assign(data=case.data.name, **early.iloc[0].to_dict()))
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


def early_stops(case: "Case") -> "pd.DataFrame":
    """How often training ends almost at once, and what the deployed classifier of the program's own seed is like.

    Returns
    -------
    DataFrame of one row
        `early_ours` and `early_both` are the shares of random starts that stop within ten steps, with numbers scaled by
        their ranges in D1, and in D1 and D2 together; `own_steps`, `own_accuracy`, `own_declined` and `rows` are those
        of the program's own seed, on D1.
    """
    import pandas as pd

    scaled = replace(case, encoding=both_ranges(case.data))
    theta, steps = program_classifier(scaled)
    accepted = scaled.encoding.encode(case.data.present.features) @ theta >= 0.0
    row = {
        "early_ours": _early_share(case),
        "early_both": _early_share(scaled),
        "own_steps": steps,
        "own_accuracy": float((accepted == case.data.present.favourable).mean()),
        "own_declined": int((~accepted).sum()),
        "rows": len(accepted),
    }
    return pd.DataFrame([row])


def _early_share(case: "Case") -> float:
    rows, good = case.encoding.encode(case.data.present.features), case.data.present.favourable.astype(np.float64)
    rng = np.random.default_rng(case.settings.seed)
    inside, start = random_starts(rows, n_models=N_STARTS, fraction=TRAINING_SHARE, rng=rng)
    _, steps = train_from(rows, good, inside, start, EARLY + 1)
    return float((steps <= EARLY).mean())


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
