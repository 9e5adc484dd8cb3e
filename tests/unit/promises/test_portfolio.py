import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from copa.exceptions import InvalidInputError
from copa.promises import gate, portfolio_risk
from copa.promises.portfolio_report import past_bounds, quantile
from copa.report import gate_page, portfolio_figure
from unit.planner import loans


@pytest.fixture(scope="module")
def risk(bank, loan_plans):
    return portfolio_risk(bank, loan_plans)


def test_shares_are_those_of_the_refits_on_thirds(bank, loan_plans, risk):
    accepted = loan_plans.encoded @ bank.strategy_.thirds.T >= 0.0
    assert risk.shares == pytest.approx(1.0 - accepted.mean(axis=0))
    assert risk.mean == pytest.approx(1.0 - accepted.mean())
    assert risk.mean <= 1.0 - loan_plans.expected_rate.mean(), "single options count scores as far as they are reliable"
    assert risk.n_promises == len(loan_plans.options)


def test_rows_say_the_same_as_the_batch_that_they_come_from(bank, loan_plans, risk):
    again = portfolio_risk(bank, loan_plans.options.reset_index(drop=True))
    assert again.shares == pytest.approx(risk.shares)
    assert again.expected_share is None
    assert risk.expected_share == pytest.approx(1.0 - loan_plans.option_lower.mean())


def test_quantiles_are_order_statistics_and_never_too_sure(risk):
    n = len(risk.shares)
    assert risk.quantiles[0.95] == np.sort(risk.shares)[int(np.ceil(0.95 * (n + 1))) - 1]
    assert np.isnan(quantile(np.zeros(18), 0.95))
    assert quantile(np.arange(19.0), 0.95) == 18.0


def test_past_versions_bound_the_next(bank, loan_plans):
    table = loans.people(300, 0)
    versions = [
        loans.pipeline().fit(table, loans.outcomes(table, seed) & (table["income"] > cut).to_numpy())
        for seed, cut in ((1, 0), (2, 40), (3, 36))
    ]
    found = portfolio_risk(bank, loan_plans, history=versions)
    shares = sorted(gate(version, loan_plans).broken_share for version in versions)
    assert [bound.share for bound in found.past] == pytest.approx(shares)
    assert [bound.probability for bound in found.past] == pytest.approx([0.75, 0.5, 0.25])
    assert "3 past versions" in " ".join(found.in_words())
    assert past_bounds([]) == ()


def test_the_direction_adds_up_to_the_change_of_the_mean_score(bank, loan_plans, risk):
    some = loan_plans.encoded[np.unique(np.linspace(0, len(loan_plans.encoded) - 1, 60).astype(int))]
    means = (some @ bank.strategy_.thirds.T).mean(axis=0)
    change = np.cov(means, risk.shares)[0, 1] / risk.shares.std(ddof=1)
    assert sum(part for _, part in risk.direction) == pytest.approx(change)
    assert change < 0.0
    assert [part for _, part in risk.direction] == sorted(part for _, part in risk.direction)


def test_models_that_are_given_are_asked_by_their_own_predict():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"income": rng.normal(2.0, 1.0, 50)})
    models = []
    for _ in range(30):
        table = pd.DataFrame({"income": rng.normal(size=80)})
        models.append(LogisticRegression().fit(table, table["income"] + rng.normal(size=80) > 1.5))
    found = portfolio_risk(models, rows)
    assert found.shares == pytest.approx([(~model.predict(rows)).mean() for model in models])
    assert "the 30 models given" in found.in_words()[0]


def test_words_json_and_figure_have_the_numbers(risk):
    words = " ".join(risk.in_words())
    assert "are worth" in words
    assert "no guarantee" in words
    content = json.loads(json.dumps(risk.to_dict(), allow_nan=False))
    assert content["quantiles"]["0.95"] == risk.quantiles[0.95]
    figure = portfolio_figure(risk).to_dict()
    assert sum(figure["data"][0]["y"]) == pytest.approx(1.0, abs=1e-3)


def test_a_candidate_outside_the_forecast_is_called_so_and_nothing_reassures(risk, loan_plans, bank):
    high = risk.quantiles[0.95]
    inside, outside = risk.beside(high), risk.beside(high + 0.01)
    assert inside == [f"The candidate's {high:.1%} lies within the forecast for retrained models.", *risk.in_words()]
    (told,) = outside
    assert told.startswith("The candidate is outside the forecast: it breaks")
    assert f"at most one in twenty breaks more than {high:.1%}" in told
    few = replace(risk, quantiles={0.95: float("nan")}, shares=np.array([0.0, 0.1]))
    assert (few.allows(0.1), few.allows(0.11)) == (True, False)
    assert "none breaks more than 10.0%" in few.beside(0.2)[0]
    X = loans.people(50, 0)
    rejects = DummyClassifier(strategy="constant", constant=False).fit(X, loans.outcomes(X))
    page = gate_page(gate(rejects, loan_plans, current=bank), portfolio=risk)
    assert "outside the forecast" in page
    assert "is expected to break" not in page


def test_a_report_with_a_planner_has_all_promises_together(bank, loan_plans, tmp_path):
    from copa.report import write_report

    write_report(loan_plans, tmp_path / "with.html", planner=bank)
    write_report(loan_plans, tmp_path / "without.html")
    assert "All promises together" in (tmp_path / "with.html").read_text(encoding="utf-8")
    assert "All promises together" not in (tmp_path / "without.html").read_text(encoding="utf-8")


def test_promises_that_no_refit_breaks_say_nothing_of_how_they_vary(bank, loan_plans):
    sure = loan_plans.options.head(3).assign(income=90.0, debt=0, grade=5)
    found = portfolio_risk(bank, sure)
    assert found.mean == 0.0
    assert np.isnan(found.effective_number)
    assert "nothing is seen" in " ".join(found.in_words())
    assert found.to_dict()["effective_number"] is None


@pytest.mark.parametrize(
    ("planner", "words"),
    [([], "at least 10 models"), ("v1", "needs a fitted RecoursePlanner or a list of models, got 'str'")],
)
def test_what_cannot_be_asked_is_refused_in_one_line(planner, words, loan_plans):
    with pytest.raises(InvalidInputError, match=words):
        portfolio_risk(planner, loan_plans)


def test_no_promise_says_so(bank, loan_plans):
    with pytest.raises(InvalidInputError, match="there is no outstanding promise"):
        portfolio_risk(bank, loan_plans.options.head(0))
