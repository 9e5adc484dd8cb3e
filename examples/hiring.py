"""Hiring: a shortlist model, a plan for a rejected candidate, and how many newly trained models accept its options.

The candidates are synthetic, so the guarantee can be tested directly: on models trained on new candidates. The data at
hand are one sample, which may flatter an option. A low confidence makes little allowance for that, and an unlucky
option can fall below its level; 0.95 allows for a mean score that is off by 1.96 standard deviations of retraining.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import copa

LANGUAGES = ["none", "basic", "fluent"]


def candidates(n: int, seed: int) -> tuple[pd.DataFrame, pd.Series]:
    """Candidates and who of them was shortlisted."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "experience": rng.poisson(5, n),
            "certificates": rng.integers(0, 5, n),
            "test_score": rng.normal(60, 15, n).clip(0, 100).round(),
            "language": rng.choice(LANGUAGES, n, p=[0.3, 0.4, 0.3]),
            "salary_asked": rng.normal(52, 10, n).clip(25, 90).round(),
        }
    )
    score = 0.25 * table["experience"] + 0.5 * table["certificates"] + 0.05 * (table["test_score"] - 60)
    score += table["language"].map({"none": -0.8, "basic": 0.0, "fluent": 0.9}) - 0.06 * (table["salary_asked"] - 52)
    return table, score - 3.0 + rng.logistic(size=n) > 0


table, shortlisted = candidates(800, seed=1)
numbers = table.select_dtypes("number").columns
encoder = make_column_transformer((OneHotEncoder(), ["language"]), (StandardScaler(), numbers))
model = make_pipeline(encoder, LogisticRegression()).fit(table, shortlisted)

ordered = table.astype({"language": pd.CategoricalDtype(LANGUAGES, ordered=True)})
up = {"language": {"direction": "increase"}, "test_score": {"direction": "increase", "upper": 95}}
up |= {"experience": {"direction": "increase", "weight": 2}, "certificates": {"direction": "increase", "upper": 6}}
schema = copa.FeatureSchema.infer(ordered, immutable=["age"], features=up, max_changes=3)
rejected = table[~model.predict(table)].head(30)
planner = copa.RecoursePlanner(
    model, schema=schema, guarantee=0.8, n_options=3, later_models=copa.LaterModels(n_refits=300)
).fit(table, shortlisted)
print(planner.plan(rejected)[0].explain(1), end="\n\n")

# The test: models trained on 100 other samples of candidates.
others = [clone(model).fit(*candidates(800, seed)) for seed in range(1000, 1100)]
print("confidence  level   mean effort   accepted by new models: on average   the least accepted option")
for confidence in (0.1, 0.95):
    planner.set_params(later_models=replace(planner.later_models, confidence=confidence)).fit(table, shortlisted)
    for level in (0.4, 0.6, 0.8):
        batch = planner.set_params(guarantee=level).plan(rejected)
        share = np.mean([other.predict(batch.options) for other in others], axis=0)
        print(f"{confidence:<8.2f} {level:8.1f} {batch.effort.mean():13.2f} {share.mean():36.0%} {share.min():27.0%}")
