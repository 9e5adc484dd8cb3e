"""From a table of declined applicants to certified menus of real rows: German Credit with its own schema.

Five options per applicant, search, delivery, the model's answer and certificates included; fitting is not. dice-ml gets
the same model and the same applicants one by one, without any constraint or guarantee: its default method (random) and,
where torch is installed, its gradient method on the same parameters.
"""

import logging
import warnings
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

import copa
from benchmarks.reporting import Row

N_OPTIONS = 5
N_RANDOM, N_GRADIENT = 12, 2  # applicants that dice-ml is timed on: its gradient method takes half a minute each


def run(*, quick: bool) -> list[Row]:
    data = copa.datasets.load_german()
    table, good = data.features, data.favourable.astype(int)
    numbers = [name for name in table if pd.api.types.is_integer_dtype(table[name])]
    codes = [name for name in table if name not in numbers]
    encoder = ColumnTransformer([("numbers", MinMaxScaler(), numbers), ("codes", OneHotEncoder(), codes)])
    model = make_pipeline(encoder, LogisticRegression(C=1.0, max_iter=5000)).fit(table, good)
    planner = copa.RecoursePlanner(model, schema=data.schema, n_options=N_OPTIONS, progress=False).fit(table, good)
    declined = table[model.predict(table) == 0]
    planner.plan(declined.head(4))  # whatever is loaded at the first call
    rows = [_both_cores(planner, declined)]
    per_applicant, status = _one_core(planner, declined)
    dice = _Explainers(table, good, numbers)
    seconds, found = _dice_seconds(dice.random(model), declined.head(2 if quick else N_RANDOM), random_seed=0)
    rows.append(_against("dice-ml, random", 10.0, per_applicant, status, seconds, found))
    gradient = dice.gradient(model)
    if gradient is not None and not quick:
        seconds, found = _dice_seconds(gradient, declined.head(N_GRADIENT))
        rows.append(_against("dice-ml, gradient", 200.0, per_applicant, status, seconds, found))
    return rows


def _both_cores(planner: Any, declined: pd.DataFrame) -> Row:
    times = []
    for _ in range(3):
        started = perf_counter()
        batch = planner.plan(declined)
        times.append(perf_counter() - started)
    names, counts = np.unique(batch.status, return_counts=True)
    return Row(
        name="menus, delivered and certified",
        size=f"{len(declined)} applicants, {N_OPTIONS} options, all cores",
        seconds=min(times),
        measured=len(declined) / min(times),
        unit="applicants/s",
        at_least=100.0,
        status=", ".join(f"{count} {name}" for name, count in zip(names, counts, strict=True)),
        accuracy=f"{batch.accepted.mean():.0%} of rows accepted today",
    )


def _one_core(planner: Any, declined: pd.DataFrame) -> tuple[float, str]:
    """Seconds per applicant of a batch, on one core."""
    planner.set_params(n_jobs=1)
    started = perf_counter()
    batch = planner.plan(declined)
    seconds = (perf_counter() - started) / len(declined)
    planner.set_params(n_jobs=None)
    return seconds, f"{np.mean(batch.status == 'ok'):.0%} ok"


def _against(name: str, target: float, ours: float, status: str, theirs: float, found: float) -> Row:
    return Row(
        name="menu of an applicant",
        size=f"{N_OPTIONS} options, one core, in a batch",
        seconds=ours,
        baseline=name,
        baseline_seconds=theirs,
        at_least=target,
        status=status,
        accuracy=f"dice-ml found {found:.1f} options",
    )


class _Explainers:
    """Explainers of dice-ml for one table."""

    def __init__(self, table: pd.DataFrame, good: pd.Series, numbers: list[str]) -> None:
        import dice_ml

        warnings.filterwarnings("ignore", module="dice_ml")
        logging.disable(logging.WARNING)
        self.package = dice_ml
        self.table = table
        self.data = dice_ml.Data(dataframe=table.assign(good=good), continuous_features=numbers, outcome_name="good")

    def random(self, pipeline: Any) -> Any:
        return self.package.Dice(self.data, self.package.Model(model=pipeline, backend="sklearn"), method="random")

    def gradient(self, pipeline: Any) -> Any:
        """The same parameters as a torch module over DiCE's own encoding (which is ours); None without torch."""
        try:
            import torch
        except ImportError:
            print("dice-ml's gradient method is left out: pip install 'copa-recourse[baselines]' brings torch")
            return None
        torch.set_num_threads(1)
        encoded = self.data.get_ohe_min_max_normalized_data(self.table).astype(float)
        ours = pipeline[0].transform(self.table)
        np.testing.assert_allclose(ours.toarray() if hasattr(ours, "toarray") else ours, encoded.to_numpy())
        linear = torch.nn.Linear(encoded.shape[1], 1)
        with torch.no_grad():
            linear.weight.copy_(torch.tensor(pipeline[-1].coef_))
            linear.bias.copy_(torch.tensor(pipeline[-1].intercept_))
        network = torch.nn.Sequential(linear, torch.nn.Sigmoid())
        wrapped = self.package.Model(model=network, backend="PYT", func="ohe-min-max")
        return self.package.Dice(self.data, wrapped, method="gradient")


def _dice_seconds(explainer: Any, applicants: pd.DataFrame, **settings: Any) -> tuple[float, float]:
    """Seconds per applicant, and how many options were found on average."""
    found = 0
    started = perf_counter()
    for label in applicants.index:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pandas' deprecations inside dice-ml
            result = explainer.generate_counterfactuals(
                applicants.loc[[label]], total_CFs=N_OPTIONS, desired_class=1, verbose=False, **settings
            )
        options = result.cf_examples_list[0].final_cfs_df
        found += 0 if options is None else len(options)
    return (perf_counter() - started) / len(applicants), found / len(applicants)
