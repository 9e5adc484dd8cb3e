"""Tables of Appendix B: performance of the classifiers, and three customers of German Credit."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from reproduction.data.case import TRAINING_SHARE, classifier
from reproduction.data.network import train_network
from reproduction.experiments.published import EXAMPLES
from reproduction.experiments.table1 import measure, short
from reproduction.methods.copa import Copa, Corrected

if TYPE_CHECKING:
    import pandas as pd

    from reproduction.data.case import Case
    from reproduction.data.encoding import Array
    from reproduction.methods.base import Method
    from reproduction.session import Session

WEIGHTS = (0.5, 5.0)  # of COPA in the examples; the paper does not say which
COLUMNS = ("duration", "amount", "personal_status", "age")


def run_classifiers(session: "Session") -> "pd.DataFrame":
    """Return accuracy and AUC of both classifiers on random splits, one row per split; also written as CSV."""
    import pandas as pd

    parts = []
    for case in session.cases():
        for when in session.each(("present", "shifted"), f"classifiers, {case.data.title}"):
            key = f"classifiers-{case.data.protocol}-{case.data.name}-{when}"
            found = session.store.cell(key, partial(_splits, case, when))
            parts.append(found.assign(data=case.data.name, when=when))
    table = pd.concat(parts, ignore_index=True)
    session.store.table(f"classifiers_{session.protocol}", table)
    return table


def _splits(case: "Case", when: str) -> "pd.DataFrame":
    import pandas as pd

    table = case.data.present if when == "present" else case.data.shifted
    rows, good = case.encoding.encode(table.features), table.favourable
    rng = np.random.default_rng(case.settings.seed)
    found: list[dict[str, Any]] = []
    for k in range(case.settings.n_splits):
        order = rng.permutation(len(rows))
        train, test = np.split(order, [round(TRAINING_SHARE * len(rows))])
        linear = classifier().fit(rows[train, 1:], good[train])
        network = train_network(rows[train], good[train], k)
        for name, model in (("logistic", linear), ("network", network)):
            accuracy, auc = _scores(model.predict_proba(rows[test, 1:])[:, 1], good[test])
            found.append({"classifier": name, "split": k, "accuracy": accuracy, "auc": auc})
    return pd.DataFrame(found)


def _scores(chance: "Array", good: Any) -> tuple[float, float]:
    from sklearn.metrics import roc_auc_score

    return float(((chance >= 0.5) == good).mean()), float(roc_auc_score(good, chance))


def run_examples(session: "Session") -> "pd.DataFrame":
    """Return one row per customer, method and option, in raw units and without rounding; also written as CSV."""
    import pandas as pd

    case = example_case(session)
    dice = session.dice()
    methods: list[Method] = [dice, Corrected(dice), Copa(*WEIGHTS)]
    parts = []
    for method in session.each(methods, "examples"):
        found = session.cell(f"{method.name}, examples", f"examples-{short(method.name)}", _options, case, method)
        if found is not None:
            parts.append(found)
    table = pd.concat(parts, ignore_index=True)
    session.store.table("examples", table)
    return table


def example_case(session: "Session") -> "Case":
    """Return German Credit as in the paper, its three customers as applicants, personal status immutable."""
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


def _options(case: "Case", method: "Method") -> "pd.DataFrame":
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
