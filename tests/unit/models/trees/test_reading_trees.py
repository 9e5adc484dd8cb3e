"""What is read of fitted tree ensembles equals the models themselves, thresholds and missing cells included."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from copa.models.black_box import BlackBox
from copa.models.trees import NotTreesError, TreeEnsembles
from copa.models.trees.conformance import chances
from copa.models.trees.folding import largest_below
from tree_models import NUMBERS, scikit_learn_models, table

MODELS = scikit_learn_models()
EXACT = ("forest", "extra", "tree")


def read_models(model, X, **settings):
    box = BlackBox.read(model, list(X.columns), **settings).clipped_for(X)
    return box, TreeEnsembles.read([box], X)


def at_thresholds(read, X, rng):
    """Rows with numbers at the trees' thresholds and at the doubles next to them."""
    columns = {}
    for k, name in enumerate(read.columns):
        cuts = read.cuts[k]
        if cuts is not None and len(cuts):
            cuts = cuts[np.isfinite(cuts)]
            beside = np.concatenate([cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf)])
            columns[name] = rng.choice(beside, len(X))
    return X.assign(**columns)


def assert_equal_models(model, n_rows, shown_exact, **kinds):
    X, y = table(600, **kinds)
    model.fit(X, y)
    rows, _ = table(n_rows, seed=1, **kinds)
    rng = np.random.default_rng(2)
    for settings in ({"favourable": "yes"}, {"favourable": "no"}, {"favourable": "yes", "threshold": 0.3}):
        box, read = read_models(model, X, **settings)
        for some in (rows, at_thresholds(read, rows, rng)):
            theirs = model.predict_proba(some)[:, box.position]
            own = chances(read, some, box.position)
            if shown_exact:
                np.testing.assert_array_equal(own, theirs)
            else:
                np.testing.assert_allclose(own, theirs, rtol=0.0, atol=1e-13)
            scores, expected = read.scores(read.codes(some))[0], box.scores(some)
            np.testing.assert_allclose(scores, expected, rtol=0.0, atol=1e-8)
            np.testing.assert_array_equal(scores >= 0.0, expected >= 0.0)


@pytest.mark.parametrize("name", MODELS)
def test_probabilities_and_scores_are_the_model_s_own(name):
    model, kinds = MODELS[name]
    assert_equal_models(model, 400, name.startswith(EXACT), **kinds)


@pytest.mark.extended
@pytest.mark.parametrize("name", MODELS)
def test_probabilities_and_scores_are_the_model_s_own_at_many_rows(name):
    model, kinds = MODELS[name]
    assert_equal_models(model, 10_000, name.startswith(EXACT), **kinds)


def test_unseen_values_go_where_the_encoders_send_them():
    model, kinds = MODELS["forest, one-hot, standardised"]
    X, y = table(600, **kinds)
    _, read = read_models(model.fit(X, y), X)
    rows = X.head(50).assign(job="astronaut")
    np.testing.assert_array_equal(chances(read, rows, 1), model.predict_proba(rows)[:, 1])


def test_a_tie_goes_to_the_label_that_comes_first():
    X = pd.DataFrame({"age": [20, 20, 60, 60] * 5})
    y = np.array(["no", "yes", "yes", "yes"] * 5)
    forest = RandomForestClassifier(3, bootstrap=False, random_state=0).fit(X, y)
    rows = pd.DataFrame({"age": [20, 60]})
    for favourable in ("no", "yes"):
        box, read = read_models(forest, X, favourable=favourable)
        scores = read.scores(read.codes(rows))[0]
        np.testing.assert_allclose(scores, box.scores(rows), rtol=1e-14)
        assert abs(scores[0]) <= 1e-9
        np.testing.assert_array_equal(scores >= 0.0, forest.predict(rows) == favourable)


def test_several_models_share_their_codes_and_some_can_be_taken():
    X, y = table(500)
    boxes = []
    for seed in range(3):
        forest = RandomForestClassifier(5 + seed, random_state=seed).fit(X[NUMBERS], y)
        boxes.append(BlackBox.read(forest, NUMBERS))
    read = TreeEnsembles.read(boxes, X)
    codes = read.codes(X)
    scores = read.scores(codes)
    np.testing.assert_allclose(scores, [box.scores(X) for box in boxes], rtol=0.0, atol=1e-12)
    np.testing.assert_array_equal(read.take(np.array([2, 0])).scores(codes), scores[[2, 0]])
    np.testing.assert_array_equal(read.take(slice(1, 2)).scores(codes), scores[1:2])
    np.testing.assert_array_equal(read.scores(codes, n_jobs=1), read.scores(codes, n_jobs=2))


def test_the_raw_cut_is_the_largest_double_that_goes_left():
    def function(values):
        with np.errstate(over="ignore"):
            return ((values - 3.3) / 7.7).astype(np.float32).astype(np.float64)

    bounds = np.concatenate([np.random.default_rng(0).normal(size=200), [0.0, -0.0, 1e-300, 1e30, -1e30]])
    cuts = largest_below(function, bounds)
    assert (function(cuts) <= bounds).all()
    assert (function(np.nextafter(cuts, np.inf)) > bounds).all()
    np.testing.assert_array_equal(
        largest_below(lambda values: np.clip(values, 0.0, 1.0), np.array([-1.0, 2.0])), [-np.inf, np.inf]
    )


def test_what_is_no_tree_ensemble_is_refused_with_the_reason():
    X, y = table(200)
    X = X[NUMBERS]
    forest = RandomForestClassifier(3, random_state=0)
    cases = {
        "LogisticRegression is no tree ensemble": LogisticRegression(max_iter=1000),
        "CalibratedClassifierCV is no tree": CalibratedClassifierCV(forest, cv=2),
        r"single columns is not known \(PolynomialFeatures\)": make_pipeline(PolynomialFeatures(2), forest),
        "trees to another model": GradientBoostingClassifier(init=LogisticRegression(max_iter=1000), n_estimators=2),
        "loss is exponential": GradientBoostingClassifier(loss="exponential", n_estimators=2),
    }
    for message, model in cases.items():
        with pytest.raises(NotTreesError, match=message):
            read_models(model.fit(X, y), X)


def test_trees_that_differ_from_their_model_are_refused():
    X, y = table(300)
    X = X[NUMBERS]

    model = make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=0)).fit(X, y)
    own = model[-1].predict_proba
    model[-1].predict_proba = lambda rows: 0.999 * own(rows)
    with pytest.raises(NotTreesError, match="have other probabilities"):
        read_models(model, X)


def test_a_refit_that_differs_is_named():
    X, y = table(300)
    X = X[NUMBERS]
    forests = [RandomForestClassifier(5, random_state=seed).fit(X, y) for seed in (0, 1)]
    own = forests[1].predict_proba
    forests[1].predict_proba = lambda rows: 0.999 * own(rows)
    with pytest.raises(NotTreesError, match="a refit's trees"):
        TreeEnsembles.read([BlackBox.read(forest, NUMBERS) for forest in forests], X)
