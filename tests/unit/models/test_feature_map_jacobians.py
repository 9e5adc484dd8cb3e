"""Derivatives of feature maps: each against plain central differences through the transformer's own output."""

import builtins
import importlib
import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import NotFittedError
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

from copa import validity_bounds
from copa.exceptions import InvalidInputError, MissingPackageError
from copa.models import FeatureMap, LinearModel, jacobian_of, raw_jacobian

rng = np.random.default_rng(7)
X = rng.normal(size=(60, 3)) * [1.0, 2.0, 0.5]
ROWS = np.vstack([rng.normal(size=(8, 3)), [[0.0, 0.0, 0.0], [0.0, 0.3, 0.0], [0.7, 0.0, -0.2]]])
OUTSIDE = np.array([[-9.0, 11.0, 4.0], [8.0, -13.0, -5.0]])
INSIDE = np.clip(ROWS, X.min(axis=0) + 0.05, X.max(axis=0) - 0.05)
FRAME = pd.DataFrame(
    {
        "age": rng.integers(20, 60, 80),
        "job": rng.choice(["a", "b", "c"], 80),
        "income": rng.normal(3.0, 1.0, 80),
        "home": rng.choice(["own", "rent"], 80),
        "debt": rng.normal(0.0, 2.0, 80),
    }
)
LABELS = (FRAME["income"] + 0.1 * FRAME["age"] + (FRAME["job"] == "a") + rng.normal(size=80) > 7.3).to_numpy()
NUMBERS, TEXTS = ["age", "income", "debt"], ["job", "home"]


def dense(output):
    return np.asarray(output.toarray() if hasattr(output, "toarray") else output, dtype=float)


def slopes(transform, rows, columns=None, step=1e-5):
    """Central differences, column by column; the error of the step and of rounding are both below 1e-9."""
    is_frame = isinstance(rows, pd.DataFrame)
    columns = range(rows.shape[1]) if columns is None else columns
    blocks = []
    for column in columns:
        sides = []
        for sign in (1.0, -1.0):
            moved = rows.copy()
            if is_frame:
                moved[column] = moved[column].astype(float) + sign * step
            else:
                moved[:, column] += sign * step
            sides.append(dense(transform(moved)))
        blocks.append((sides[0] - sides[1]) / (2.0 * step))
    return np.stack(blocks, axis=2)


def assert_is_the_derivative(transformer, rows):
    found = jacobian_of(transformer, rows)
    expected = slopes(transformer.transform, rows)
    assert found.shape == expected.shape
    assert_allclose(found, expected, rtol=1e-6, atol=1e-8 * max(1.0, np.abs(expected).max()))
    assert np.abs(found).max() > 0.0


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


@settings(deadline=None, max_examples=60)
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


@pytest.mark.parametrize("scaler", [MinMaxScaler(clip=True), MaxAbsScaler(clip=True)], ids=str)
def test_a_clipping_scaler_is_flat_outside(scaler):
    scaler.fit(X)
    assert_is_the_derivative(scaler, INSIDE * 0.9)
    assert_array_equal(jacobian_of(scaler, OUTSIDE), 0.0)


@pytest.mark.parametrize(
    "encoder",
    [OneHotEncoder(), OrdinalEncoder(), KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf")],
    ids=str,
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


def disc(rows):
    return np.column_stack([rows, (rows**2).sum(axis=1)])


def disc_jacobian(rows):
    return np.concatenate([np.tile(np.eye(rows.shape[1]), (len(rows), 1, 1)), 2.0 * rows[:, None, :]], axis=1)


@pytest.mark.parametrize("jacobian", [None, disc_jacobian])
def test_a_feature_map_knows_its_derivative(jacobian):
    assert_is_the_derivative(FeatureMap(disc, jacobian).fit(X), ROWS)
    assert_is_the_derivative(make_pipeline(FeatureMap(disc, jacobian), StandardScaler()).fit(X), ROWS)


def test_a_feature_map_clones_pickles_and_shows_its_parameters():
    fitted = FeatureMap(disc, jacobian=disc_jacobian).fit(FRAME[NUMBERS])
    assert fitted.get_params() == {"function": disc, "jacobian": disc_jacobian}
    assert fitted.feature_names_in_.tolist() == NUMBERS
    assert not hasattr(fitted.fit(X), "feature_names_in_")
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "n_features_in_")
    assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(ROWS), disc(ROWS))  # noqa: S301 - our own bytes
    with pytest.raises(NotFittedError, match="fit"):
        copy.transform(ROWS)


