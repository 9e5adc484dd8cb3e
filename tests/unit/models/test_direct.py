"""Encoded rows and probabilities without calling a pipeline: the same bits, or the pipeline itself."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from copa.data.schema.columns import ReadTable
from copa.models.black_box import BlackBox
from copa.models.direct import DirectEncoder, DirectPipeline
from copa.models.linear import LinearModel

NUMBERS, CODES = ["income", "debt"], ["home", "branch"]
COLUMNS = (*NUMBERS, *CODES)


@pytest.fixture(scope="module")
def table():
    draw = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "income": draw.integers(10, 90, 120),
            "debt": draw.normal(3.0, 1.0, 120),
            "home": draw.choice(["rent", "own", "free"], 120),
            "branch": draw.integers(1, 6, 120),
        }
    )


@pytest.fixture(scope="module")
def good(table):
    return (table["income"] > 8 * table["debt"] + 20).astype(int)


def encoder(scaler=None, **one_hot):
    return ColumnTransformer(
        [("n", scaler or StandardScaler(), NUMBERS), ("c", OneHotEncoder(**one_hot), CODES), ("none", PCA(), [])]
    )


def encoded(step, table):
    rows = step.transform(table)
    return rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)


@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        MinMaxScaler(),
        MaxAbsScaler(),
        RobustScaler(),
        make_pipeline(MinMaxScaler(), StandardScaler()),
        "passthrough",
    ],
)
def test_known_transformers_are_encoded_to_the_same_bits(table, scaler):
    step = encoder(scaler).fit(table)
    direct = DirectEncoder.of([step], COLUMNS)
    np.testing.assert_array_equal(direct.encode(ReadTable(table)), encoded(step, table))


@pytest.mark.parametrize("one_hot", [{"drop": "first"}, {"drop": "if_binary"}, {"sparse_output": False}])
def test_dropped_values_have_no_column(table, one_hot):
    step = encoder(**one_hot).fit(table)
    np.testing.assert_array_equal(DirectEncoder.of([step], COLUMNS).encode(ReadTable(table)), encoded(step, table))


def test_scaling_after_the_encoder_and_a_bare_scaler_are_known(table):
    pipeline = make_pipeline(encoder(sparse_output=False), StandardScaler()).fit(table)
    direct = DirectEncoder.of([step for _, step in pipeline.steps], COLUMNS)
    np.testing.assert_array_equal(direct.encode(ReadTable(table)), pipeline.transform(table))
    scaler = StandardScaler().fit(table[NUMBERS])
    direct = DirectEncoder.of([scaler], tuple(NUMBERS))
    np.testing.assert_array_equal(direct.encode(ReadTable(table)), scaler.transform(table[NUMBERS]))


def test_unknown_values_are_zeros_where_the_encoder_says_so_and_its_own_error_otherwise(table):
    strange = table.head(3).assign(home=["rent", "tent", "own"])
    for handle_unknown in ("ignore", "infrequent_if_exist"):
        step = encoder(handle_unknown=handle_unknown).fit(table)
        direct = DirectEncoder.of([step], COLUMNS).encode(ReadTable(strange))
        np.testing.assert_array_equal(direct, encoded(step, strange))
    assert DirectEncoder.of([encoder().fit(table)], COLUMNS).encode(ReadTable(strange)) is None
    model = make_pipeline(encoder(), LogisticRegression()).fit(table, np.arange(120) % 2)
    with pytest.raises(ValueError, match="unknown categories"):
        LinearModel.read(model, table.columns).encode(strange)


@pytest.mark.parametrize("cells", [{"home": None}, {"debt": np.nan}, {"income": np.float32(3.5)}])
def test_cells_that_the_pipeline_may_refuse_are_left_to_it(table, cells):
    direct = DirectEncoder.of([encoder(handle_unknown="ignore").fit(table)], COLUMNS)
    for name, value in cells.items():
        some = table.head(3).assign(**{name: pd.Series([value] * 3, dtype=getattr(value, "dtype", None))})
        assert direct.encode(ReadTable(some)) is None


def test_other_transformers_are_not_guessed_at(table):
    numbers = table[NUMBERS]
    assert DirectEncoder.of([PCA().fit(numbers)], tuple(NUMBERS)) is None
    assert DirectEncoder.of([encoder(PCA()).fit(table)], COLUMNS) is None
    assert DirectEncoder.of([encoder(min_frequency=0.1).fit(table)], COLUMNS) is None


def test_an_ordinal_encoder_is_known(table):
    ordinal = ColumnTransformer([("o", OrdinalEncoder(), CODES), ("n", StandardScaler(), NUMBERS)]).fit(table)
    direct = DirectEncoder.of([ordinal], COLUMNS)
    np.testing.assert_array_equal(direct.encode(ReadTable(table)), ordinal.transform(table))


def test_a_pipeline_that_does_something_else_is_not_trusted(table):
    step = encoder().fit(table)
    step.transformers_[0][1].mean_ = step.transformers_[0][1].mean_ + 0.0
    direct = DirectPipeline([step], COLUMNS, named=True)
    assert direct.encode(ReadTable(table)) is not None
    other = encoder().fit(table)
    direct = DirectPipeline([other], COLUMNS, named=True)
    other.transformers_[0][1].transform = lambda X: X.to_numpy(dtype=float)  # no longer what its attributes say
    assert direct.encode(ReadTable(table)) is None
    assert direct.encode(ReadTable(table.head(2))) is None


def test_scores_are_those_of_the_estimator_and_survive_pickling(table, good):
    for classifier in (RandomForestClassifier(7, random_state=0), GradientBoostingClassifier(n_estimators=5)):
        model = BlackBox.read(make_pipeline(encoder(), classifier).fit(table, good), table.columns)
        chance = model.estimator.predict_proba(table)[:, 1]
        np.testing.assert_array_equal(model.scores(table) >= 0.0, chance > 0.5)
        again = pickle.loads(pickle.dumps(model))  # noqa: S301 - our own bytes
        np.testing.assert_array_equal(again.scores(table), model.scores(ReadTable(table)))
