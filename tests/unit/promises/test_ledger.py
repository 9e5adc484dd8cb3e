from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest

import copa
from copa.exceptions import DataError, FragilePlanWarning, InvalidInputError
from copa.plans import PlanBatch
from copa.promises import Ledger
from copa.promises._storage.tables import STATUSES
from copa.promises.promised_rows import FACTS, split_facts
from copa.promises.record import chosen_options, fingerprint
from unit.promises.ledgers import IN_TIME, TERMS, TOO_LATE, execute, query, repeated


def test_promises_have_the_facts_and_the_rows_that_were_recorded(ledger, loan_plans, bank):
    ids = ledger.record(loan_plans, **TERMS, model=bank, recorded_by="ann")
    facts, rows = split_facts(ledger.promises(as_of=IN_TIME))
    own = chosen_options(loan_plans, None)
    assert list(facts.columns) == list(FACTS)
    assert facts.index.tolist() == ids
    assert len(set(ids)) == len(own) > 20
    pd.testing.assert_frame_equal(rows.reset_index(drop=True), loan_plans.options.iloc[own].reset_index(drop=True))
    assert facts["applicant"].tolist() == loan_plans.applicants.index[loan_plans.owner[own]].tolist()
    np.testing.assert_array_equal(facts["option_guarantee"].astype(float), loan_plans.option_lower[own])
    assert set(facts["status"]) == {"open"}
    assert set(facts["made"]) == {date(2026, 1, 15)}
    assert set(facts["valid_until"]) == {date(2027, 1, 15)}
    assert set(facts["recorded_by"]) == {"ann"}
    assert set(facts["model_fingerprint"]) == {fingerprint(bank.model)}
    assert facts["certificate_digest"].nunique() == facts["applicant"].nunique()
    assert facts["schema_digest"].str.startswith("sha256:").all()
    assert ledger.stated(IN_TIME).labels == (loan_plans.basis.favourable,)
    assert ledger.verify().ok


def test_the_label_of_a_ledger_is_that_of_its_open_promises(small, loan_plans, set_today):
    small.record(loan_plans, **TERMS)
    set_today(IN_TIME)
    assert small.favourable == loan_plans.basis.favourable
    other = replace(loan_plans, basis=replace(loan_plans.basis, favourable="good"))
    small.record(other, **TERMS | {"valid_for": "1 month"})
    assert small.favourable == loan_plans.basis.favourable  # the others have expired
    set_today("2026-02-01")
    assert small.favourable is None


def test_the_same_batch_is_recorded_once_also_from_its_file(ledger, loan_plans, tmp_path):
    ids = ledger.record(loan_plans, **TERMS)
    loan_plans.save(tmp_path / "plans.copa")
    assert ledger.record(PlanBatch.load(tmp_path / "plans.copa"), **TERMS) == ids
    assert ledger.record(loan_plans[3:9], **TERMS, recorded_by="another") == [
        promise
        for promise, owner in zip(ids, loan_plans.owner[chosen_options(loan_plans, None)], strict=True)
        if 3 <= owner < 9
    ]
    assert len(query(ledger, "SELECT seq FROM events")) == len(ids)
    others = ledger.record(loan_plans, **{**TERMS, "made": "2026-02-15"})
    assert not set(others) & set(ids)


def test_only_options_that_were_handed_out_are_promised(small, german):
    status, accepted = german.status.copy(), german.accepted.copy()
    status[german.owner[0]] = "infeasible"
    accepted[-1] = False
    ids = small.record(replace(german, status=status, accepted=accepted), **TERMS, include_fragile=True)
    assert len(ids) == np.count_nonzero(german.owner != german.owner[0]) - 1 > 0
    label = german.applicants.index[german.owner[0]]
    with pytest.raises(InvalidInputError, match="cannot be promised: the plan is infeasible"):
        small.record(replace(german, status=status), **TERMS, options={label: 1})


def test_options_of_fragile_plans_are_promised_only_when_they_are_asked_for(small, loan_plans):
    status = loan_plans.status.astype(object)
    status[loan_plans.owner[0]] = "fragile"
    batch, label = replace(loan_plans, status=status), loan_plans.applicants.index[loan_plans.owner[0]]
    n_fragile = np.count_nonzero(loan_plans.owner == loan_plans.owner[0])
    with pytest.warns(
        FragilePlanWarning, match=f"^{n_fragile} options of fragile plans left out; include_fragile=True"
    ):
        ids = small.record(batch, **TERMS)
    assert label not in set(small.promises(as_of=IN_TIME)["promise_applicant"])
    with pytest.raises(InvalidInputError, match=r"the plan is fragile, below the guarantee .* include_fragile=True"):
        small.record(batch, **TERMS, options={label: 1})
    assert len(small.record(batch, **TERMS, options={label: 1}, include_fragile=True)) == 1
    assert len(small.record(batch, **TERMS, include_fragile=True)) == len(ids) + n_fragile
    assert label in set(small.promises(as_of=IN_TIME)["promise_applicant"])


