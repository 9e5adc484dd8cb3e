import csv
import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import copa
from copa.data.tables.files import begins_formula, read_options
from copa.plans import PlanBatch
from copa.plans.writers import OWN_COLUMNS, CsvWriter, plans_into, require_free_names, written_table
from unit.plans.plan_batches import german_batch


@pytest.fixture(scope="module")
def batch():
    return german_batch()


def test_there_is_a_row_per_option_and_one_for_who_has_none(batch):
    table = written_table(batch)
    assert table.columns.tolist() == [*OWN_COLUMNS, *batch.options.columns]
    expected = [max(count, 1) for count in batch.counts]
    assert table.groupby("applicant", sort=False).size().tolist() == expected
    assert table["option"].dropna().tolist() == [1, 2, 3, 1, 2, 1]
    alone = table[table["option"].isna()]
    assert alone[["option_guarantee", "age", "option_changes"]].isna().all().all()
    assert (alone["plan_status"] != "").all()


def test_numbers_and_rows_are_those_of_the_batch(batch):
    table = written_table(batch).dropna(subset="option").reset_index(drop=True)
    np.testing.assert_array_equal(table["option_guarantee"], batch.option_lower)
    np.testing.assert_array_equal(table["all_guarantee"], batch.lower[batch.owner])
    for name in batch.options.columns:
        assert table[name].tolist() == batch.options[name].tolist()
    assert table["option_changes"][2] == "duration: 48 -> 24; savings: A61 -> A63"


def test_dtypes_do_not_depend_on_who_is_in_the_batch(batch):
    without, full = written_table(batch[3:4]), written_table(batch[:1])
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
        "csv": lambda: len(pd.read_csv(path)) == len(written_table(batch)),
        "parquet": lambda: pd.read_parquet(path)["age"].tolist() == written_table(batch)["age"].tolist(),
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


def test_own_names_are_not_free():
    require_free_names(["status", "age"])
    with pytest.raises(copa.DataError, match="the columns 'option', 'plan_status', which a table of plans needs"):
        require_free_names(["option", "age", "plan_status"])


FORMULA = "=cmd|' /C calc'!A1"


def with_formulas(batch):
    """A batch whose labels, cells, message and one name of a column begin formulas, and with negative numbers."""
    names = {"savings": "@savings"}
    return replace(
        batch,
        applicants=batch.applicants.rename(columns=names).set_axis([f"+{k}{FORMULA}" for k in range(7)]),
        options=batch.options.rename(columns=names).assign(**{"@savings": FORMULA, "age": -5, "housing": "-1"}),
        message=np.full(7, f"\t{FORMULA}"),
    )


def written(batch, tmp_path, **more):
    with plans_into(tmp_path / "plans.csv", **more) as writer:
        writer.add(batch)
    return read_cells(tmp_path / "plans.csv")


def read_cells(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_cells_and_names_that_begin_a_formula_are_quoted_and_numbers_are_not(batch, tmp_path):
    header, *rows = written(with_formulas(batch), tmp_path)
    assert "'@savings" in header
    first = dict(zip(header, rows[0], strict=True))
    assert first["'@savings"] == f"'{FORMULA}"
    assert first["applicant"] == f"'+0{FORMULA}"
    assert first["plan_message"] == f"'\t{FORMULA}"
    assert first["age"] == "-5"
    assert first["housing"] == "-1"
    assert not [cell for row in [header, *rows] for cell in row if cell and begins_formula(cell) and cell[0] != "'"]


def test_raw_cells_are_as_they_are(batch, tmp_path):
    header, *rows = written(with_formulas(batch), tmp_path, raw_cells=True)
    assert dict(zip(header, rows[0], strict=True))["@savings"] == FORMULA


def test_what_was_quoted_is_read_back_as_it_was(batch, tmp_path):
    whole = with_formulas(batch)
    whole = replace(whole, options=whole.options.assign(**{"@savings": [FORMULA, "'=x", "''+y", "'", "a", "-3"]}))
    written(whole, tmp_path)
    table = read_options(tmp_path / "plans.csv").dropna(subset="option")
    assert table["@savings"].tolist() == whole.options["@savings"].tolist()
    assert table["applicant"].tolist() == whole.applicants.index[whole.owner].tolist()


def test_apostrophes_in_tables_of_others_stay(tmp_path):
    (tmp_path / "theirs.csv").write_text("applicant,job\n1,'=x\n")
    assert read_options(tmp_path / "theirs.csv")["job"].tolist() == ["'=x"]
