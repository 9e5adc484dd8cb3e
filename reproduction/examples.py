"""The paper's examples: three customers of German Credit, personal status immutable (Appendix B)."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from reproduction.measures import measure
from reproduction.methods.copa import Copa
from reproduction.methods.mahalanobis import Corrected
from reproduction.published import EXAMPLES
from reproduction.table1 import short

if TYPE_CHECKING:
    import pandas as pd

    from reproduction.case import Case
    from reproduction.methods.base import Method
    from reproduction.session import Session

WEIGHTS = (0.5, 5.0)  # the paper does not say which
COLUMNS = ("duration", "amount", "personal_status", "age")


def run(session: "Session") -> "pd.DataFrame":
    """Return one row per customer, method and option, in raw units and without rounding; also written as CSV."""
    import pandas as pd

    case = example_case(session)
    dice = session.dice()
    methods: list[Method] = [dice, Corrected(dice), Copa(*WEIGHTS)]
    parts = []
    for method in session.each(methods, "examples"):
        found = session.cell(f"{method.name}, examples", f"examples-{short(method.name)}", _rows, case, method)
        if found is not None:
            parts.append(found)
    table = pd.concat(parts, ignore_index=True)
    session.store.table("examples", table)
    return table


def example_case(session: "Session") -> "Case":
    """Return German Credit as in the paper, with its three customers as applicants."""
    case = session.case("german", "paper")
    schema = case.data.schema.replace({"personal_status": {"immutable": True}})
    features = case.data.present.features
    labels = []
    for values in EXAMPLES:
        same = (features[list(COLUMNS)] == list(values)).all(axis=1)
        labels.append(features.index[same][0])
    return replace(
        case,
        data=replace(case.data, schema=schema),
        settings=replace(case.settings, n_options=3),
        applicants=features.loc[labels],
    )


def _rows(case: "Case", method: "Method") -> "pd.DataFrame":
    import pandas as pd

    plans = method.plans(case)
    measured = measure(case, plans)
    rows: list[dict[str, Any]] = []
    for i, who in enumerate(plans.who):
        raw = case.encoding.raw_numbers(plans.points[i])
        customer = case.applicants.iloc[int(who)]
        accepted = bool(case.origins[int(who)] @ case.theta >= 0.0)
        for j, numbers in enumerate(raw):
            values = dict(zip(case.encoding.numbers, numbers, strict=True))
            rows.append(
                {
                    "customer": int(who) + 1,
                    **{f"customer_{name}": customer[name] for name in COLUMNS},
                    "customer_accepted": accepted,
                    "method": "COPA" if method.name.startswith("COPA") else method.name,
                    "option": j + 1,
                    **{name: values[name] for name in COLUMNS if name in values},
                    "lower": measured["lower"].iloc[i],
                    "empirical": measured["empirical"].iloc[i],
                }
            )
    return pd.DataFrame(rows)
