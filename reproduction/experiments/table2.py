"""Table 2: the three methods on a neural network, through a local linear surrogate per applicant (Appendix C).

How the surrogate is made is an argument: `run(session, surrogate=...)` compares another one in the same harness.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from copa import validity_bounds
from copa.analysis.metrics import diversity, proximity
from reproduction.data.network import NetworkCase, Surrogate, acceptance, local_ridge, network_layers, prepare_network
from reproduction.experiments.table1 import short, summary
from reproduction.methods.copa import Copa, correct
from reproduction.methods.planner import PLANNERS, network_plans
from reproduction.settings import NONLINEAR_WEIGHTS

if TYPE_CHECKING:
    import pandas as pd

    from reproduction.data.encoding import Array
    from reproduction.methods.base import Plans
    from reproduction.session import Session


def run(session: "Session", surrogate: Surrogate = local_ridge) -> "pd.DataFrame":
    """Return one row per data set, method and applicant; also written as CSV, with a summary beside it."""
    import pandas as pd

    parts = []
    for case in session.cases():
        ready = cache(partial(prepare_network, case, surrogate))
        for name in session.each(method_names(), f"Table 2, {case.data.title}"):
            key = f"table2-{case.data.protocol}-{case.data.name}-{short(name)}-{surrogate.__name__}"
            found = session.cell(f"{name} on the network, {case.data.title}", key, _compute, session, ready, name)
            if found is not None:
                parts.append(found.assign(data=case.data.name, method=name))
    table = pd.concat(parts, ignore_index=True)
    session.store.table(f"table2_{session.protocol}_applicants", table)
    session.store.table(f"table2_{session.protocol}", summary(table))
    return table


def method_names() -> list[str]:
    """Return the rows of the table, in the paper's order, and the planner as its users get it."""
    copa = [Copa(*weights).name for weights in NONLINEAR_WEIGHTS]
    return ["DiCE", "MahalanobisCrr", *copa, *(row.name for row in PLANNERS)]


def _compute(session: "Session", ready: Callable[[], NetworkCase], name: str) -> "pd.DataFrame":
    case = ready()
    for row in PLANNERS:
        if row.name == name:  # its own guarantee, which is about the network itself
            plans, lower = network_plans(case, row)
            return _measured(case, plans).assign(lower=lower)
    return _measured(case, _plans(session, case, name))


def _plans(session: "Session", case: NetworkCase, name: str) -> list["Array | None"]:
    """Plans (J, D) of each applicant; None where there is none."""
    if name in ("DiCE", "MahalanobisCrr"):
        given = _dice(session, case)
        if name == "DiCE":
            return list(given.points)
        settings = case.linear.settings
        return [
            correct(local, plan[None], n_corrections=settings.n_corrections, budget=settings.budget)[0]
            for local, plan in zip(case.local, given.points, strict=False)
        ]
    method = {m.name: m for m in (Copa(*weights) for weights in NONLINEAR_WEIGHTS)}[name]
    found = [method.plans(local).points for local in case.local]
    return [points[0] if len(points) else None for points in found]


def _dice(session: "Session", case: NetworkCase) -> "Plans":
    layers = network_layers(case.network)
    limit = min(session.settings.n_dice, session.settings.n_dice_network)
    return session.dice(limit).plans_of_network(case.linear, layers, "network", case.linear.applicants)


def _measured(case: NetworkCase, plans: list["Array | None"]) -> "pd.DataFrame":
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for local, plan in zip(case.local, plans, strict=False):
        if plan is None:
            continue
        now = acceptance(case.network)(plan) >= 0.5
        later = [(acceptance(network)(plan) >= 0.5).all() for network in case.later]
        rows.append(
            {
                "applicant": local.applicants.index[0],
                "proximity": proximity(plan, local.origins[0]),
                "diversity": diversity(plan),
                "lower": validity_bounds(plan, local.moments.mean, local.moments.cov, local.settings.radius).lower,
                "empirical": np.mean(later),
                "current": float(now.all()),
                "options_accepted": now.mean(),
            }
        )
    return pd.DataFrame(rows)