def test_some_options_of_some_applicants_are_promised(small, loan_plans):
    label = loan_plans.applicants.index[2]
    assert len(small.record(loan_plans, **TERMS, options={label: 1})) == 1
    assert small.promises(as_of=IN_TIME)["promise_applicant"].tolist() == [label]
    first = small.record(loan_plans, **TERMS, options=1)
    assert len(first) == len(set(loan_plans.owner[chosen_options(loan_plans, None)]))
    for options, words in (
        ({"nobody": 1}, "'nobody' is not among the plans"),
        ({label: 9}, "no option 9"),
        ({label: 0}, "from 1, got 0"),
        ("first", "got 'first'"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            small.record(loan_plans, **TERMS, options=options)
    assert len(small.promises(as_of=IN_TIME)) == len(first)


@pytest.mark.parametrize(
    ("valid_for", "end"),
    [
        ("12 months", date(2027, 1, 31)),
        ("1 month", date(2026, 2, 28)),
        ("2 weeks", date(2026, 2, 14)),
        ("90 days", date(2026, 5, 1)),
        ("1 year", date(2027, 1, 31)),
        (timedelta(days=10), date(2026, 2, 10)),
        (date(2026, 3, 31), date(2026, 3, 31)),
        ("2026-03-31", date(2026, 3, 31)),
    ],
)
def test_promises_end_as_said(small, loan_plans, valid_for, end):
    small.record(loan_plans[:1], model_version="1", valid_for=valid_for, made="2026-01-31")
    assert set(small.promises("all")["promise_valid_until"]) == {end}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"valid_for": "2026-01-14"}, "would end on 2026-01-14, before it is made on 2026-01-15"),
        ({"valid_for": timedelta(days=-1)}, "before it is made"),
        ({"valid_for": "a while"}, "valid_for must be a span"),
        ({"valid_for": 12}, "valid_for must be a span"),
        ({"valid_for": "99999 years"}, "valid_for must be a span"),
        ({"valid_for": pd.NaT}, "valid_for must be a span"),
        ({"made": "15.1.2026"}, "made must be a date"),
        ({"made": pd.NaT}, "made must be a date"),
        ({"model_version": ""}, "model_version must be text"),
        ({"model_version": "a\x00b"}, "model_version must be text"),
        ({"may_differ": ["agee"]}, "no column 'agee'; did you mean 'age'"),
        ({"recorded_by": "\n"}, "recorded_by must be text"),
        ({"recorded_by": "a\nb"}, "recorded_by must be text"),
        ({"model": (number for number in ())}, "skops cannot save"),
    ],
)
def test_bad_terms_are_refused_in_one_line_and_nothing_is_written(small, loan_plans, change, words):
    with pytest.raises(InvalidInputError, match=words) as refusal:
        small.record(loan_plans, **{**TERMS, **change})
    assert "\n" not in str(refusal.value)
    assert query(small, "SELECT seq FROM events") == query(small, "SELECT id FROM terms") == []


def test_applicants_that_would_become_one_are_refused(small, loan_plans):
    some = loan_plans[:2]
    alike = replace(some, applicants=some.applicants.set_axis(pd.Index([1, "1"], dtype=object)))
    with pytest.raises(InvalidInputError, match="applicants 1 and '1' would both be called '1'"):
        small.record(alike, **TERMS)
    assert query(small, "SELECT seq FROM events") == []


def test_what_is_no_batch_is_refused(small):
    with pytest.raises(InvalidInputError, match="must be a PlanBatch, got list"):
        small.record([], **TERMS)


def test_a_promise_after_its_last_day_counts_as_expired(ledger, loan_plans):
    ids = ledger.record(loan_plans[:5], **TERMS)
    assert len(ledger.promises(as_of="2027-01-15")) == len(ids)
    assert ledger.promises(as_of="2027-01-16").empty
    late = ledger.promises("expired", as_of="2027-01-16")
    assert late.index.tolist() == ids
    assert set(late["promise_status"]) == {"expired"}
    assert ledger.promises("expired", as_of=IN_TIME).empty


