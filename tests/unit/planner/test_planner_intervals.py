"""Intervals of delivered options: whatever is drawn inside of them is certified, accepted and allowed."""

from copy import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import copa
from copa.planner.later_models import assume
from copa.planner.strategies import intervals
from unit.planner import loans

ROUNDING = 1e-9  # an option that has less than what was asked for keeps its own guarantee, up to this


def drawn_inside(batch, options, n_rows):
    """So many rows of each of some options with numbers drawn from their intervals, on the steps of the columns."""
    rng, which = np.random.default_rng(0), np.repeat(options, n_rows)
    rows = batch.options.iloc[which].reset_index(drop=True)
    for column in np.flatnonzero(~np.isnan(batch.at_least).all(axis=0)):
        name = batch.options.columns[column]
        low, high = (ends[which, column] for ends in (batch.at_least, batch.at_most))
        step, own = batch.basis.schema[name].step, rows[name].to_numpy(dtype=np.float64)
        shares = np.clip(rng.uniform(-0.1, 1.1, len(which)), 0.0, 1.0)  # ends more often
        if step is None:
            numbers = low + shares * (high - low)
        else:
            first, last = np.rint(low / step), np.rint(high / step)
            numbers = np.round((first + np.rint(shares * (last - first))) * step, 9)
        numbers = np.where(np.isnan(low), own, numbers)
        kept = numbers.astype(rows[name].dtype)
        rows[name] = kept if (kept == numbers).all() else numbers
    return which, rows


def broken(planner, batch, n_rows, options=None):
    """Rows drawn from the intervals that are not certified at the level, not accepted or not allowed."""
    strategy, options = planner.strategy_, np.arange(len(batch.owner)) if options is None else options
    which, rows = drawn_inside(batch, options, n_rows)
    points = strategy.encode(rows)
    if batch.basis.deducts:
        points = strategy.deducted(strategy.padded(points), batch.reliability[batch.owner[which]])
    good = batch.ambiguity.option_guarantees(points) >= batch.interval_level[which]
    good &= strategy.model.accepts(rows)
    good &= strategy.schema.obeys(batch.applicants.iloc[batch.owner[which]], rows)
    return rows[~good].assign(option=which[~good]).to_dict("records")


def asking(planner, **settings):
    """The same fitted planner, asked for something else."""
    return copy(planner).set_params(**settings)


def widths(batch):
    """Widths of the intervals there are."""
    widths = batch.at_most - batch.at_least
    return widths[~np.isnan(widths)]


def test_rows_inside_the_intervals_of_linear_models_hold(planner, batch):
    assert broken(planner, batch, 40) == []
    assert (widths(batch) > 0.0).mean() > 0.5


def test_exactly_the_changed_numbers_have_intervals(batch):
    names = [feature.name for feature in loans.SCHEMA.features if feature.is_numeric]
    own, places = batch.applicants.iloc[batch.owner][names].to_numpy(), batch.options.columns.get_indexer(names)
    changed = np.zeros(batch.options.shape, dtype=bool)
    changed[:, places] = batch.options[names].to_numpy() != own
    np.testing.assert_array_equal(~np.isnan(batch.at_least), changed)
    inside = (batch.at_least[:, places] <= batch.options[names]) & (batch.options[names] <= batch.at_most[:, places])
    assert (inside.to_numpy() | ~changed[:, places]).all()


def test_options_keep_the_level_asked_for_or_their_own_if_that_is_lower(planner, declined):
    sure = asking(planner, guarantee=0.99).plan(declined.iloc[:12])
    reached = sure.option_lower >= 0.99
    assert reached.any()
    assert not reached.all()
    np.testing.assert_array_equal(sure.interval_level[reached], 0.99)
    np.testing.assert_allclose(sure.interval_level[~reached], sure.option_lower[~reached] - ROUNDING, rtol=1e-12)
    assert broken(planner, sure, 20) == []


@pytest.mark.parametrize(
    "settings", [{"guarantee_for": "all"}, {"guarantee_for": "any"}, {"objective": copa.PaperObjective()}]
)
def test_options_stay_as_sure_as_they_are_where_nothing_was_asked_of_each(planner, declined, settings):
    other = asking(planner, **settings)
    batch = other.plan(declined.iloc[:6])
    np.testing.assert_allclose(batch.interval_level, np.maximum(batch.option_lower - ROUNDING, 0.0), rtol=1e-12)
    assert broken(other, batch, 20) == []


def test_an_expected_rate_is_kept_by_the_law_that_was_searched_by(planner, declined):
    expecting = asking(planner, guarantee=0.9, later_models=assume(planner.later_models, expected=True))
    batch = expecting.plan(declined.iloc[:6])
    law = expecting.strategy_.expecting().parameters
    which, rows = drawn_inside(batch, np.arange(len(batch.owner)), 20)
    assert (law.option_guarantees(expecting.strategy_.encode(rows)) >= batch.interval_level[which]).all()
    assert "keeps an expected rate of at least 0.9" in batch[0].explain()


