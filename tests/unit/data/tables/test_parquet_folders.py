"""A folder of Parquet files is read as one table."""

import pandas as pd
import pytest

from copa.data.tables.files import open_table, read_applicants
from copa.exceptions import DataError, InvalidInputError

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


@pytest.mark.parametrize("reading", [{}, {"label": "name"}, {"group": "name"}])
def test_the_files_together_are_the_whole_table(folder, reading):
    whole = read_applicants(open_table(folder.parent / "whole.parquet"), TEMPLATE, **reading)
    pd.testing.assert_frame_equal(read_applicants(open_table(folder), TEMPLATE, **reading), whole)


def test_labels_that_are_text_in_one_file_are_text(tmp_path):
    pd.DataFrame({"name": [1, 2], "amount": 1, "paid": True}).to_parquet(tmp_path / "a.parquet")
    pd.DataFrame({"name": ["x", "4"], "amount": 1, "paid": True}).to_parquet(tmp_path / "b.parquet")
    assert list(read_applicants(open_table(tmp_path), TEMPLATE, label="name").index) == ["1", "2", "x", "4"]


def test_the_digest_tells_names_and_contents_apart(folder):
    before = open_table(folder).digest()
    assert before == open_table(folder).digest()
    (folder / "b.parquet").rename(folder / "b2.parquet")
    assert before != open_table(folder).digest()
    (folder / "b2.parquet").rename(folder / "b.parquet")
    (folder / "b.parquet").write_bytes((folder / "a.parquet").read_bytes())
    assert before != open_table(folder).digest()


def test_files_are_in_the_order_of_their_names_and_hidden_ones_are_left_out(folder):
    assert [path.name for path in open_table(folder).files] == ["a.parquet", "b.parquet", "c.pq"]


def test_a_folder_without_tables_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="holds no Parquet file"):
        open_table(tmp_path)
    with pytest.raises(InvalidInputError, match="does not exist"):
        open_table(tmp_path / "none")
    pd.DataFrame({"amount": [], "paid": []}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataError, match="has no rows"):
        read_applicants(open_table(tmp_path), TEMPLATE)


def test_a_file_that_lacks_a_column_or_is_damaged_is_named(folder):
    pd.DataFrame({"amount": [1]}).to_parquet(folder / "b.parquet")
    with pytest.raises(DataError, match=r"b.parquet lacks the column 'paid'"):
        read_applicants(open_table(folder), TEMPLATE)
    (folder / "b.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(DataError, match=r"b.parquet is not a Parquet file, or is damaged"):
        open_table(folder)