def test_blocks_are_the_same_table_in_parts(ledger, loan_plans):
    ledger.record(repeated(loan_plans, 250), **TERMS)
    blocks = list(ledger.blocks(as_of=IN_TIME, size=60))
    assert [len(block) for block in blocks][:-1] == [60] * (len(blocks) - 1)
    assert 0 < len(blocks[-1]) <= 60
    whole = ledger.promises(as_of=IN_TIME)
    pd.testing.assert_frame_equal(pd.concat(blocks).set_axis(whole.index), whole)
    assert [promise for block in blocks for promise in block.index] == whole.index.tolist()
    with pytest.raises(InvalidInputError, match="status must be one of"):
        ledger.blocks("opened")
    with pytest.raises(InvalidInputError, match="size"):
        ledger.blocks(size=0)


def test_promises_are_counted_as_they_are_listed(ledger, loan_plans):
    first, *_ = ledger.record(loan_plans, **TERMS)
    ledger.record(loan_plans, **{**TERMS, "valid_for": "1 month"})
    ledger.record(loan_plans, **{**TERMS, "made": "2026-07-01"})
    ledger.waive(first, "moved away")
    for day in ("2026-01-14", IN_TIME, TOO_LATE):
        counts = ledger.counts(day)
        assert counts == {status: len(ledger.promises(status, day)) for status in STATUSES}
        assert sum(counts.values()) == len(ledger.promises("all", day))
    assert set(ledger.counts("2026-01-14").values()) == {0}  # none is made yet
    counts = ledger.counts(IN_TIME)
    assert (counts["waived"], counts["expired"], counts["open"]) == (1, counts["open"] + 1, counts["open"])
    assert ledger.counts("2026-07-01")["open"] > counts["open"] > 0


def test_blocks_of_one_person_are_a_part_of_all(ledger, loan_plans):
    ledger.record(loan_plans, **TERMS)
    whole = ledger.promises(as_of=IN_TIME)
    person = whole["promise_applicant"].iloc[-1]
    (block,) = ledger.blocks(as_of=IN_TIME, applicant=person)
    assert block.index.tolist() == whole.index[whole["promise_applicant"] == person].tolist()
    assert list(ledger.blocks(as_of=IN_TIME, applicant="nobody")) == []


def test_tables_of_several_models_come_in_blocks_of_their_own(ledger, loan_plans, german):
    ids = ledger.record(loan_plans[:3], **TERMS) + ledger.record(german, **TERMS, include_fragile=True)
    blocks = list(ledger.blocks(as_of=IN_TIME))
    assert len(blocks) == 2
    pd.testing.assert_series_equal(split_facts(blocks[0])[1].dtypes, loan_plans.options.dtypes)
    pd.testing.assert_series_equal(split_facts(blocks[1])[1].dtypes, german.options.dtypes)
    assert ledger.promises(as_of=IN_TIME).index.tolist() == ids


@pytest.mark.parametrize("name", ["promise", "promise_status", "promise_of_last_year"])
def test_a_table_with_the_name_of_a_fact_is_not_recorded(small, loan_plans, name):
    tables = {part: getattr(loan_plans, part).rename(columns={"job": name}) for part in ("applicants", "options")}
    with pytest.raises(InvalidInputError, match=f"have a column '{name}', a name that is reserved for facts"):
        small.record(replace(loan_plans, **tables), **TERMS)
    assert small.promises("all").empty


def test_promises_of_one_model_are_read_by_its_version_and_facts_stay_apart_from_columns(small, loan_plans, german):
    some, names = loan_plans[:3], {"job": "status"}
    tables = {"applicants": some.applicants.rename(columns=names), "options": some.options.rename(columns=names)}
    ours = small.record(replace(some, **tables), **TERMS)
    theirs = small.record(german, **TERMS | {"model_version": "german"}, include_fragile=True)
    both = small.promises(as_of=IN_TIME)
    facts, rows = split_facts(both)
    assert set(facts["status"]) == {"open"}
    assert set(rows["status"].dropna()) <= {"clerk", "driver", "nurse"}
    assert small.promises(as_of=IN_TIME, model_version="german").index.tolist() == theirs
    assert [len(block) for block in small.blocks(as_of=IN_TIME, model_version="2026-01")] == [len(ours)]
    assert small.promises(as_of=IN_TIME, model_version="none").empty
    assert small.promises(as_of="2026-01-14").empty  # not yet made


def test_an_empty_ledger_has_an_empty_table_and_verifies(ledger):
    assert ledger.promises().empty
    assert ledger.verify().ok
    assert ledger.favourable is None