def test_intervals_end_where_the_applicant_may_go_no_further(model, planner, declined):
    near = loans.SCHEMA.replace(income={"max_change": {"up": 12.0}}, debt={"max_change": {"down": 10.0}})
    batch = loans.planner(model, schema=near, **loans.same_ball(planner), guarantee=0.5).plan(declined.iloc[:12])
    income = batch.options.columns.get_loc("income")
    assert np.nanmax(batch.at_most[:, income] - batch.applicants.iloc[batch.owner]["income"].to_numpy()) == 12.0
    assert broken(planner, batch, 10) == []


def test_what_rounding_spoils_is_given_up(monkeypatch, planner, batch, declined):
    """Corners far from the options are refused: boxes shrink until none is."""
    table = declined.iloc[:5]
    judge = intervals._Judge.corners_hold

    def near(self, which, numbers):
        return judge(self, which, numbers) & (
            np.abs(numbers - self._values[which, : numbers.shape[1]]).max(axis=1) <= 2.0
        )

    monkeypatch.setattr(intervals._Judge, "corners_hold", near)
    found = planner.plan(table)
    assert widths(found).max() <= 4.0
    assert widths(found).max() < widths(batch[:5]).max()
    monkeypatch.setattr(intervals._Judge, "corners_hold", lambda _, *rows: np.zeros(len(rows[0]), dtype=bool))
    assert widths(planner.plan(table)).max() == 0.0


def test_a_model_without_numbers_to_change_has_no_intervals(model, planner, declined):
    fixed = loans.SCHEMA.replace(income={"immutable": True}, debt={"immutable": True})
    free = fixed.replace(age={"immutable": True}, job={"transitions": None})
    batch = loans.planner(model, schema=free, **loans.same_ball(planner), guarantee=0.5).plan(declined.iloc[:4])
    assert np.isnan(batch.at_least).all()


def test_single_precision_keeps_its_promise(planner, declined):
    table = declined.iloc[:6].astype({"income": np.float32})
    batch = planner.plan(table)
    assert broken(planner, batch, 20) == []


def test_binned_columns_have_whole_bins(declined):
    """The bin of the option, from the edge to cross to the next one, or to the last value allowed."""
    table = loans.people(300, 0)
    bins = KBinsDiscretizer(5, encode="onehot-dense", strategy="uniform")
    encoder = make_column_transformer((bins, ["income"]), (StandardScaler(), ["debt", "grade"]))
    model = make_pipeline(encoder, LogisticRegression(C=0.3)).fit(table, loans.outcomes(table))
    planner = loans.planner(model, schema=replace(loans.SCHEMA, rules=()), guarantee=0.6)
    batch = planner.plan(declined[~model.predict(declined)].iloc[:12])
    assert broken(planner, batch, 40) == []
    income = batch.options.columns.get_loc("income")
    lower, upper = batch.at_least[:, income], batch.at_most[:, income]
    known = ~np.isnan(lower)
    edges = np.ceil(2.0 * encoder.named_transformers_["kbinsdiscretizer"].bin_edges_[0]) / 2.0  # on the steps
    assert np.isin(lower[known], edges).all()
    assert known.any()
    np.testing.assert_array_equal(upper[known], [min(edges[edges > low].min() - 0.5, 90.0) for low in lower[known]])


def bundled(name, *, inferred):
    """A planner for bundled data, and those whom its model declines."""
    data = getattr(copa.datasets, f"load_{name}")()
    X, y = data.features, data.favourable
    text = [column for column in X if not pd.api.types.is_numeric_dtype(X[column])]
    encoder = make_column_transformer((OneHotEncoder(), text), remainder=StandardScaler())
    model = make_pipeline(encoder, LogisticRegression(max_iter=2000)).fit(X, y)
    schema = {} if inferred else {"schema": data.schema}
    planner = copa.RecoursePlanner(model, favourable=True, random_state=0, progress=False, **schema).fit(X, y)
    return planner, X[~model.predict(X)]


@pytest.mark.slow
@pytest.mark.parametrize("inferred", [False, True])
@pytest.mark.parametrize("name", ["german", "south_german", "student"])
def test_two_thousand_rows_of_each_of_two_hundred_boxes_hold(name, inferred):
    planner, declined = bundled(name, inferred=inferred)
    batch = planner.plan(declined.head(200))
    options = np.unique(np.linspace(0, len(batch.owner) - 1, 200).astype(int))
    assert len(options) == 200
    assert broken(planner, batch, 2000, options) == []


def test_models_that_are_not_linear_in_the_columns_have_no_intervals(declined):
    table = loans.people(300, 0)
    average = make_pipeline(loans.encoder(), CalibratedClassifierCV(LogisticRegression(), cv=3))
    curved = make_pipeline(loans.encoder(), PolynomialFeatures(2), LogisticRegression(C=0.1, max_iter=2000))
    for model in (average, curved, loans.fitted_pipeline(DecisionTreeClassifier(min_samples_leaf=10))):
        planner = loans.planner(
            model.fit(table, loans.outcomes(table)), later_models=copa.LaterModels(n_refits=8), guarantee=0.5
        )
        batch = planner.plan(declined.iloc[:4])
        assert len(batch.owner)
        assert np.isnan(batch.at_least).all()
