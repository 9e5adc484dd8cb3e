"""Categories that the encoders of fitted models know, wherever the encoder stands."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder

from copa.models.encoders import encoder_categories

TABLE = pd.DataFrame({"branch": [1, 2, 3] * 10, "area": ["x", "y"] * 15, "debt": np.arange(30) / 2.0})
LABELS = np.arange(30) % 4 < 2


def fitted(*transformers):
    return make_pipeline(ColumnTransformer([*transformers], remainder="passthrough"), LogisticRegression()).fit(
        TABLE.assign(area=TABLE["area"].map({"x": 7, "y": 8})), LABELS
    )


@pytest.mark.parametrize("encoder", [OneHotEncoder(), OrdinalEncoder(), TargetEncoder(cv=2)], ids=str)
def test_codes_under_an_encoder_are_categories(encoder):
    model = fitted(("codes", encoder, ["branch", "area"]), ("numbers", StandardScaler(), ["debt"]))
    assert encoder_categories(model) == {"branch": [1, 2, 3], "area": [7, 8]}


def test_imputers_before_an_encoder_are_passed_and_other_steps_are_not():
    behind = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    assert encoder_categories(fitted(("codes", behind, ["branch"]))) == {"branch": [1, 2, 3]}
    scaled = make_pipeline(StandardScaler(), OneHotEncoder())
    assert encoder_categories(fitted(("codes", scaled, ["branch"]))) == {}
    flagged = make_pipeline(SimpleImputer(add_indicator=True), OneHotEncoder())
    assert encoder_categories(fitted(("codes", flagged, ["branch"]))) == {}


def test_pipelines_inside_searches_and_calibrations_are_found():
    model = make_pipeline(ColumnTransformer([("codes", OneHotEncoder(), ["branch", "area"])]), LogisticRegression())
    known = {"branch": [1, 2, 3], "area": ["x", "y"]}
    search = GridSearchCV(model, {"logisticregression__C": [1.0]}, cv=2).fit(TABLE, LABELS)
    assert encoder_categories(search) == known
    assert encoder_categories(CalibratedClassifierCV(model, ensemble=False, cv=2).fit(TABLE, LABELS)) == known


def test_columns_without_names_are_named_by_the_caller():
    model = make_pipeline(ColumnTransformer([("codes", OneHotEncoder(), [0])]), LogisticRegression())
    model.fit(TABLE[["branch", "debt"]].to_numpy(), LABELS)
    assert encoder_categories(model, ["branch", "debt"]) == {"branch": [1.0, 2.0, 3.0]}


def test_models_without_encoders_know_no_categories():
    assert encoder_categories(LogisticRegression().fit(TABLE[["debt"]], LABELS)) == {}
    assert encoder_categories(None) == {}
