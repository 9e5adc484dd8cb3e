"""Credit tables as they are, each from a seed: missing values, special codes, outliers, and pipelines for them."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)

from copa import Feature, FeatureSchema
from property.random_worlds import N_TRAINING, World, sampled_moments

NUMBERS = ["months", "income", "share", "lines"]
CODES = (-9.0, -8.0)


def make_irregular_world(name: str, seed: int, n_applicants: int) -> World:
    """A world with the pipeline of that name (see `PIPELINES`)."""
    rng = np.random.default_rng([seed, sum(name.encode())])
    n_training = 2 * N_TRAINING
    table, labels = make_table(rng, n_training + 4 * n_applicants)
    training, others = table.iloc[:n_training], table.iloc[n_training:]
    pipeline = PIPELINES[name](rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # bins that are merged, few iterations
        pipeline.fit(training, labels[:n_training])
        declined = others[~pipeline.predict(others)].iloc[:n_applicants]
        known = "forest" in name or "boosting" in name
        moments = None if known else sampled_moments(rng, pipeline, training)
    applicants = declined.set_axis(range(len(declined)))
    return World(make_schema(rng), training, labels[:n_training], pipeline, applicants, moments)


def make_table(rng: np.random.Generator, n_rows: int) -> tuple[pd.DataFrame, Any]:
    """Rows, and whether each was paid back."""
    months = rng.integers(0, 60, n_rows).astype(float)
    income = np.round(rng.lognormal(7.5, 0.7, n_rows), -1)
    income[rng.random(n_rows) < 0.01] *= 1000.0
    share = rng.beta(2.0, 3.0, n_rows).round(3)
    lines = rng.poisson(3.0, n_rows).astype(float)
    home = rng.choice(np.array(["rent", "own", "other"], dtype=object), n_rows)
    score = 0.05 * months + np.log(income / 1800.0) - 3.0 * share + 0.2 * lines + (home == "own")
    for column in (months, lines):
        here = rng.random(n_rows) < 0.12
        column[here] = rng.choice(np.array(CODES), here.sum())
        score[here] -= 1.0
    for column in (income, share):
        here = rng.random(n_rows) < 0.12
        column[here] = np.nan
        score[here] -= 0.7
    home[rng.random(n_rows) < 0.08] = np.nan
    table = pd.DataFrame({"months": months, "income": income, "share": share, "lines": lines, "home": home})
    table["age"] = np.where(rng.random(n_rows) < 0.1, np.nan, rng.integers(20, 70, n_rows))
    if rng.random() < 0.5:
        table = table.astype({"months": "int64", "lines": "int32"})
    return table, score + rng.logistic(0.0, 0.6, n_rows) > np.median(score)


def make_schema(rng: np.random.Generator) -> FeatureSchema:
    """What may change; some of it differs from world to world."""

    def missing() -> str:
        return str(rng.choice(["stay", "may_change"]))

    up = str(rng.choice(["both", "increase"]))
    features = [
        Feature("months", "integer", lower=0, upper=60, direction=up, special=CODES),
        Feature("income", "numeric", lower=0, step=10, missing=missing(), max_change=rng.choice([0.5, 3.0])),
        Feature("share", "numeric", lower=0, upper=1, step=rng.choice(np.array([None, 0.001])), missing=missing()),
        Feature("lines", "integer", lower=0, special=CODES, max_change=rng.choice(np.array([None, {"up": 3}]))),
        Feature("home", "categorical", values=("rent", "own", "other"), missing=missing()),
        Feature("age", "integer", immutable=True),
    ]
    return FeatureSchema(features, max_changes=rng.choice(np.array([None, None, 1, 2])))


def _encoded(*parts: Any) -> Any:
    """The parts for columns of numbers, and what is made of the other columns."""
    homes = OneHotEncoder(handle_unknown="ignore")
    return make_column_transformer(
        *parts, (homes, ["home"]), (make_pipeline(SimpleImputer(), StandardScaler()), ["age"])
    )


def _linear(rng: np.random.Generator, *parts: Any) -> Any:
    classifier = LogisticRegression(C=float(rng.choice([0.1, 1.0])), max_iter=500)
    return make_pipeline(_encoded(*parts), classifier)


def _kbins(encode: str, strategy: str) -> Any:
    def make(rng: np.random.Generator) -> Any:
        bins = KBinsDiscretizer(int(rng.integers(3, 7)), encode=encode, strategy=strategy, subsample=None)
        return _linear(rng, (make_pipeline(SimpleImputer(strategy="median"), bins), NUMBERS))

    return make


def _imputed(strategy: str, *, indicator: bool) -> Any:
    def make(rng: np.random.Generator) -> Any:
        imputer = SimpleImputer(strategy=strategy, add_indicator=indicator)
        return _linear(rng, (make_pipeline(imputer, StandardScaler()), NUMBERS))

    return make


def cut_by_hand(frame: Any) -> Any:
    """A scorecard's cut-offs: 6, 12 and 24 months, a third and two thirds; codes and missing values by themselves."""
    months, share = (np.asarray(frame)[:, k].astype(float) for k in range(2))
    codes = np.isin(months, CODES)
    bins = np.digitize(np.nan_to_num(share, nan=-1.0), [0.0, 0.25, 0.333, 0.667])
    return np.column_stack([months >= 6, months >= 12, months >= 24, codes, *(bins == k for k in range(4))]).astype(
        float
    )


