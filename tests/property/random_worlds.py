"""Random tables, schemas and fitted models with people in and out of their ranges, each from a seed."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from copa import Feature, FeatureSchema, LinearRule, WeightMoments

N_TRAINING = 120


@dataclass(frozen=True)
class World:
    """A fitted pipeline, its data, people whom it declines, and what they may do."""

    schema: FeatureSchema
    training: pd.DataFrame
    labels: Any
    pipeline: Any
    applicants: pd.DataFrame
    moments: WeightMoments | None

    @property
    def n_outside(self) -> int:
        """How many applicants stand outside some range."""
        outside = np.zeros(len(self.applicants), dtype=bool)
        for feature in self.schema.features:
            if feature.kind in ("numeric", "integer"):
                own = self.applicants[feature.name].astype(float)
                outside |= (own < (-np.inf if feature.lower is None else feature.lower)).to_numpy()
                outside |= (own > (np.inf if feature.upper is None else feature.upper)).to_numpy()
        return int(outside.sum())


def make_world(model: str, seed: int, n_applicants: int) -> World:
    """A world for a model that is "linear", on a "feature map" or a "black box"."""
    rng = np.random.default_rng([seed, len(model)])
    n_rows = N_TRAINING + 4 * n_applicants
    makers = [_line, *rng.choice(np.array([_line, _choice], dtype=object), rng.integers(2, 5))]
    made = [make(f"c{k}", rng, n_rows) for k, make in enumerate(makers)]
    table = pd.DataFrame({feature.name: column for feature, column in made})
    features = tuple(feature for feature, _ in made)
    schema = FeatureSchema(features, _rules(rng, features, table), rng.choice(np.array([None, None, 1, 2, 3])))
    encoder = _encoder(rng, features, table, curved=model == "feature map")
    training, others = table.iloc[:N_TRAINING], table.iloc[N_TRAINING:]
    pipeline = make_pipeline(encoder, _classifier(rng, model))
    labels = _labels(rng, encoder, table)[:N_TRAINING]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not every solver likes raw columns in the thousands
        pipeline.fit(training, labels)
    declined = others[~pipeline.predict(others)].iloc[:n_applicants]
    moments = None if model == "black box" else sampled_moments(rng, pipeline, training)
    return World(schema, training, labels, pipeline, declined.set_axis(range(len(declined))), moments)


def _line(name: str, rng: np.random.Generator, n_rows: int) -> tuple[Feature, pd.Series]:
    """A numeric or integer column; its range leaves some of the people outside."""
    whole = rng.random() < 0.5
    numbers = rng.choice([1.0, 30.0, 2000.0]) * (rng.normal(size=n_rows) + rng.choice([0.0, 3.0]))
    numbers = np.round(10.0 * numbers if whole else numbers, 0 if whole else rng.choice([1, 2, 15]))
    low, high = np.round(np.quantile(numbers, [rng.choice([0.05, 0.3]), rng.choice([0.7, 0.95])]), rng.choice([1, 6]))
    immutable = rng.random() < 0.15
    feature = Feature(
        name,
        "integer" if whole else "numeric",
        immutable=immutable,
        lower=low if rng.random() < 0.6 else None,
        upper=high if rng.random() < 0.6 else None,
        direction=str(rng.choice(["both", "both", "increase", "decrease"])),
        step=rng.choice(np.array([None, 1.0, 5.0] if whole else [None, None, 0.1, 0.25, 0.7])),
        weight=rng.choice([0.5, 1.0, 3.0]),
    )
    kind = str(rng.choice(["int64", "int32", "float64", "Int64"] if whole else ["float64", "float64", "float32"]))
    return feature, pd.Series(numbers).astype(kind)


def _choice(name: str, rng: np.random.Generator, n_rows: int) -> tuple[Feature, pd.Series]:
    """An ordinal, categorical or binary column of numbers, text or truths."""
    kind = str(rng.choice(["ordinal", "categorical", "binary"]))
    coding = str(rng.choice(["numbers", "text", "truths"] if kind == "binary" else ["numbers", "text"]))
    pool = {"numbers": [1, 2, 4, 8], "text": ["a", "b", "c d", "01"], "truths": [False, True]}[coding]
    values = [pool[k] for k in rng.permutation(2 if kind == "binary" else len(pool))]

    def some() -> list[Any]:
        return [value for value in values if rng.random() < 0.7]

    ordered = kind != "categorical"
    ranged = kind == "ordinal" and coding == "numbers" and rng.random() < 0.5
    feature = Feature(
        name,
        kind,
        immutable=bool(rng.random() < 0.15),
        lower=2.0 if ranged else None,
        direction=str(rng.choice(["both", "increase", "decrease"])) if ordered else "both",
        values=values,
        allowed=some() if rng.random() < 0.4 else None,
        transitions={values[0]: some(), values[1]: some()} if rng.random() < 0.4 else None,
        rare=str(rng.choice(["withhold", "offer"])),
    )
    shares = rng.dirichlet(np.full(len(values), 2.0))  # some values have few training rows
    column = pd.Series([values[k] for k in rng.choice(len(values), size=n_rows, p=0.9 * shares + 0.1 / len(values))])
    if rng.random() < 0.3:
        return feature, column.astype(pd.CategoricalDtype(sorted(values)))
    return feature, column if coding != "numbers" else column.astype(str(rng.choice(["int64", "float64"])))


def _rules(rng: np.random.Generator, features: tuple[Feature, ...], table: pd.DataFrame) -> list[LinearRule]:
    """Up to two rules over columns of numbers, broken by some of the people."""
    usable = [
        f.name for f in features if f.is_numeric or (f.kind != "categorical" and not isinstance(f.values[0], str))
    ]
    rules = []
    for _ in range(rng.choice([0, 0, 1, 2])):
        names = rng.permutation(usable)[: rng.integers(1, 3)].tolist()
        weights = rng.choice([1.0, 2.0, -1.0, 0.5, -0.1], len(names)).tolist()
        total = sum(w * table[name].astype(float) for w, name in zip(weights, names, strict=True))
        limit = round(float(np.quantile(total, rng.choice([0.5, 0.9]))), 2)
        rules.append(LinearRule(dict(zip(names, weights, strict=True)), limit))
    return rules


def _encoder(rng: np.random.Generator, features: tuple[Feature, ...], table: pd.DataFrame, *, curved: bool) -> Any:
    lines = [f.name for f in features if f.is_numeric]
    scaler = StandardScaler() if curved or rng.random() < 0.7 else MinMaxScaler()
    straight = [scaler, make_pipeline(scaler, PCA(random_state=0))]
    bent = [PolynomialFeatures(2, include_bias=False), SplineTransformer(n_knots=4, extrapolation="linear")]
    numbers = make_pipeline(scaler, bent[rng.integers(2)]) if curved else straight[rng.integers(2)]
    parts: list[Any] = [("lines", numbers, lines)]
    for feature in features:
        if feature.is_categorical:
            column = table[feature.name]
            seen = sorted(column.cat.categories if column.dtype == "category" else column.unique().tolist())
            encoders = [OneHotEncoder(categories=[seen]), OrdinalEncoder(categories=[seen])]
            parts.append((feature.name, encoders[rng.integers(2)], [feature.name]))
    return ColumnTransformer(parts, sparse_threshold=0.0)


def _classifier(rng: np.random.Generator, model: str) -> Any:
    linear = [LogisticRegression(max_iter=5000), LinearSVC(), RidgeClassifier()]
    trees = [
        RandomForestClassifier(5, max_depth=4, random_state=0),
        GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=0),
        DecisionTreeClassifier(max_depth=4, random_state=0),
    ]
    return (trees if model == "black box" else linear)[rng.integers(3)]


def _labels(rng: np.random.Generator, encoder: Any, table: pd.DataFrame) -> Any:
    encoded = np.asarray(encoder.fit_transform(table), dtype=float)
    score = (encoded / np.maximum(encoded.std(axis=0), 1e-9)) @ rng.normal(size=encoded.shape[1])
    noisy = score + 0.3 * score.std() * rng.normal(size=len(score))
    return noisy > np.quantile(noisy[:N_TRAINING], rng.choice([0.4, 0.7]))


def sampled_moments(rng: np.random.Generator, pipeline: Any, training: pd.DataFrame) -> WeightMoments:
    encoded = pipeline[:-1].transform(training)
    encoded = encoded.toarray() if hasattr(encoded, "toarray") else np.asarray(encoded, dtype=float)
    size = np.maximum(encoded.std(axis=0), 1e-9)
    theta = np.concatenate([np.ravel(pipeline[-1].intercept_), np.ravel(pipeline[-1].coef_)])
    factor = np.concatenate([[1.0], 1.0 / size])[:, None] * rng.normal(size=(theta.size, theta.size))
    noise = 0.05 * np.linalg.norm(theta[1:] * size) / theta.size
    return WeightMoments(theta, noise**2 * factor @ factor.T)
