"""A small bank: six columns of every kind, a noisy rule that decides, and pipelines over it."""

from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import copa
from copa import Feature, FeatureSchema
from copa.planner.later_models import read_later_models
from copa.theory.sets import AmbiguitySet

NUMBERS = ["income", "debt", "age"]
JOBS = ["clerk", "driver", "nurse"]

SCHEMA = FeatureSchema(
    [
        Feature("income", "numeric", lower=0.0, upper=90.0, step=0.5, direction="increase"),
        Feature("debt", "integer", lower=0, upper=60),
        Feature("age", "integer", immutable=True),
        Feature("job", "categorical", values=JOBS, transitions={"nurse": ["clerk"]}),
        Feature("grade", "ordinal", values=[1, 2, 3, 4, 5], direction="increase", weight=2.0),
        Feature("married", "binary", values=[False, True], immutable=True),
    ],
    rules=["debt <= income + 40"],
    max_changes=3,
)

# The paper's ball, in units of the drift between models.
BALL = {"later_models": copa.MomentBall(radius=0.6, drift="cov")}
FEW = copa.LaterModels(n_refits=50)
SMALL = {"later_models": FEW, "n_starts": 8, "n_options": 3, "guarantee": 0.8, "random_state": 0, "n_jobs": 1}
FAST = {**SMALL, "plausibility": 0.0}  # most tests are about what can be reached at all


def people(n: int, seed: int) -> pd.DataFrame:
    """Rows that obey the schema's ranges, with labels that are not their positions."""
    rng = np.random.default_rng(seed)
    income = np.round(2.0 * np.clip(rng.normal(35.0, 12.0, n), 5.0, 80.0)) / 2.0
    return pd.DataFrame(
        {
            "income": income,
            "debt": np.minimum(rng.integers(0, 60, n), income.astype(int) + 40),
            "age": rng.integers(20, 70, n),
            "job": rng.choice(JOBS, n),
            "grade": rng.integers(1, 6, n),
            "married": rng.random(n) < 0.5,
        },
        index=[f"person {k}" for k in range(n)],
    )


def outcomes(table: pd.DataFrame, seed: int = 1) -> np.ndarray:
    """Who paid back: a linear rule and noise."""
    rng = np.random.default_rng(seed)
    score = 0.08 * (table["income"] - 35.0) - 0.06 * (table["debt"] - 30.0) + 0.5 * (table["grade"] - 3.0)
    score += 0.8 * (table["job"] == "nurse") + 0.01 * (table["age"] - 45.0) - 0.5
    return (score + rng.logistic(scale=0.7, size=len(table)) > 0.0).to_numpy()


def encoder(**onehot: object) -> ColumnTransformer:
    """Scaled numbers, one-hot jobs, ordered grades."""
    return ColumnTransformer(
        [
            ("numbers", StandardScaler(), NUMBERS),
            ("job", OneHotEncoder(**onehot), ["job"]),
            ("grade", make_pipeline(OrdinalEncoder(), StandardScaler()), ["grade"]),
            ("married", "passthrough", ["married"]),
        ]
    )


def pipeline(classifier: object | None = None, **onehot: object) -> Pipeline:
    """A pipeline that is not fitted yet."""
    return make_pipeline(encoder(**onehot), LogisticRegression() if classifier is None else classifier)


def fitted_pipeline(classifier: object | None = None, labels: object = None, **onehot: object) -> Pipeline:
    """A pipeline fitted to the bank's training data."""
    table = people(300, 0)
    return pipeline(classifier, **onehot).fit(table, outcomes(table) if labels is None else labels)


def planner(model: object, **settings: object) -> copa.RecoursePlanner:
    """A planner with few refits, whatever else is assumed of later models, fitted to the bank's training data."""
    table = people(300, 0)
    given = {"schema": SCHEMA, **FAST, **settings}
    later = read_later_models(given["later_models"])
    given["later_models"] = later if later.n_refits else replace(later, n_refits=FEW.n_refits)
    return copa.RecoursePlanner(model, **given).fit(table, outcomes(table))


def same_ball(fitted: copa.RecoursePlanner) -> dict[str, object]:
    """Settings that give another planner the ball of a fitted one."""
    moments, family = fitted.moments_, fitted.strategy_.ambiguity(1).family
    return {"later_models": copa.MomentBall(moments.mean, moments.cov, fitted.radius_, fitted.drift_, family)}


def own_set(kind: type[AmbiguitySet], fitted: copa.RecoursePlanner) -> dict[str, object]:
    """Settings that give another planner a set of another kind around the moments of a fitted one."""
    ball = same_ball(fitted)["later_models"]
    return {"later_models": kind(ball.mean, ball.cov, ball.radius, ball.drift, ball.family)}
