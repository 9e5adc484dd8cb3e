"""Beyond the paper: every method on every data set, measured on the real rows that a person would be given.

Rows are rounded to the values that their columns can hold; the guarantee is that of the rounded row. It is
stated for three ambiguity sets: the paper's ball, the one that the planner takes from bootstrap samples, and the
smallest round ball that holds the moments after the shift. In the last, no plan can do worse than its bound; in the
others it can if the shift leads out of them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from copa import gelbrich_distance, validity_bounds
from copa.analysis.metrics import diversity, empirical_validity, proximity, sparsity, validity_now
from reproduction.data.shifted import PROTOCOLS
from reproduction.experiments.table1 import short
from reproduction.methods.copa import Copa, Corrected
from reproduction.methods.planner import Planner, fitted_planner
from reproduction.methods.single_option import Roar, Wachter

if TYPE_CHECKING:
    import pandas as pd

    from reproduction.data.case import Case
    from reproduction.data.encoding import Array
    from reproduction.methods.base import Method, Plans
    from reproduction.session import Session

WEIGHTS = (0.5, 5.0)  # of COPA


@dataclass(frozen=True, eq=False)
class MomentBall:
    """A ball of moments around those of retraining, and how far away the moments after the shift are in its shape.

    Attributes
    ----------
    name : str
    radius : float
    drift : ndarray of shape (D, D), optional
        Its shape; None for a round one.
    distance : float
        To the moments after the shift, in this shape.
    """

    name: str
    radius: float
    drift: "Array | None"
    distance: float


def run(session: "Session") -> "pd.DataFrame":
    """Return one row per protocol, data set, method and applicant; also written as CSV."""
    import pandas as pd

    parts = []
    for protocol in PROTOCOLS:
        for case in session.cases(protocol):
            some = replace(case, applicants=case.applicants.head(session.settings.n_benchmark))
            asked = cache(partial(balls, some))
            for method in session.each(methods(session), f"benchmark, {protocol}, {case.data.title}"):
                key = f"benchmark-{protocol}-{case.data.name}-{short(method.name)}"
                what = f"{method.name}, {case.data.title}"
                found = session.cell(what, key, delivered, some, method, asked)
                if found is not None:
                    parts.append(found.assign(protocol=protocol, data=case.data.name, method=method.name))
    table = pd.concat(parts, ignore_index=True)
    session.store.table("benchmark", table)
    return table


def methods(session: "Session") -> list["Method"]:
    """Return the competitors."""
    dice = session.dice(min(session.settings.n_dice, session.settings.n_benchmark))
    return [dice, Corrected(dice), Wachter(), Roar(), Copa(*WEIGHTS), Planner()]


def balls(case: "Case") -> list[MomentBall]:
    """Return the balls that guarantees are stated for."""
    planner = fitted_planner(case)
    nominal, after = case.moments, case.moments_after
    shaped = gelbrich_distance(nominal.mean, nominal.cov, after.mean, after.cov, planner.drift_)
    return [
        MomentBall("paper", case.settings.radius, None, case.distance),
        MomentBall("bootstrap", planner.radius_, planner.drift_, shaped),
        MomentBall("shift", case.distance, None, case.distance),
    ]


def delivered(case: "Case", method: "Method", asked: Callable[[], list[MomentBall]]) -> "pd.DataFrame":
    """Measure the rows that a method delivers, one row per applicant it serves."""
    import pandas as pd

    plans = method.plans(case)
    tables = real_rows(case, plans)
    rows = [_measure(case, int(who), table, asked()) for who, table in zip(plans.who, tables, strict=True)]
    served = len(plans.who) / _asked(case, method)
    return pd.DataFrame(rows).assign(seconds=plans.seconds, served=served)


def real_rows(case: "Case", plans: "Plans") -> list["pd.DataFrame"]:
    """Return the options of each applicant as rows, rounded where the method has not done so itself."""
    tables, first = [], 0
    for who, points in zip(plans.who, plans.points, strict=True):
        options = points[~np.isnan(points).any(axis=1)]
        if plans.rows is not None:
            table = plans.rows.iloc[first : first + len(options)]
            first += len(options)
        else:
            own = case.applicants.iloc[np.full(len(options), int(who))]
            table = case.encoding.decode(options, case.data.schema, own)
        tables.append(table.reset_index(drop=True))
    return tables


def _asked(case: "Case", method: "Method") -> int:
    """How many applicants a method was asked for."""
    limit = getattr(getattr(method, "base", method), "limit", len(case.applicants))
    return min(limit, len(case.applicants))


def _measure(case: "Case", who: int, table: "pd.DataFrame", asked: list[MomentBall]) -> dict[str, Any]:
    applicant = case.applicants.iloc[[who]]
    points = case.encoding.encode(table)
    later = empirical_validity(points, case.after)
    violations = case.data.schema.violations(applicant, table)
    bounds = {
        ball.name: validity_bounds(points, case.moments.mean, case.moments.cov, ball.radius, ball.drift)
        for ball in asked
    }
    return {
        "applicant": applicant.index[0],
        "options": len(points),
        "now": validity_now(points, case.theta),
        "allowed": np.mean([not found for found in violations]),
        "empirical": later.all,
        "empirical_each": later.each.mean(),
        "proximity": proximity(points, case.origins[who]),
        "diversity": diversity(points) if len(points) > 1 else np.nan,
        "sparsity": sparsity(table, applicant).mean(),
        **{f"lower_{name}": found.lower for name, found in bounds.items()},
        **{f"broken_{name}": float(later.all < found.lower) for name, found in bounds.items()},
        **{f"radius_{ball.name}": ball.radius for ball in asked},
        **{f"distance_{ball.name}": ball.distance for ball in asked},
    }
