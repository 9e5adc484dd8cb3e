import gc
import math
import tracemalloc
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import copa
from copa.plans.units import heading
from copa.report import ReportBuilder, write_report
from copa.report.builder import list_order
from unit.planner import loans
from unit.plans.plan_batches import german_batch
from unit.report.pages import Page


def test_batches_one_after_another_give_the_page_of_all_of_them_together(german):
    whole, parts = ReportBuilder(group="age"), ReportBuilder(group="age")
    whole.add(german)
    for first in range(len(german)):
        parts.add(german[first : first + 1])
    assert parts.html() == whole.html()


def listed(page):
    """Labels of the applicants of the list."""
    cards = page.data["cards"]
    return [cards["texts"][number] for number in cards["views"]["entry"]["label"]["texts"]]


def test_applicants_with_plans_come_first_by_status_and_within_a_status_as_given(german):
    builder = ReportBuilder()
    builder.add(german.select([1, 3, 4, 2]))
    builder.add(german.select([6, 5, 0]))
    page = Page(builder.html())
    assert listed(page) == ["290", "10", "180", "100", "140", "110", "40"]
    assert "Applicant 290 ✓ options found" in page.text


def test_what_does_not_fit_is_said_and_those_with_plans_are_kept(german, monkeypatch):
    monkeypatch.setattr("copa.report.builder.MOST_SHOWN", 3)
    builder = ReportBuilder()
    for _ in range(4):  # more than once is kept what fits
        builder.add(german)
    page = Page(builder.html())
    assert listed(page) == ["10", "290", "10"]
    assert "25 more are not in this file, which holds 3" in page.text


def test_statuses_are_counted_over_all_applicants_and_shares_are_of_the_declined(german):
    builder = ReportBuilder(totals_only=True)
    for _ in range(3):
        builder.add(german)
    text = Page(builder.html()).text
    assert "✓ options found 6 33.3 %" in text
    assert "◷ time limit 3 16.7 %" in text
    assert "✓ accepted already 3 today's model accepts" in text
    assert "6 of 18 declined (33.3 %) have a menu" in text
    assert (
        "about the 18 applicants whom today's model does not accept as they are; the 3 it accepts already do not"
        in text
    )


def test_an_audited_applicant_who_is_accepted_today_does_not_count_as_declined(bank, loan_plans):
    plan = next(plan for plan in loan_plans if plan.status == "ok")
    fine = plan.options.iloc[[0]].set_axis(["fine"])  # an accepted row as an applicant
    audited = bank.audit([plan.options, plan.options], pd.concat([plan.factual, fine]))
    builder = ReportBuilder(planner=bank)
    builder.add(audited)
    assert builder._totals.n_accepted == 1
    assert "of 1 declined" in Page(builder.html()).text


def test_memory_does_not_grow_with_the_number_of_batches(german, monkeypatch):
    monkeypatch.setattr("copa.report.builder.MOST_SHOWN", 10)
    rows = np.tile(np.arange(7), 30)
    builder = ReportBuilder()
    builder._totals.sample.size = 1000
    held = []
    tracemalloc.start()
    for k in range(30):
        builder.add(german.select(rows))
        if k in {9, 29}:
            gc.collect()
            held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert held[1] - held[0] < 50_000  # bytes; four numbers of 4200 more applicants would take 130,000
    assert builder._totals.n_applicants == 30 * len(rows)


def test_a_sample_is_said_to_be_one(german):
    builder = ReportBuilder()
    builder._totals.sample.size = 5
    builder.add(german)
    assert "a random sample of 5 applicants" in Page(builder.html()).text


def test_plans_made_otherwise_do_not_go_into_one_report(german):
    builder = ReportBuilder()
    builder.add(german)
    with pytest.raises(copa.InvalidInputError, match="another ambiguity set or other terms"):
        builder.add(german_batch(guarantee=0.7))


def test_a_planner_that_did_not_make_the_plans_is_refused(german, bank):
    with pytest.raises(copa.InvalidInputError, match="not the one that made these plans"):
        ReportBuilder(planner=bank).add(german)


@pytest.mark.parametrize("planner", [42, copa.RecoursePlanner(None)])
def test_a_planner_must_be_fitted(planner):
    with pytest.raises(copa.InvalidInputError, match="planner must be a fitted RecoursePlanner"):
        ReportBuilder(planner=planner)


def test_a_group_must_be_a_column_and_the_nearest_one_is_named(german):
    with pytest.raises(copa.InvalidInputError, match=r"'agee'.*'age'"):
        ReportBuilder(group="agee").add(german)


def test_nothing_added_and_something_else_added_are_said_plainly():
    with pytest.raises(copa.InvalidInputError, match="nothing to report yet"):
        ReportBuilder().html()
    with pytest.raises(copa.InvalidInputError, match="batch must be a PlanBatch"):
        ReportBuilder().add("plans")


