"""What columns look like: identifiers, protected attributes, ages and special codes."""

import numpy as np
import pandas as pd
import pytest

from copa.data.schema.recognition import MOST_TEXTS, many_texts, special_codes, why_immutable, words_of


def why(name, values=(1, 2, 1), kind="integer"):
    return why_immutable(pd.Series(list(values), name=name), kind)


def test_names_are_cut_into_words():
    assert words_of("AgeGroup_2") == ["age", "group"]
    assert words_of("customerID") == ["customer", "id"]
    assert words_of("âge (années)") == ["age", "annees"]
    assert words_of("Nationalität") == ["nationalitat"]
    assert words_of("XMLKey") == ["xml", "key"]


PROTECTED = """sex Gender applicant_race ETHNICITY religion nationality MaritalStatus personal_status foreign_worker
native.country disability Geschlecht Familienstand sexe estado-civil statut_etat_civil género Staatsangehörigkeit"""
OTHERS = """average age_of_account oldest_trade_age car_age sexton essex embrace wage usage job_status amount
account_number country family_size"""


@pytest.mark.parametrize("name", PROTECTED.split())
def test_protected_attributes_are_recognised(name):
    assert why(name) == "looks like a protected attribute"


@pytest.mark.parametrize("name", ["age", "Age", "AGE_YEARS", "age_group", "ageGroup", "Alter", "edad", "âge", "age_2"])
def test_ages_are_recognised(name):
    assert why(name) == "looks like an age"


@pytest.mark.parametrize("name", ["date_of_birth", "dob", "BirthYear", "Geburtsdatum"])
def test_births_are_recognised(name):
    assert why(name) == "looks like a date or year of birth"


@pytest.mark.parametrize("name", OTHERS.split())
def test_other_names_are_let_be(name):
    assert why(name) == ""


def test_numbers_of_which_every_row_has_its_own_are_identifiers_by_name():
    numbers = np.arange(1000, 1100)
    assert why("customer_id", numbers) == "looks like an identifier: nearly every row has its own"
    assert why("Kundennummer", numbers)
    assert why("income", numbers) == ""
    assert why("customer_id", numbers // 2) == ""
    assert why("customer_id", numbers[:10]) == ""
    assert why("customer_id", numbers + 0.5, "numeric") == ""


def test_texts_of_which_every_row_has_its_own_are_identifiers():
    texts = [f"person {k}" for k in range(100)]
    assert why("name", texts, "categorical") == "looks like an identifier: 100 different values in 100 rows"
    assert why("name", texts * 2, "categorical") == ""


@pytest.mark.parametrize(
    ("numbers", "codes"),
    [
        ([*range(100), -9, -8, -7], (-9, -8, -7)),
        ([*range(0, 100_000, 500), -9], (-9,)),
        ([*range(100), -999, -999], (-999,)),
        ([0.5, 1.5, 2.5, -99.0], (-99,)),
        ([*range(100), -50, -50], (-50,)),
        ([*range(100), -50], ()),  # a single one may be an amount
        ([*range(100), -1, -1], ()),  # next to the amounts
        ([*range(-10, 100)], ()),
        ([*range(100), -9.5, -9.5], ()),
        ([*range(100), 999, 999, 9999], ()),
        ([-9, -8, 1, 2], ()),
        ([-9, -9], ()),
        ([], ()),
    ],
)
def test_special_codes_are_few_isolated_and_negative(numbers, codes):
    assert special_codes(np.array(numbers, dtype=float)) == codes


@pytest.mark.parametrize("name", ["Unnamed: 0", "index", ""])
def test_a_column_that_counts_the_rows_is_no_advice(name):
    assert why_immutable(pd.Series(range(5), name=name), "integer") == "counts the rows"
    assert why_immutable(pd.Series([4, 1, 3, 0, 2], name=name), "integer") == ""


def test_texts_are_many_where_no_choice_has_so_many():
    texts = [f"note {k}" for k in range(MOST_TEXTS + 1)]
    table = pd.DataFrame(
        {"note": texts, "name": texts, "job": ["clerk", *texts[1:-1], "clerk"], "income": range(len(texts))}
    )
    assert many_texts(table, ["name"]) == {
        "note": "column 'note' holds 201 different texts in 201 rows, which is no choice between values"
    }
