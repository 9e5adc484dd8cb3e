"""Seeded random planning problems so small that all rows can be tried: 2 to 4 columns of every kind."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import copa
from copa.data.schema import Feature, FeatureSchema

KINDS = ("integer", "integer", "numeric", "ordinal", "categorical", "binary")


@dataclass(frozen=True)
class TinyProblem:
    """A model, what may be changed, how the model may change, and who asks.

    Attributes
    ----------
    table : rows that the pipeline was fitted to
    applicants : rows that today's model declines
    drift : "cov" or None, the shape of the ball
    has_ties : whether a rule or a cap on the number of changes ties columns together
    """

    schema: FeatureSchema
    pipeline: Pipeline
    moments: copa.WeightMoments
    radius: float
    drift: str | None
    guarantee: float
    table: pd.DataFrame
    applicants: pd.DataFrame
    has_ties: bool


def tiny_problems(n: int, seed: int, n_applicants: int) -> Iterator[TinyProblem]:
    """Yield n problems; the k-th depends on (seed, k) only, so any of them can be run alone."""
    for k in range(n):
        yield tiny_problem(np.random.default_rng([seed, k]), n_applicants)


def tiny_problem(rng: np.random.Generator, n_applicants: int) -> TinyProblem:
    """Draw a problem; one in four has a rule between two columns, one in four a cap on the number of changes."""
    kinds = rng.choice(KINDS, size=int(rng.choice([2, 3, 3, 4, 4])))
    most_steps = 14 - 2 * len(kinds)  # the more columns, the fewer values each
    features = tuple(_feature(rng, f"x{k}", kind, most_steps) for k, kind in enumerate(kinds.tolist()))
    if len(features) == 4 and rng.random() < 0.3:
        features = (*features[:3], features[3].replace(immutable=True))
    rules = _rules(rng, features) if rng.random() < 0.25 else ()
    cap = int(rng.integers(1, len(features))) if rng.random() < 0.25 else None
    schema = FeatureSchema(features, rules, cap)
    table = pd.DataFrame({f.name: _entries(rng, f, 60) for f in features})
    pipeline = _pipeline(rng, features, table)
    crowd = pd.DataFrame({f.name: _entries(rng, f, 40 * n_applicants, strays=0.2) for f in features})
    declined = crowd[pipeline.predict(crowd) == 0].head(n_applicants).reset_index(drop=True)
    theta = np.concatenate([pipeline[-1].intercept_, pipeline[-1].coef_[0]])
    size = theta.size
    factor = 10.0 ** rng.uniform(-1.5, -0.4) * rng.standard_normal((size, size)) / np.sqrt(size)
    mean = theta + 0.05 * rng.standard_normal(size)
    return TinyProblem(
        schema=schema,
        pipeline=pipeline,
        moments=copa.WeightMoments(mean, factor @ factor.T),
        radius=0.0 if rng.random() < 0.2 else float(10.0 ** rng.uniform(-2.0, -0.7)),
        drift="cov" if rng.random() < 0.3 else None,
        guarantee=float(rng.uniform(0.4, 0.95)),
        table=table,
        applicants=declined,
        has_ties=bool(rules) or cap is not None,
    )


def _feature(rng: np.random.Generator, name: str, kind: str, most_steps: int) -> Feature:
    price: dict[str, Any] = {"weight": float(rng.choice([0.5, 1.0, 1.0, 2.0])), "spread": float(rng.uniform(0.7, 2.5))}
    direction = str(rng.choice(["both", "both", "both", "increase", "decrease"]))
    if kind in ("integer", "numeric"):
        step = float(rng.choice([1.0, 1.0, 2.0])) if kind == "integer" else float(rng.choice([0.25, 0.5]))
        lower = float(rng.integers(-2, 3)) * (1.0 if kind == "integer" else 0.1)
        upper = lower + step * float(rng.integers(3, most_steps + 1))
        return Feature(name, kind, lower=lower, upper=upper, step=step, direction=direction, **price)
    if kind == "ordinal":
        ranks, lower = tuple(range(1, int(rng.integers(4, 7)))), 2.0 if rng.random() < 0.2 else None
        return Feature(name, kind, values=ranks, lower=lower, direction=direction, rare="offer", **price)
    price["spread"] = 1.0
    if kind == "binary":
        return Feature(name, kind, values=("no", "yes"), direction=direction, rare="offer", **price)
    values = ("a", "b", "c", "d")[: int(rng.integers(3, 5))]
    transitions = {"a": ("b",)} if rng.random() < 0.3 else None
    return Feature(name, kind, values=values, transitions=transitions, rare="offer", **price)


def _rules(rng: np.random.Generator, features: tuple[Feature, ...]) -> tuple[str, ...]:
    """A rule between the first two columns that are numbers, if there are two, that cuts their range."""
    numbers = [f for f in features if f.kind in ("integer", "numeric", "ordinal")][:2]
    if len(numbers) < 2:
        return ()
    one, other = numbers
    middles = [0.5 * (f.lower + f.upper) if f.is_numeric else 0.5 * (1 + len(f.values)) for f in numbers]
    if rng.random() < 0.5:
        return (f"{one.name} + {other.name} <= {sum(middles):.3f}",)
    return (f"{one.name} <= {other.name} + {abs(middles[0] - middles[1]):.3f}",)


def _entries(rng: np.random.Generator, feature: Feature, n: int, *, strays: float = 0.0) -> Any:
    """Random values; a share `strays` of a line's are off the grid of its steps or outside its range."""
    if feature.is_categorical:
        return np.array(feature.values, dtype=object if isinstance(feature.values[0], str) else int)[
            rng.integers(len(feature.values), size=n)
        ]
    first, last = np.ceil(feature.lower / feature.step), np.floor(feature.upper / feature.step)
    values = feature.step * rng.integers(first, last + 1.0, size=n)
    if not feature.immutable:
        away = rng.choice([-1.0, 1.0], size=n) * (1.0 if feature.kind == "integer" else 0.3)
        values = values + away * (rng.random(n) < strays)
    return values.astype(int) if feature.kind == "integer" else values


def _pipeline(rng: np.random.Generator, features: tuple[Feature, ...], table: pd.DataFrame) -> Pipeline:
    """A pipeline with random coefficients that declines most of the table."""
    lines = [f.name for f in features if f.is_numeric]
    ordinals = [f for f in features if f.kind == "ordinal"]
    others = [f for f in features if f.kind in ("categorical", "binary")]
    encoder = ColumnTransformer(
        [
            ("lines", StandardScaler(), lines),
            ("ordinals", OrdinalEncoder(categories=[list(f.values) for f in ordinals]), [f.name for f in ordinals]),
            (
                "others",
                OneHotEncoder(categories=[list(f.values) for f in others], sparse_output=False),
                [f.name for f in others],
            ),
        ]
    )
    pipeline = Pipeline([("encode", encoder), ("classify", LogisticRegression())])
    pipeline.fit(table, np.arange(len(table)) % 2 == 1)
    classifier = pipeline[-1]
    classifier.coef_ = rng.standard_normal(classifier.coef_.shape)
    scores = pipeline[:-1].transform(table) @ classifier.coef_[0]
    classifier.intercept_ = -np.quantile(scores, rng.uniform(0.4, 0.9), keepdims=True)
    return pipeline
