"""Tables and fitted tree ensembles for tests: numbers and categories, missing cells, encoders in front."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, RobustScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

NUMBERS, VALUES = ["age", "income", "debt"], ["job", "home"]
JOBS = [f"job {k}" for k in range(70)]  # more than a word of bits has room for


def table(
    n_rows: int, seed: int = 0, *, missing: bool = False, native: bool = False
) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows and labels, "no" and "yes"."""
    rng = np.random.default_rng(seed)
    income = np.exp(rng.normal(10.0, 1.0, n_rows))
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n_rows),
            "income": income,
            "debt": rng.normal(size=n_rows).round(2),
            "job": rng.choice(JOBS, n_rows),
            "home": rng.choice(["own", "rent", "free"], n_rows),
        }
    )
    good = X.age / 50 + X.debt + X.job.str.len() / 3 + np.log(income) / 10 + rng.normal(size=n_rows) > 4.5
    if missing:
        X.loc[rng.random(n_rows) < 0.1, "income"] = np.nan
    if native:
        X = X.astype({"job": pd.CategoricalDtype(JOBS), "home": "category"})
    return X, np.where(good, "yes", "no")


def one_hot(scaler: Any) -> ColumnTransformer:
    """Scaled numbers, and a column for each value."""
    return ColumnTransformer([("numbers", scaler, NUMBERS), ("values", OneHotEncoder(handle_unknown="ignore"), VALUES)])


def ordinal(scaler: Any) -> ColumnTransformer:
    """Numbers with missing ones filled in, and a number for each value."""
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    return ColumnTransformer([("values", codes, VALUES), ("numbers", make_pipeline(SimpleImputer(), scaler), NUMBERS)])


def scikit_learn_models() -> dict[str, tuple[Any, dict[str, bool]]]:
    """Models to be fitted, by name, with what the table must have for them."""
    return {
        "forest, one-hot, standardised": (
            make_pipeline(one_hot(StandardScaler()), RandomForestClassifier(20, random_state=0)),
            {},
        ),
        "extra trees, ordinal, imputed": (
            make_pipeline(ordinal(MinMaxScaler()), ExtraTreesClassifier(20, random_state=0)),
            {"missing": True},
        ),
        "tree, missing cells": (
            make_pipeline(one_hot_dense(), DecisionTreeClassifier(random_state=0)),
            {"missing": True},
        ),
        "extra tree, robustly scaled": (
            make_pipeline(one_hot(RobustScaler()), ExtraTreeClassifier(random_state=0)),
            {},
        ),
        "gradient boosting": (
            make_pipeline(one_hot(StandardScaler()), GradientBoostingClassifier(n_estimators=20, random_state=0)),
            {},
        ),
        "gradient boosting, stopped early": (
            make_pipeline(
                ordinal(MinMaxScaler()), GradientBoostingClassifier(n_estimators=60, n_iter_no_change=3, random_state=0)
            ),
            {"missing": True},
        ),
        "histogram boosting, own categories": (
            HistGradientBoostingClassifier(max_iter=20, categorical_features="from_dtype", random_state=0),
            {"missing": True, "native": True},
        ),
        "histogram boosting, ordinal categories": (
            make_pipeline(
                ordinal("passthrough"),
                HistGradientBoostingClassifier(max_iter=20, categorical_features=[0, 1], random_state=0),
            ),
            {"missing": True},
        ),
        "histogram boosting, stopped early": (
            make_pipeline(
                one_hot_dense(), HistGradientBoostingClassifier(max_iter=60, early_stopping=True, random_state=0)
            ),
            {"missing": True},
        ),
    }


def one_hot_dense() -> ColumnTransformer:
    """Numbers as they are, and a column for each value."""
    return one_hot("passthrough").set_params(sparse_threshold=0.0)