@pytest.mark.parametrize(
    ("function", "jacobian", "said"),
    [
        (lambda x: x.sum(axis=1), None, r"\(N, P\)"),
        (lambda x: x[:-1], None, "N = "),
        (lambda x: x / 0.0, None, "finite"),
        (lambda x: np.full(x.shape, "a"), None, "numbers"),
        (disc, lambda x: x, r"\(N, P, Q\)"),
        (disc, lambda x: disc_jacobian(x)[:, :-1], r"\(11, 4, 3\).*\(11, 3, 3\)"),
        (disc, lambda x: disc_jacobian(x) * np.inf, "finite"),
    ],
)
def test_a_feature_map_of_another_shape_is_refused(function, jacobian, said):
    with np.errstate(all="ignore"), pytest.raises(InvalidInputError, match=said):
        FeatureMap(function, jacobian).fit(X).jacobian_at(ROWS)


def test_a_feature_map_refuses_other_columns_and_other_arguments():
    fitted = FeatureMap(disc).fit(FRAME[NUMBERS])
    with pytest.raises(InvalidInputError, match="3 columns"):
        fitted.transform(np.ones((2, 4)))
    with pytest.raises(InvalidInputError, match="in this order"):
        fitted.transform(FRAME[NUMBERS[::-1]])
    with pytest.raises(InvalidInputError, match="function"):
        FeatureMap("disc").fit(X)
    with pytest.raises(InvalidInputError, match="jacobian"):
        FeatureMap(disc, "disc").fit(X)


def test_torch_differentiates_its_own_functions_and_modules():
    torch = pytest.importorskip("torch")
    waves = FeatureMap.from_torch(lambda x: torch.cat([torch.sin(x), (x[:, :1] * x[:, 1:2]).exp()], dim=1)).fit(X)
    assert_is_the_derivative(waves, ROWS)
    assert_is_the_derivative(clone(waves).fit(X), ROWS)
    torch.manual_seed(0)
    layers = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh()).double()
    assert_is_the_derivative(make_pipeline(StandardScaler(), FeatureMap.from_torch(layers)).fit(X), ROWS)
    single = FeatureMap.from_torch(layers.float()).fit(X)
    assert_allclose(
        single.jacobian_at(ROWS), slopes(FeatureMap.from_torch(layers.double()).fit(X).transform, ROWS), atol=1e-5
    )


def test_torch_functions_that_mix_rows_or_return_no_tensor_are_refused():
    pytest.importorskip("torch")
    with pytest.raises(InvalidInputError, match="by itself"):
        FeatureMap.from_torch(lambda x: x - x.mean(dim=0)).fit(X).jacobian_at(ROWS)
    with pytest.raises(InvalidInputError, match="tensor"):
        FeatureMap.from_torch(lambda x: [x]).fit(X).transform(ROWS)


def test_without_torch_the_error_says_how_to_install_it(monkeypatch):
    found = importlib.import_module

    def without_torch(name, *rest):
        return builtins.__import__("no_such_package") if name == "torch" else found(name, *rest)

    monkeypatch.setattr(importlib, "import_module", without_torch)
    with pytest.raises(MissingPackageError, match="pip install torch"):
        FeatureMap.from_torch(abs)


# --- whole pipelines, raw columns ---