def test_promises_are_waived_once(ledger, loan_plans):
    first, *_, third = ledger.record(loan_plans[:5], **TERMS)
    ledger.waive(first, "moved away", recorded_by="ann")
    assert ledger.promises("waived").index.tolist() == [first]
    before = query(ledger, "SELECT * FROM events")
    for act, words in (
        (lambda: ledger.waive(first), "is not open: it was waived"),
        (lambda: ledger.waive("p0"), "no promise 'p0'"),
        (lambda: ledger.decide(third, "honour"), "is not broken"),
        (lambda: ledger.decide("p0", "honour"), "no promise 'p0'"),
        (lambda: ledger.decide(third, "maybe"), "decision must be one of"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            act()
    assert query(ledger, "SELECT * FROM events") == before
    assert ledger.verify().ok


def test_a_ledger_of_another_version_is_refused_in_one_line(url, loan_plans):
    with Ledger.open(url, create=True) as ledger:
        ledger.record(loan_plans[:2], **TERMS)
        execute(ledger, "UPDATE head SET version = 2")
    with pytest.raises(DataError, match=r"of version 2, and this COPA knows version 1; update COPA$"):
        Ledger.open(url)


def test_a_database_of_something_else_is_refused(url):
    with Ledger.open(url, create=True) as ledger:
        execute(ledger, "ALTER TABLE head RENAME TO tail")
    with pytest.raises(DataError, match="is a database of something else"):
        Ledger.open(url, create=True)


def test_no_ledger_is_made_unless_it_is_asked_for(url, tmp_path):
    with pytest.raises(
        InvalidInputError, match=r"^no ledger at .*; make it with `copa promises create`, or with create=True in Python"
    ):
        Ledger.open(url)
    assert list(tmp_path.iterdir()) == []
    Ledger.open(url, create=True).close()
    with Ledger.open(url) as ledger:
        assert ledger.verify().ok


def test_places_that_cannot_hold_a_ledger_are_refused(tmp_path):
    for url, words in (
        (tmp_path / "no" / "p.db", "a folder that exists"),
        (tmp_path, "a folder that exists"),
        ("mysql://host/name", "sqlite or postgresql, got 'mysql'"),
        ("sqlite://", "must outlive the process"),
        ("", "must be a URL"),
        (None, "must be a URL"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            Ledger.open(url, create=True)
    (tmp_path / "text.db").write_text("not a database " * 100)
    with pytest.raises(DataError, match="not a database"):
        Ledger.open(tmp_path / "text.db")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://copa:secret@127.0.0.1:1/nowhere",
        "postgresql://127.0.0.1:1/nowhere?user=copa&password=secret",
        "postgresql://copa@127.0.0.1:1/nowhere?sslpassword=secret&passfile=secret&sslkey=secret",
        "postgresql:/copa:secret@127.0.0.1:1/nowhere",
        "postgresql://copa:secret@127.0.0.1:port/nowhere",
        "mysql://copa:secret@127.0.0.1/nowhere?password=secret",
        "host=127.0.0.1 password=secret dbname=nowhere",
        "postgresql//copa:secret@127.0.0.1/nowhere",
    ],
)
def test_a_password_is_never_shown(url):
    with pytest.raises((DataError, InvalidInputError)) as refusal:
        Ledger.open(url)
    assert "secret" not in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_the_name_of_a_ledger_has_no_secret_of_its_url(server):
    url = f"{server}/postgres?password=secret&application_name=secret&sslmode=prefer"
    with pytest.raises(InvalidInputError, match=r"no ledger at .*/postgres\?sslmode=prefer;") as refusal:
        Ledger.open(url)
    assert "secret" not in str(refusal.value)


def test_rows_of_any_dtype_come_back_to_the_last_bit(small):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "income": rng.normal(size=200),
            "small": rng.normal(size=200).astype(np.float32),
            "job": pd.Categorical(rng.choice(["a", "b"], 200), categories=["b", "a", "c"]),
            "status": rng.choice(["x", "y"], 200),
            "rate": pd.array(rng.integers(0, 5, 200), dtype="Int64"),
        }
    )
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    y = X["income"] + X["small"] + 0.3 * rng.normal(size=200) > 0
    encode = make_column_transformer((OneHotEncoder(), ["job", "status"]), remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression()).fit(X, y)
    planner = copa.RecoursePlanner(
        model, later_models=copa.LaterModels(n_refits=20), n_options=2, guarantee=0.7, progress=False, n_starts=4
    ).fit(X, y)
    batch = planner.plan(X[~model.predict(X)].head(4))
    ids = small.record(batch, **TERMS)
    facts, rows = split_facts(small.promises(as_of=IN_TIME))
    assert len(ids) > 2
    own = batch.options.iloc[chosen_options(batch, None)].reset_index(drop=True)
    pd.testing.assert_frame_equal(rows.reset_index(drop=True), own)
    assert set(facts["status"]) == {"open"}


def test_the_file_of_a_ledger_is_for_its_owner_only(small):
    assert small._database.file.stat().st_mode & 0o077 == 0
