"""Random people, schemas and pipelines for the front door, drawn by hypothesis."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import assume
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import LinearSVC

from copa import Feature, FeatureSchema, LinearRule, WeightMoments

N_TRAINING, N_APPLICANTS = 60, 6

CLASSIFIERS = {
    "logistic": LogisticRegression(max_iter=5000),
    "svc": LinearSVC(),
    "ridge": RidgeClassifier(),
    "sgd": SGDClassifier(random_state=0),
    "perceptron": Perceptron(random_state=0),
}


@dataclass(frozen=True)
class Case:
    """A fitted pipeline, its data, new applicants, and what they may do."""

    schema: FeatureSchema
    training: pd.DataFrame
    labels: Any
    pipeline: Any
    applicants: pd.DataFrame
    moments: WeightMoments
    radius: float
    drift: Any


@st.composite
def lines(draw: st.DrawFn, name: str, rng: np.random.Generator) -> tuple[Feature, pd.Series]:
    """A numeric or integer column and its data; the range may leave some of the people outside."""
    kind = draw(st.sampled_from(["numeric", "integer"]))
    size = draw(st.sampled_from([1.0, 30.0, 2000.0] if kind == "numeric" else [10.0, 200.0]))
    shift = draw(st.sampled_from([0.0, 3.0]))
    numbers = size * (rng.normal(size=N_TRAINING + N_APPLICANTS) + shift)
    decimals = draw(st.sampled_from([0, 2, 15])) if kind == "numeric" else 0
    numbers = np.round(numbers, decimals)
    low, high = np.round(np.quantile(numbers, [0.05, 0.95]), 1)
    step = draw(st.sampled_from([None, 1.0, 5.0] if kind == "integer" else [None, 0.1, 0.25, 7.0]))
    feature = Feature(
        name,
        kind,
        immutable=draw(st.booleans()) and draw(st.booleans()),
        lower=draw(st.sampled_from([None, low])),
        upper=draw(st.sampled_from([None, high])),
        direction=draw(st.sampled_from(["both", "both", "increase", "decrease"])),
        step=step,
        weight=draw(st.sampled_from([0.5, 1.0, 3.0])),
    )
    if feature.immutable:
        feature = feature.replace(lower=None, upper=None)
    whole = ["int64", "int32", "float64", "Int64", "object"]
    dtype = draw(st.sampled_from(whole if kind == "integer" else ["float64", "float64", "float32"]))
    column = pd.Series(numbers)
    return feature, column.astype("int64").astype(dtype) if dtype == "object" else column.astype(dtype)


@st.composite
def choices(draw: st.DrawFn, name: str, rng: np.random.Generator) -> tuple[Feature, pd.Series]:
    """An ordinal, categorical or binary column, coded as numbers, truth values, text or categories."""
    kind = draw(st.sampled_from(["ordinal", "categorical", "binary"]))
    coding = draw(st.sampled_from(["numbers", "text", "truths"] if kind == "binary" else ["numbers", "text"]))
    n_values = 2 if kind == "binary" else draw(st.integers(2, 5))
    pools = {"numbers": [1, 2, 4, 8, 9], "text": ["a", "b", "c d", "01", "é"], "truths": [False, True]}
    values = draw(st.permutations(pools[coding][:n_values]))
    some = st.lists(st.sampled_from(values), max_size=n_values, unique_by=str)
    feature = Feature(
        name,
        kind,
        immutable=draw(st.booleans()) and draw(st.booleans()),
        direction="both" if kind == "categorical" else draw(st.sampled_from(["both", "both", "increase", "decrease"])),
        values=values,
        allowed=draw(st.one_of(st.none(), some)),
        transitions=draw(st.one_of(st.none(), st.dictionaries(st.sampled_from(values), some, max_size=2))),
        weight=draw(st.sampled_from([0.5, 1.0, 3.0])),
        rare=draw(st.sampled_from(["withhold", "offer"])),
    )
    if kind == "ordinal" and coding == "numbers" and not feature.immutable:
        feature = feature.replace(lower=draw(st.sampled_from([None, None, 2.0])))
    drawn = pd.Series([values[k] for k in rng.integers(n_values, size=N_TRAINING + N_APPLICANTS)])
    types = {"numbers": ["int64", "float64", "Int64", "object"], "text": ["str", "object"], "truths": ["bool", "int64"]}
    dtype = draw(st.sampled_from([*types[coding], "category"]))
    if dtype == "category":
        return feature, drawn.astype(pd.CategoricalDtype(sorted(values, key=str)))
    return feature, drawn.astype(dtype)


@st.composite
def rules(draw: st.DrawFn, features: list[Feature], table: pd.DataFrame) -> list[LinearRule]:
    """Rules over columns that hold numbers, broken by some of the people."""
    usable = [
        f.name for f in features if f.is_numeric or (f.kind != "categorical" and not isinstance(f.values[0], str))
    ]
    if not usable or not draw(st.booleans()):
        return []
    names = draw(st.lists(st.sampled_from(usable), min_size=1, max_size=3, unique=True))
    coefficients = [draw(st.sampled_from([1.0, 2.0, -1.0, 0.5])) for _ in names]
    total = sum(c * table[name].astype(float) for c, name in zip(coefficients, names, strict=True))
    limit = round(float(np.quantile(total, draw(st.sampled_from([0.5, 0.9])))), 2)
    return [LinearRule(dict(zip(names, coefficients, strict=True)), limit)]


def _transformer(draw: st.DrawFn, feature: Feature, column: pd.Series) -> Any:
    if feature.is_numeric:
        return draw(st.sampled_from([StandardScaler(), MinMaxScaler(), "passthrough"]))
    # Spelled as the column spells them: an encoder compares without a schema's leniency.
    spelled = sorted(column.unique().tolist() if column.dtype != "category" else column.cat.categories.tolist())
    drop = draw(st.sampled_from([None, "first", "if_binary"]))
    ordinal = OrdinalEncoder(categories=[spelled])
    encoders = [OneHotEncoder(categories=[spelled], drop=drop), ordinal, make_pipeline(ordinal, StandardScaler())]
    return draw(st.sampled_from(encoders))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Everything a planner is made from, and people to plan for."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kinds = draw(st.lists(st.sampled_from([lines, choices]), min_size=2, max_size=5))
    made = [draw(kind(f"c{k}", rng)) for k, kind in enumerate(kinds)]
    features = [feature for feature, _ in made]
    table = pd.DataFrame({feature.name: column for feature, column in made})
    for k, feature in enumerate(features):  # values that nobody has cannot be asked of an encoder
        if feature.is_categorical and table[feature.name].nunique() < len(feature.values):
            known = {feature.index.position(entry) for entry in table[feature.name]}
            seen = [value for code, value in enumerate(feature.values) if code in known]
            kept = {"immutable": feature.immutable, "rare": feature.rare}
            features[k] = Feature(feature.name, "categorical", values=seen, **kept)
    schema = FeatureSchema(features, draw(rules(features, table)), draw(st.sampled_from([None, None, 1, 2, 3])))
    encoder = ColumnTransformer(
        [(f.name, _transformer(draw, f, table[f.name]), [f.name]) for f in features], sparse_threshold=0.0
    )
    encoded = np.asarray(encoder.fit_transform(table), dtype=float)
    size = np.maximum(encoded.std(axis=0), 1e-9)
    score = (encoded / size) @ rng.normal(size=encoded.shape[1])
    noisy = score + 0.3 * score.std() * rng.normal(size=len(score))
    labels = noisy > np.quantile(noisy, draw(st.sampled_from([0.3, 0.7])))
    assume(0 < labels[:N_TRAINING].sum() < N_TRAINING)
    pipeline = make_pipeline(encoder, CLASSIFIERS[draw(st.sampled_from(sorted(CLASSIFIERS)))])
    training = table.iloc[:N_TRAINING]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # raw columns in the thousands are no pleasure to every solver
        pipeline.fit(training, labels[:N_TRAINING])
    theta = np.concatenate([np.ravel(pipeline[-1].intercept_), np.ravel(pipeline[-1].coef_)])
    factor = np.concatenate([[1.0], 1.0 / size])[:, None] * rng.normal(size=(theta.size, theta.size))
    noise = draw(st.sampled_from([0.03, 0.3])) * np.linalg.norm(theta[1:] * size) / theta.size
    moments = WeightMoments(theta, noise**2 * factor @ factor.T)
    applicants = table.iloc[N_TRAINING:].set_axis([f"person {i}" for i in range(N_APPLICANTS)])
    return Case(
        schema,
        training,
        labels[:N_TRAINING],
        pipeline,
        applicants,
        moments,
        draw(st.sampled_from([0.0, 0.1])),
        draw(st.sampled_from([None, "cov"])),
    )
