"""What each column does, asked of the pipeline: encoded rows must be sums over columns, exactly."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

from copa import Feature, FeatureSchema
from copa.exceptions import InvalidInputError
from copa.models import Encoding, LinearModel

rng = np.random.default_rng(1)
N = 120
TABLE = pd.DataFrame(
    {
        "x": rng.normal(1000.0, 1.0, N),
        "k": rng.integers(0, 9, N),
        "c": rng.choice(["a", "b", "c"], N),
        "o": rng.choice([1, 2, 4], N),
    }
)
LABELS = TABLE["x"] - 1000.0 + 0.3 * TABLE["k"] + (TABLE["c"] == "a") > 1.0
SCHEMA = FeatureSchema(
    [
        Feature("x", "numeric"),
        Feature("k", "integer", lower=0, upper=20),
        Feature("c", "categorical", values=["a", "b", "c"]),
        Feature("o", "ordinal", values=[1, 2, 4]),
    ]
)


def read(*steps, table=TABLE, schema=SCHEMA):
    pipeline = make_pipeline(*steps, LogisticRegression(max_iter=2000)).fit(table, LABELS)
    model = LinearModel.read(pipeline, table.columns)
    return model, Encoding.probe(model, schema, table)


def columns(lines, choices):
    return ColumnTransformer([("lines", lines, ["x", "k"]), ("choices", choices, ["c", "o"])], sparse_threshold=1.0)


@pytest.mark.parametrize(
    "steps",
    [
        (columns(StandardScaler(), OneHotEncoder()),),
        (columns(MinMaxScaler(), OneHotEncoder(drop="first")),),
        (columns("passthrough", OrdinalEncoder()), StandardScaler()),
        (columns(StandardScaler(), OrdinalEncoder()), PCA(3)),
    ],
    ids=["one-hot", "dropped", "codes", "components"],
)
def test_the_encoded_difference_of_two_rows_is_the_sum_over_their_columns(steps):
    model, encoding = read(*steps)
    first, second = TABLE.iloc[:60], TABLE.iloc[60:]
    expected = model.encode(second) - model.encode(first)
    total = sum(np.outer(second[n].to_numpy() - first[n].to_numpy(), encoding.numeric[n]) for n in ("x", "k"))
    for name in ("c", "o"):
        codes = [SCHEMA.codes(rows, name) for rows in (first, second)]
        total = total + encoding.categorical[name][codes[1]] - encoding.categorical[name][codes[0]]
    np.testing.assert_allclose(total, expected, rtol=0.0, atol=1e-9)


def test_a_column_in_single_precision_is_a_straight_line():
    steps = (columns(StandardScaler(), OneHotEncoder()),)
    single = TABLE.astype({"x": "float32"})
    _, coarse = read(*steps, table=single)
    model, fine = read(*steps)
    np.testing.assert_allclose(coarse.numeric["x"], fine.numeric["x"], rtol=1e-4)
    assert coarse.numeric["x"][1] == pytest.approx(
        1.0 / model.transformers[0].named_transformers_["lines"].scale_[0], rel=1e-4
    )


def test_a_column_that_is_not_linear_is_left_out_only_if_it_is_immutable():
    bent = FunctionTransformer(lambda table: table.assign(k=table["k"] ** 2))
    steps = (bent, columns(StandardScaler(), OneHotEncoder()))
    with pytest.raises(InvalidInputError, match=r"'k'.*not a straight line"):
        read(*steps)
    _, encoding = read(*steps, schema=SCHEMA.replace({"k": {"immutable": True}}))
    assert set(encoding.numeric) == {"x"}


def test_an_interaction_is_refused_with_its_column():
    product = FunctionTransformer(lambda table: table.assign(x=(table["x"] - 1000.0) * table["k"]))
    with pytest.raises(InvalidInputError, match=r"'x'.*together with other columns"):
        read(product, columns(StandardScaler(), OneHotEncoder()))


def test_a_value_that_the_pipeline_does_not_know_is_refused_with_its_column():
    schema = SCHEMA.replace({"c": {"values": ["a", "b", "c", "d"]}})
    with pytest.raises(InvalidInputError, match=r"'c'.*refuses.*'d'"):
        read(columns(StandardScaler(), OneHotEncoder()), schema=schema)


def test_a_column_without_any_value_cannot_be_probed():
    model, _ = read(columns(StandardScaler(), OneHotEncoder()))
    with pytest.raises(InvalidInputError, match="lacks a value"):
        Encoding.probe(model, SCHEMA, TABLE.assign(x=np.nan))
