from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

import copa
from copa.exceptions import InvalidInputError, RetrainingError
from copa.models.black_box import BlackBox
from copa.planner import fitting, recourse_planner
from copa.planner.strategies import black_box, boundary, refitted
from copa.planner.strategies.boundary import Boundary
from copa.theory.sets.standard_ball import standard_ball, standard_points
from unit.planner import loans
from unit.planner.promises import finite_cantelli

FAST = {"later_models": copa.LaterModels(n_refits=12), "n_starts": 6, "n_options": 3, "guarantee": 0.6}


def forest() -> RandomForestClassifier:
    return RandomForestClassifier(15, min_samples_leaf=5, random_state=0)


@pytest.fixture(scope="module")
def model():
    return loans.fitted_pipeline(forest())


@pytest.fixture(scope="module")
def planner(model):
    return loans.planner(model, **FAST)


class Queried(Boundary):
    """Tree ensembles as any other black box: its refits are the same."""


@pytest.fixture(scope="module")
def refits(model):
    """The refits behind the planner's trees: those that its search goes by, and those that certify."""
    strategy = loans.planner(model, surrogate=Queried, **FAST).strategy_
    return strategy.retrained, strategy.held_out


@pytest.fixture(scope="module")
def declined(model):
    table = loans.people(80, 7)
    return table[~model.predict(table)].iloc[:12]


@pytest.fixture(scope="module")
def batch(planner, declined):
    return planner.plan(declined)


def test_every_option_is_allowed_and_accepted_by_the_model_itself(model, declined, batch):
    assert model.predict(batch.options).all()
    assert batch.accepted.all()
    assert not any(loans.SCHEMA.violations(declined.iloc[batch.owner], batch.options))
    assert (batch.status == "ok").sum() >= len(batch) // 2
    assert len(batch.options) > 1.5 * len(batch)


def test_columns_keep_their_types_and_the_factual_is_untouched(declined, batch):
    assert batch.options.dtypes.equals(declined.dtypes)
    pd.testing.assert_frame_equal(batch.applicants, declined, check_exact=True)


def log_odds(fits, rows):
    chances = np.clip(np.array([fit.estimator.predict_proba(rows)[:, 1] for fit in fits]), 1e-3, 1.0 - 1e-3)
    return np.log(chances / (1.0 - chances))


def test_guarantees_are_those_of_the_scores_of_the_held_out_fits(planner, refits, batch):
    """Recomputed from the fits themselves, one plan at a time; also all options together, and any of them."""
    share = planner.strategy_.reliability
    assert 0.3 < share <= 1.0
    for i in np.flatnonzero(batch.counts >= 2)[:4]:
        plan = batch[int(i)]
        scores = log_odds(refits[1], plan.options)
        np.testing.assert_allclose(plan.points, scores.T, atol=1e-9)
        np.testing.assert_allclose(plan.option_lower, finite_cantelli(scores, share), atol=1e-9)
        assert plan.any_lower >= finite_cantelli(scores.max(axis=1), share) - 1e-9
        assert plan.lower >= min(finite_cantelli(scores.min(axis=1), share), plan.option_lower.min()) - 1e-9
        assert plan.lower <= plan.option_lower.min() <= plan.option_lower.max() <= plan.any_lower
        proven = plan.certificate.verify()
        assert (proven.lower, proven.any_lower) == (plan.lower, plan.any_lower)


def test_nothing_is_chosen_by_the_fits_that_certify(planner, declined, batch):
    """With other held-out refits the same rows are found: only which of them are certified may change."""
    fitted = planner.strategy_
    others = [*range(1 + fitted.n_searching), *range(1, 1 + fitted.n_held_out)]
    planner.strategy_ = replace(fitted, ensembles=fitted.ensembles.take(np.array(others)))
    rows = planner.set_params(guarantee_for="any").plan(declined).options
    planner.strategy_ = fitted
    same = planner.plan(declined).options
    planner.set_params(guarantee_for="each")
    pd.testing.assert_frame_equal(rows, same)
    assert set(map(tuple, batch.options.to_numpy())) <= set(map(tuple, same.to_numpy()))


def test_a_level_that_the_refits_cannot_support_is_named(model, declined):
    planner = loans.planner(model, **(FAST | {"later_models": copa.LaterModels(n_refits=6), "guarantee": 0.95}))
    batch = planner.plan(declined.iloc[:3])
    assert set(batch.status) == {"fragile"}
    assert (batch.option_lower <= 0.9).all()
    assert all("9 held-out refits support at most 0.900; raise n_refits" in message for message in batch.message)


