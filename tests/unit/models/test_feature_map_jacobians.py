"""Derivatives of transformers: each against plain central differences through its own output."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)

from copa.exceptions import InvalidInputError
from copa.models import jacobian_of
from unit.models.derivatives import (
    FRAME,
    INSIDE,
    NUMBERS,
    OUTSIDE,
    ROWS,
    TEXTS,
    X,
    assert_is_the_derivative,
    rng,
    slopes,
)

POLYNOMIALS = [
    PolynomialFeatures(1),
    PolynomialFeatures(3),
    PolynomialFeatures(3, interaction_only=True, include_bias=False),
    PolynomialFeatures((2, 4)),
    PolynomialFeatures((0, 2), order="F"),
]
LINEAR = [
    StandardScaler(),
    StandardScaler(with_std=False),
    MinMaxScaler(feature_range=(-2.0, 3.0)),
    MaxAbsScaler(),
    RobustScaler(),
    RobustScaler(with_scaling=False),
    PCA(2),
    PCA(whiten=True),
    TruncatedSVD(2),
    FunctionTransformer(),
]
NESTED = [
    FunctionTransformer(np.arcsinh),
    FunctionTransformer(np.tanh),
    FunctionTransformer(np.exp),
    FunctionTransformer(np.square),
    FunctionTransformer(lambda x: np.column_stack([x[:, 0] * x[:, 1], np.sin(x[:, 2])])),
    make_pipeline(StandardScaler(), PolynomialFeatures(2), PCA(4)),
    make_pipeline("passthrough", PolynomialFeatures(2), "passthrough"),
    FeatureUnion(
        [("p", PolynomialFeatures(2)), ("same", "passthrough"), ("no", "drop"), ("s", StandardScaler())],
        transformer_weights={"p": 0.5, "s": 3.0},
    ),
    ColumnTransformer(
        [("spline", SplineTransformer(extrapolation="linear"), [2, 0]), ("no", "drop", [1])],
        remainder="passthrough",
        transformer_weights={"spline": 2.0},
    ),
    ColumnTransformer([("p", PolynomialFeatures(2), slice(0, 2)), ("mask", "passthrough", [False, True, True])]),
    ColumnTransformer([("p", PolynomialFeatures(2), [-1, 0]), ("none", PCA(), [])], remainder=MinMaxScaler()),
]


@pytest.mark.parametrize("transformer", [*POLYNOMIALS, *LINEAR, *NESTED], ids=lambda t: type(t).__name__)
def test_the_derivative_is_that_of_central_differences_also_at_zeros(transformer):
    assert_is_the_derivative(clone(transformer).fit(X), ROWS)


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from([-2.0, -0.5, 0.0, 1.0, 3.0]), min_size=1, max_size=4),
    st.integers(0, 3),
    st.integers(0, 3),
    st.booleans(),
)
def test_derivatives_of_powers_are_exact(row, least, more, interaction_only):
    # Inputs whose products are exact in binary, so that the formula with powers must be met to the last bit.
    degree = (least, max(1, least + more))
    map_ = PolynomialFeatures(degree, interaction_only=interaction_only).fit([row]) if least <= len(row) else None
    map_ = map_ or PolynomialFeatures(degree).fit([row])
    expected = np.zeros((1, len(map_.powers_), len(row)))
    for p, powers in enumerate(map_.powers_):
        for q, power in enumerate(powers):
            lowered = [k - (r == q) for r, k in enumerate(powers)]
            expected[0, p, q] = power * np.prod([x**k for x, k in zip(row, lowered, strict=True)]) if power else 0.0
    assert_array_equal(jacobian_of(map_, [row]), expected)


@pytest.mark.parametrize("extrapolation", ["constant", "linear", "continue", "periodic", "error"])
@pytest.mark.parametrize("degree", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("include_bias", [True, False])
@pytest.mark.parametrize("knots", ["uniform", "quantile"])
def test_splines_of_every_kind(extrapolation, degree, include_bias, knots):
    spline = SplineTransformer(
        n_knots=7, degree=degree, knots=knots, extrapolation=extrapolation, include_bias=include_bias
    ).fit(X)
    # Beyond the knots, scikit-learn itself fails for constant splines of degree 0.
    refused = extrapolation == "error" or (extrapolation, degree) == ("constant", 0)
    rows = INSIDE if refused else np.vstack([INSIDE, OUTSIDE])
    expected = slopes(spline.transform, rows)
    assert_allclose(jacobian_of(spline, rows), expected, rtol=1e-6, atol=1e-7 * max(1.0, np.abs(expected).max()))
    assert (np.abs(expected).max() > 0.0) == (degree > 0)


def test_splines_with_knots_of_the_users_and_sparse_output():
    knots = np.array([[-3.0, -4.0, -1.0], [0.1, 0.2, 0.3], [2.0, 5.0, 2.5]])
    assert_is_the_derivative(SplineTransformer(degree=2, knots=knots, sparse_output=True).fit(X), INSIDE)


def test_beyond_the_knots_a_constant_spline_is_flat_and_a_linear_one_straight():
    far = np.vstack([OUTSIDE, OUTSIDE * 2.0])
    assert_array_equal(jacobian_of(SplineTransformer().fit(X), far), 0.0)
    straight = jacobian_of(SplineTransformer(extrapolation="linear").fit(X), far)
    assert_array_equal(straight[:2], straight[2:])
    assert np.abs(straight).max() > 0.1


@pytest.mark.parametrize("extrapolation", ["constant", "linear", "continue", "periodic", "error"])
def test_a_spline_of_a_column_with_one_value_is_flat(extrapolation):
    flat = SplineTransformer(extrapolation=extrapolation).fit(np.column_stack([X[:, 0], np.full(60, 3.0)]))
    assert_array_equal(jacobian_of(flat, [[0.1, 3.0]])[:, :, 1], 0.0)


def test_beyond_the_knots_the_strict_spline_is_an_error():
    with pytest.raises(InvalidInputError, match="SplineTransformer"):
        jacobian_of(SplineTransformer(extrapolation="error").fit(X), OUTSIDE)


CLIPPING = [
    kind for kind in (MinMaxScaler, MaxAbsScaler) if "clip" in kind().get_params()
]  # MaxAbsScaler: from scikit-learn 1.8 on


@pytest.mark.parametrize("scaler", [kind(clip=True) for kind in CLIPPING], ids=str)
def test_a_clipping_scaler_is_flat_outside(scaler):
    scaler.fit(X)
    assert_is_the_derivative(scaler, INSIDE * 0.9)
    assert_array_equal(jacobian_of(scaler, OUTSIDE), 0.0)


@pytest.mark.parametrize(
    "encoder", [OneHotEncoder(), OrdinalEncoder(), KBinsDiscretizer(3, strategy="uniform")], ids=str
)
def test_encoders_of_categories_have_derivative_zero(encoder):
    codes = rng.integers(0, 5, (40, 2)).astype(float)
    found = jacobian_of(encoder.fit(codes), codes[:6])
    assert found.shape == (6, encoder.transform(codes).shape[1], 2)
    assert_array_equal(found, 0.0)


def test_an_imputer_passes_on_what_is_there_and_holds_what_is_missing():
    train = np.array([[1.0, np.nan, 4.0], [np.nan, np.nan, 5.0], [3.0, np.nan, 6.0]])
    rows = np.array([[7.0, 1.0, 2.0], [np.nan, np.nan, 2.0]])
    found = jacobian_of(SimpleImputer(add_indicator=True).fit(train), rows)
    expected = np.zeros((2, 4, 3))  # the empty column is left out; two indicators at the end
    expected[0, 0, 0] = expected[:, 1, 2] = 1.0
    assert_array_equal(found, expected)
    kept = jacobian_of(SimpleImputer(keep_empty_features=True).fit(train), rows)
    assert_array_equal(kept, [np.eye(3), np.diag([0.0, 0.0, 1.0])])
    marked = jacobian_of(SimpleImputer(missing_values=-1.0).fit([[1.0], [-1.0]]), [[2.0], [-1.0]])
    assert_array_equal(marked, [[[1.0]], [[0.0]]])


def test_sparse_rows_and_sparse_output():
    scaler = MaxAbsScaler().fit(sparse.csr_matrix(X))
    assert_array_equal(jacobian_of(scaler, sparse.csr_matrix(ROWS)), jacobian_of(scaler, ROWS))
    codes = OneHotEncoder().fit(FRAME[TEXTS])
    chain = make_pipeline(
        ColumnTransformer([("n", StandardScaler(), NUMBERS), ("c", codes, TEXTS)], sparse_threshold=1.0),
        PolynomialFeatures(2),
        MaxAbsScaler(),
    ).fit(FRAME)
    assert sparse.issparse(chain.transform(FRAME))
    found = jacobian_of(chain, FRAME[:7])
    held = [FRAME.columns.get_loc(name) for name in TEXTS]
    moved = [FRAME.columns.get_loc(name) for name in NUMBERS]
    assert_array_equal(found[:, :, held], 0.0)
    assert_allclose(found[:, :, moved], slopes(chain.transform, FRAME[:7], NUMBERS), rtol=1e-6, atol=1e-8)


# --- unknown transformers ---


class Ring(TransformerMixin, BaseEstimator):
    def fit(self, rows, y=None):  # noqa: ARG002
        self.fitted_ = True
        return self

    def transform(self, rows):
        return np.column_stack([np.cos(rows[:, 0]) * rows[:, 1], np.exp(rows[:, 2] ** 2)])


class Doubled(StandardScaler):
    def transform(self, X):
        return 2.0 * super().transform(X)


class Single(Ring):
    def transform(self, rows):
        return np.sin(rows).astype(np.float32)


@pytest.mark.parametrize(
    "unknown", [Ring(), Doubled(), Normalizer(), Nystroem(n_components=5, random_state=0)], ids=str
)
def test_an_unknown_transformer_is_differentiated_through_its_own_output(unknown):
    assert_is_the_derivative(unknown.fit(X), ROWS[:-3])


def test_outputs_in_single_precision_get_a_longer_step():
    assert_allclose(jacobian_of(Single().fit(X), [[0.4]]), [[[np.cos(0.4)]]], rtol=1e-5)


def test_rows_in_single_precision_and_whole_numbers_get_derivatives_in_double_precision():
    log = FunctionTransformer(lambda x: np.log(x))  # noqa: PLW0108 - the ufunc itself is known
    for kind in (np.float32, np.int64):
        assert_allclose(jacobian_of(log, np.array([[4]], dtype=kind)), [[[0.25]]], rtol=1e-9)
        assert_allclose(jacobian_of(log, pd.DataFrame({"x": [4]}, dtype=kind)), [[[0.25]]], rtol=1e-9)


@pytest.mark.parametrize("distance", [1e-3, 1e-4, 1e-6])
def test_a_kink_nearby_does_not_spoil_the_slope(distance):
    hinge = FunctionTransformer(lambda x: np.maximum(x, 0.0)).fit([[1.0]])
    assert_allclose(jacobian_of(hinge, [[distance], [-distance]])[:, 0, 0], [1.0, 0.0], atol=1e-7)


@pytest.mark.parametrize("value", [1e-6, 1e-3, 0.1, 50.0])
def test_the_end_of_the_domain_nearby_does_not_spoil_the_slope(value):
    expected = [[[0.5 / np.sqrt(value)]]]
    own = FunctionTransformer(lambda x: np.sqrt(x)).fit([[1.0]])  # noqa: PLW0108 - the ufunc itself is known
    assert_allclose(jacobian_of(own, [[value]]), expected, rtol=1e-5)
    assert_allclose(jacobian_of(FunctionTransformer(np.sqrt).fit([[1.0]]), [[value]]), expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (np.abs, 0.0),
        (np.floor, 2.0),
        (np.sign, 0.0),
        (np.sqrt, 0.0),
        (np.log, -1.0),
        (np.log1p, -1.0),
        (lambda x: np.log(x), 0.0),  # noqa: PLW0108 - the ufunc itself is known
        (lambda x: x * np.nan, 1.0),
    ],
)
def test_where_there_is_no_derivative_there_is_an_error_and_not_a_number(function, value):
    rows = np.array([[1.5], [value]])
    with np.errstate(all="ignore"), pytest.raises(InvalidInputError, match="FunctionTransformer"):
        jacobian_of(FunctionTransformer(function).fit(rows), rows)


@pytest.mark.parametrize("function", [np.log1p, lambda x: np.log1p(x)], ids=["known", "own"])  # noqa: PLW0108
def test_missing_values_are_held(function):
    rows = np.array([[np.nan, 2.0], [1.0, 3.0]])
    chain = make_pipeline(FunctionTransformer(function), SimpleImputer()).fit(rows)
    expected = [[[0.0, 0.0], [0.0, 1 / 3]], [[0.5, 0.0], [0.0, 0.25]]]
    assert_allclose(jacobian_of(chain, rows), expected, atol=1e-9)


def test_a_column_handed_over_as_a_vector():
    square = FunctionTransformer(lambda column: np.asarray(column)[:, None] ** 2)
    columns = ColumnTransformer([("vector", square, "debt"), ("same", "passthrough", ["age"])]).fit(FRAME)
    found = jacobian_of(columns, FRAME[:3])
    assert_allclose(found[:, 0, 4], 2.0 * FRAME["debt"][:3], rtol=1e-9)
    assert_array_equal(found[:, 1], np.tile([1.0, 0.0, 0.0, 0.0, 0.0], (3, 1)))


@pytest.mark.parametrize(
    ("transformer", "rows", "said"),
    [
        (LogisticRegression(), ROWS, "transform method"),
        (PolynomialFeatures(), ROWS, "PolynomialFeatures"),
        (StandardScaler().fit(X), np.ones((0, 3)), "N >= 1"),
        (StandardScaler().fit(X), np.ones(3), "shape"),
        (PolynomialFeatures().fit(X), [[1.0, np.nan, 2.0]], "finite"),
        (PolynomialFeatures().fit(X), [["a", 1.0, 2.0]], "numbers"),
        (StandardScaler().fit(X), np.ones((2, 5)), "StandardScaler"),
    ],
)
def test_what_cannot_be_differentiated_is_refused(transformer, rows, said):
    with pytest.raises(InvalidInputError, match=said):
        jacobian_of(transformer, rows)


# --- the user's own map ---
