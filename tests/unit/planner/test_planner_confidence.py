"""The rule of `LaterModels`: today's parameters, their reliability, a confidence, and what versions have shown."""

import itertools
import json
import re
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import copa
from copa.plans.document import claims_of_batch, claims_of_document
from copa.theory.sets import LocationSet
from unit.planner import loans
from unit.planner.promises import Judge

ROUNDING = 1e-9
LEAST = 0.6  # reliability


def unimodal_ratio(level: float) -> float:
    """Least mean / std at which a unimodal score is positive with this probability (Vysochanskij and Petunin)."""
    return np.sqrt(4.0 / (9.0 * (1.0 - level)) - 1.0) if level >= 5 / 6 else np.sqrt(3 * level / (4.0 - 3.0 * level))


def both_sides(confidence: float) -> float:
    """How many standard deviations a normal error stays within, in either direction, with this probability."""
    return NormalDist().inv_cdf(0.5 * (1.0 + confidence))


def parameters_of(pipeline) -> np.ndarray:
    """Intercept and weights, as scikit-learn has them."""
    return np.concatenate([pipeline[-1].intercept_, pipeline[-1].coef_[0]])


def table_of(n: int, n_columns: int, seed: int, strength: float) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers whose first three columns decide, as strongly as said."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n, n_columns)).round(2), columns=[f"x{k}" for k in range(n_columns)])
    return table, (strength * table.iloc[:, :3].sum(axis=1) + rng.logistic(size=n) > 0.0).to_numpy()


@pytest.fixture(scope="module")
def few():
    """A planner whose training data are too few for its columns, of which two may change."""
    table, labels = table_of(70, 14, 0, 0.1)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(table, labels)
    schema = copa.FeatureSchema(
        [copa.Feature(name, "numeric", lower=-9, upper=9, step=0.5, immutable=name > "x1") for name in table]
    )
    return copa.RecoursePlanner(model, schema=schema, **loans.FAST).fit(table, labels)


@pytest.fixture(scope="module")
def versions(model):
    """Three older versions, fitted to the data of other years, and these data."""
    data = []
    for year in range(3):
        table = loans.people(300, 20 + year)
        shifted = table.assign(income=table["income"] + 6.0 * (3 - year))
        data.append((table, loans.outcomes(shifted, seed=year)))
    return [clone(model).fit(*pair) for pair in data], data


@pytest.fixture(scope="module")
def widened(model, versions):
    return loans.planner(model, later_models=copa.LaterModels(history=versions[0], horizon=3))


def test_the_set_is_around_the_reliable_part_of_todays_parameters(model, planner):
    known, b = planner.strategy_.ambiguity(3), planner.strategy_.reliability
    assert isinstance(known, LocationSet)
    assert (known.family, known.simultaneous) == ("unimodal", False)
    np.testing.assert_allclose(known.mean, [*(b * parameters_of(model)), -1.0], rtol=1e-12)
    np.testing.assert_array_equal(known.drift, known.cov)
    assert planner.radius_ == pytest.approx(both_sides(0.95) * np.sqrt(b), rel=1e-12)
    assert LEAST < b < 1.0


@pytest.mark.parametrize("confidence", [0.9, 0.99])
def test_the_confidence_is_the_normal_quantile_of_the_radius(model, confidence):
    planner = loans.planner(model, later_models=copa.LaterModels(confidence=confidence))
    root = np.sqrt(planner.strategy_.reliability)
    assert planner.radius_ == pytest.approx(both_sides(confidence) * root, rel=1e-12)


@pytest.mark.slow
def test_the_radius_does_not_depend_on_how_many_refits_there_are(model):
    few, many = (loans.planner(model, later_models=copa.LaterModels(n_refits=n)).radius_ for n in (50, 1000))
    assert abs(few - many) < 0.05 * many