def test_an_option_marked_ok_reaches_the_level(batch):
    ok = batch.status == "ok"
    assert (batch.option_lower[ok[batch.owner]] >= 0.6).all()
    assert (batch.option_lower[~ok[batch.owner]] < 0.6).all()
    assert batch.option_lower.max() <= 18 / 19


def test_held_out_fits_are_asked_about_the_rows_delivered(refits, batch):
    fits = refits[1]
    accepted = np.array([fit.estimator.predict(batch.options) for fit in fits])
    assert batch.n_held_out == len(fits)
    np.testing.assert_array_equal(batch.expected_rate, accepted.mean(axis=0))
    first = np.flatnonzero(batch.owner == batch.owner[0])
    assert batch.all_rate[batch.owner[0]] == accepted[:, first].all(axis=1).mean()
    assert batch.any_rate[batch.owner[0]] == accepted[:, first].any(axis=1).mean()
    assert np.isnan(batch.fidelity).all()  # nothing stands in for the trees


def test_a_plan_does_not_depend_on_the_others_or_on_threads(planner, declined, batch):
    alone = planner.plan(declined.iloc[[3]])
    pd.testing.assert_frame_equal(alone[0].options, batch[3].options)
    np.testing.assert_allclose(alone.lower, batch.lower[3:4], atol=1e-9)
    planner.set_params(n_jobs=2)
    again = planner.plan(declined.iloc[::-1])
    planner.set_params(n_jobs=1)
    pd.testing.assert_frame_equal(again[len(declined) - 1 - 3].options, batch[3].options)


def test_a_saved_batch_keeps_its_trials(batch, tmp_path):
    batch.save(tmp_path / "plans.copa")
    loaded = copa.PlanBatch.load(tmp_path / "plans.copa")
    np.testing.assert_array_equal(loaded.expected_rate, batch.expected_rate)
    assert loaded[0].n_held_out == batch.n_held_out
    joined = copa.PlanBatch.concat([loaded[:2], loaded[2:]])
    np.testing.assert_array_equal(joined.fidelity, batch.fidelity)


@pytest.mark.parametrize(
    "classifier",
    [
        pytest.param(
            GradientBoostingClassifier(n_estimators=15, max_depth=2, random_state=0), marks=pytest.mark.extended
        ),
        pytest.param(
            MLPClassifier((8,), alpha=1.0, solver="lbfgs", max_iter=2000, random_state=0), marks=pytest.mark.extended
        ),
        GaussianNB(),
    ],
    ids=lambda c: type(c).__name__,
)
def test_any_classifier_with_probabilities_will_do(classifier):
    onehot = {"sparse_output": False}
    model = loans.fitted_pipeline(classifier, **onehot)
    table = loans.people(60, 3)
    declined = table[~model.predict(table)].iloc[:5]
    batch = loans.planner(model, **(FAST | {"later_models": copa.LaterModels(n_refits=6)})).plan(declined)
    assert model.predict(batch.options).all()
    assert not any(loans.SCHEMA.violations(declined.iloc[batch.owner], batch.options))
    assert set(batch.status) <= {"ok", "fragile"}


def test_a_threshold_and_the_other_label_are_honoured():
    table = loans.people(300, 0)
    labels = np.where(loans.outcomes(table), "no risk", "risk")
    model = loans.pipeline(forest()).fit(table, labels)
    planner = copa.RecoursePlanner(
        model, schema=loans.SCHEMA, **(loans.FAST | FAST), threshold=0.7, favourable="no risk"
    ).fit(table, labels)
    people = loans.people(40, 5)
    chance = model.predict_proba(people)[:, list(model.classes_).index("no risk")]
    batch = planner.plan(people)
    assert (batch.status[chance >= 0.7] == "already_valid").all()
    reached = model.predict_proba(batch.options)[:, list(model.classes_).index("no risk")]
    assert (reached >= 0.7).all()
    assert len(reached) > 0


def test_nobody_is_said_to_be_without_a_way_as_if_it_were_proven(model, declined):
    schema = copa.FeatureSchema(
        [f if f.name == "debt" else f.replace(immutable=True, transitions=None) for f in loans.SCHEMA.features]
    )
    batch = loans.planner(model, **FAST, schema=schema).plan(declined)
    stuck = batch.status == "infeasible"
    assert stuck.any()
    assert all("tried" in message for message in batch.message[stuck])
    assert (batch.counts[stuck] == 0).all()


