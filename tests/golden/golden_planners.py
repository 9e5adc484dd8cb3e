"""The planners behind the golden files: models that are the same with every version of the packages, and settings.

Linear models are fitted for their form, and then given the parameters that were stored; the other ones are stored whole
by skops, which promises to read its files with the version of scikit-learn that wrote them.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

from copa import Feature, FeatureSchema
from copa.models.storage import unpack_estimator

FOLDER = Path(__file__).parent / "v0_3_0"
REPLANNED = Path(__file__).parent / "v0_3_0_planned_by_0_5_0"
MADE_WITH = "made_with.json"
LABEL = "paid"
NUMBERS = ["income", "debt", "age", "grade"]

SCHEMA = FeatureSchema(
    [
        Feature("income", "numeric", lower=0.0, upper=90.0, step=0.5, direction="increase", title="Income"),
        Feature("debt", "integer", lower=0, upper=60),
        Feature("age", "integer", immutable=True),
        Feature("job", "categorical", values=["clerk", "driver", "nurse"], transitions={"nurse": ["clerk"]}),
        Feature("grade", "ordinal", values=[1, 2, 3, 4, 5], direction="increase", weight=2.0, labels={1: "lowest"}),
        Feature("married", "binary", values=[False, True], immutable=True),
    ],
    rules=["debt <= income + 40"],
    max_changes=3,
)

FAST = {"n_starts": 8, "n_options": 3, "guarantee": 0.8, "random_state": 0, "n_jobs": 1, "progress": False}
TRIED = FAST | {"n_models": 4, "n_starts": 4, "n_options": 2, "guarantee": 0.6}
SETTINGS = {
    "linear": FAST | {"n_models": 50},
    "linear_any_l2": FAST | {"n_models": 50, "guarantee_for": "any", "cost": "l2", "threshold": 0.4, "radius": 0.02},
    "paper": FAST | {"n_models": 50, "objective": "paper", "radius": 0.01, "validity_weight": 0.7},
    "feature_map": FAST | {"n_models": 50},
    "forest": TRIED,
    "boosting": TRIED,
    "lime": TRIED | {"surrogate": "lime", "radius": 0.02},
}
MODELS = {"linear_any_l2": "linear", "paper": "linear", "lime": "forest"}  # planners that share the model of another
STORED_BY_SKOPS = ("forest", "boosting", "lime")


def encoder():
    return ColumnTransformer(
        [
            ("numbers", StandardScaler(), NUMBERS),
            ("job", OneHotEncoder(sparse_output=False), ["job"]),
            ("married", "passthrough", ["married"]),
        ]
    )


def unfitted(name):
    """The pipeline of a name, not fitted."""
    if name == "linear":
        return make_pipeline(encoder(), LogisticRegression())
    if name == "feature_map":
        return make_pipeline(encoder(), PolynomialFeatures(2, include_bias=False), LogisticRegression(C=0.1))
    if name == "forest":
        return make_pipeline(encoder(), RandomForestClassifier(5, max_depth=4, min_samples_leaf=8, random_state=0))
    boosting = HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=5, min_samples_leaf=8, random_state=0)
    return make_pipeline(encoder(), boosting)


def training_data():
    """The table of the golden folder, and its outcomes."""
    table = pd.read_csv(FOLDER / "bank.csv")
    return table.drop(columns=LABEL), table[LABEL].to_numpy()


def stored_model(name):
    """The model that a golden planner was fitted with."""
    name = MODELS.get(name, name)
    if name in STORED_BY_SKOPS:
        return unpack_estimator((FOLDER / f"{name}.skops").read_bytes())
    model = unfitted(name).fit(*training_data())
    parameters = json.loads((FOLDER / f"{name}_parameters.json").read_text())
    model[-1].coef_, model[-1].intercept_ = (np.array(parameters[part]) for part in ("coef", "intercept"))
    return model


def same_scikit_learn():
    """Whether the golden files that hold parts of scikit-learn were written by the version at hand."""
    made = json.loads((FOLDER / MADE_WITH).read_text())["scikit-learn"]
    return made.split(".")[:2] == sklearn.__version__.split(".")[:2]
