"""Table 1: DiCE, its Mahalanobis correction and COPA on three shifts, with logistic regression, and how to measure."""

from typing import TYPE_CHECKING

import numpy as np

from copa import validity_bounds
from copa.analysis.metrics import diversity, empirical_validity, proximity, validity_now
from reproduction.methods.copa import Copa, Corrected
from reproduction.settings import COPA_WEIGHTS

if TYPE_CHECKING:
    import pandas as pd

    from reproduction.data.case import Case
    from reproduction.methods.base import Method, Plans
    from reproduction.session import Session


def run(session: "Session", protocol: str | None = None) -> "pd.DataFrame":
    """Return one row per data set, method and applicant; also written as CSV, with a summary beside it."""
    import pandas as pd

    protocol = protocol or session.protocol
    parts = []
    for case in session.cases(protocol):
        for method in session.each(methods(session), f"Table 1, {case.data.title}"):
            key = f"table1-{protocol}-{case.data.name}-{short(method.name)}"
            found = session.cell(f"{method.name}, {case.data.title}", key, _measured, case, method)
            if found is not None:
                parts.append(found.assign(data=case.data.name, method=method.name))
    table = pd.concat(parts, ignore_index=True)
    session.store.table(f"table1_{protocol}_applicants", table)
    session.store.table(f"table1_{protocol}", summary(table))
    return table


def methods(session: "Session") -> list["Method"]:
    """Return the rows of the table, in the paper's order."""
    dice = session.dice()
    return [dice, Corrected(dice), *(Copa(*weights) for weights in COPA_WEIGHTS)]


def measure(case: "Case", plans: "Plans") -> "pd.DataFrame":
    """Measure plans as vectors, by the paper's definitions and a few of ours.

    Returns
    -------
    DataFrame
        One row per applicant, with the columns `proximity` and `diversity` (paper, Section 4); `lower`, L* at the
        paper's radius; `empirical`, the share of the refits on D2 that accept all options; `lower_at_distance`, L* at
        the Gelbrich distance from the moments on D1 to those on D2; `current`, whether the deployed model accepts all
        options; `real_categories`, whether every option has real categories; `outside`, whether an option leaves the
        ranges of the data; `distance`, the Gelbrich distance, the same in all rows; `seconds` of one core.
    """
    import pandas as pd

    points, mean, cov = plans.points, case.moments.mean, case.moments.cov
    return pd.DataFrame(
        {
            "applicant": case.applicants.index[plans.who],
            "proximity": proximity(points, case.origins[plans.who]),
            "diversity": diversity(points),
            "lower": validity_bounds(points, mean, cov, case.settings.radius).lower,
            "empirical": empirical_validity(points, case.after).all,
            "lower_at_distance": validity_bounds(points, mean, cov, case.distance).lower,
            "current": (validity_now(points, case.theta) == 1.0).astype(np.float64),
            "real_categories": case.encoding.real_categories(points).all(axis=1).astype(np.float64),
            "outside": (~case.encoding.inside(points)).any(axis=1).astype(np.float64),
            "distance": case.distance,
            "seconds": plans.seconds,
        }
    )


def summary(table: "pd.DataFrame") -> "pd.DataFrame":
    """Means and standard deviations over applicants, one row per data set and method."""
    import pandas as pd

    groups = table.drop(columns="applicant").groupby(["data", "method"], sort=False)
    mean, sd = groups.mean(), groups.std(ddof=0)
    columns = {}
    for name in mean:
        columns[name] = mean[name]
        columns[f"{name}_sd"] = sd[name]
    return pd.DataFrame({"applicants": groups.size(), **columns}).reset_index()


def short(name: str) -> str:
    """Return a method's name for a file."""
    return "".join(c if c.isalnum() or c == "." else "_" for c in name.lower()).strip("_")


def _measured(case: "Case", method: "Method") -> "pd.DataFrame":
    return measure(case, method.plans(case))
