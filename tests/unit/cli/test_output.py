import io

import numpy as np
import pandas as pd
import pytest

import copa
from copa.cli.output import OWN_COLUMNS, CsvWriter, options_table, plans_into, require_free_names, whole_file
from copa.plans import PlanBatch
from unit.plans.plan_batches import german_batch


@pytest.fixture(scope="module")
def batch():
    return german_batch()


def test_there_is_a_row_per_option_and_one_for_who_has_none(batch):
    table = options_table(batch)
    assert table.columns.tolist() == [*OWN_COLUMNS, *batch.options.columns]
    expected = [max(count, 1) for count in batch.counts]
    assert table.groupby("applicant", sort=False).size().tolist() == expected
    assert table["option"].dropna().tolist() == [1, 2, 3, 1, 2, 1]
    alone = table[table["option"].isna()]
    assert alone[["option_guarantee", "age", "option_changes"]].isna().all().all()
    assert (alone["plan_status"] != "").all()


def test_numbers_and_rows_are_those_of_the_batch(batch):
    table = options_table(batch).dropna(subset="option").reset_index(drop=True)
    np.testing.assert_array_equal(table["option_guarantee"], batch.option_lower)
    np.testing.assert_array_equal(table["all_guarantee"], batch.lower[batch.owner])
    for name in batch.options.columns:
        assert table[name].tolist() == batch.options[name].tolist()
    assert table["option_changes"][2] == "duration: 48 -> 24; savings: A61 -> A63"


def test_dtypes_do_not_depend_on_who_is_in_the_batch(batch):
    without, full = options_table(batch[3:4]), options_table(batch[:1])
    assert without.dtypes.tolist() == full.dtypes.tolist()
    assert str(full["age"].dtype) == "Int64"


def test_batches_one_after_another_make_one_table(batch):
    whole, parts = io.StringIO(), io.StringIO()
    CsvWriter(whole).add(batch)
    writer = CsvWriter(parts)
    for part in (batch[:2], batch[2:4], batch[4:]):
        writer.add(part)
    assert parts.getvalue() == whole.getvalue()


@pytest.mark.parametrize("ending", ["csv", "parquet", "json", "copa"])
def test_parts_written_to_a_file_are_the_whole(batch, tmp_path, ending):
    path = tmp_path / f"plans.{ending}"
    with plans_into(path) as writer:
        for part in (batch[:3], batch[3:4], batch[4:]):
            writer.add(part)
    read = {
        "csv": lambda: len(pd.read_csv(path)) == len(options_table(batch)),
        "parquet": lambda: pd.read_parquet(path)["age"].tolist() == options_table(batch)["age"].tolist(),
        "json": lambda: path.read_text(encoding="utf-8") == batch.to_json(),
        "copa": lambda: PlanBatch.load(path).to_json() == batch.to_json(),
    }
    assert read[ending]()
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", ["csv", "parquet", "json", "zip"])
def test_what_goes_wrong_leaves_the_old_file_and_nothing_else(batch, tmp_path, ending):
    path = tmp_path / f"plans.{ending}"
    path.write_bytes(b"old")

    def fail():
        with plans_into(path) as writer:
            writer.add(batch)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_folder_that_is_gone_is_a_data_error(tmp_path):
    with (
        pytest.raises(copa.DataError, match="cannot be written: No such file"),
        whole_file(tmp_path / "none" / "x", binary=True),
    ):
        pytest.fail("there is nothing to write to")


def test_own_names_are_not_free():
    require_free_names(["status", "age"])
    with pytest.raises(copa.DataError, match="the columns 'option', 'plan_status', which a table of plans needs"):
        require_free_names(["option", "age", "plan_status"])
