import numpy as np
import pandas as pd
import pytest

import copa
from copa.data.tables import files
from copa.data.tables.casting import kinds_of, template_of
from copa.data.tables.files import open_table, read_applicants, read_table


def table_of(path, content, delimiter=","):
    if isinstance(content, str):
        content = content.encode()
    path.write_bytes(content)
    return open_table(path, delimiter)


@pytest.fixture
def csv(tmp_path):
    return lambda content, delimiter=",": table_of(tmp_path / "t.csv", content, delimiter)


def whole(table):
    return read_table(table, table.names, {})[0]


def test_a_byte_order_mark_and_empty_lines_are_no_part_of_the_table(csv):
    frame = whole(csv(b"\xef\xbb\xbfa,b\r\n1,x\r\n\r\n2,y\r\n"))
    assert frame.to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}


def test_quotes_hold_commas_and_lines(csv):
    assert whole(csv('a,b\n"1,5","x\ny"\n')).to_dict("list") == {"a": ["1,5"], "b": ["x\ny"]}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,b\n1,2,3\n", "line 2 has 3 cells, the header 2"),
        ("a,b\n1\n", "line 2 has 1 cells, the header 2"),
        ("a;b\n1;2\n", "seem to be separated by semicolons; add --delimiter ';'"),
        ("a\tb\n1\t2\n", "separated by tabs"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "is not text in UTF-8"),
        (b"PK\x03\x04\x14\x00\x00\x00,b\n1,2\n", "is not a CSV file: its first line holds"),
        ("größe\n1\n".encode("latin-1"), "is not text in UTF-8"),
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("a,b\n", "has no rows"),
        ("a,a\n1,2\n", "more than one column 'a'"),
        ('a,b\n"1,2\n', "is not a CSV file: line"),
    ],
)
def test_what_is_wrong_with_a_csv_file_is_said(csv, content, words):
    with pytest.raises(copa.DataError, match=words):
        whole(csv(content))


def test_another_delimiter_can_be_given(csv):
    assert whole(csv("a;b\n1;2,5\n", ";")).to_dict("list") == {"a": [1], "b": ["2,5"]}


def test_a_tab_can_be_spelt_out_and_is_what_tsv_means(csv, tmp_path):
    assert csv("a\tb\n1\t2\n", "\\t").names == ["a", "b"]
    assert table_of(tmp_path / "t.tsv", "a\tb\n1\t2\n").names == ["a", "b"]
    with pytest.raises(copa.InvalidInputError, match="--delimiter must be one character, got ', '"):
        csv("a, b\n", ", ")


def test_a_missing_column_is_named_with_the_nearest_one(csv):
    with pytest.raises(copa.DataError, match="lacks the column 'income'; did you mean 'incom'"):
        read_table(csv("incom\n1\n"), ["income"], {})


def test_files_that_are_none_and_other_endings_are_misuse(tmp_path):
    with pytest.raises(copa.InvalidInputError, match="does not exist"):
        open_table(tmp_path / "none.csv")
    (tmp_path / "t.xlsx").write_bytes(b"x")
    with pytest.raises(copa.InvalidInputError, match=r"must be a \.csv or \.parquet file, got t.xlsx"):
        open_table(tmp_path / "t.xlsx")


def test_a_damaged_parquet_file_is_named(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"PAR1 not")
    with pytest.raises(copa.DataError, match="is not a Parquet file"):
        open_table(tmp_path / "t.parquet")


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(files, "CHUNK", 3)


FRAME = pd.DataFrame(
    {
        "whole": [1, 2, 3, 4, 5, 6, 7],
        "gaps": [1, 2, 3, 4, None, 6, 7],
        "code": ["01", "02", "03", "04", "05", "06", "07"],
        "late": ["1", "2", "3", "4", "5", "6", "oops"],
        "other": range(7),
    }
)
KINDS = {"code": "text", "whole": "integer", "gaps": "integer", "late": "integer"}


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_dtypes_do_not_depend_on_where_a_chunk_ends(tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    FRAME.to_csv(path, index=False) if ending == "csv" else FRAME.to_parquet(path, row_group_size=2)
    people = read_applicants(open_table(path), template_of(KINDS))
    assert people.columns.tolist() == list(KINDS)
    assert people.dtypes.tolist() == [pd.Series(["a"]).dtype, np.int64, np.float64, object]
    assert people.index.tolist() == list(range(7))
    assert people["late"].tolist() == [1, 2, 3, 4, 5, 6, "oops"]
    assert [type(value) for value in people["late"]] == [int] * 6 + [str]


def test_a_template_holds_the_kinds_of_its_columns():
    kinds = KINDS | {"gaps": "number", "yes": "truth"}
    assert kinds_of(template_of(kinds)) == kinds
    assert len(template_of(kinds)) == 0


@pytest.mark.usefixtures("small_blocks")
def test_applicants_are_named_by_a_column_of_whole_numbers_or_text(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    table, template = open_table(tmp_path / "t.csv"), template_of({"whole": "integer"})
    assert read_applicants(table, template, label="other").index.tolist() == list(range(7))
    mixed = read_applicants(table, template, label="late")
    assert mixed.index.tolist() == ["1", "2", "3", "4", "5", "6", "oops"]
    assert mixed.columns.tolist() == ["whole"]


def test_an_applicant_without_a_name_is_an_error(csv):
    with pytest.raises(copa.DataError, match="row 1 has no 'id'"):
        read_applicants(csv("id,a\n7,1\n,2\n"), template_of({"a": "integer"}), label="id")


def test_a_group_is_kept_as_text(csv):
    frame = read_applicants(csv("g,a\n1,1\n2,2\n"), template_of({"a": "integer"}), group="g")
    assert frame["g"].tolist() == ["1", "2"]


def test_columns_are_left_out_by_name_or_by_position(csv):
    table = csv("id,a,b,a\n7,1,2,3\n")
    with pytest.raises(copa.DataError, match=r"column 'a', numbers 2 and 4 of 4; rename .* --drop \"#4\""):
        table.require_distinct()
    table.leave_out(["id", "#4"])
    assert table.names == ["a", "b"]
    assert whole(table).to_dict("list") == {"a": [1], "b": [2]}


def test_a_column_that_is_called_like_a_position_is_meant_by_its_name(csv):
    table = csv("a,#1\n1,2\n")
    table.leave_out(["#1"])
    assert table.names == ["a"]


@pytest.mark.parametrize(
    ("column", "words"), [("ag", "did you mean 'age'"), ("#4", "has 2 columns"), ("#0", "no number")]
)
def test_a_column_to_leave_out_must_be_there(csv, column, words):
    with pytest.raises(copa.InvalidInputError, match=words):
        csv("age,b\n1,2\n").leave_out([column])


def test_one_of_two_columns_of_a_parquet_file_is_read(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    pq.write_table(pa.table([[1], [2], [3]], names=["a", "b", "a"]), tmp_path / "t.parquet")
    table = open_table(tmp_path / "t.parquet")
    table.leave_out(["#1"])
    assert whole(table).to_dict("list") == {"b": [2], "a": [3]}


def test_blanks_around_names_are_left_out_with_a_note_and_both_spellings_found(csv):
    table = csv(" age ,b\n1,2\n")
    assert table.names == ["age", "b"]
    assert table.notes == ["blanks around the names of columns are left out: ' age '"]
    assert read_table(table, [" age "], {})[0].to_dict("list") == {" age ": [1]}
    assert csv("a, a\n1,2\n").names == ["a", " a"]  # which would be the same
    assert csv("a,b\n1,2\n").notes == []