def columns_then(*blocks, then=(), **options):
    return [ColumnTransformer(list(blocks), **options), *then]


def by_name():
    everything = make_column_selector(dtype_include="number")
    filled = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    return [
        columns_then(("spline", SplineTransformer(), NUMBERS), ("codes", OneHotEncoder(), TEXTS)),
        columns_then(
            ("spline", SplineTransformer(degree=2), NUMBERS),
            ("codes", OneHotEncoder(drop="first"), TEXTS),
            then=[PolynomialFeatures(2, include_bias=False), StandardScaler()],
        ),
        columns_then(
            ("n", make_pipeline(SimpleImputer(), FunctionTransformer(np.arcsinh)), everything),
            ("c", filled, ["job"]),
            ("o", OrdinalEncoder(), slice("home", "home")),
            then=[PCA(4)],
        ),
        columns_then(
            ("map", FeatureMap(disc, disc_jacobian), ["debt", "income"]),
            ("codes", OneHotEncoder(), [1, 3]),
            remainder=StandardScaler(),
        ),
    ]


def by_position():
    return [
        columns_then(("spline", SplineTransformer(), [0, 2, 4]), ("codes", OneHotEncoder(), [1, 3])),
        columns_then(
            ("spline", SplineTransformer(degree=2), [True, False, True, False, True]),
            ("codes", OneHotEncoder(drop="first"), slice(1, 4, 2)),
            then=[PolynomialFeatures(2, include_bias=False), StandardScaler()],
        ),
        columns_then(("map", FeatureMap(disc), [-1, 0]), ("codes", OneHotEncoder(), [1, 3]), remainder="passthrough"),
    ]


@pytest.mark.parametrize(
    ("steps", "named"), [*((steps, True) for steps in by_name()), *((steps, False) for steps in by_position())]
)
def test_the_derivative_of_a_whole_pipeline_in_raw_columns(steps, named):
    given = FRAME if named else FRAME.to_numpy()
    pipeline = make_pipeline(*steps, LogisticRegression(max_iter=5000)).fit(given, LABELS)
    model = LinearModel.read(pipeline, FRAME.columns)
    assert model.named == named
    ends = [FRAME[name].quantile([0.05, 0.95]) for name in NUMBERS]  # the outermost knots, where slopes jump
    inner = np.all([FRAME[name].between(*end) for name, end in zip(NUMBERS, ends, strict=True)], axis=0)
    rows = FRAME[inner][:11]
    found = raw_jacobian(model.transformers, rows, ["debt", "age"])
    expected = slopes(lambda frame: model.encode(frame)[:, 1:], rows, ["debt", "age"])
    assert found.shape == (11, model.theta.size - 1, 2)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())
    assert (np.abs(found).max(axis=(0, 1)) > 0.0).all()


def test_columns_in_another_order_and_many_rows_give_the_same_derivatives():
    steps = [ColumnTransformer([("s", SplineTransformer(), NUMBERS), ("c", OneHotEncoder(), TEXTS)]), PCA(5)]
    fitted = make_pipeline(*steps).fit(FRAME)
    rows = FRAME.sample(600, replace=True, random_state=0)
    shuffled = rows[["debt", "home", "age", "job", "income"]].assign(unused=1.0)
    found = raw_jacobian([fitted], shuffled, NUMBERS)
    assert_array_equal(found, raw_jacobian([fitted[0], fitted[1]], rows, NUMBERS))
    assert_allclose(
        found[[0, 300, 599]], raw_jacobian([fitted], rows.iloc[[0, 300, 599]], NUMBERS), rtol=1e-12, atol=1e-15
    )
    inner = jacobian_of(fitted[0], shuffled)
    assert_array_equal(inner[:, :, [2, 4, 0]], jacobian_of(fitted[0], rows)[:, :, [0, 2, 4]])
    assert_array_equal(inner[:, :, 5], 0.0)