def test_a_report_replaces_an_older_one_and_leaves_nothing_else_behind(german, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old", encoding="utf-8")
    write_report(german, path, title="New")
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_a_report_that_cannot_be_written_leaves_the_older_one(german, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old", encoding="utf-8")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(copa.DataError, match="No space left on device"):
        write_report(german, path)
    assert path.read_text(encoding="utf-8") == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_nobody_and_nobody_with_options_make_pages_too(german):
    for batch, words in ((german[:0], "Plans for 0 applicants"), (german[3:4], "Plans for 1 applicant")):
        builder = ReportBuilder()
        builder.add(batch)
        assert words in Page(builder.html()).text


def test_a_page_of_totals_is_about_all_applicants_only(german):
    builder = ReportBuilder(totals_only=True)
    builder.add(german)
    page = Page(builder.html())
    assert "applicants" not in page.ids
    assert set(page.figures()) == {"guarantees", "efforts", "features"}
    assert "5951" not in page.text
    assert "not in this file" not in page.text
    assert page.data["cards"]["texts"] == [heading(german.basis.schema, name) for name in german.applicants]


def test_a_report_of_corrected_plans_says_what_the_correction_did(bank, loan_plans, tmp_path):
    given = [plan.options for plan in loan_plans if plan.n_options]
    people = loan_plans.applicants[loan_plans.counts > 0]
    corrected = bank.correct(given, people, method="mahalanobis", budget=0.5)
    path = tmp_path / "corrected.html"
    write_report(corrected.after, path, planner=bank, corrected=corrected)
    page = Page(path.read_text(encoding="utf-8"))
    raised = int((corrected.after.lower > corrected.before.lower).sum())
    assert raised > 0
    assert f"Of {len(given)} plans, {raised} got surer as a whole" in page.text
    figure = page.data["figures"]["corrections"]["data"]
    assert figure[1]["x"] == pytest.approx(corrected.before.lower[:30], abs=1e-4)
    assert figure[2]["x"] == pytest.approx(corrected.after.lower[:30], abs=1e-4)


def test_all_refused_options_have_upper_bounds_below_one_on_the_page(german):
    ball = replace(german.ambiguity, mean=-german.ambiguity.mean)
    bounds = [copa.validity_bounds(plan.points, ball.mean, ball.cov, ball.radius) for plan in german if plan.n_options]
    some = np.flatnonzero(german.counts)
    upper, lower = german.upper.copy(), np.zeros(7)
    upper[some] = [bound.upper for bound in bounds]
    refused = replace(german, ambiguity=ball, upper=upper, lower=lower, any_lower=lower, option_lower=np.zeros(6))
    builder = ReportBuilder()
    builder.add(refused)
    slider = Page(builder.html()).data["slider"]
    highest = slider["upper"][0][slider["own"]]
    assert highest[-1] == np.ceil(1000 * upper[0])
    assert all(value < 1000 for value in highest)


def test_a_report_of_another_set_shows_the_numbers_of_its_plans(unimodal_bank, unimodal_plans, tmp_path):
    path = tmp_path / "unimodal.html"
    write_report(unimodal_plans, path, planner=unimodal_bank)
    page = Page(path.read_text(encoding="utf-8"))
    slider = page.data["slider"]
    some = unimodal_plans.select(list_order(unimodal_plans.status))
    some = [plan for plan in some if plan.n_options]
    assert max(plan.n_options for plan in some) > 1
    for k, plan in enumerate(some):
        own = [*plan.option_lower, plan.any_lower, plan.lower] if plan.n_options > 1 else plan.option_lower
        assert slider["lower"][k][slider["own"]] == [math.floor(1000 * value) for value in own]
        assert slider["upper"][k] is None  # no upper bound is known
    assert "The ball holds" not in page.text
    assert "mean and covariance are within" not in page.text
    assert "a distribution of the class UnimodalMeanSet, around the estimated mean and covariance" in page.text
    assert "Each number holds for a UnimodalMeanSet of radius" in page.text
    assert not any(name.startswith("attribution") for name in page.figures())


def test_a_planner_of_scores_with_other_refits_is_refused():
    from sklearn.ensemble import RandomForestClassifier

    forest = loans.fitted_pipeline(RandomForestClassifier(5, min_samples_leaf=5, random_state=0))
    settings = {"later_models": copa.LaterModels(n_refits=2), "n_options": 2, "guarantee": 0.5}
    planner = loans.planner(forest, **settings)
    people = loans.people(60, 5)
    batch = planner.plan(people[~planner.model.predict(people)].iloc[:1])
    ReportBuilder(planner=planner.set_params(n_options=3)).add(batch)  # the number of options is not that of the set
    with pytest.raises(copa.InvalidInputError, match="not the one that made these plans"):
        ReportBuilder(planner=loans.planner(forest, **settings | {"later_models": copa.LaterModels(n_refits=4)})).add(
            batch
        )
