"""Feature maps of the user's own, and whole pipelines: derivatives in raw columns, and bounds in the features."""

import builtins
import importlib
import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)

from copa import validity_bounds
from copa.exceptions import InvalidInputError, MissingPackageError
from copa.models import FeatureMap, LinearModel, jacobian_of, raw_jacobian
from unit.models.derivatives import (
    FRAME,
    LABELS,
    NUMBERS,
    ROWS,
    TEXTS,
    X,
    assert_is_the_derivative,
    rng,
    slopes,
)


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