@pytest.mark.parametrize("level", [0.8, 0.9])
def test_every_option_keeps_the_rule_by_hand(model, planner, declined, level):
    planner = planner if level == 0.8 else loans.planner(model, guarantee=level)
    batch = planner.plan(declined)
    theta, b = parameters_of(model), batch.reliability[batch.owner]
    assert (b <= planner.strategy_.reliability).all()
    points = Judge.of(planner).encode(batch.options)
    means = points @ theta
    spreads = np.sqrt(np.einsum("md,de,me->m", points, planner.strategy_.parameters.cov, points))
    room = b * means - (unimodal_ratio(level) + both_sides(0.95) * np.sqrt(b)) * spreads
    ok = (batch.status == "ok")[batch.owner]
    assert ok.sum() > 60
    assert (room[ok] >= -ROUNDING).all()
    assert np.quantile(room[ok] / spreads[ok], 0.25) < 0.3, "the cheapest options that keep it are near to it"


def test_the_words_say_how_sure_and_how_reliable(planner, batch):
    b = planner.strategy_.reliability
    for words in (planner.radius_source_, batch.basis.radius_source, batch[0].explain()):
        assert "confidence 0.95 in today's 300 rows" in words
        assert f"reliability {b:.2f}" in words
    basis = batch.basis
    assert (basis.confidence, basis.reliability, basis.n_rows, basis.n_columns) == (0.95, b, 300, 8)


def test_too_few_data_are_said_and_nothing_is_promised(few):
    b = few.strategy_.reliability
    assert b < LEAST
    table = table_of(60, 14, 5, 0.1)[0]
    batch = few.plan(table)
    assert set(batch.status) <= {"fragile", "already_valid"}
    assert (batch.status == "fragile").sum() > 10
    for message in batch.message:
        assert "too few data for this level: 70 rows for 14 columns" in message
        assert "with probability at least" not in message
    assert f"{b:.2f}" in batch.message[0]


def test_too_few_data_are_too_few_for_plans_of_others_too(few):
    table = table_of(60, 14, 5, 0.1)[0]
    declined = table[~few.model.predict(table)].iloc[:3]
    sure = declined.assign(x0=9.0 * np.sign(few.model[-1].coef_[0, 0]), x1=9.0 * np.sign(few.model[-1].coef_[0, 1]))
    audit = few.audit([sure.iloc[[i]] for i in range(3)], declined)
    assert "ok" not in set(audit.status)
    for message in audit.message[audit.status == "fragile"]:
        assert "too few data for this level" in message


@pytest.mark.filterwarnings("ignore::copa.exceptions.WeakModelWarning")
def test_data_that_decline_nobody_say_nothing_of_a_choice(model):
    planner = loans.planner(model, threshold=1e-6)
    assert planner.strategy_.reliability == 0.0
    assert "too few data" in planner.strategy_.shortage


@pytest.fixture(scope="module")
def expected(model):
    return loans.planner(model, guarantee=0.9, later_models=copa.Expected())


def test_an_expected_rate_is_planned_for(model, expected, declined):
    batch = expected.plan(declined)
    assert (batch.status == "ok").sum() > 30
    points = Judge.of(expected).encode(batch.options)
    b, cov = batch.reliability[batch.owner], expected.strategy_.parameters.cov
    spreads = np.sqrt((1.0 + b) * np.einsum("md,de,me->m", points, cov, points))
    rates = np.vectorize(NormalDist().cdf)(b * (points @ parameters_of(model)) / spreads)
    ok = (batch.status == "ok")[batch.owner]
    assert (rates[ok] >= 0.9 - ROUNDING).all()
    assert np.median(rates[ok]) < 0.95
    surer = loans.planner(model, guarantee=0.9).plan(declined)
    assert batch.effort.mean() < surer.effort.mean(), "what is no guarantee costs less"
    refits = batch.expected_rate
    assert 0.8 < refits.mean() < 0.99


def test_an_expected_rate_is_never_called_a_guarantee(expected, declined):
    batch = expected.plan(declined)
    request = batch.request
    assert (request.expected, request.guarantee, request.level) == (True, 0.9, None)
    pages = [batch[0].explain(), batch._repr_html_(), batch.to_json(), " ".join(batch.message)]
    for words in pages:
        assert "guarantee asked for" not in words.replace("No guarantee asked for", "")
        assert not re.search(r"guarantee (of|at least) 0\.9\b", words)
    assert "expected rate of 0.9 for each option, not a guarantee" in batch[0].explain()
    assert '"guarantee": null' in batch.to_json()
    assert '"expected_rate": 0.9' in batch.to_json()