def test_the_time_limit_holds(planner, declined):
    planner.set_params(time_limit=1e-6)
    batch = planner.plan(declined)
    planner.set_params(time_limit=None)
    assert (batch.status == "time_limit").all()


@pytest.mark.parametrize("seconds", [0.02, 0.2])
def test_a_search_that_the_clock_cut_off_is_not_said_to_have_found_no_surer_row(planner, declined, batch, seconds):
    planner.set_params(time_limit=seconds)
    cut = planner.plan(declined)
    planner.set_params(time_limit=None)
    assert (batch.status == "ok").sum() >= (cut.status == "ok").sum()
    assert "fragile" not in set(cut.status[batch.status == "ok"])


@pytest.mark.parametrize("favourable", [False, True])
@pytest.mark.parametrize("classifier", [KNeighborsClassifier(4), RandomForestClassifier(4, random_state=0)])
def test_a_tie_is_what_predict_makes_of_it(classifier, favourable):
    model, table = loans.fitted_pipeline(classifier), loans.people(500, 3)
    box = BlackBox.read(model, table.columns, favourable=favourable)
    assert (model.predict_proba(table)[:, 0] == 0.5).any()
    np.testing.assert_array_equal(box.scores(table) >= 0.0, model.predict(table) == favourable)


class Moody(RandomForestClassifier):
    """Refuses rows on a narrow strip, which no probe meets."""

    def predict_proba(self, X):
        if (np.abs(np.asarray(X)[:, 0] - 0.4) < 0.05).any():
            raise RuntimeError("picky")
        return super().predict_proba(X)


def test_a_model_that_fails_on_a_row_in_the_search_is_named_as_the_cause(monkeypatch):
    for module in (black_box, boundary, refitted):
        monkeypatch.setattr(module, "require_readable", lambda *_: None)
    monkeypatch.setattr(BlackBox, "clipped_for", lambda self, _: self)
    for name in ("warn_if_weak", "accepted_row"):
        monkeypatch.setattr(fitting, name, lambda *_: None)
    monkeypatch.setattr(refitted, "measure_reliability", lambda *_, **__: 0.9)
    monkeypatch.setattr(recourse_planner, "try_rows", lambda *_: None)
    table = loans.people(300, 0)
    model = loans.pipeline(Moody(5, random_state=0)).fit(table, loans.outcomes(table))
    people = table[np.abs(model[0].transform(table)[:, 0]) > 0.8].iloc[:5]
    planner = loans.planner(model, **FAST)
    with pytest.raises(InvalidInputError, match=r"cannot read a row that the schema allows .RuntimeError: picky"):
        planner.plan(people)


class WithoutProbabilities(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):  # noqa: ARG002 - the signature of an estimator
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[:1], len(X))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": loans.fitted_pipeline(SVC())}, "SVC is neither; fit it with probabilities"),
        ({"model": loans.fitted_pipeline(WithoutProbabilities())}, "predict_proba|linear"),
        ({"model": loans.pipeline(forest())}, "fitted"),
        ({"objective": copa.PaperObjective()}, "linear"),
        ({"favourable": "yes"}, "favourable must be a label"),
        ({"threshold": 1.5}, "threshold is a probability"),
        ({"later_models": copa.MomentBall(np.zeros(3), np.eye(3))}, "moments"),
        (
            {"later_models": copa.MomentBall(radius=0.5)},
            "fixed set is for linear models .* rest on its held-out refits. Leave it out",
        ),
        ({"later_models": copa.LocationSet()}, "fixed set is for linear models .* rest on its held-out refits"),
    ],
)
def test_what_cannot_be_used_is_refused_at_once(model, declined, change, words):
    table = loans.people(300, 0)
    settings = {"model": model, "schema": loans.SCHEMA, **(loans.FAST | FAST), **change}
    with pytest.raises(InvalidInputError, match=words):
        copa.RecoursePlanner(**settings).fit(table, loans.outcomes(table)).plan(declined)


def test_more_than_two_classes_are_refused():
    table = loans.people(200, 0)
    model = loans.pipeline(forest()).fit(table, np.arange(200) % 3)
    with pytest.raises(InvalidInputError, match="2 classes"):
        copa.RecoursePlanner(model, schema=loans.SCHEMA).fit(table, np.arange(200) % 3)


