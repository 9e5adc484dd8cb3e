"""What special codes, missing values and bins do to the encoded row is what the pipeline says."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder, StandardScaler

from copa import Feature, FeatureSchema
from copa.exceptions import InvalidInputError
from copa.models import Encoding, LinearModel

rng = np.random.default_rng(5)
N = 90
TABLE = pd.DataFrame(
    {
        "x": np.where(rng.random(N) < 0.2, -9.0, rng.integers(0, 30, N)),
        "w": np.where(rng.random(N) < 0.2, np.nan, rng.normal(5.0, 1.0, N).round(2)),
        "c": rng.choice(np.array(["a", "b", np.nan], dtype=object), N),
    }
)
LABELS = TABLE["x"] > 12.0
SCHEMA = FeatureSchema(
    [
        Feature("x", "integer", lower=0, upper=40, special=(-9.0,)),
        Feature("w", "numeric", missing="may_change"),
        Feature("c", "categorical", values=["a", "b"], missing="may_change"),
    ]
)
SCALED = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
CODE = SimpleImputer(missing_values=-9.0, strategy="median", add_indicator=True)


def probed(*parts, schema=SCHEMA):
    encoder = make_column_transformer(*parts, (OneHotEncoder(handle_unknown="ignore"), ["c"]))
    pipeline = make_pipeline(encoder, LogisticRegression()).fit(TABLE, LABELS)
    model = LinearModel.read(pipeline, TABLE.columns, favourable=True)
    return model, Encoding.probe(model, schema, TABLE)


def step(model, column, before, after):
    """What the pipeline adds when one cell goes from an entry to another."""
    rows = [TABLE.iloc[[7]].assign(**{column: entry}) for entry in (before, after)]
    return np.diff(model.encode(pd.concat(rows)), axis=0)[0]


@pytest.mark.parametrize(("column", "entry"), [("x", -9.0), ("w", np.nan)])
def test_leaving_an_irregular_entry_adds_its_change_and_the_way_from_zero(column, entry):
    model, encoding = probed((CODE, ["x"]), (SCALED, ["w"]))
    for value in (0.0, 17.0):
        added = encoding.irregular[column][0] + value * encoding.numeric[column]
        np.testing.assert_allclose(added, step(model, column, entry, value), atol=1e-10)


def test_a_missing_category_that_may_change_is_the_last_level():
    model, encoding = probed((CODE, ["x"]), (SCALED, ["w"]))
    codes = encoding.categorical["c"]
    assert len(codes) == 3
    np.testing.assert_allclose(codes[1] - codes[2], step(model, "c", np.nan, "b"), atol=1e-12)


def test_bins_and_then_special_codes_are_levels():
    cut = FunctionTransformer(lambda frame: np.digitize(np.asarray(frame), [0.0, 6.0, 12.0]).astype(float))
    model, encoding = probed((cut, ["x"]), (SCALED, ["w"]))
    assert encoding.edges["x"].tolist() == [6.0, 12.0]
    codes = encoding.categorical["x"]
    assert len(codes) == 4
    for level, value in enumerate((3.0, 6.0, 40.0)):
        np.testing.assert_allclose(codes[level] - codes[3], step(model, "x", -9.0, value), atol=1e-12)


def test_a_missing_value_that_may_change_must_be_read_by_the_pipeline():
    schema = FeatureSchema([*SCHEMA.features[1:], SCHEMA["x"].replace(missing="may_change")])
    with pytest.raises(InvalidInputError, match="Impute it in the pipeline"):
        probed((KBinsDiscretizer(3, subsample=None), ["x"]), (SCALED, ["w"]), schema=schema)


def test_a_column_of_bins_in_a_rule_is_warned_of():
    schema = FeatureSchema(SCHEMA.features, ["x <= 3 * w"])
    with pytest.warns(UserWarning, match="'x' enters the model in bins, and the rule .* needs its number"):
        probed((KBinsDiscretizer(3, subsample=None), ["x"]), (SCALED, ["w"]), schema=schema)