def cut_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Bins closed on the right, as pandas cuts them, one column for each."""
    cut = pd.cut(frame["income"], [-np.inf, 900.0, 1500.0, 2500.0, 4000.0, np.inf])
    return pd.get_dummies(cut, dummy_na=True).astype(float)


class WeightOfEvidence(TransformerMixin, BaseEstimator):
    """Log-odds of bins between quantiles, with bins of their own for missing values and special codes."""

    def fit(self, X, y):
        values, good = np.asarray(X, dtype=float), np.asarray(y, dtype=bool)
        self.splits, self.woe_ = [], []
        for column in values.T:
            regular = column[np.isfinite(column) & ~np.isin(column, CODES)]
            self.splits.append(np.unique(np.quantile(regular, [0.2, 0.4, 0.6, 0.8])))
            bins = self._bins(column, self.splits[-1])
            self.woe_.append(
                {b: np.log((good[bins == b].sum() + 1) / ((~good[bins == b]).sum() + 1)) for b in set(bins)}
            )
        return self

    def transform(self, X):
        values = np.asarray(X, dtype=float)
        columns = zip(values.T, self.splits, self.woe_, strict=True)
        return np.column_stack([[woe.get(b, 0.0) for b in self._bins(x, cuts)] for x, cuts, woe in columns])

    def get_feature_names_out(self, names=None):
        return np.asarray(names)

    @staticmethod
    def _bins(column, cuts):
        bins = np.digitize(column, cuts)
        bins[np.isnan(column)] = 97
        for k, code in enumerate(CODES):
            bins[column == code] = 98 + k
        return bins


def _by_hand(rng: np.random.Generator) -> Any:
    scaled = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    return _linear(rng, (FunctionTransformer(cut_by_hand), ["months", "share"]), (scaled, ["income", "lines"]))


def _cut(rng: np.random.Generator) -> Any:
    scaled = make_pipeline(SimpleImputer(), StandardScaler())
    return _linear(rng, (FunctionTransformer(cut_frame), ["income"]), (scaled, ["months", "share", "lines"]))


def _evidence(rng: np.random.Generator) -> Any:
    return _linear(rng, (WeightOfEvidence(), NUMBERS))


def _products(rng: np.random.Generator) -> Any:
    smooth = make_pipeline(SimpleImputer(), StandardScaler(), PolynomialFeatures(2))
    return _linear(rng, (smooth, NUMBERS))


def _splines_and_bins(rng: np.random.Generator) -> Any:
    smooth = make_pipeline(SimpleImputer(add_indicator=True), SplineTransformer(n_knots=4))
    bins = make_pipeline(SimpleImputer(), KBinsDiscretizer(4, strategy="uniform", subsample=None))
    return _linear(rng, (smooth, ["months", "share"]), (bins, ["lines", "income"]))


def _boosting(rng: np.random.Generator) -> Any:
    numbers = ("passthrough", [*NUMBERS, "age"])
    encoder = make_column_transformer(numbers, (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["home"]))
    return make_pipeline(encoder, HistGradientBoostingClassifier(max_iter=20, random_state=int(rng.integers(9))))


def _forest(rng: np.random.Generator) -> Any:
    imputer = SimpleImputer(add_indicator=bool(rng.random() < 0.5))
    return make_pipeline(_encoded((imputer, NUMBERS)), RandomForestClassifier(15, random_state=int(rng.integers(9))))


CODINGS = ("onehot", "onehot-dense", "ordinal")
STRATEGIES = ("uniform", "quantile", "kmeans")
IMPUTED = ("mean", "median", "most_frequent")
PIPELINES = {
    **{f"kbins {coding} {strategy}": _kbins(coding, strategy) for coding in CODINGS for strategy in STRATEGIES},
    **{f"imputed {by} {flag}": _imputed(by, indicator=flag) for by in IMPUTED for flag in (False, True)},
    "cut-offs by hand": _by_hand,
    "cut frame": _cut,
    "weights of evidence": _evidence,
    "products": _products,
    "splines and bins": _splines_and_bins,
    "boosting": _boosting,
    "forest": _forest,
}
