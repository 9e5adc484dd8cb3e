"""What later models keep on the bundled data: the default, that of version 0.3, and a plain margin.

A third of the rows (35 %) trains the model; the others are the population that later models come from: each is the
whole pipeline, encoder included, fitted to as many of these rows as the model had. An option is kept if at least the
level's share of the later models accept it. Efforts and shares of fragile plans are also shown for models of all rows.
`python -m benchmarks.guarantees.bundled [--quick]` prints the tables.
"""

import argparse
import warnings
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

import copa
from benchmarks.guarantees.former_rule import resampling_radius
from copa.models import LinearModel

DATA = {
    "German": copa.datasets.load_german,
    "South German": copa.datasets.load_south_german,
    "Student": copa.datasets.load_student,
}
SHARE = 0.35  # of the rows, for training
SAME = {"n_options": 3, "n_starts": 8, "n_jobs": 1, "random_state": 0, "progress": False}


@dataclass(frozen=True)
class Split:
    """A training sample, the model fitted to it, those whom it declines, and later models."""

    data: object
    train: np.ndarray
    model: object
    declined: pd.DataFrame
    later: list


def pipeline(data, C):
    levels = [f.name for f in data.schema.features if f.is_categorical]
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), levels), remainder=StandardScaler())
    return make_pipeline(encoder, LogisticRegression(C=C, max_iter=1000))


def split(data, C, seed, n_later, n_applicants):
    """One training sample, and models on others."""
    X, y = data.features, np.asarray(data.favourable)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))
    n_train = round(SHARE * len(X))
    train, rest = order[:n_train], order[n_train:]
    model = pipeline(data, C).fit(X.iloc[train], y[train])
    declined = X.iloc[rest][~model.predict(X.iloc[rest])].head(n_applicants)
    later = []
    while len(later) < n_later:
        rows = rng.choice(rest, n_train, replace=False)
        if 0 < y[rows].sum() < n_train:
            later.append(clone(model).fit(X.iloc[rows], y[rows]))
    return Split(data, train, model, declined, later)


