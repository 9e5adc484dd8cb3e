"""Performance of the classifiers on data of before and after the shift (Appendix B)."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from reproduction.case import TRAINING_SHARE, classifier
from reproduction.networks import train_network

if TYPE_CHECKING:
    import pandas as pd

    from reproduction.case import Case
    from reproduction.encoding import Array
    from reproduction.session import Session


def run(session: "Session") -> "pd.DataFrame":
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
