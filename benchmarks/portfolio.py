"""Forecast and fact: the share of promises that a model on other rows really breaks, beside its forecast.

`python -m benchmarks.portfolio [--splits N] [--write]`: the bundled data are split into random halves. On one half a
logistic regression is fitted, and options for declined applicants are promised; `portfolio_risk` forecasts the share
that the next model breaks. The model of the other half, its encoder included, is the next one. Options of a low level
are promised on purpose (an expected rate of 0.8), so that there is something to break. `--write` puts the table into
benchmarks/PROMISES.md.
"""

import argparse
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import copa
from benchmarks import ROOT
from copa.promises import PortfolioRisk, gate, portfolio_risk

DATA = {
    "German": copa.datasets.load_german,
    "South German": copa.datasets.load_south_german,
    "Student": copa.datasets.load_student,
}
PENALTIES = (1.0, 0.1)
N_APPLICANTS, N_OPTIONS, LEVEL, N_REFITS = 40, 3, 0.8, 400
LEAST_UNDER = 12 / 14  # of the splits, what must hold
PAGE = ROOT / "benchmarks" / "PROMISES.md"
BEGIN, END = "<!-- begin: python -m benchmarks.portfolio --write -->", "<!-- end -->"


@dataclass(frozen=True)
class Split:
    """What was forecast on one half, and what the model of the other half did."""

    data: str
    penalty: float
    seed: int
    risk: PortfolioRisk
    realised: float

    @property
    def is_under(self) -> bool:
        """Whether the realised share is at most the 95 % quantile."""
        return self.realised <= self.risk.quantiles[0.95]

    def cells(self) -> list[str]:
        """One line of the table."""
        risk = self.risk
        return [
            f"{self.data}, C = {self.penalty:g}, split {self.seed}",
            str(risk.n_promises),
            f"{risk.effective_number:.1f}",
            f"{risk.mean:.3f}",
            f"{risk.quantiles[0.95]:.3f}",
            f"{self.realised:.3f}",
            "yes" if self.is_under else "no",
        ]


def fitted(data: Any, rows: Any, penalty: float) -> Any:
    """A logistic regression on some rows, with an encoder of its own."""
    levels = [feature.name for feature in data.schema.features if feature.is_categorical]
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), levels), remainder=StandardScaler())
    model = make_pipeline(encoder, LogisticRegression(C=penalty, max_iter=2000))
    return model.fit(data.features.iloc[rows], data.favourable[rows])


def one_split(name: str, penalty: float, seed: int) -> Split:
    """Promise on one half, and ask the model of the other."""
    data = DATA[name]()
    order = np.random.default_rng(seed).permutation(len(data.features))
    here, there = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
    X, y = data.features.iloc[here], data.favourable[here]
    model = fitted(data, here, penalty)
    planner = copa.RecoursePlanner(
        model,
        schema=data.schema,
        guarantee=LEVEL,
        n_options=N_OPTIONS,
        later_models=copa.Expected(n_refits=N_REFITS),
        random_state=seed,
        progress=False,
    ).fit(X, y)
    batch = planner.plan(X[~model.predict(X)].head(N_APPLICANTS))
    promised = batch.select(batch.status == "ok")
    return Split(
        name,
        penalty,
        seed,
        portfolio_risk(planner, promised),
        gate(fitted(data, there, penalty), promised).broken_share,
    )


def table(splits: list[Split]) -> str:
    """The splits as a table, and the sentence that sums them up."""
    heads = ["half of", "promises", "worth", "mean forecast", "95 % quantile", "really broken", "under it"]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    lines += ["| " + " | ".join(split.cells()) + " |" for split in splits]
    under = sum(split.is_under for split in splits)
    ratio = float(np.median([split.risk.n_promises / split.risk.effective_number for split in splits]))
    means = (np.mean([split.risk.mean for split in splits]), np.mean([split.realised for split in splits]))
    total = (
        f"The realised share is under the 95 % quantile in {under} of {len(splits)} splits. On average {means[0]:.3f} "
        f"was forecast and {means[1]:.3f} was broken. In the median, {ratio:.1f} promises are worth one."
    )
    return "\n".join([*lines, "", total])


def main() -> int:
    """Run the splits, print their table, and say by the exit code whether enough of them are under the quantile."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.portfolio", description=__doc__)
    parser.add_argument("--splits", type=int, default=3, help="splits of each data set at each penalty")
    parser.add_argument("--write", action="store_true", help="put the table into benchmarks/PROMISES.md")
    arguments = parser.parse_args()
    splits = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in DATA:
            for penalty in PENALTIES:
                for seed in range(arguments.splits):
                    splits.append(one_split(name, penalty, seed))
                    print(" ".join(splits[-1].cells()), flush=True)
    text = table(splits)
    print(text.splitlines()[-1])
    if arguments.write:
        page = PAGE.read_text(encoding="utf-8")
        before, rest = page.split(BEGIN, 1)
        PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END, 1)[1]}", encoding="utf-8")
    return 0 if sum(split.is_under for split in splits) >= LEAST_UNDER * len(splits) else 1


if __name__ == "__main__":
    raise SystemExit(main())
