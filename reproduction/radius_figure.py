"""Figure "radius": bounds at every radius, against the validity under random futures (Section 5.1)."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from copa import WeightMoments, validity_bounds
from reproduction.futures import random_future, standard_samples, validity_under
from reproduction.methods.copa import Copa
from reproduction.settings import SHIFT_WEIGHTS
from reproduction.synthetic import synthetic_case
from reproduction.table1 import short

if TYPE_CHECKING:
    import pandas as pd

    from reproduction.case import Case
    from reproduction.encoding import Array
    from reproduction.methods.base import Method
    from reproduction.session import Session

LARGEST = 1.0
N_RADII = 41
SLACK = 5.0  # standard errors of a share


def run(session: "Session") -> dict[str, "pd.DataFrame"]:
    """Return the bounds by radius and the futures, per plan, for a mean inside and outside the cone; written as CSV."""
    import pandas as pd

    case = synthetic_case(session.settings)
    first = replace(case, applicants=case.applicants.head(1))
    methods: list[Method] = [session.dice(min(session.settings.n_dice, 1)), Copa(*SHIFT_WEIGHTS, ranges=False)]
    bounds, futures = [], []
    for method in methods:
        name = "COPA" if method.name.startswith("COPA") else method.name
        key = f"fig-radius-{short(name)}"
        plan = session.cell(f"{name}, synthetic", f"{key}-plan", _plan, first, method)
        if plan is None:
            continue
        points = plan.to_numpy()
        found = session.store.cell(f"{key}-bounds", partial(_bounds, case, points))
        bounds.append(found.assign(plan=name))
        found = session.store.cell(f"{key}-futures", partial(_futures, session, case, points))
        futures.append(found.assign(plan=name))
    tables = {"bounds": pd.concat(bounds, ignore_index=True), "futures": pd.concat(futures, ignore_index=True)}
    for name, table in tables.items():
        session.store.table(f"fig_radius_{name}", table)
    return tables


def outside(futures: "pd.DataFrame") -> int:
    """Count futures whose validity lies outside the bounds at their own distance by more than sampling explains."""
    error = SLACK * np.sqrt(futures["validity"] * (1.0 - futures["validity"]) / futures["samples"])
    error = error + SLACK**2 / futures["samples"]  # a share of 0 or 1 has no standard error, but an error still
    low = futures["validity"] < futures["lower"] - error
    high = futures["validity"] > futures["upper"] + error
    return int((low | high).sum())


def _plan(case: "Case", method: "Method") -> "pd.DataFrame":
    """One plan, (J, D)."""
    import pandas as pd

    return pd.DataFrame(method.plans(case).points[0])


def _means(case: "Case") -> dict[str, "Array"]:
    return {"inside": case.theta, "outside": -case.theta}


def _bounds(case: "Case", points: "Array") -> "pd.DataFrame":
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for where, mean in _means(case).items():
        for radius in np.linspace(0.0, LARGEST, N_RADII):
            found = validity_bounds(points, mean, case.moments.cov, radius)
            rows.append({"mean": where, "radius": radius, "lower": found.lower, "upper": found.upper})
    return pd.DataFrame(rows)


def _futures(session: "Session", case: "Case", points: "Array") -> "pd.DataFrame":
    import pandas as pd

    settings = session.settings
    rng = np.random.default_rng(settings.seed)
    samples = standard_samples(settings.n_samples, case.theta.size, rng)
    rows: list[dict[str, Any]] = []
    for where, mean in _means(case).items():
        nominal = WeightMoments(mean, case.moments.cov)
        for _ in session.each(range(settings.n_futures), f"futures, mean {where}"):
            future = random_future(nominal, LARGEST, rng)
            found = validity_bounds(points, mean, nominal.cov, future.distance)
            rows.append(
                {
                    "mean": where,
                    "distance": future.distance,
                    "family": future.family,
                    "validity": validity_under(points, future.moments, samples[future.family]),
                    "lower": found.lower,
                    "upper": found.upper,
                    "samples": settings.n_samples,
                }
            )
    return pd.DataFrame(rows)
