import datetime as dt

import pandas as pd
import pytest

from copa.data.tables.frames import as_backend
from copa.exceptions import InvalidInputError
from copa.promises import promised_rows
from copa.promises.days import read_day
from copa.promises.promised_rows import ENDED, FACTS, OPEN, join_facts, split_facts

ROWS = pd.DataFrame({"income": [30.5, 42.0], "job": ["clerk", "nurse"]})


def binding(promised, day: object = None) -> list[str]:
    return promised.facts.index[promised.binds(read_day(day))].tolist()


def facts(**more: object) -> pd.DataFrame:
    return pd.DataFrame({"applicant": ["ann", "bob"], "option": [1, 2], **more}, index=["p1", "p2"])


def test_facts_come_first_all_of_them_and_rows_keep_their_types() -> None:
    table = join_facts(facts(), ROWS)
    assert table.columns.tolist() == [*(f"promise_{fact}" for fact in FACTS), "income", "job"]
    assert table.index.tolist() == ["p1", "p2"]
    assert table.index.name == "promise"
    assert table["promise_option"].dtype == "int64"
    assert table["promise_made"].isna().all()
    assert table["income"].dtype == "float64"


@pytest.mark.parametrize("names", [["option", "status"], ["applicant", "made"], ["income", "job"]])
def test_a_split_is_the_reverse_of_a_join_whatever_the_columns_are_called(names: list[str]) -> None:
    rows = ROWS.set_axis(names, axis=1)
    known, found = split_facts(join_facts(facts(), rows))
    assert known.columns.tolist() == list(FACTS)
    assert known["option"].tolist() == [1, 2]
    pd.testing.assert_frame_equal(found.reset_index(drop=True), rows)


def test_a_table_from_a_csv_file_has_its_ids_in_the_first_column() -> None:
    known, rows = split_facts(join_facts(facts(), ROWS).reset_index())
    assert known.index.tolist() == ["p1", "p2"]
    assert known["applicant"].tolist() == ["ann", "bob"]
    assert rows.columns.tolist() == ["income", "job"]


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_rows_alone_are_promises_without_facts_also_of_another_library(library: str) -> None:
    rows = ROWS.assign(status="married")  # one fact's name makes no facts
    promised = promised_rows(as_backend(rows, library))
    assert promised.rows.columns.tolist() == ["income", "job", "status"]
    assert promised.facts["status"].isna().all()
    assert len(binding(promised)) == 2


def test_labels_that_occur_twice_are_numbered() -> None:
    assert promised_rows(ROWS.set_axis(["ann", "ann"])).facts.index.tolist() == ["1", "2"]


def test_only_open_promises_bind_until_their_last_day() -> None:
    status = {"status": ["open", "kept"]}
    ends = {"valid_until": [dt.date(2026, 3, 1), dt.date(2026, 3, 1)]}
    promised = promised_rows(join_facts(facts(**status, **ends), ROWS))
    assert binding(promised, "2026-03-01") == ["p1"]
    assert len(binding(promised, dt.date(2026, 3, 2))) == 0
    assert len(binding(promised, dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC))) == 1


def test_promises_for_centuries_bind_and_those_not_yet_made_do_not() -> None:
    days = {"made": ["2026-03-01", "2026-05-01 00:00:00"], "valid_until": [dt.date(9999, 12, 31), "2326-03-01"]}
    promised = promised_rows(join_facts(facts(status="open", **days), ROWS))
    assert len(binding(promised, "2026-06-01")) == 2
    assert binding(promised, "2026-04-01") == ["p1"]


def test_days_of_points_in_time_are_those_in_utc() -> None:
    made = {"made": ["2026-03-02T01:00:00+05:30", pd.Timestamp("2026-03-01 23:00", tz="America/New_York")]}
    promised = promised_rows(join_facts(facts(status="open", **made), ROWS))
    assert binding(promised, "2026-03-01") == ["p1"]  # 19:30 on that day, in UTC
    assert len(binding(promised, "2026-03-02")) == 2
    ends = {"valid_until": ["2026-03-01T23:00:00-05:00", "9999-12-31T23:59:59-05:00"]}
    promised = promised_rows(join_facts(facts(status="open", **ends), ROWS))
    assert len(binding(promised, "2026-03-02")) == 2


def test_a_promise_binds_unless_its_status_says_that_it_has_ended() -> None:
    from copa.promises._storage.tables import STATUSES

    assert {OPEN, *ENDED} == set(STATUSES)
    for status in ("Open", " open", "", "pending", None, float("nan")):
        assert binding(promised_rows(join_facts(facts(status=["kept", status]), ROWS))) == ["p2"]


def test_a_ledger_stands_for_its_open_promises_and_its_label() -> None:
    class SmallLedger:
        favourable = "good"

        def promises(self) -> pd.DataFrame:
            return join_facts(facts(), ROWS)

    promised = promised_rows(SmallLedger())
    assert (promised.favourable, len(promised)) == ("good", 2)
    assert promised_rows(promised) is promised


def test_what_is_no_table_and_rows_that_are_missing_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"promises must be a Ledger, a PlanBatch or a DataFrame .* got int"):
        promised_rows(3)
    with pytest.raises(InvalidInputError, match="promise_option_guarantee must hold numbers, got 'high'"):
        promised_rows(join_facts(facts(option_guarantee=["0.8", "high"]), ROWS))
    with pytest.raises(InvalidInputError, match="there are 2 promises and 1 rows"):
        join_facts(facts(), ROWS.head(1))
    for name in ("promise", "promise_status", "promise_rank"):
        with pytest.raises(InvalidInputError, match=f"the rows have a column '{name}', a name that is reserved"):
            join_facts(facts(), ROWS.rename(columns={"job": name}))
    with pytest.raises(InvalidInputError, match="the rows have a column 'promise_rank', a name that is reserved"):
        promised_rows(ROWS.rename(columns={"job": "promise_rank"}))


def test_each_option_of_a_batch_is_a_promise(german) -> None:
    promised = promised_rows(german)
    assert promised.facts.index.tolist() == ["10/1", "10/2", "10/3", "180/1", "180/2", "290/1"]
    assert promised.facts["option_guarantee"].tolist() == german.option_lower.tolist()
    assert promised.favourable == "good"
    pd.testing.assert_frame_equal(promised.rows.reset_index(drop=True), german.options.reset_index(drop=True))
