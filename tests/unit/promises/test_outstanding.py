"""What binds on a day, and what promises themselves say, as the gate and the portfolio read it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

import copa
from copa.exceptions import InvalidInputError
from copa.promises import gate, keep, portfolio_risk
from copa.promises.promised_rows import join_facts, promised_rows
from unit.planner import loans
from unit.promises.ledgers import IN_TIME, TERMS, execute


def saying(batch, **changes):
    """The same plans with another label or threshold in their basis."""
    return replace(batch, basis=replace(batch.basis, **changes))


def firms():
    draw = np.random.default_rng(0)
    X = pd.DataFrame({"turnover": draw.integers(10, 60, 200), "staff": draw.integers(0, 20, 200)})
    return X, X["turnover"] - X["staff"] + draw.normal(0, 5, 200) > 25


def firms_planner(model, **settings):
    return copa.RecoursePlanner(
        model,
        n_options=2,
        n_starts=4,
        random_state=0,
        progress=False,
        **settings | {"later_models": copa.LaterModels(n_refits=50)},
    ).fit(*firms())


@pytest.fixture(scope="module")
def other_product():
    """Plans of a model with other columns, and the model."""
    X, y = firms()
    model = LogisticRegression().fit(X, y)
    return firms_planner(model).plan(X[~model.predict(X)].head(3)), model


def test_a_label_that_contradicts_the_promises_is_refused_and_both_are_named(small, loan_plans, bank):
    small.record(loan_plans, **TERMS)
    table = loans.people(50, 0)
    rejects = DummyClassifier(strategy="constant", constant=False).fit(table, loans.outcomes(table))
    for promises in (small, loan_plans):
        with pytest.raises(InvalidInputError, match="favourable=False, but True was promised"):
            gate(rejects, promises, favourable=False, as_of=IN_TIME)
    with pytest.raises(InvalidInputError, match="the planner in force wants True, but 'good' was promised"):
        gate(rejects, saying(loan_plans, favourable="good"), current=bank)
    assert not gate(rejects, small, favourable="True", as_of=IN_TIME).passed
    small.record(saying(loan_plans, favourable="good"), **{**TERMS, "model_version": "words"})
    with pytest.raises(InvalidInputError, match="some promises are of the label True, others of 'good'"):
        gate(rejects, small, as_of=IN_TIME)
    assert gate(rejects, small, as_of=IN_TIME, model_version="2026-01").n_broken == len(loan_plans.options)


def test_promises_of_another_threshold_are_told_and_a_planner_decides_at_its_own(small, other_product):
    model, (X, _) = other_product[1], firms()
    lenient = firms_planner(model, threshold=0.01, guarantee=0.6)
    batch = lenient.plan(X[model.predict_proba(X)[:, 1] < 0.01].head(5))
    small.record(batch, **TERMS)
    plain = gate(model, small, current=lenient, as_of=IN_TIME)
    assert plain.n_broken == plain.swap.lost == int((~model.predict(batch.options)).sum()) > 0
    assert "made at a threshold of 0.01, and the candidate was tried by its own predict" in plain.note
    assert plain.note in plain.in_words()
    for found in (gate(lenient, small, as_of=IN_TIME), gate(model, small, threshold=0.01, as_of=IN_TIME)):
        assert (found.n_broken, found.note) == (0, "")
    assert gate(model, small, current=lenient, threshold=0.5, as_of=IN_TIME).swap.lost == 0


def test_promises_of_several_tables_are_told_apart_by_model_version(small, loan_plans, bank, other_product):
    small.record(loan_plans, **TERMS)
    plans, model = other_product
    small.record(plans, **{**TERMS, "model_version": "firms"})
    for ask, columns, version in (
        (lambda **more: gate(bank.model, small, as_of=IN_TIME, **more), "'income', 'debt'", "2026-01"),
        (lambda **more: gate(model, small, as_of=IN_TIME, **more), "'turnover', 'staff'", "firms"),
        (lambda **more: keep(model, *firms(), small, as_of=IN_TIME, **more), "'turnover', 'staff'", "firms"),
        (lambda **more: portfolio_risk(bank, small, as_of=IN_TIME, **more), "'income', 'debt'", "2026-01"),
    ):
        with pytest.raises(InvalidInputError, match="the ledger holds promises of several tables") as error:
            ask()
        assert columns in str(error.value)
        assert f"model_version=, such as '{version}'" in str(error.value)
        assert ask(model_version=version).n_promises == len((plans if version == "firms" else loan_plans).options)
    with pytest.raises(
        InvalidInputError, match=r"of model version 'v9' as of .* there are promises of '2026-01', 'firms'"
    ):
        gate(bank.model, small, as_of=IN_TIME, model_version="v9")


def test_purged_promises_are_counted_and_later_ones_are_not_tried(small, loan_plans, bank):
    ids = small.record(loan_plans, **TERMS)
    small.record(loan_plans, **{**TERMS, "made": "2026-08-01"})
    assert gate(bank.model, small, as_of=IN_TIME).n_promises == len(ids)
    assert gate(bank.model, small, as_of="2026-08-01").n_promises == 2 * len(ids)
    execute(small, "DELETE FROM personal WHERE seq IN (SELECT seq FROM events WHERE promise = :p)", p=ids[0])
    report = gate(bank.model, small, as_of=IN_TIME)
    assert (report.n_promises, report.n_purged, report.to_dict()["n_purged"]) == (len(ids) - 1, 1, 1)
    assert any("Another 1 outstanding promise could not be tried" in sentence for sentence in report.in_words())


def test_promises_of_unknown_status_are_tried_and_counted(loan_plans, bank):
    promised = promised_rows(loan_plans)
    statuses = ["Open", " open", None, *["open"] * (len(promised) - 4), "kept"]
    table = join_facts(promised.facts.assign(status=statuses), promised.rows)
    X = loans.people(50, 0)
    rejects = DummyClassifier(strategy="constant", constant=False).fit(X, loans.outcomes(X))
    report = gate(rejects, table)
    assert (report.n_promises, report.n_broken) == (len(promised) - 1, len(promised) - 1)
    assert report.unknown_statuses == {"Open": 1, " open": 1, "": 1}
    assert "3 promises of unknown status ('Open', ' open', '') counted as open." in report.in_words()
    assert report.to_dict()["unknown_statuses"] == report.unknown_statuses
    assert gate(rejects, promised.rows).unknown_statuses == {}  # rows alone have no status
    kept = keep(bank.model, X, loans.outcomes(X), table, max_broken=len(promised))
    assert "3 promises of unknown status counted as open" in kept.note


def test_the_portfolio_says_in_one_line_what_its_model_cannot_read(bank, loan_plans):
    rows = promised_rows(loan_plans).rows
    with pytest.raises(InvalidInputError, match="lack the column 'debt' of the model"):
        portfolio_risk(bank, rows.drop(columns="debt"))
    with pytest.raises(InvalidInputError, match=r"the model (cannot read the row of promise|refuses a row)"):
        portfolio_risk(bank, rows.assign(income=[np.nan, *rows["income"].iloc[1:]]))
