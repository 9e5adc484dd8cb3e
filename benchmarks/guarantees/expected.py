"""Expected rates beside the rates at which later models really accept the options.

Plans are made for expected rates (`later_models=Expected()`) on 35 % of the rows of the bundled data; the later models
are those of `benchmarks.guarantees.bundled`. `python -m benchmarks.guarantees.expected [--seeds N] [--picture]` prints
the mean of both for each data set and level, and draws the picture of docs/evidence.md.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import copa
from benchmarks.guarantees.bundled import DATA, SAME, rates, split

LEVELS = (0.7, 0.8, 0.9, 0.95)
PICTURE = Path(__file__).parents[2] / "docs" / "pictures" / "expected_rates.svg"
BINS = np.linspace(0.5, 1.0, 11)


def measure(name, C, seeds, n_later=60, n_applicants=20):
    """Expected and real rates of every option, with its level."""
    data, found = DATA[name](), []
    for seed in seeds:
        case = split(data, C, seed, n_later, n_applicants)
        X, y = data.features.iloc[case.train], np.asarray(data.favourable)[case.train]
        planner = copa.RecoursePlanner(
            case.model, schema=data.schema, **SAME | {"later_models": copa.Expected(n_refits=400)}
        ).fit(X, y)
        for level in LEVELS:
            batch = planner.set_params(guarantee=level).plan(case.declined)
            options = np.isin(batch.owner, np.flatnonzero(batch.status == "ok"))
            real = rates(case, batch.options[options])
            for expected, rate in zip(batch.expected_rate[options], real, strict=True):
                found.append({"data": name, "C": C, "level": level, "seed": seed, "expected": expected, "real": rate})
    return found


def draw(frame):
    """Real against expected rates, in bins of the expected ones."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "copa"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
    axes.plot([0.5, 1.0], [0.5, 1.0], color="0.7", linewidth=1)
    for name, own in frame.groupby("data", sort=False):
        binned = own.groupby(np.digitize(own["expected"], BINS))[["expected", "real"]].mean()
        axes.plot(binned["expected"], binned["real"], marker="o", markersize=4, label=name)
    axes.set(xlabel="expected rate", ylabel="rate among later models", xlim=(0.5, 1.01), ylim=(0.5, 1.01))
    axes.legend(frameon=False)
    figure.savefig(PICTURE, metadata={"Date": None})


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--picture", action="store_true")
    given = parser.parse_args()
    rows = []
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for name in DATA:
            rows += measure(name, 0.1, range(200, 200 + given.seeds))
            frame = pd.DataFrame(rows)
            mean = frame[frame["data"] == name].groupby("level")[["expected", "real"]].mean()
            print(
                name, mean.assign(difference=mean["expected"] - mean["real"]).round(3).to_string(), sep="\n", flush=True
            )
    if given.picture:
        draw(pd.DataFrame(rows))


if __name__ == "__main__":
    main()
