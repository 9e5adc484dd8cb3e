import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge

import copa
from copa.exceptions import InvalidInputError
from copa.promises.promised_rows import split_facts
from copa.promises.redeem import _outside
from unit.planner import loans
from unit.promises.ledgers import IN_TIME, TERMS, TOO_LATE, query

ON_TIME = {"as_of": IN_TIME}


@pytest.fixture(scope="module")
def stern():
    """A model that declines everybody."""
    table = loans.people(50, 0)
    labels = [True] + [False] * 49
    return DummyClassifier(strategy="constant", constant=False).fit(table, labels)


@pytest.fixture
def promised(ledger, loan_plans):
    """Ledger, id of a promise, and its row."""
    ids = ledger.record(loan_plans[:5], **TERMS)
    _, rows = split_facts(ledger.promises(**ON_TIME))
    return ledger, ids[0], rows.loc[[ids[0]]]


def events(ledger, promise):
    return [row.kind for row in query(ledger, "SELECT kind FROM events WHERE promise = :p ORDER BY seq", p=promise)]


def test_a_promise_that_the_model_accepts_is_kept(promised, bank):
    ledger, promise, row = promised
    found = ledger.redeem(promise, row, bank.model, **ON_TIME)
    assert (found.fulfilled, found.accepted, found.outcome, found.differences) == (True, True, "kept", ())
    assert events(ledger, promise) == ["promised", "redeemed", "kept"]
    assert ledger.promises("kept").index.tolist() == [promise]
    assert ledger.verify().ok


@pytest.mark.parametrize("form", ["series", "mapping", "text"])
def test_a_row_may_come_in_any_form(promised, bank, form):
    ledger, promise, row = promised
    cells = row.iloc[0]
    given = {"series": cells, "mapping": dict(cells), "text": {name: str(cell) for name, cell in cells.items()}}[form]
    assert ledger.redeem(promise, given, bank, **ON_TIME).outcome == "kept"


def test_a_promise_that_the_model_does_not_accept_is_broken_and_decided_at_once(promised, stern):
    ledger, promise, row = promised
    found = ledger.redeem(promise, row, stern, decision="honour", **ON_TIME)
    assert (found.fulfilled, found.accepted, found.outcome, found.decision) == (True, False, "broken", "honour")
    assert events(ledger, promise) == ["promised", "redeemed", "broken", "decided"]
    with pytest.raises(InvalidInputError, match="decided already: honour"):
        ledger.decide(promise, "refuse", "late")
    assert ledger.verify().ok


def test_a_broken_promise_is_decided_later_and_a_refusal_needs_a_reason(promised, stern):
    ledger, promise, row = promised
    assert ledger.redeem(promise, row, stern, **ON_TIME).decision is None
    with pytest.raises(InvalidInputError, match="a refusal needs a reason"):
        ledger.decide(promise, "refuse")
    ledger.decide(promise, "refuse", "fraud")
    assert events(ledger, promise) == ["promised", "redeemed", "broken", "decided"]
    assert "fraud" not in str(query(ledger, "SELECT * FROM events"))  # a reason may name a person
    assert "fraud" in str(query(ledger, "SELECT * FROM personal"))


def test_a_row_that_does_not_fulfil_the_promise_leaves_it_open(promised, bank):
    ledger, promise, row = promised
    found = ledger.redeem(promise, row.assign(age=row["age"] + 1, job="driver"), bank.model, **ON_TIME)
    assert (found.fulfilled, found.outcome) == (False, "not fulfilled")
    own = row["age"].iloc[0]
    assert f"age is {own + 1}, it was promised with {own}" in found.differences
    assert events(ledger, promise) == ["promised", "redeemed"]
    again = ledger.redeem(promise, row.assign(age=row["age"] + 1), bank.model, may_differ=["age"], **ON_TIME)
    assert again.outcome in ("kept", "broken")


def test_columns_named_when_recorded_may_differ(ledger, loan_plans, bank):
    promise = ledger.record(loan_plans[:1], **TERMS, may_differ=["age"])[0]
    row = split_facts(ledger.promises(**ON_TIME))[1].loc[[promise]]
    assert ledger.redeem(promise, row.assign(age=row["age"] + 1), bank.model, **ON_TIME).fulfilled


def test_a_row_inside_the_region_fulfils_and_one_outside_does_not(small, loan_plans, bank):
    ids = small.record(loan_plans, **TERMS)
    import json

    rows = split_facts(small.promises(**ON_TIME))[1]
    said = {
        row.promise: json.loads(row.content)["region"]
        for row in query(small, "SELECT e.promise, p.content FROM events e JOIN personal p ON p.seq = e.seq")
    }
    promise, (low, high) = next(
        (promise, region["debt"])
        for promise, region in said.items()
        if "debt" in region and 0 < region["debt"][1] > region["debt"][0]
    )
    assert promise in ids
    row = rows.loc[[promise]]
    worse = small.redeem(promise, row.assign(debt=int(high) + 1), bank.model, **ON_TIME)
    assert worse.differences == (f"debt is {int(high) + 1}, the option asks for at most {int(high)}",)
    assert small.redeem(promise, row.assign(debt=int(high)), bank.model, **ON_TIME).outcome == "kept"
    assert low <= row["debt"].iloc[0] <= high


def test_a_return_leaves_its_day_and_its_liberties_in_the_chain(promised, bank, set_today):
    ledger, promise, row = promised
    ledger.redeem(promise, row.assign(age=99), bank, may_differ=["age"], **ON_TIME)
    said = query(ledger, "SELECT content FROM events WHERE kind = 'redeemed'")[0].content
    assert '"as_of":"2026-06-30"' in said
    assert '"may_differ":["age"]' in said
    set_today(TOO_LATE)
    second = ledger.promises(**ON_TIME).index[0]
    with pytest.raises(InvalidInputError, match="is not open: it was valid until 2027-01-15"):
        ledger.redeem(second, row, bank)
    ledger.purge(TOO_LATE)
    with pytest.raises(InvalidInputError, match="was purged: there is no row to compare with"):
        ledger.redeem(second, row, bank, **ON_TIME)
    assert ledger.verify().ok


