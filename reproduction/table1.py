"""Table 1: DiCE, its Mahalanobis correction and COPA on three shifts, with logistic regression."""

from typing import TYPE_CHECKING

from reproduction.measures import measure
from reproduction.methods.copa import Copa
from reproduction.methods.mahalanobis import Corrected
from reproduction.settings import COPA_WEIGHTS

if TYPE_CHECKING:
    import pandas as pd

    from reproduction.case import Case
    from reproduction.methods.base import Method
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