def test_an_expected_rate_out_of_reach_is_said_as_such(model, declined):
    batch = loans.planner(model, guarantee=0.9999999, later_models=copa.Expected()).plan(declined.iloc[:8])
    fragile = [plan for plan in batch if plan.status == "fragile"]
    assert fragile
    for plan in fragile:
        assert "an expected rate of 1 for each option is out of reach" in plan.message.replace("0.9999999", "1")
        assert "do not reach the expected rate asked for" in plan.explain()
        assert "guarantee asked for" not in plan.explain()


def test_plans_at_an_expected_rate_are_proven_as_what_they_are(expected, declined):
    batch = expected.plan(declined.iloc[:5])
    assert (batch.status == "ok").all()
    assert (batch.option_lower < 0.9).any()
    document = json.loads(batch.to_json(certificates=True))
    for claims in (claims_of_batch(batch), claims_of_document(document)):
        assert [claim.violations() for claim in claims] == [[]] * 5


def test_plans_are_corrected_to_an_expected_rate(expected, declined):
    given = expected.plan(declined.iloc[:6])
    weak = given.options.assign(income=given.options["income"] - 1.0)
    tables = [weak[given.owner == i] for i in range(6)]
    corrected = expected.correct(tables, declined.iloc[:6])
    assert (corrected.after.status == "ok").sum() >= 4
    assert corrected.after.effort.sum() <= 1.3 * given.effort.sum(), "not to the guarantee, which costs more"


def test_past_versions_widen_the_set(planner, widened):
    assert widened.radius_ > planner.radius_
    assert widened.strategy_.reliability == planner.strategy_.reliability
    words = widened.radius_source_
    assert words.startswith(f"drift, {widened.radius_:.3g} standard deviations of retraining")
    assert f"it is {planner.radius_:.3g}" in words
    assert f"past versions moved by up to {widened.radius_:.3g}, the largest of 6 moves (a move is the" in words
    assert "3 older versions show 3 moves over 1 retraining, 2 over 2 and 1 over 3" in words


def test_versions_that_hardly_moved_leave_it_to_the_confidence(model, planner):
    still = loans.planner(model, later_models=copa.LaterModels(history=[model, model], horizon=2))
    assert still.radius_ == planner.radius_
    assert still.radius_source_.startswith(f"confidence, {planner.radius_:.3g} standard deviations of retraining")


def test_the_drift_is_that_of_the_scores(model, planner, versions, widened):
    """The radius is a quantile of moves of options' scores: no option of its own moved much further."""
    table = loans.people(300, 0)
    rows = planner.plan(table[~model.predict(table)].iloc[:60]).options
    points = Judge.of(planner).encode(rows)
    spreads = np.sqrt(np.einsum("md,de,me->m", points, planner.strategy_.parameters.cov, points))
    scores = np.array([version.decision_function(rows) for version in [*versions[0], model]]) / spreads
    moves = [np.abs(scores[h:] - scores[:-h]).ravel() for h in (1, 2, 3)]
    by_hand = max(np.quantile(move, 0.95, method="inverted_cdf") for move in moves)
    assert widened.radius_ == pytest.approx(by_hand, rel=0.25)


def test_a_horizon_beyond_the_history_is_said(model, versions):
    planner = loans.planner(model, later_models=copa.LaterModels(history=versions[0], horizon=5))
    assert "nothing was seen over 4 or 5" in planner.radius_source_


def test_a_longer_horizon_never_narrows_the_set(model, versions):
    radii = [
        loans.planner(model, later_models=copa.LaterModels(history=versions[0], horizon=h)).radius_ for h in (1, 2, 3)
    ]
    assert radii == sorted(radii)


def test_older_data_are_older_models(model, versions, widened):
    planner = loans.planner(model, later_models=copa.LaterModels(history=versions[1], horizon=3))
    assert planner.radius_ == widened.radius_
    assert planner.radius_source_ == widened.radius_source_


