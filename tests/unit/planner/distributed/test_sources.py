"""Partitions of files: every applicant is in one of them, in the dtypes of the whole table."""

import pandas as pd
import pytest

from copa.data.tables.files import open_table, read_applicants
from copa.exceptions import DataError, InvalidInputError
from copa.planner.distributed.engines import ThisProcess
from copa.planner.distributed.folder import PartFolder
from copa.planner.distributed.run import fill_folder
from copa.planner.distributed.sources import CutTable, ParquetFolder, Reading, parquet_files

TEMPLATE = pd.DataFrame({"amount": pd.Series([], dtype="int64"), "paid": pd.Series([], dtype=bool)})


@pytest.fixture
def folder(tmp_path):
    """Three files of 7, 5 and 3 rows in groups of two, the second with a missing amount."""
    table = pd.DataFrame({"name": range(15), "amount": range(100, 115), "paid": [True, False, True] * 5})
    missing = table.astype({"amount": "Int64"})
    missing.loc[9, "amount"] = pd.NA
    (tmp_path / "in" / "deep").mkdir(parents=True)
    table.iloc[:7].to_parquet(tmp_path / "in" / "a.parquet", row_group_size=2)
    missing.iloc[7:12].to_parquet(tmp_path / "in" / "b.parquet", row_group_size=2)
    table.iloc[12:].to_parquet(tmp_path / "in" / "deep" / "c.pq", row_group_size=2)
    (tmp_path / "in" / "_SUCCESS").touch()
    (tmp_path / "in" / "_old.parquet").write_bytes(b"no table")
    missing.to_parquet(tmp_path / "whole.parquet")
    return tmp_path / "in"


def partitions(path, rows=3, **reading):
    source = ParquetFolder(path, Reading(TEMPLATE, **reading), rows)
    source.with_dtypes([part.survey() for part in source.partitions])
    return source.partitions


@pytest.mark.parametrize("reading", [{}, {"label": "name"}, {"group": "name"}])
def test_the_partitions_together_are_the_whole_table(folder, reading):
    whole = read_applicants(open_table(folder.parent / "whole.parquet"), TEMPLATE, **reading)
    found = [part.read() for part in partitions(folder, **reading)]
    assert [len(table) for table in found] == [3, 3, 1, 3, 2, 3]
    assert all((table.dtypes == whole.dtypes).all() for table in found)
    pd.testing.assert_frame_equal(pd.concat(found), whole, check_index_type=False)


def test_labels_that_are_text_in_one_partition_are_text_in_all(tmp_path):
    pd.DataFrame({"name": [1, 2], "amount": 1, "paid": True}).to_parquet(tmp_path / "a.parquet")
    pd.DataFrame({"name": ["x", "4"], "amount": 1, "paid": True}).to_parquet(tmp_path / "b.parquet")
    assert [list(part.read().index) for part in partitions(tmp_path, label="name")] == [["1", "2"], ["x", "4"]]


def test_a_row_that_is_no_number_makes_objects_of_the_column_in_all_partitions(tmp_path):
    pd.DataFrame({"amount": ["1", "2"], "paid": True}).to_parquet(tmp_path / "a.parquet")
    pd.DataFrame({"amount": ["much", "4"], "paid": True}).to_parquet(tmp_path / "b.parquet")
    assert [part.read()["amount"].tolist() for part in partitions(tmp_path)] == [[1, 2], ["much", 4]]


def test_the_origin_tells_names_and_contents_apart(folder):
    def origin():
        return ParquetFolder(folder, Reading(TEMPLATE)).origin

    before = origin()
    assert before == origin()
    (folder / "b.parquet").rename(folder / "b2.parquet")
    assert before != origin()
    (folder / "b2.parquet").rename(folder / "b.parquet")
    (folder / "b.parquet").write_bytes((folder / "a.parquet").read_bytes())
    assert before != origin()


def test_a_table_in_memory_is_cut_up(folder):
    table = read_applicants(open_table(folder.parent / "whole.parquet"), TEMPLATE)
    source = CutTable(table, "people.csv", "digest", 4)
    assert [part.n_rows for part in source.partitions] == [4, 4, 4, 3]
    assert source.partitions[3].place == "people.csv, rows 12 to 14"
    pd.testing.assert_frame_equal(pd.concat([part.read() for part in source.partitions]), table)


def test_files_are_in_the_order_of_their_names_and_hidden_ones_are_left_out(folder):
    assert [path.name for path in parquet_files(folder)] == ["a.parquet", "b.parquet", "c.pq"]


def test_a_folder_without_tables_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="holds no Parquet file"):
        parquet_files(tmp_path)
    with pytest.raises(InvalidInputError, match="does not exist"):
        parquet_files(tmp_path / "none")
    pd.DataFrame({"amount": []}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataError, match="has no rows"):
        ParquetFolder(tmp_path, Reading(TEMPLATE))


def test_a_partition_that_cannot_be_read_is_named_and_the_others_are_kept(bank, tmp_path):
    from unit.planner import loans

    table = loans.people(6, 5)
    broken = table.iloc[4:].drop(columns="debt")
    source = CutTable(table.iloc[:4], "people.csv", "digest", 2)
    source.partitions.append(CutTable(broken, "others.csv", "digest", 2).partitions[0])
    parts = PartFolder(tmp_path / "plans", {"input": source.origin}, 3)
    words = (
        r"partition 2 \(others.csv, rows 0 to 1\): InvalidInputError: X must have a column 'debt'.*2 of 3 partitions"
    )
    with parts.begun(), pytest.raises(DataError, match=words):
        fill_folder(parts, source, ThisProcess(bank))
    assert parts.finished == [0, 1]
    assert not (tmp_path / "plans" / "_SUCCESS").exists()


def test_a_damaged_file_is_named_before_anything_is_planned(bank, tmp_path):
    path = tmp_path / "people.parquet"
    pd.DataFrame({"amount": [1, 2], "paid": [True, False]}).to_parquet(path)
    source = ParquetFolder(path, Reading(TEMPLATE), 1)
    path.write_bytes(b"PAR1 no more")
    parts = PartFolder(tmp_path / "plans", {}, 2)
    with parts.begun(), pytest.raises(DataError, match=r"partition 0 \(.*people.parquet, rows 0 to 0\): DataError"):
        fill_folder(parts, source, ThisProcess(bank))