def planners(case, level, n_models):
    """The default, the default of version 0.3 and a plan without any robustness, fitted."""
    X, y = case.data.features.iloc[case.train], np.asarray(case.data.favourable)[case.train]
    same = SAME | {"schema": case.data.schema}
    known = LinearModel.read(case.model, X.columns)
    encoded = known.encode(X)[:, 1:]
    moments = copa.WeightMoments.from_retraining(known.classifier, encoded, y, n_models=n_models, random_state=0)
    radius = resampling_radius(known.classifier, encoded, y, moments, n_samples=max(10, n_models // 20))
    old = {"later_models": copa.MomentBall(moments.mean, moments.cov, radius, drift="cov")}
    none = {"later_models": copa.MomentBall(moments.mean, moments.cov, 0.0)}
    return {
        "default": copa.RecoursePlanner(
            case.model, guarantee=level, **same | {"later_models": copa.LaterModels(n_refits=n_models)}
        ).fit(X, y),
        "0.3": copa.RecoursePlanner(case.model, guarantee=level, **old, **same).fit(X, y),
        "none": copa.RecoursePlanner(case.model, guarantee=1e-6, **none, **same).fit(X, y),
    }


def rates(case, options):
    """Share of the later models that accept each option."""
    if len(options) == 0:
        return np.zeros(0)
    return np.mean([model.predict(options) for model in case.later], axis=0)


def margin_batch(case, planned):
    """Plans whose scores today exceed a constant, with as much effort for the same applicants as those `planned`.

    Returns the batch, and the applicants whom both serve.
    """
    X = case.data.features.iloc[case.train]
    theta = LinearModel.read(case.model, X.columns).theta
    certain = copa.WeightMoments(theta, 1e-12 * np.eye(theta.size), oriented=True)
    settings = SAME | {
        "schema": case.data.schema,
        "guarantee": 0.5,
        "later_models": copa.MomentBall(certain.mean, certain.cov, 0.0),
    }
    planner = copa.RecoursePlanner(case.model, **settings).fit(X)
    fitted, low, high, best = planner.strategy_, 0.0, 12.0, None
    served = np.flatnonzero(planned.status == "ok")
    for _ in range(9):
        margin = 0.5 * (low + high)
        mean = theta.copy()
        mean[0] -= margin
        planner.strategy_ = fitted.with_set(replace(fitted.parameters, mean=mean))
        batch = planner.plan(case.declined)
        both = [i for i in served if batch.status[i] == "ok"]
        if both and mean_effort(batch, both) <= mean_effort(planned, both):
            low, best = margin, (batch, both)
        else:
            high = margin
    return best


def worst_tenth(accepted):
    """Mean rate of the tenth of the options that are accepted least."""
    return float(np.sort(accepted)[: max(1, len(accepted) // 10)].mean()) if len(accepted) else np.nan


def mean_effort(batch, applicants):
    """Mean over applicants of the mean effort of their options."""
    return float(np.mean([batch.effort[batch.owner == i].mean() for i in applicants])) if len(applicants) else np.nan


def measure(name, C, *, seeds, n_later, n_applicants, levels, n_models):
    """Rows of the table for one data set and penalty."""
    data, found = DATA[name](), []
    for seed in seeds:
        case = split(data, C, seed, n_later, n_applicants)
        if len(case.declined) == 0:
            continue
        for level in levels:
            made = planners(case, level, n_models)
            batches = {rule: planner.plan(case.declined) for rule, planner in made.items()}
            base = batches["none"]
            whose = {rule: np.flatnonzero(batch.status == "ok") for rule, batch in batches.items()}
            beside = margin_batch(case, batches["default"]) if len(whose["default"]) else None
            if beside is not None:
                batches["margin"], whose["margin"] = beside
                batches["default, same people"], whose["default, same people"] = batches["default"], beside[1]
            for rule, batch in batches.items():
                served = whose[rule]
                flags = np.isin(batch.owner, served)
                accepted = rates(case, batch.options[flags])
                common = [i for i in served if base.status[i] == "ok"]
                expected = np.nan if batch.n_held_out == 0 else batch.expected_rate[flags].mean()
                found.append(
                    {
                        "data": name, "C": C, "seed": seed, "level": level, "rule": rule,
                        "reliability": made["default"].strategy_.reliability,
                        "applicants": len(batch), "ok": len(served), "fragile": int((batch.status == "fragile").sum()),
                        "options": int(flags.sum()), "kept": float((accepted >= level).sum()),
                        "rate": float(accepted.mean()) if len(accepted) else np.nan,
                        "worst_tenth": worst_tenth(accepted),
                        "expected": expected,
                        "effort": mean_effort(batch, common) / mean_effort(base, common) if common else np.nan,
                    }
                )  # fmt: skip
    return found


def table(rows):
    """Kept, rates and efforts by data set, penalty, level and rule."""
    frame = pd.DataFrame(rows)
    groups = frame.groupby(["data", "C", "level", "rule"], sort=False)
    sums = groups[["applicants", "ok", "fragile", "options", "kept"]].sum()
    means = groups[["rate", "worst_tenth", "expected", "effort", "reliability"]].mean()
    sums["kept"] /= sums["options"].clip(lower=1)
    return sums.join(means).round(3)


def on_all_rows(name, C, n_applicants, n_models):
    """Effort beside version 0.3 and shares of fragile plans, for a model of all rows."""
    data = DATA[name]()
    X, y = data.features, np.asarray(data.favourable)
    model = pipeline(data, C).fit(X, y)
    case = Split(data, np.arange(len(X)), model, X[~model.predict(X)].head(n_applicants), [])
    rows = []
    for level in (0.9, 0.95):
        made = {rule: planner.plan(case.declined) for rule, planner in planners(case, level, n_models).items()}
        new, old = made["default"], made["0.3"]
        both = np.flatnonzero((new.status == "ok") & (old.status == "ok"))
        ratios = [mean_effort(new, [i]) / mean_effort(old, [i]) for i in both]
        fragile = {rule: float((batch.status == "fragile").mean()) for rule, batch in made.items()}
        rows.append(
            {
                "data": name,
                "C": C,
                "level": level,
                "applicants": len(new),
                "both": len(both),
                "effort, median of ratios": float(np.median(ratios)) if ratios else np.nan,
                "fragile": fragile["default"],
                "fragile, 0.3": fragile["0.3"],
            }
        )
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--only", choices=("splits", "all-rows"))
    given = parser.parse_args()
    size = {"n_later": 100, "n_applicants": 30, "levels": (0.9, 0.95), "later_models": copa.LaterModels(n_refits=1000)}
    if given.quick:
        size = {"n_later": 40, "n_applicants": 15, "levels": (0.9,), "later_models": copa.LaterModels(n_refits=200)}
    settings = [(name, C) for name in DATA for C in (0.1, 1.0)]
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for name, C in settings if given.only != "splits" else ():
            rows = on_all_rows(name, C, 2 * size["n_applicants"], size["n_models"])
            print(pd.DataFrame(rows).round(3).to_string(index=False), flush=True)
        for name, C in settings if given.only != "all-rows" else ():
            print(table(measure(name, C, seeds=range(given.seeds), **size)).to_string(), flush=True)


if __name__ == "__main__":
    main()