@pytest.mark.filterwarnings("ignore::copa.exceptions.WeakModelWarning")
def test_a_history_counts_where_nobody_is_declined(model, versions):
    planner = loans.planner(model, threshold=1e-6, later_models=copa.LaterModels(history=versions[0], horizon=1))
    assert "3 older versions show" in planner.radius_source_


def test_moments_of_a_planner_make_the_same_set_again(model):
    first = loans.planner(model, threshold=0.6)
    again = loans.planner(
        model, threshold=0.6, later_models=copa.MomentBall(first.moments_.mean, first.moments_.cov, 0.3)
    )
    np.testing.assert_allclose(again.moments_.mean, first.moments_.mean, rtol=1e-12)
    third = loans.planner(
        model, threshold=0.6, later_models=copa.MomentBall(again.moments_.mean, again.moments_.cov, 0.3)
    )
    assert third.strategy_.ambiguity(3).same_as(again.strategy_.ambiguity(3))
    cut = parameters_of(model) - np.log(0.6 / 0.4) * (np.arange(9) == 0)
    np.testing.assert_allclose(first.moments_.mean, cut, rtol=1e-9)


def test_a_file_gives_the_same_plans_and_words(model, widened, declined, tmp_path):
    widened.save(tmp_path / "planner.copa")
    loaded = copa.RecoursePlanner.load(tmp_path / "planner.copa", model)
    later = loaded.later_models
    assert (later.ambiguity, later.confidence, later.horizon) == (None, 0.95, 3)
    assert loaded.strategy_.ambiguity(3).same_as(widened.strategy_.ambiguity(3))
    one, other = widened.plan(declined.iloc[:6]), loaded.plan(declined.iloc[:6])
    assert one.to_json() == other.to_json()
    assert [plan.explain() for plan in one] == [plan.explain() for plan in other]
    assert one.basis == other.basis


def test_a_file_keeps_that_the_data_are_too_few(few, tmp_path):
    few.save(tmp_path / "planner.copa")
    loaded = copa.RecoursePlanner.load(tmp_path / "planner.copa", few.model)
    assert loaded.strategy_.shortage == few.strategy_.shortage


def test_all_options_together_have_booles_bound(model, declined, batch):
    for plan in batch:
        assert plan.lower == pytest.approx(max(0.0, 1.0 - (1.0 - plan.option_lower).sum()), abs=ROUNDING)
        assert plan.any_lower == pytest.approx(plan.option_lower.max(), abs=ROUNDING)
    joint = loans.planner(model, guarantee_for="all").plan(declined.iloc[:10])
    for plan in joint:
        if plan.status == "ok":
            assert 1.0 - (1.0 - plan.option_lower).sum() >= 0.8 - ROUNDING


@pytest.fixture(scope="module")
def narrow():
    """A planner, and applicants who can do little: few rows, so that all of them can be tried."""
    table, labels = table_of(400, 3, 3, 0.8)
    table = (10.0 * table).round().astype(int)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(table, labels)
    features = [
        copa.Feature("x0", "integer", lower=-4, upper=4),
        copa.Feature("x1", "integer", lower=-4, upper=4),
        copa.Feature("x2", "integer", lower=-60, upper=60, immutable=True),
    ]
    schema = copa.FeatureSchema(features)
    planner = copa.RecoursePlanner(model, schema=schema, **{**loans.FAST, "guarantee": 0.95}).fit(table, labels)
    people = pd.DataFrame({"x0": -3, "x1": -3, "x2": np.arange(-30, 3)})
    return planner, people[~model.predict(people)]


def everything(people: pd.DataFrame, i: int) -> pd.DataFrame:
    """All rows that an applicant may become."""
    cells = list(itertools.product(range(-4, 5), range(-4, 5), [int(people["x2"].iloc[i])]))
    return pd.DataFrame(cells, columns=["x0", "x1", "x2"])


def heights(planner, rows: pd.DataFrame, b: float) -> np.ndarray:
    """Squared sine of each row's angle, (mean - reach) against the standard deviation; 0 where refused today."""
    known, points = planner.strategy_.parameters, Judge.of(planner).encode(rows)
    share = b / planner.strategy_.reliability
    spread = np.sqrt(np.einsum("md,de,me->m", points, known.cov, points))
    room = np.maximum(share * (points @ known.mean) - np.sqrt(share) * known.radius * spread, 0.0)
    return np.where(planner.model.predict(rows), room**2 / (room**2 + spread**2), 0.0)


