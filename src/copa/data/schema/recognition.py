"""Guesses at a column by its name and its values: an identifier, a protected attribute, an age, special codes.

These are guesses, by which a first schema is written, to be read and corrected, and by which the owner is warned when a
letter to an applicant gives a protected attribute as a reason; nothing else depends on them.
"""

import re
import unicodedata
from collections.abc import Container
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array
from copa._core.words import shown

if TYPE_CHECKING:
    import pandas as pd

# Words of names, in English, German, French and Spanish, without accents.
IDENTIFIER = """
    id ids uuid guid key index number no nr num code ref reference ident identifier ssn iban account row
    kennung nummer kundennummer matricule numero identifiant identificador codigo referencia
"""
PROTECTED = """
    sex gender race racial ethnicity ethnic caste religion religious nationality citizenship citizen immigrant
    foreigner disability disabled handicap pregnant pregnancy marital divorced widowed veteran birthplace
    geschlecht ethnie rasse konfession nationalitat staatsangehorigkeit familienstand behinderung schwanger
    sexe nationalite handicape sexo genero raza etnia nacionalidad discapacidad embarazada
"""
PROTECTED_PHRASES = (
    {"personal", "status"},
    {"civil", "status"},
    {"foreign", "worker"},
    {"native", "country"},
    {"country", "birth"},
    {"national", "origin"},
    {"sexual", "orientation"},
    {"skin", "color"},
    {"skin", "colour"},
    {"etat", "civil"},
    {"estado", "civil"},
    {"situation", "familiale"},
)
BIRTH = "birth birthday birthdate dob geburtsdatum geburtsjahr geburtstag naissance nacimiento"
AGE = "age alter edad lebensalter"
# Words that may stand beside "age"; beside others, such as account or car, it is no person's.
BESIDE_AGE = """
    in at of the years year yrs months days applicant customer client borrower person group band bucket range class
    category cat jahre jahren ans annees anos
"""
IDENTIFIER_WORDS, PROTECTED_WORDS, BIRTH_WORDS, AGE_WORDS = (
    frozenset(words.split()) for words in (IDENTIFIER, PROTECTED, BIRTH, AGE)
)
INDEX_NAME = re.compile(r"|index|level_0|Unnamed: \d+")  # as programs call an index that had no name
LEAST_ROWS = 20  # fewer say nothing about whether the values repeat
NEARLY_ALL = 0.95  # share of distinct values that makes an identifier
MOST_CODES = 5
MOST_TEXTS = 200  # different texts in a column that may change; more are names or notes, not choices
CODE_DIGITS = re.compile(r"7+|8+|9+")  # as people write -9, -88 or -999
ISOLATED = 2.0  # times the usual distance between neighbouring amounts


def words_of(name: str) -> list[str]:
    """Return the words of a column's name in lower case, without accents and digits: `AgeGroup_2` has age and group."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", plain)
    return re.findall(r"[a-z]+", spaced.lower())


def counts_rows(column: "pd.Series[Any]") -> bool:
    """Return whether a column is a nameless index: its name is none, and it counts the rows from 0 or from 1."""
    if not INDEX_NAME.fullmatch(str(column.name)) or column.dtype.kind != "i" or len(column) == 0:
        return False
    first = int(column.iloc[0])
    return first in (0, 1) and bool((column.to_numpy() == np.arange(first, first + len(column))).all())


def many_texts(table: "pd.DataFrame", spared: Container[str]) -> dict[str, str]:
    """Say what columns of text hold that have more values than a choice can have, those spared left out."""
    from pandas.api.types import is_numeric_dtype

    texts = {name: table[name] for name in table if not is_numeric_dtype(table[name].dtype) and name not in spared}
    counts = {name: int(column.nunique()) for name, column in texts.items()}
    return {
        name: f"column {shown(name)} holds {n:,} different texts in {len(table):,} rows, which is no choice between "
        "values"
        for name, n in counts.items()
        if n > MOST_TEXTS
    }


def why_protected(name: str) -> str:
    """Say why a column is one that the law may protect, by its name or title; "" where nothing speaks for it."""
    words = set(words_of(name))
    if words & PROTECTED_WORDS or any(phrase <= words for phrase in PROTECTED_PHRASES):
        return "looks like a protected attribute"
    if words & BIRTH_WORDS:
        return "looks like a date or year of birth"
    if words & AGE_WORDS and words <= AGE_WORDS.union(BESIDE_AGE.split()):
        return "looks like an age"
    return ""


def why_immutable(column: "pd.Series[Any]", kind: str) -> str:
    """Say why a column should not change, by its name and its values; "" where nothing speaks against it."""
    if counts_rows(column):
        return "counts the rows"
    if guess := why_protected(str(column.name)):
        return guess
    words = set(words_of(str(column.name)))
    seen = column.dropna()
    if len(seen) < LEAST_ROWS or kind == "numeric" or seen.nunique() < NEARLY_ALL * len(seen):
        return ""
    if kind == "categorical":
        return f"looks like an identifier: {seen.nunique()} different values in {len(seen)} rows"
    return "looks like an identifier: nearly every row has its own" if words & IDENTIFIER_WORDS else ""


def special_codes(numbers: Array) -> tuple[float, ...]:
    """Return what looks like special codes in a column of numbers (N,): few isolated negative ones among others.

    The others are not negative. The codes are whole, at most five, and of the form -9, -88 or -777, or each is there
    more than once and they are further from the amounts than these are from each other.
    """
    distinct, counts = np.unique(numbers, return_counts=True)
    negative = distinct < 0.0
    codes, amounts = distinct[negative], distinct[~negative]
    if not 1 <= len(codes) <= MOST_CODES or len(amounts) <= len(codes) or (codes != np.rint(codes)).any():
        return ()
    if not all(CODE_DIGITS.fullmatch(f"{-code:.0f}") for code in codes.tolist()):
        isolated = amounts[0] - codes[-1] > ISOLATED * np.median(np.diff(amounts))
        if not isolated or counts[negative].min() < 2:
            return ()
    return tuple(codes.tolist())
