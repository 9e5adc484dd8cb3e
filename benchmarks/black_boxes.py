"""Menus for models that are only asked: a forest of 100 trees and a boosted model on the three bundled data sets.

The first 167 applicants whom each model declines on each data set, each option asked to hold with 0.8; fitting and
retraining are not counted. Then the options are tried on 200 further refits of the same rows; this says nothing of
models of fresh data, which `python -m benchmarks.black_boxes_fresh` asks. dice-ml's genetic method gets the same models
on German Credit; its rows are what it asks the model about, ours those of the model in force and of its 40 refits
together.
"""

import logging
import warnings
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

import copa
from benchmarks import ROOT
from benchmarks.reporting import Row

PICTURE = ROOT / "docs" / "pictures" / "black_boxes.svg"
N_APPLICANTS, N_RETRAININGS, N_DICE, GUARANTEE = 167, 200, 4, 0.8
DATA = (copa.datasets.load_german, copa.datasets.load_south_german, copa.datasets.load_student)
MODELS = {
    "forest of 100 trees": RandomForestClassifier(100, min_samples_leaf=5, random_state=0),
    "boosted trees": HistGradientBoostingClassifier(max_iter=60, learning_rate=0.05, random_state=0),
}


@dataclass(frozen=True)
class Case:
    """Menus of one model on one data set, and what further retrained models say of them."""

    schema: copa.FeatureSchema
    table: pd.DataFrame
    good: pd.Series
    model: Any
    declined: pd.DataFrame
    batch: copa.PlanBatch
    seconds: float
    asked: int
    shares: np.ndarray

    @classmethod
    def make(cls, data: Any, classifier: Any, *, quick: bool) -> "Case":
        """Fit, plan and try the options out."""
        table, good = data.features, data.favourable.astype(int)
        model = _pipeline(data.schema, table, classifier).fit(table, good)
        planner = copa.RecoursePlanner(
            model,
            schema=data.schema,
            favourable=1,
            guarantee=GUARANTEE,
            later_models=copa.LaterModels(n_refits=10 if quick else None),
            progress=False,
        ).fit(table, good)
        declined = table[model.predict(table) == 0].head(4 if quick else N_APPLICANTS)
        planner.plan(declined.head(1))  # whatever is loaded at the first call
        calls = planner.strategy_.model.asked
        calls.rows = 0
        started = perf_counter()
        batch = planner.plan(declined)
        seconds, asked = perf_counter() - started, calls.rows
        shares = _tried(model, table, good, batch, 5 if quick else N_RETRAININGS)
        return cls(data.schema, table, good, model, declined, batch, seconds, asked, shares)


def run(*, quick: bool) -> list[Row]:
    rows, clouds = [], {}
    for name, classifier in MODELS.items():
        cases = [Case.make(load(), classifier, quick=quick) for load in DATA]
        rows += [_speed(name, cases), _dice(name, cases[0], quick=quick), _kept(name, cases)]
        clouds[name] = tuple(
            np.concatenate(part) for part in zip(*((c.batch.option_lower, c.shares) for c in cases), strict=True)
        )
    if not quick:
        draw(clouds)
    return rows


def _pipeline(schema: Any, table: pd.DataFrame, classifier: Any) -> Any:
    numbers = [feature.name for feature in schema.features if feature.is_numeric]
    codes = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encoder = ColumnTransformer(
        [("numbers", MinMaxScaler(), numbers), ("codes", codes, [c for c in table if c not in numbers])]
    )
    return make_pipeline(encoder, clone(classifier))


def _speed(name: str, cases: list[Case]) -> Row:
    n, seconds = sum(len(case.batch) for case in cases), sum(case.seconds for case in cases)
    accepted = np.concatenate([case.model.predict(case.batch.options) == 1 for case in cases])
    broken = [case.schema.violations(case.declined.iloc[case.batch.owner], case.batch.options) for case in cases]
    words, counts = np.unique(np.concatenate([case.batch.status for case in cases]), return_counts=True)
    return Row(
        name=name,
        size=f"{n} applicants, 5 options, all cores",
        seconds=seconds,
        measured=n / seconds,
        unit="applicants/s",
        at_least=5.0 if "forest" in name else None,
        status=", ".join(f"{count} {word}" for word, count in zip(words, counts, strict=True)),
        accuracy=f"{accepted.mean():.1%} of {len(accepted)} rows accepted by the model itself, "
        f"{sum(bool(faults) for some in broken for faults in some)} break the schema",
    )