def test_labels_are_needed(model):
    with pytest.raises(InvalidInputError, match="y is needed"):
        copa.RecoursePlanner(model, schema=loans.SCHEMA, **FAST).fit(loans.people(300, 0))


class Picky(RandomForestClassifier):
    """Refuses rows with more income than anybody has in the data, as a model behind a checked service might."""

    def predict_proba(self, X):
        if np.max(np.abs(X[:, 0])) > 4.0:
            raise ValueError("income out of range")
        return super().predict_proba(X)


def test_a_model_that_cannot_read_what_the_schema_allows_is_refused_before_any_work():
    table = loans.people(300, 0)
    model = loans.pipeline(Picky(5, random_state=0), sparse_output=False).fit(table, loans.outcomes(table))
    with pytest.raises(InvalidInputError, match=r"cannot read rows that the schema allows.*income out of range"):
        copa.RecoursePlanner(model, schema=loans.SCHEMA, **FAST).fit(table, loans.outcomes(table))


class Demanding(RandomForestClassifier):
    """Needs more rows than a third of the data has."""

    def fit(self, X, y):
        if X.shape[0] < 200:
            raise ValueError("fewer than 200 rows")
        return super().fit(X, y)


def test_a_refit_that_fails_says_why():
    with pytest.raises(RetrainingError, match="fewer than 200 rows"):
        loans.planner(loans.fitted_pipeline(Demanding(5, random_state=0)), **FAST)


def test_points_have_the_moments_of_the_scores():
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((20, 7)) @ rng.standard_normal((7, 7)) + 1.0
    owner = np.array([0, 0, 0, 2, 2, 2, 2])
    away = (scores - scores.mean(axis=0)) / np.sqrt(len(scores) - 1.0)
    points = standard_points(scores.mean(axis=0), away, owner, 6)
    ball = standard_ball(5, 0.4)
    found = ball.scores(points)
    np.testing.assert_allclose(np.ldexp(found.means, found.exponents), scores.mean(axis=0))
    for own in (owner == 0, owner == 2):
        cov = np.cov(scores[:, own], rowvar=False)
        np.testing.assert_allclose(points[own] @ ball.cov @ points[own].T, cov, atol=1e-12)
    np.testing.assert_allclose(np.ldexp(found.reaches, found.exponents), 0.4 * scores.std(axis=0, ddof=1))


def test_rows_made_elsewhere_are_bounded_by_the_same_scores(planner, declined, batch):
    given = batch.options[batch.owner == 0].assign(applicant=declined.index[0])
    audited = planner.audit(given, declined.iloc[[0]])
    np.testing.assert_allclose(audited.option_lower, batch.option_lower[batch.owner == 0], atol=1e-9)
    assert audited.lower[0] == pytest.approx(batch.lower[0], abs=1e-7)


@pytest.fixture(scope="module")
def by_lime(model, declined):
    return loans.planner(model, **FAST | {"later_models": copa.LaterModels(family="any")}, surrogate="lime").plan(
        declined
    )


def test_the_papers_stand_in_needs_no_refits_and_its_promise_is_said_to_be_conditional(model, by_lime):
    assert by_lime.n_held_out == 0
    assert by_lime.ambiguity.radius == pytest.approx(0.01 / np.sqrt(0.05))
    assert "surrogate" in by_lime[0].explain()
    assert model.predict(by_lime.options).all()


def test_the_papers_stand_in_promises_what_its_moments_say(by_lime):
    """Recomputed: a line of the stand-in's parameters as theta, the options in its coordinates, covariance 0.05 I."""
    plan = by_lime[int(np.argmax(by_lime.counts))]
    scores = plan.points[:, 0]
    gram = plan.points[:, 1:] @ plan.points[:, 1:].T
    again = copa.validity_bounds(np.eye(len(scores)), scores, gram, plan.ambiguity.radius, gram)
    np.testing.assert_allclose(plan.option_lower, again.option_lower, atol=1e-7)
    lengths = np.sqrt(np.diagonal(gram) / 0.05)
    assert (lengths >= 1.0).all()  # the intercept alone has length 1


def test_an_audit_has_no_stand_in_to_go_by(model, declined, batch):
    planner = loans.planner(model, **FAST, surrogate="lime")
    given = batch.options[batch.owner == 0].assign(applicant=declined.index[0])
    with pytest.raises(InvalidInputError, match="lime"):
        planner.audit(given, declined.iloc[[0]])
    with pytest.raises(InvalidInputError, match="lime"):  # before anything is read
        planner.audit("no such file.csv", declined.iloc[[0]])
