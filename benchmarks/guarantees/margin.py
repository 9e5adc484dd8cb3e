"""The rule beside a plain margin at equal effort: a constant that today's score must exceed.

For every training sample the constant is chosen, in hindsight, such that the same applicants pay as much effort. Over
many samples of the bundled data: how often later models accept the options, on average and in the worst tenth.
`python -m benchmarks.guarantees.margin [--seeds N]`.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import copa
from benchmarks.guarantees.bundled import DATA, SAME, margin_batch, mean_effort, rates, split


def compare(name, C, level, seed, n_later=40, n_applicants=15):
    """Rates of acceptance of both rules' options in one sample; None where the rule delivers nothing."""
    data = DATA[name]()
    case = split(data, C, seed, n_later, n_applicants)
    X, y = data.features.iloc[case.train], np.asarray(data.favourable)[case.train]
    same = SAME | {"schema": data.schema}
    planner = copa.RecoursePlanner(
        case.model, guarantee=level, **same | {"later_models": copa.LaterModels(n_refits=200)}
    ).fit(X, y)
    planned = planner.plan(case.declined)
    beside = margin_batch(case, planned) if (planned.status == "ok").any() else None
    if beside is None:
        return None
    batch, both = beside
    found = {"effort": mean_effort(planned, both), "effort of the margin": mean_effort(batch, both)}
    for rule, plans in (("rule", planned), ("margin", batch)):
        found[rule] = rates(case, plans.options[np.isin(plans.owner, both)])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=100)
    given = parser.parse_args()
    rows = []
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for name in DATA:
            for level in (0.8, 0.9):
                found = [compare(name, 0.1, level, given.first + seed) for seed in range(given.seeds)]
                found = [one for one in found if one is not None]
                row = {"data": name, "level": level, "samples": len(found)}
                for rule in ("rule", "margin"):
                    accepted = np.sort(np.concatenate([one[rule] for one in found]))
                    row |= {
                        f"{rule}: mean": accepted.mean(),
                        f"{rule}: worst tenth": accepted[: len(accepted) // 10].mean(),
                        f"{rule}: worst": accepted[0],
                    }
                row["effort ratio"] = np.mean([one["effort of the margin"] / one["effort"] for one in found])
                rows.append(row)
                print(pd.DataFrame(rows[-1:]).round(3).to_string(index=False), flush=True)


if __name__ == "__main__":
    main()
