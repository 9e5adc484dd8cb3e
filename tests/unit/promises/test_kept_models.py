"""`keep`: the fitted model accepts what was promised, says what that costs, and refuses what it cannot read."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder
from sklearn.svm import SVC, LinearSVC

from copa.exceptions import InvalidInputError, RetrainingError
from copa.promises import KeptModel, keep
from copa.promises.promised_rows import join_facts
from unit.planner import loans

TIGHT = {"tol": 1e-12, "max_iter": 10_000}


def pipeline(classifier=None):
    return make_pipeline(loans.encoder(), LogisticRegression(**TIGHT) if classifier is None else classifier)


@pytest.fixture(scope="module")
def bank_rows():
    """Training rows of a stricter bank, and rows that the bank of before accepts."""
    old, new, people = loans.people(300, 0), loans.people(250, 3), loans.people(200, 5)
    before = pipeline().fit(old, loans.outcomes(old))
    stricter = loans.outcomes(new.assign(income=new["income"] - 8.0), seed=4)
    return new, stricter, people[before.predict(people)].head(40)


@pytest.fixture(scope="module")
def kept(bank_rows) -> KeptModel:
    return keep(pipeline(), *bank_rows)


def test_every_promised_row_is_accepted_where_the_plain_refit_breaks_some(bank_rows, kept):
    X, y, promised = bank_rows
    plain = pipeline().fit(X, y)
    assert kept.n_broken_before == int((~plain.predict(promised)).sum()) > 3
    assert kept.n_broken_after == 0
    assert kept.model.predict(promised).all()
    assert (kept.method, len(kept.broken), kept.n_promises) == ("exact", 0, 40)
    assert kept.solution.is_optimal(1e-8)


def test_the_dearest_promise_comes_first_and_only_binding_ones_have_a_price(bank_rows, kept):
    promised = bank_rows[2]
    assert kept.multipliers.is_monotonic_decreasing
    binding = kept.multipliers.index[kept.multipliers > 0.0]
    scores = pd.Series(kept.model.decision_function(promised), index=promised.index)
    assert scores[binding].to_numpy() == pytest.approx(kept.margin, abs=1e-8)
    assert (scores >= kept.margin - 1e-9).all()
    assert kept.weights[binding].to_numpy() == pytest.approx(kept.multipliers[binding] * (1 + np.exp(kept.margin)))


def test_scikit_learns_own_fit_with_the_weights_is_the_same_model(bank_rows, kept):
    X, y, promised = bank_rows
    encoder = kept.model[:-1]
    rows = np.vstack([encoder.transform(X), encoder.transform(promised)])
    labels = np.concatenate([y, np.ones(len(promised), dtype=bool)])
    weights = np.concatenate([np.ones(len(X)), kept.weights[promised.index]])
    own = LogisticRegression(**TIGHT).fit(rows, labels, sample_weight=weights)
    assert own.coef_ == pytest.approx(kept.model[-1].coef_, abs=1e-6)
    assert own.intercept_ == pytest.approx(kept.model[-1].intercept_, abs=1e-6)


@pytest.mark.parametrize(
    "classifier",
    [
        LogisticRegression(C=0.2, class_weight="balanced", **TIGHT),
        LogisticRegression(class_weight={True: 1.0, False: 3.0}, **TIGHT),
        LogisticRegression(solver="liblinear", intercept_scaling=2.0, **TIGHT),
        LogisticRegression(fit_intercept=False, **TIGHT),
        LogisticRegressionCV(
            Cs=3, cv=3, use_legacy_attributes=False, l1_ratios=(0.0,), scoring="neg_log_loss", **TIGHT
        ),
    ],
)
def test_the_optimum_without_binding_promises_is_scikit_learns(bank_rows, classifier):
    X, y, promised = bank_rows
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    found = keep(pipeline(classifier), X, y, promised, sample_weight=weights, max_broken=39)
    assert found.n_broken_after <= 39
    kept = keep(pipeline(classifier), X, y, promised, sample_weight=weights)
    assert (kept.n_broken_after, kept.method) == (0, "exact")
    assert type(kept.model[-1]) is type(classifier)
    theta, own = kept.solution.problem, kept.plain[-1]
    free = np.ravel(own.coef_) if not own.fit_intercept else np.append(own.intercept_, own.coef_)
    assert kept.price == pytest.approx(kept.solution.objective - theta.objective(free), abs=1e-5)
    assert kept.price > 0.0


def test_a_fit_without_a_penalty_is_kept_too_unless_it_has_no_unique_solution(bank_rows):
    X, y, promised = bank_rows
    free, numbers = LogisticRegression(C=np.inf, **TIGHT), ["income", "debt", "age"]
    assert keep(free, X[numbers], y, promised[numbers]).n_broken_after == 0
    with pytest.raises(RetrainingError, match="no unique finite solution"):  # all levels beside an intercept
        keep(pipeline(free), X, y, promised)


def test_the_other_label_can_be_the_favourable_one(bank_rows):
    X, y, promised = bank_rows
    labels = np.where(y, "accept", "decline")  # the favourable one comes first
    kept = keep(pipeline(), X, labels, promised, favourable="accept")
    assert (kept.model.predict(promised) == "accept").all()
    assert kept.n_broken_before > 3


def test_released_promises_are_the_dearest_and_lower_the_price(bank_rows, kept):
    X, y, promised = bank_rows
    some = keep(pipeline(), X, y, promised, max_broken=3)
    assert some.n_broken_after <= 3
    assert some.path["promise"][0] == kept.multipliers.index[0]
    assert some.path["price"].is_monotonic_decreasing
    assert some.price == some.path["price"].iloc[-1] < kept.price
    assert set(some.broken.index) <= set(some.path["promise"])
    assert some.broken.str.startswith("released: its multiplier").all()
    share = keep(pipeline(), X, y, promised, max_broken=3 / 40)
    assert share.path.equals(some.path)


def test_a_candidate_that_keeps_everything_comes_back_itself(bank_rows):
    X, y, promised = bank_rows
    candidate = pipeline().fit(X, y)
    easy = promised[candidate.predict(promised)]
    kept = keep(candidate, X, y, easy)
    assert kept.model is candidate
    assert (kept.method, kept.price, kept.n_broken_before) == ("unchanged", 0.0, 0)
    assert keep(candidate, X, y, promised, max_broken=40).model is candidate


def test_a_model_of_other_data_only_says_what_is_to_be_fitted(bank_rows):
    X, y, promised = bank_rows
    old = loans.people(300, 0)
    before = pipeline().fit(old, loans.outcomes(old))  # it made the promises, so it keeps them
    kept = keep(before, X, y, promised)
    assert kept.model is not before
    assert kept.n_broken_before == keep(pipeline(), X, y, promised).n_broken_before
    np.random.seed(0)  # noqa: NPY002 - what a forest without a seed draws from
    unseeded = pipeline(RandomForestClassifier(20)).fit(X, y)
    easy = promised[unseeded.predict(promised)].head(3)
    assert keep(unseeded, X, y, easy, max_broken=3).model is unseeded  # without a seed no two fits are the same


@pytest.mark.parametrize(
    "classifier",
    [
        RandomForestClassifier(30, random_state=0),
        HistGradientBoostingClassifier(max_iter=30, random_state=0),
        SVC(),
        LogisticRegression(solver="saga", l1_ratio=1.0, C=0.5, max_iter=3000, tol=1e-3, random_state=0),
    ],
)
def test_other_learners_keep_promises_by_weighted_rows(bank_rows, classifier):
    X, y, promised = bank_rows
    held_out = (X.head(80), y[:80])
    kept = keep(pipeline(classifier), X, y, promised, held_out=held_out)
    assert kept.n_broken_before > 0
    assert (kept.n_broken_after, kept.method) == (0, "weighted")
    assert kept.model.predict(promised).all()
    assert kept.path["n_broken"].iloc[-1] == 0
    assert kept.path["total_weight"].is_monotonic_increasing
    again = clone(classifier)
    used = kept.weights[kept.weights > 0.0]
    encoder = kept.model[:-1]
    rows = np.vstack([encoder.transform(X), encoder.transform(promised.loc[used.index])])
    labels = np.concatenate([y, np.ones(len(used), dtype=bool)])
    again.fit(rows, labels, sample_weight=np.concatenate([np.ones(len(X)), used]))
    assert (again.predict(encoder.transform(X)) == kept.model.predict(X)).all()


def test_promises_that_a_learner_cannot_keep_are_named_with_the_reason(bank_rows):
    X, y, _ = bank_rows
    stump = HistGradientBoostingClassifier(max_iter=1, max_leaf_nodes=2, learning_rate=0.01, random_state=0)
    hard = X[~y].head(1).set_axis(["hard"])
    twins = pd.concat([X, *[hard] * 200])
    labels = np.append(y, np.zeros(200, dtype=bool))
    kept = keep(pipeline(stump), twins, labels, hard, held_out=(X, y))
    assert kept.n_broken_after == 1
    assert "was not enough, and all promises together may weigh 450; 20" in kept.broken["hard"]
    assert "training rows with the same values have the other label" in kept.broken["hard"]


def test_promises_that_contradict_each_other_are_named_and_the_others_kept():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("abc"))
    y = X["a"] + rng.logistic(size=200) > 0.0
    rows = pd.DataFrame({"a": [1.0, -1.0, 0.0, 0.0], "b": [2.0, -2.0, -1.0, 0.0], "c": [0.5, -0.5, 1.0, 0.0]})
    promised = rows.set_axis(["ann", "bob", "cal", "nil"])
    kept = keep(LogisticRegression(fit_intercept=False), X, y, promised)
    assert kept.n_broken_after == len(kept.broken) == 2
    assert kept.broken["nil"].endswith("its encoded row is zero")
    (other,) = set(kept.broken.index) - {"nil"}
    assert other in {"ann", "bob"}
    assert "can keep these together: 'ann', 'bob', 'nil'" in kept.broken[other]
    assert kept.model.predict(promised.loc[["cal"]]).all()
    assert keep(LogisticRegression(), X, y, promised).n_broken_after == 0  # an intercept keeps anything


def test_metrics_are_of_rows_that_were_held_out(bank_rows, kept):
    X, y, promised = bank_rows
    assert kept.metrics.index.tolist() == ["plain", "kept", "difference"]
    assert kept.metrics.loc["plain", "auc"] > 0.7
    assert (
        kept.metrics.loc["difference", "log_loss"]
        == kept.metrics["log_loss"]["kept"] - kept.metrics["log_loss"]["plain"]
    )
    test = loans.people(120, 9)
    own = keep(pipeline(), X, y, promised, held_out=(test, loans.outcomes(test)))
    assert own.metrics.loc["kept", "accuracy"] == (own.model.predict(test) == loans.outcomes(test)).mean()


def test_arrays_nested_pipelines_target_encoders_and_searches_are_read(bank_rows):
    X, y, promised = bank_rows
    numbers = ["income", "debt", "age"]
    plain = keep(LogisticRegression(**TIGHT), X[numbers].to_numpy(), y, promised[numbers])
    assert plain.n_broken_after == 0
    assert plain.model.predict(promised[numbers].to_numpy()).all()
    nested = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), LogisticRegression(**TIGHT)))
    assert keep(nested, X[numbers], y, promised[numbers]).model.predict(promised[numbers]).all()
    levels = make_pipeline(TargetEncoder(), StandardScaler(), LogisticRegression(**TIGHT))
    assert keep(levels, X[["job", "grade"]], y, promised[["job", "grade"]]).n_broken_after == 0
    search = GridSearchCV(pipeline(), {"logisticregression__C": [0.1, 1.0]}, cv=2).fit(X, y)
    assert keep(search, X, y, promised).n_broken_after == 0


def test_only_outstanding_promises_of_a_ledger_are_kept(bank_rows):
    X, y, promised = bank_rows
    facts = pd.DataFrame({"status": ["open"] * 30 + ["kept"] * 10, "valid_until": ["2026-05-01"] * 40})
    table = join_facts(facts.set_axis([f"p{k}" for k in range(40)]), promised)
    assert keep(pipeline(), X, y, table, as_of="2026-04-30").n_promises == 30
    with pytest.raises(InvalidInputError, match="of 40 promises none binds then"):
        keep(pipeline(), X, y, table, as_of="2026-05-02")


def test_what_is_shown_holds_the_numbers_and_json_can_hold_it(kept):
    assert repr(kept).startswith("KeptModel(Pipeline, exact: ")
    content = json.loads(json.dumps(kept.to_dict(), allow_nan=False))
    assert content["n_broken_before"] == kept.n_broken_before
    assert content["prices"][0]["promise"] == kept.multipliers.index[0]
    page = kept._repr_html_()
    assert "Dearest promises" in page
    assert kept.multipliers.index[0] in page


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"promises": lambda rows: rows.drop(columns="debt")}, "the promised rows lack the column 'debt' of X"),
        ({"promises": lambda rows: rows.head(0)}, "of 0 promises none binds then"),
        ({"promises": lambda rows: rows.assign(income="much")}, "column 'income' must hold numbers"),
        ({"y": lambda y: y[:-1]}, r"y must have shape \(250,\)"),
        ({"y": lambda y: np.ones(len(y))}, "y must hold 2 different labels, got 1"),
        ({"y": lambda y: y.astype(int)}, "favourable must say which label was promised, 0 .* or 1 .*: give"),
        ({"favourable": "good"}, "favourable must be a label of y, False, True, got 'good'"),
        ({"max_broken": -1}, "max_broken must be a whole number of promises such as 3, or a share"),
        ({"max_broken": 1.5}, "max_broken must be a whole number of promises such as 3, or a share"),
        ({"max_broken": True}, "max_broken must be a whole number of promises such as 3, or a share"),
        ({"margin": 0.0}, "margin must be a positive number, got 0.0"),
        ({"sample_weight": [1.0, -1.0]}, "sample_weight must hold 250 finite numbers of at least 0"),
        ({"held_out": 3}, "held_out must be a pair of X and y, got 3"),
        ({"estimator": "logistic"}, "estimator must be a scikit-learn classifier or pipeline, got 'logistic'"),
        ({"estimator": pipeline(KNeighborsClassifier())}, "KNeighborsClassifier takes no sample_weight"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(bank_rows, changes, message):
    X, y, promised = bank_rows
    given = {"estimator": pipeline(), "X": X, "y": y, "promises": promised}
    made = {name: change(given[name]) if callable(change) else change for name, change in changes.items()}
    with pytest.raises(InvalidInputError, match=message) as caught:
        keep(**(given | made))
    assert "\n" not in str(caught.value)


def test_a_row_that_the_encoder_refuses_and_labels_of_another_model_are_named(bank_rows):
    X, y, promised = bank_rows
    rows = promised.astype({"job": object})
    rows.loc[rows.index[7], "job"] = "pilot"
    with pytest.raises(InvalidInputError, match=rf"promise '{rows.index[7]}': the encoder .* unknown categories"):
        keep(pipeline(), X, y, rows)
    fitted = pipeline().fit(X, np.where(y, "yes", "no"))
    with pytest.raises(InvalidInputError, match="y must hold the model's labels, 'no', 'yes', got False, True"):
        keep(fitted, X, y, promised)


@pytest.mark.parametrize("threshold", [0.4, 0.7])
def test_promises_are_kept_at_a_threshold_as_the_constrained_optimum(bank_rows, threshold):
    X, y, promised = bank_rows
    kept = keep(pipeline(), X, y, promised, threshold=threshold)
    assert (kept.n_broken_after, kept.threshold, kept.to_dict()["threshold"]) == (0, threshold, threshold)
    assert kept.n_broken_before == int((pipeline().fit(X, y).predict_proba(promised)[:, 1] < threshold).sum()) > 0
    assert kept.solution.is_optimal(1e-8)
    least = kept.model.predict_proba(promised)[:, 1].min()
    assert np.log(least / (1 - least)) == pytest.approx(np.log(threshold / (1 - threshold)) + kept.margin, abs=1e-6)
    assert f"threshold of {threshold:g}" in kept.note
    other = keep(pipeline(), X, ~y, promised, favourable=False, threshold=threshold)
    assert other.model.predict_proba(promised)[:, 0].min() >= threshold
    assert other.price == pytest.approx(kept.price, rel=1e-6)


def test_a_weighted_learner_is_asked_at_the_threshold_too(bank_rows):
    X, y, promised = bank_rows
    kept = keep(pipeline(RandomForestClassifier(20, random_state=0)), X, y, promised, threshold=0.6)
    assert kept.n_broken_after == 0 < kept.n_broken_before
    assert (kept.model.predict_proba(promised)[:, 1] >= 0.6).all()


def test_without_an_intercept_a_low_threshold_contradicts_nothing():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 2)), columns=["a", "b"])
    promised = pd.DataFrame({"a": [1.0, -1.0, 0.0], "b": [0.5, -0.5, 0.0]})
    plain = LogisticRegression(fit_intercept=False)
    assert keep(plain, X, X["a"] > 0.0, promised, threshold=0.3).n_broken_after == 0
    assert keep(plain, X, X["a"] > 0.0, promised, threshold=0.7).n_broken_after > 0


def test_the_threshold_of_the_promises_is_taken_and_different_ones_are_refused(small, bank, loan_plans):
    from dataclasses import replace

    table = loans.people(300, 0)
    labels = loans.outcomes(table)
    lenient = replace(loan_plans, basis=replace(loan_plans.basis, threshold=0.1))
    found = keep(bank.model, table, labels, lenient)
    assert (found.threshold, found.method, found.model is bank.model) == (0.1, "unchanged", True)
    small.record(lenient, model_version="low", valid_for="12 months", made="2026-01-15")
    small.record(loan_plans, model_version="half", valid_for="12 months", made="2026-01-15")
    with pytest.raises(
        InvalidInputError, match=r"different thresholds, 0.1 and what predict says: say with threshold="
    ):
        keep(bank.model, table, labels, small, as_of="2026-06-30")
    assert keep(bank.model, table, labels, small, as_of="2026-06-30", model_version="low").threshold == 0.1
    with pytest.raises(InvalidInputError, match="favourable=False, but True was promised"):
        keep(bank.model, table, labels, loan_plans, favourable=False)


def test_a_candidate_that_takes_no_weights_comes_back_unchanged_where_it_keeps_everything(bank_rows):
    X, y, promised = bank_rows
    candidate = pipeline(KNeighborsClassifier(5)).fit(X, y)
    fine = promised[candidate.predict(promised)]
    assert keep(candidate, X, y, fine).model is candidate


def test_a_learner_that_loses_much_is_told(bank_rows):
    X, y, promised = bank_rows
    hard = promised.assign(income=5.0, debt=59, grade=1)
    learner = pipeline(LinearSVC(C=0.1, random_state=0, max_iter=100_000))
    with pytest.warns(UserWarning, match="AUC on held-out rows falls from"):
        kept = keep(learner, X, y, hard)
    assert kept.metrics.loc["difference", "auc"] < -0.02
    assert "the promises cost much" in kept.note


def test_ids_that_occur_twice_are_numbered_and_json_has_each(bank_rows):
    X, y, promised = bank_rows
    twice = pd.concat([promised, promised]).rename_axis("promise")
    found = keep(pipeline(), X, y, twice).to_dict()
    names = [entry["promise"] for entry in found["prices"]]
    assert len(set(names)) == len(names) > 0
    assert found["n_promises"] == 2 * len(promised)


def test_what_scikit_learn_refuses_is_one_line(bank_rows):
    from sklearn.linear_model import Ridge

    X, y, promised = bank_rows
    gap = [np.nan, *promised["income"].iloc[1:]]
    missing = X.assign(income=[np.nan, *X["income"].iloc[1:]])
    for arguments, changes, words in (
        ((pipeline(), X, y, promised.assign(income=gap)), {}, f"promise '{promised.index[0]}'"),
        ((pipeline(), missing, y, promised), {}, "cannot be fitted to X and y"),
        ((pipeline(Ridge()), X, y, promised), {}, "must be a classifier"),
        ((pipeline(), X, y, promised), {"sample_weight": np.zeros(len(X))}, "sample_weight must"),
        (
            (pipeline(), X, y, promised),
            {"held_out": (X.to_numpy()[:, :3], y)},
            "held_out must be .* with the 6 columns of X",
        ),
        ((pipeline(), X, y, promised), {"held_out": (X, np.where(y, "yes", "no"))}, "held_out must hold labels of y"),
    ):
        with pytest.raises(InvalidInputError, match=words) as error:
            keep(*arguments, **changes)
        assert "\n" not in str(error.value)


class Unable(LogisticRegression):
    """A learner whose method of this name fails, as one that lost its device."""

    def __init__(self, method="fit", C=1.0):
        super().__init__(C=C)
        self.method = method

    def fit(self, X, y, sample_weight=None):
        if self.method == "fit":
            raise RuntimeError("no device")
        return super().fit(X, y, sample_weight)

    def predict(self, X):
        if self.method == "predict":
            raise IndexError("no device")
        answers = super().predict(X)
        return np.stack([answers, answers], axis=1) if self.method == "shape" else answers


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("fit", "Unable cannot be fitted to X and y: RuntimeError: no device"),
        ("predict", "the refitted model refuses a row: `predict` of Unable raised IndexError: no device"),
        ("shape", r"the refitted model cannot be asked: `predict` of Unable returned an array of shape \(\d+, 2\)"),
    ],
)
def test_a_learner_that_fails_or_answers_in_another_shape_is_named_in_one_line(bank_rows, method, words):
    X, y, promised = bank_rows
    with pytest.raises(InvalidInputError, match=words):
        keep(Unable(method), X[["income", "debt"]], y, promised[["income", "debt"]])