@pytest.mark.parametrize("root", [np.sqrt, lambda x: np.sqrt(x)], ids=["known", "own"])  # noqa: PLW0108
def test_a_held_column_may_be_where_it_has_no_derivative(root):
    frame = pd.DataFrame({"a": [0.0, 4.0], "b": [4.0, 4.0]})
    steps = [FunctionTransformer(root).fit(frame)]
    assert_allclose(raw_jacobian(steps, frame, ["b"])[:, :, 0], [[0.0, 0.25], [0.0, 0.25]], rtol=1e-9)
    with pytest.raises(InvalidInputError, match="FunctionTransformer"):
        raw_jacobian(steps, frame, ["a"])


def test_a_held_column_is_not_varied():
    seen = []

    def noting(x):
        seen.extend(x[:, 0])
        return x**3

    frame = pd.DataFrame({"a": [5.0], "b": [2.0]})
    steps = [FunctionTransformer(noting).fit(frame.to_numpy())]
    assert_allclose(raw_jacobian(steps, frame, ["b"])[0, :, 0], [0.0, 12.0], rtol=1e-9)
    assert set(seen) == {5.0}


def test_thousands_of_products_do_not_form_their_square():
    wide = make_pipeline(PolynomialFeatures(2), StandardScaler(with_mean=False)).fit(rng.normal(size=(90, 80)))
    frame = pd.DataFrame(rng.normal(size=(300, 80)), columns=[f"x{q}" for q in range(80)])
    tracemalloc.start()
    found = raw_jacobian([step for _, step in wide.steps], frame, ["x3"])
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.shape == (300, 3321, 1)
    assert most < 20 * found.nbytes  # the square would be 3321 times as large


def test_without_transformers_the_raw_row_is_the_encoded_one():
    expected = np.tile(np.eye(3)[:, [2, 0]], (4, 1, 1))
    assert_array_equal(raw_jacobian([], FRAME[NUMBERS][:4], ["debt", "age"]), expected)


@pytest.mark.parametrize(
    ("frame", "columns", "said"),
    [
        (FRAME, ["job"], "column 'job' holds"),
        (FRAME, ["incme"], "did you mean 'income'"),
        (FRAME, "income", "list of names"),
        (FRAME[:0], ["income"], "at least one row"),
        (FRAME.to_numpy(), ["income"], "DataFrame"),
        (FRAME.drop(columns="home"), ["income"], "lacks"),
    ],
)
def test_columns_that_are_no_numbers_or_unknown_are_refused(frame, columns, said):
    fitted = ColumnTransformer([("n", StandardScaler(), NUMBERS), ("c", OneHotEncoder(), TEXTS)]).fit(FRAME)
    with pytest.raises(InvalidInputError, match=said):
        raw_jacobian([fitted], frame, columns)


def test_bounds_of_a_model_with_a_feature_map_are_those_of_the_linear_model_of_its_features():
    numbers = FRAME[["income", "debt"]]
    pipeline = make_pipeline(FeatureMap(disc, disc_jacobian), LogisticRegression()).fit(numbers, LABELS)
    model = LinearModel.read(pipeline, numbers.columns)
    best = np.argsort(pipeline.decision_function(numbers))[-3:]
    accepted = numbers.iloc[best].reset_index(drop=True)
    income, debt = accepted["income"].to_numpy(), accepted["debt"].to_numpy()
    by_hand = np.column_stack([np.ones(3), income, debt, income**2 + debt**2])
    factor = rng.normal(size=(4, 4)) * 0.02
    found = validity_bounds(model.encode(accepted), model.theta, factor @ factor.T, radius=0.01)
    expected = validity_bounds(by_hand, model.theta, factor @ factor.T, radius=0.01)
    assert 0.0 < expected.lower < expected.upper <= 1.0
    assert (found.lower, found.upper, found.any_lower) == (expected.lower, expected.upper, expected.any_lower)
    assert_array_equal(found.option_lower, expected.option_lower)
