import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copa.data.tables.files import begins_formula, quoted, quoted_table, unquoted, unquoted_table

TEXTS = st.text(alphabet="'=+-@\uff1d\uff20 \t\r\n\u202e1.e5a", max_size=6)


SIGNS = ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\uff1d1+1", "\uff0b1+1", "\uff0d1+1", "\uff20x"]
HIDDEN = ["\t=1", "\r=1", "\tx", "  =1+1", "\u202e=1", "\ufeff=1", "\x00=1"]


@pytest.mark.parametrize("text", [*SIGNS, *HIDDEN, "-", "+49 30 1234"])
def test_text_that_a_spreadsheet_might_run_is_quoted(text):
    assert quoted(text) == f"'{text}"


@pytest.mark.parametrize("cell", ["-5", "+5", "-1.5e-3", "-.5", "a=b", "A61", "", "it's", "'", -5, -1.5, None, True])
def test_numbers_and_ordinary_text_stay_as_they_are(cell):
    assert quoted(cell) is cell
    assert unquoted(cell) is cell


@given(TEXTS)
def test_what_was_quoted_comes_back(text):
    assert unquoted(quoted(text)) == text


@given(TEXTS)
def test_nothing_that_is_written_begins_a_formula(text):
    written = quoted(text)
    assert written.startswith("'") or not begins_formula(written)


@given(st.lists(TEXTS, min_size=2, max_size=5, unique=True))
def test_different_texts_stay_different(texts):
    assert len({quoted(text) for text in texts}) == len(texts)


def test_missing_cells_and_odd_names_of_columns_survive():
    table = pd.DataFrame({"self": pd.array(["=a", pd.NA], dtype="string"), "=n": pd.array([-1, pd.NA], dtype="Int64")})
    changed = quoted_table(table)
    assert changed.columns.tolist() == ["self", "'=n"]
    assert changed["self"][0] == "'=a"
    assert changed.isna().to_numpy().tolist() == [[False, False], [True, True]]
    assert unquoted_table(changed)["self"][0] == "=a"
