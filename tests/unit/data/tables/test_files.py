from pathlib import Path

import pandas as pd
import pytest

from copa.exceptions import InvalidInputError
from copa.plans.external import read_plans

COLUMNS = ["code", "age", "rate", "member", "level"]
LEVELS = pd.CategoricalDtype([1, 2, 3], ordered=True)


@pytest.fixture
def applicants():
    return pd.DataFrame(
        {
            "code": ["01", "02"],
            "age": [20, 30],
            "rate": [0.1, 1 / 3],
            "member": [True, False],
            "level": pd.Categorical([1, 2], dtype=LEVELS),
        },
        index=pd.Index(["007", "008"]),
    )


@pytest.fixture
def options(applicants):
    """Options whose decimals need every digit and whose text needs quotes."""
    later = applicants.assign(age=[21, 31], rate=[0.1 + 0.2, 2 / 3], level=pd.Categorical([3, 3], dtype=LEVELS))
    return later.assign(code=["03", 'a,"b"\nc']).rename_axis("applicant")


def written(tmp_path, text, name="plans.csv"):
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("as_path", [str, Path])
def test_a_csv_file_gives_back_the_table_written_to_it(tmp_path, applicants, options, as_path, encoding):
    path = tmp_path / "plans.CSV"
    options.assign(outcome=1).to_csv(path, encoding=encoding)
    plans = read_plans(as_path(path), COLUMNS, applicants)
    pd.testing.assert_frame_equal(plans.options, options.reset_index(drop=True))
    assert plans.owner.tolist() == [0, 1]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_may_end_as_on_any_system(tmp_path, applicants, end):
    lines = ["applicant,code,age,rate,member,level", "008,01,20,0.1,true,1", "007,02,30,0.2,false,2"]
    plans = read_plans(written(tmp_path, end.join(lines)), COLUMNS, applicants)
    assert plans.options["level"].tolist() == [1, 2]
    assert plans.owner.tolist() == [1, 0]


def test_an_empty_cell_is_a_missing_value(tmp_path, applicants):
    path = written(tmp_path, "applicant,code,age,rate,member,level\n007,,,,1,\n\n008,1,2,0.5,0,2\n")
    options = read_plans(path, COLUMNS, applicants).options
    assert options.isna().to_numpy().tolist() == [[True, True, True, False, True], [False] * 5]
    assert options["age"].dtype == "float64"
    assert options["code"].tolist()[1] == "1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("applicant,code,age,rate,member,level\n", "at least one row"),
        ("applicant,code,age,rate,member,level\n007,01,20,0.1,1,1\n008,02,30\n", "line 3 has 3 cells, the header 6"),
        ("applicant,code,age,rate,member,level\n007,01,20,0.1,1,1,\n", "line 2 has 7 cells, the header 6"),
        ('applicant,code\n007,"01\n', "is not a CSV file"),
        (b"applicant,code\n007,\xff\n", r"is not text in UTF-8 \(invalid start byte: b'\\xff'\)"),
        ("applicant,code,age,rate,member\n007,01,20,0.1,1\n", "no column 'level'"),
        ("applicant,code,age,rate,member,level\n7,01,20,0.1,1,1\n", "applicant '7'.*'007', '008'"),
        ("applicant,code,age,rate,member,level\n007,01,old,0.1,1,1\n", "'age' must hold numbers.*'old' in row 0"),
    ],
)
def test_a_damaged_csv_file_is_refused(tmp_path, applicants, text, message):
    with pytest.raises(InvalidInputError, match=message):
        read_plans(written(tmp_path, text), COLUMNS, applicants)


@pytest.mark.parametrize("name", ["missing.csv", "missing.json"])
def test_a_missing_file_is_named_with_the_place_looked_at(tmp_path, monkeypatch, applicants, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInputError, match=f"{name} does not exist .looked for {tmp_path}/{name}"):
        read_plans(name, COLUMNS, applicants)


def test_a_folder_is_no_file(tmp_path, applicants):
    folder = tmp_path / "plans.csv"
    folder.mkdir()
    with pytest.raises(InvalidInputError, match="holds no Parquet file"):
        read_plans(folder, COLUMNS, applicants)


@pytest.mark.parametrize("source", ["plans.xlsx", Path("plans.parquet"), "[1, 2]", "", 5, None])
def test_what_is_none_of_the_forms_is_refused_with_their_list(applicants, source):
    with pytest.raises(InvalidInputError, match=r"source must be a DataFrame of options.*\.csv or \.json.*got"):
        read_plans(source, COLUMNS, applicants)


@pytest.mark.parametrize(("text", "message"), [('{"test_data": ', "is not JSON"), ("[]", "must be a JSON object")])
def test_a_damaged_json_file_is_refused_by_name(tmp_path, applicants, text, message):
    path = written(tmp_path, text, "plans.json")
    with pytest.raises(InvalidInputError, match=rf"plans\.json {message}"):
        read_plans(path, COLUMNS, applicants)