def test_a_fragile_plan_has_the_surest_options_not_the_cheapest(narrow):
    planner, people = narrow
    batch = planner.plan(people)
    fragile = [i for i in range(len(people)) if batch.status[i] == "fragile" and batch.counts[i]]
    assert len(fragile) >= 3
    cheaper = 0
    for i in fragile:
        every = heights(planner, everything(people, i), batch.reliability[i])
        own = heights(planner, batch[i].options, batch.reliability[i])
        assert (own >= 0.9 * every.max() - ROUNDING).all()
        assert batch[i].highest_level == pytest.approx(planner.strategy_.ambiguity(3).laws.level(every.max()), rel=1e-3)
        cheaper += int((every > 0.0).sum() > (every >= 0.9 * every.max()).sum())
    assert cheaper, "somebody could have had a cheaper row with less of a guarantee"


def test_what_has_no_guarantee_is_not_dealt_out(narrow, few):
    planner, people = narrow
    batch = planner.plan(people)
    assert (batch.option_lower > 0.0).all()
    nothing = [
        i for i in range(len(people)) if heights(planner, everything(people, i), batch.reliability[i]).max() == 0.0
    ]
    assert nothing
    for i in nothing:
        assert batch.counts[i] == 0
        assert batch.status[i] in ("fragile", "infeasible")
    assert {"fragile", "infeasible"} >= {batch.status[i] for i in nothing}
    assert (few.plan(table_of(60, 14, 5, 0.1)[0]).option_lower > 0.0).all()


def test_what_stands_in_the_way_is_named(narrow):
    planner, people = narrow
    batch = planner.plan(people)
    known = planner.strategy_.ambiguity(3)
    words = [m for m, s in zip(batch.message, batch.status, strict=True) if s == "fragile" and "in the way" in m]
    assert words
    for message in words:
        assert f"What stands in the way is the radius of {known.radius:.3g}: at radius 0" in message or (
            "the family 'unimodal': with family='gaussian'" in message
        )
    gaussian = copa.RecoursePlanner(
        planner.model,
        schema=planner.schema,
        **{**loans.FAST, "guarantee": 0.95, "later_models": copa.LaterModels(family="gaussian")},
    ).fit(*_narrow_data())
    for plan in gaussian.plan(people):
        assert "the family" not in plan.message


def _narrow_data():
    table, labels = table_of(400, 3, 3, 0.8)
    return (10.0 * table).round().astype(int), labels


class CountedSVC(LinearSVC):
    """One that counts how often it is fitted."""

    n_fits = 0

    def fit(self, *args, **kwargs):
        type(self).n_fits += 1
        return super().fit(*args, **kwargs)


class CountedLogistic(LogisticRegression):
    """The same, a class that nobody knows."""

    n_fits = 0

    def fit(self, *args, **kwargs):
        type(self).n_fits += 1
        return super().fit(*args, **kwargs)


class CountedPCA(PCA):
    """A transformer that is no scaling of columns."""

    n_fits = 0

    def fit_transform(self, *args, **kwargs):
        type(self).n_fits += 1
        return super().fit_transform(*args, **kwargs)


@pytest.mark.parametrize(
    ("counted", "steps"),
    [
        (CountedSVC, [StandardScaler(), CountedSVC()]),
        (CountedLogistic, [StandardScaler(), CountedLogistic()]),
        (CountedPCA, [CountedPCA(n_components=4), LogisticRegression()]),
    ],
)
@pytest.mark.parametrize("settings", [{}, {"later_models": copa.MomentBall(radius=0.1)}])
def test_models_that_are_refitted_one_by_one_get_by_with_few_refits(counted, steps, settings):
    table, labels = table_of(480, 6, 1, 0.7)
    model = make_pipeline(*steps).fit(table, labels)
    counted.n_fits = 0
    planner = copa.RecoursePlanner(model, n_jobs=1, **settings).fit(table, labels)
    assert counted.n_fits <= 250
    assert planner.plan(table[~model.predict(table)].iloc[:3]).n_held_out >= 40