def _tried(model: Any, table: pd.DataFrame, good: pd.Series, batch: Any, n_models: int) -> np.ndarray:
    """Share of further retrained models that accept each option."""
    rng = np.random.default_rng(12345)
    accepted = np.zeros(len(batch.options))
    for k in range(n_models):
        rows = rng.integers(0, len(table), len(table))
        fit = clone(model)
        fit.set_params(**{name: 10_000 + k for name in fit.get_params() if name.endswith("__random_state")})
        fit.fit(table.iloc[rows], good.iloc[rows])
        accepted += fit.predict(batch.options) == 1
    return accepted / n_models


def _kept(name: str, cases: list[Case]) -> Row:
    missed = []
    for case in cases:
        least = np.ones(len(case.batch))
        np.minimum.at(least, case.batch.owner, case.shares - case.batch.option_lower)
        missed.append(least[np.unique(case.batch.owner)] < 0.0)
    lower, shares = (
        np.concatenate(part) for part in zip(*((c.batch.option_lower, c.shares) for c in cases), strict=True)
    )
    return Row(
        name=name,
        size=f"{sum(map(len, missed))} applicants with options, {N_RETRAININGS} further refits",
        seconds=sum(case.seconds for case in cases),
        measured=100.0 * float(np.concatenate(missed).mean()),
        unit="% have an option that fewer of these refits accept than its guarantee",
        status=f"guarantee {lower.mean():.3f} on average",
        accuracy=f"accepted by {shares.mean():.3f} of the refits on average",
    )


class _Counted:
    """A model that counts the rows it is asked about."""

    def __init__(self, model: Any) -> None:
        self.model, self.classes_, self.rows = model, model.classes_, 0

    def predict_proba(self, X: Any) -> Any:
        self.rows += len(X)
        return self.model.predict_proba(X)

    def predict(self, X: Any) -> Any:
        self.rows += len(X)
        return self.model.predict(X)


def _dice(name: str, case: Case, *, quick: bool) -> Row:
    import dice_ml

    warnings.filterwarnings("ignore", module="dice_ml")
    logging.disable(logging.WARNING)
    numbers = [feature.name for feature in case.schema.features if feature.is_numeric]
    data = dice_ml.Data(dataframe=case.table.assign(good=case.good), continuous_features=numbers, outcome_name="good")
    counted = _Counted(case.model)
    explainer = dice_ml.Dice(data, dice_ml.Model(model=counted, backend="sklearn"), method="genetic")
    few = case.declined.head(1 if quick else N_DICE)
    counted.rows = 0
    started = perf_counter()
    for label in few.index:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pandas' deprecations inside dice-ml
            explainer.generate_counterfactuals(few.loc[[label]], total_CFs=5, desired_class=1, verbose=False)
    seconds, theirs, ours = (perf_counter() - started) / len(few), counted.rows / len(few), case.asked / len(case.batch)
    return Row(
        name=name,
        size="rows asked of models, per applicant, German Credit",
        seconds=case.seconds / len(case.batch),
        baseline="dice-ml, genetic",
        baseline_seconds=seconds,
        measured=ours / theirs,
        unit="times the rows of dice-ml",
        at_most=20.0,
        status=f"{ours:,.0f} rows against {theirs:,.0f}",
    )


def draw(clouds: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
    """Guarantee of every option against the share of retrained models that accept it."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "copa"
    figure, axes = plt.subplots(1, len(clouds), figsize=(9.0, 4.0), sharey=True)
    for axis, (name, (lower, shares)) in zip(axes, clouds.items(), strict=True):
        axis.plot([0.0, 1.0], [0.0, 1.0], color="0.6", linewidth=1.0, linestyle="--")
        axis.scatter(lower, shares, s=6.0, alpha=0.4, color="#0072B2", linewidths=0.0)
        axis.set_title(f"{name}: {len(lower)} options", fontsize=10)
        axis.set_xlabel("guarantee (proven, under the assumption)")
        axis.set_xlim(0.0, 1.0)
        axis.set_ylim(0.0, 1.02)
    axes[0].set_ylabel(f"accepted by this share of {N_RETRAININGS} retrained models")
    figure.tight_layout()
    figure.savefig(PICTURE, metadata={"Date": None})
    plt.close(figure)