def test_a_planner_decides_at_its_own_threshold_and_a_model_alone_must_be_told(small):
    table = loans.people(300, 0)
    planner = copa.RecoursePlanner(
        loans.fitted_pipeline(), schema=loans.SCHEMA, threshold=0.2, progress=False, **{**loans.FAST, "n_starts": 4}
    ).fit(table, loans.outcomes(table))
    declined = table[planner.model.predict_proba(table)[:, 1] < 0.2].head(4)
    small.record(planner.plan(declined), **TERMS)
    rows = split_facts(small.promises(**ON_TIME))[1]
    first, second, *_ = rows.index[~planner.model.predict(rows)]  # declined at one half
    assert small.redeem(first, rows.loc[[first]], planner, **ON_TIME).outcome == "kept"
    with pytest.raises(InvalidInputError, match=r"made at the threshold 0\.2, and a model alone"):
        small.redeem(second, rows.loc[[second]], planner.model, **ON_TIME)
    assert small.redeem(second, rows.loc[[second]], planner.model, threshold=0.2, **ON_TIME).outcome == "kept"


def test_an_applicant_stands_for_the_promise_that_the_row_fulfils(promised, bank, loan_plans):
    ledger, _, _ = promised
    facts, rows = split_facts(ledger.promises(**ON_TIME))
    person = facts["applicant"].iloc[0]
    second = facts.index[facts["applicant"] == person][1]
    assert ledger.redeem(person, rows.loc[[second]], bank.model, **ON_TIME).fulfilled
    with pytest.raises(InvalidInputError, match="fulfils none of the 2 open promises"):
        ledger.redeem(person, loan_plans.applicants.iloc[[0]], bank.model, **ON_TIME)


def test_what_cannot_be_redeemed_is_said_in_one_line_and_nothing_is_written(promised, bank):
    ledger, promise, row = promised
    other = DummyClassifier().fit(loans.people(10, 0), ["a", "b"] * 5)
    three = DummyClassifier().fit(loans.people(9, 0), ["a", "b", "c"] * 3)
    before = query(ledger, "SELECT * FROM events")
    cases = [
        (("p0", row, bank.model), {}, "no promise or applicant 'p0'"),
        ((promise, row, bank.model), {"as_of": "2099-01-01"}, "as_of is 2099-01-01, which has not come"),
        ((promise, row, bank.model), {"as_of": "2026-01-14"}, "is not open on 2026-01-14: it was made on 2026-01-15"),
        ((promise, row.drop(columns="age"), bank.model), {}, "lacks columns of the promised one: 'age'"),
        ((promise, row.assign(agee=1), bank.model), {}, "'agee' that was not promised; did you mean 'age'"),
        ((promise, pd.concat([row, row]), bank.model), {}, "must be one row, got 2"),
        ((promise, [1, 2], bank.model), {}, "row must be a table"),
        ((promise, row, object()), {}, "the model must be a fitted classifier with `predict`, got 'object'"),
        ((promise, row, other), {}, "the model chooses between 'a', 'b', and True was promised"),
        ((promise, row, Ridge().fit(row[["debt"]], [1.0])), {}, "Ridge is not a fitted classifier"),
        ((promise, row, LogisticRegression()), {}, "is not a fitted classifier"),
        ((promise, row, three), {}, "must choose between 2 classes, it has 3"),
        ((promise, row.assign(debt=None), bank.model), {}, "the model refuses a row: .*Input X contains NaN"),
        (
            (promise, row.assign(debt=float("inf")), bank.model),
            {},
            "the model refuses a row: .*Input X contains inf",
        ),
        ((promise, row.assign(debt="much"), bank.model), {}, "column 'debt' must hold numbers"),
        ((promise, row.assign(job="king"), bank.model), {}, "the model refuses a row: .*king"),
        ((promise, row.assign(income=np.nan), bank.model), {}, "the model refuses a row: .*NaN"),
        ((promise, row, bank.model), {"decision": "perhaps"}, "decision must be 'honour' or 'refuse'"),
        ((promise, row, bank.model), {"decision": "refuse"}, "a refusal needs a reason"),
        ((promise, row, bank.model), {"may_differ": ["agee"]}, "no column 'agee'"),
        ((promise, row, bank.model), {"as_of": "soon"}, "as_of must be a date"),
    ]
    for given, how, words in cases:
        with pytest.raises(InvalidInputError, match=words) as refusal:
            ledger.redeem(*given, **{**ON_TIME, **how})
        assert "\n" not in str(refusal.value)
    assert query(ledger, "SELECT * FROM events") == before
    ledger.redeem(promise, row, bank.model, **ON_TIME)
    before = query(ledger, "SELECT * FROM events")
    with pytest.raises(InvalidInputError, match="is not open: it was kept"):
        ledger.redeem(promise, row, bank.model, **ON_TIME)
    assert query(ledger, "SELECT * FROM events") == before


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (5.0, ["debt is 5, the option asks for at least 10"]),
        (25.0, ["debt is 25, the option asks for at most 20"]),
        (10.0, []),
        (20.0, []),
        (float("nan"), ["debt is missing, the option asks for a number from 10 to 20"]),
        ("much", ["debt is much, the option asks for a number from 10 to 20"]),
    ],
)
def test_a_range_has_two_ends_which_belong_to_it(value, words):
    assert _outside("debt", value, 10.0, 20.0) == words
