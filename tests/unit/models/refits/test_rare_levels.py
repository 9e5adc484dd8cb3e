"""What a model adds for levels that hardly any training row has: the spread of its penalty."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, RidgeClassifier, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import LinearSVC

from copa import Feature, FeatureSchema, InvalidInputError, WeightMoments
from copa.models import LinearModel
from copa.models.refits.rare_levels import (
    own_direction,
    penalty_spread,
    prior_variance,
    spread_rare_levels,
    without_unknown_levels,
)
from copa.theory.sets.ambiguity import MomentBall

NEW = getattr(LogisticRegression(), "penalty", "") == "deprecated"  # scikit-learn since 1.8
L1 = {"solver": "liblinear"} | ({"l1_ratio": 1.0} if NEW else {"penalty": "l1"})
HOMES = ["boat", "castle", "own", "rent"]
RNG = np.random.default_rng(0)
X = pd.DataFrame({"home": ["rent", "own"] * 120 + ["boat"] * 6, "income": RNG.normal(30.0, 10.0, 246)})
Y = X["income"] + 10.0 * (X["home"] == "own") + RNG.normal(0.0, 5.0, 246) > 35.0
SCHEMA = FeatureSchema(
    [Feature("home", "categorical", values=HOMES, rare="offer"), Feature("income", "numeric")]
).with_support(X)
ENCODERS = {
    "one-hot": OneHotEncoder(categories=[HOMES]),
    "drop": OneHotEncoder(categories=[HOMES], drop="first"),
    "unknown": OneHotEncoder(handle_unknown="ignore"),
    "scaled": make_pipeline(OneHotEncoder(categories=[HOMES], sparse_output=False), StandardScaler()),
    "mixed": make_pipeline(OneHotEncoder(categories=[HOMES], sparse_output=False), PCA()),
}


def fitted(encoder, classifier=None):
    parts = ColumnTransformer([("home", encoder, ["home"]), ("income", StandardScaler(), ["income"])])
    pipeline = make_pipeline(parts, LogisticRegression(C=0.3) if classifier is None else classifier).fit(X, Y)
    return LinearModel.read(pipeline, X.columns)


def refitted(model):
    """Moments of refits with the encoder held fixed, which see nothing of a level without rows."""
    estimator = model.classifier
    return WeightMoments.from_retraining(estimator, model.encode(X)[:, 1:], Y, n_models=200, random_state=0)


def spreads(model, cov):
    """Standard deviation of the score of someone in each home, in the order of HOMES."""
    rows = model.encode(pd.DataFrame({"home": HOMES, "income": 30.0}))
    return np.sqrt(np.einsum("nd,de,ne->n", rows, cov, rows))


@pytest.mark.parametrize("encoder", ENCODERS)
def test_levels_without_support_get_the_penaltys_spread_and_the_others_keep_theirs(encoder):
    model = fitted(ENCODERS[encoder])
    before = refitted(model).cov
    after = spread_rare_levels(before, model, SCHEMA, X)
    old, new = spreads(model, before), spreads(model, after)
    prior = np.sqrt(0.3)
    least = prior * np.sqrt(0.5) if encoder in ("unknown", "drop") else prior
    assert (new[:2] >= 0.99 * least).all()
    assert new[2:] == pytest.approx(old[2:], rel=1e-6)
    assert np.linalg.eigvalsh(after - before).min() >= -1e-9
    rows = model.encode(X[X["home"] != "boat"])
    assert np.einsum("nd,de,ne->n", rows, after - before, rows) == pytest.approx(0.0, abs=1e-9)


def test_a_level_that_no_row_has_looks_certain_to_refits_and_is_not_with_the_penaltys_spread():
    model = fitted(ENCODERS["one-hot"])
    moments = refitted(model)
    rows = model.encode(pd.DataFrame({"home": ["castle"], "income": [32.0]}))
    mean = moments.mean - np.eye(moments.mean.size)[0] * (rows[0] @ moments.mean - 0.9)  # a score of 0.9

    def guarantee(cov):
        return MomentBall(mean, cov, 0.0).option_guarantees(rows)[0]

    assert guarantee(moments.cov) > 0.9
    assert guarantee(spread_rare_levels(moments.cov, model, SCHEMA, X)) < 0.75


def test_an_ordinal_code_whose_slope_the_other_levels_know_keeps_its_spread():
    model = fitted(OrdinalEncoder(categories=[HOMES]))
    before = refitted(model).cov
    assert spread_rare_levels(before, model, SCHEMA, X) == pytest.approx(before, abs=1e-12)


def test_products_with_other_columns_are_raised_as_well():
    parts = ColumnTransformer(
        [("home", OneHotEncoder(categories=[HOMES]), ["home"]), ("income", StandardScaler(), ["income"])]
    )
    pipeline = make_pipeline(
        parts, PolynomialFeatures(2, interaction_only=True, include_bias=False), LogisticRegression(C=0.3)
    )
    model = LinearModel.read(pipeline.fit(X, Y), X.columns)
    before = refitted(model).cov
    after = spread_rare_levels(before, model, SCHEMA, X)
    rows = model.encode(pd.DataFrame({"home": "castle", "income": [15.0, 30.0, 45.0]}))
    variances = np.einsum("nd,de,ne->n", rows, after, rows)
    assert (variances > 0.3).all()
    assert variances[[0, 2]].min() > variances[1]


def test_nothing_is_raised_for_levels_that_are_withheld_or_known():
    model = fitted(ENCODERS["one-hot"])
    cov = refitted(model).cov
    withheld = SCHEMA.replace(home={"rare": "withhold"}).with_support(X)
    assert withheld["home"].withheld == ("boat", "castle")
    immutable = SCHEMA.replace(home={"immutable": True})
    for schema in (withheld, immutable, SCHEMA.replace(home={"support": {}})):
        assert (spread_rare_levels(cov, model, schema, X) == cov).all()


@pytest.mark.parametrize("classifier", [RidgeClassifier(), LinearSVC(), LogisticRegression(C=0.3, **L1)])
def test_rare_levels_are_withheld_where_the_penalty_is_no_normal_prior(classifier):
    schema = without_unknown_levels(SCHEMA, classifier)
    assert schema["home"].withheld == ("boat", "castle")
    assert without_unknown_levels(SCHEMA, LogisticRegression()) is SCHEMA
    model = fitted(ENCODERS["one-hot"], classifier)
    cov = 1e-3 * np.eye(model.theta.size)
    assert (spread_rare_levels(cov, model, schema, X) == cov).all()
    with pytest.raises(InvalidInputError, match=f"penalty of {type(classifier).__name__} does not say .* 'home'"):
        spread_rare_levels(cov, model, SCHEMA, X)


def test_a_table_in_which_every_level_is_rare():
    model = fitted(ENCODERS["one-hot"])
    few = X.groupby("home").head(6).reset_index(drop=True)
    schema = SCHEMA.with_support(few)
    assert len(schema["home"].support) == len(HOMES)
    cov = 1e-3 * np.eye(model.theta.size)
    assert (spreads(model, spread_rare_levels(cov, model, schema, few)) > 0.9 * np.sqrt(0.3)).all()


@pytest.mark.parametrize(
    ("classifier", "variance"),
    [
        (LogisticRegression(C=0.1), 0.1),
        (LogisticRegression(C=np.inf), None),
        (LogisticRegression(C=10.0, **L1), None),
        (LinearSVC(C=10.0), None),
        (RidgeClassifier(), None),
        (SGDClassifier(), None),
    ],
)
def test_the_penalty_is_read_off_the_classifier(classifier, variance):
    assert prior_variance(classifier) == variance


def test_a_penalty_chosen_by_cross_validation_is_the_one_that_was_chosen():
    chosen = LogisticRegressionCV()
    for strength in (np.array([0.25]), 0.25):  # older and newer releases of scikit-learn
        chosen.C_ = strength
        assert prior_variance(chosen) == 0.25


def test_the_penalty_of_a_calibrated_classifier_is_that_of_its_base():
    model = fitted(ENCODERS["one-hot"], CalibratedClassifierCV(LogisticRegression(C=0.3), ensemble=False))
    cov = 1e-4 * np.eye(model.theta.size)
    assert spreads(model, spread_rare_levels(cov, model, SCHEMA, X))[1] >= np.sqrt(0.3)


def test_directions_are_raised_to_the_variance_asked_for_and_never_lowered():
    rng = np.random.default_rng(1)
    root = rng.normal(size=(5, 5))
    cov, directions = 0.1 * root @ root.T, rng.normal(size=(3, 5))
    wanted = np.array([0.0, 3.0, 5.0])
    raised = penalty_spread(cov, directions, wanted)
    variances = np.einsum("ld,de,le->l", directions, raised, directions)
    assert (variances >= np.maximum(wanted, np.einsum("ld,de,le->l", directions, cov, directions)) - 1e-9).all()
    assert np.linalg.eigvalsh(raised - cov).min() > -1e-12
    assert penalty_spread(cov, directions[1:2], 3.0) == pytest.approx(penalty_spread(cov, 7.0 * directions[1:2], 147.0))
    assert penalty_spread(cov, np.zeros((1, 5)), 1.0) == pytest.approx(cov)


def test_own_directions_are_orthogonal_to_the_other_rows_whatever_their_units():
    rng = np.random.default_rng(2)
    others = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 6)) * [1.0, 1e4, 1e-3, 1.0, 1.0, 1.0]
    rows = rng.normal(size=(2, 6))
    own = own_direction(rows, others)
    assert own @ (others / np.linalg.norm(others, axis=1, keepdims=True)).T == pytest.approx(0.0, abs=1e-6)
    assert own_direction(others[:2] + own, others) == pytest.approx(own, rel=1e-6)


@pytest.mark.parametrize(
    ("directions", "variance"), [([[1.0]], 1.0), ([1.0, 0.0], 1.0), ([[np.nan, 0.0]], 1.0), ([[1.0, 0.0]], -1.0)]
)
def test_what_makes_no_sense_is_refused(directions, variance):
    with pytest.raises(InvalidInputError):
        penalty_spread(np.eye(2), directions, variance)
