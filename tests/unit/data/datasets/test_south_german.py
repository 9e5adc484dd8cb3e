import gzip
from collections import Counter
from importlib.resources import files

import pandas as pd
import pytest

import copa
from copa.data.datasets import load_german, load_south_german
from copa.data.datasets.bundled import SHA256


def test_it_has_the_published_size_and_classes():
    data = load_south_german()
    assert data.features.shape == (1000, 20)
    assert data.favourable.dtype == bool
    assert data.favourable.sum() == 700
    assert data.favourable.name == "favourable"


def test_all_columns_are_whole_numbers_under_their_published_names():
    features = load_south_german().features
    assert [column for column in features if not pd.api.types.is_integer_dtype(features[column])] == []
    assert list(features.columns[:5]) == ["status", "duration", "credit_history", "purpose", "amount"]
    assert "credit_risk" not in features


def test_the_swapped_codes_are_those_of_the_code_table():
    # 155 applicants support three or more people (code 1), and 37 are foreign workers (code 1).
    features = load_south_german().features
    assert features["people_liable"].value_counts().to_dict() == {2: 845, 1: 155}
    assert features["foreign_worker"].value_counts().to_dict() == {2: 963, 1: 37}


def test_the_file_is_stored_as_it_was():
    stored = gzip.decompress(files("copa.data.datasets").joinpath("south_german.csv.gz").read_bytes())
    assert stored.splitlines()[1] == b"1,1,18,4,2,1049,1,2,4,2,1,4,2,21,3,1,1,3,1,1,1"


def test_a_damaged_file_is_refused(monkeypatch):
    monkeypatch.setitem(SHA256, "south_german", "0" * 64)
    with pytest.raises(copa.DataError, match=r"south_german\.csv\.gz is not the published file .* SHA-256"):
        load_south_german()


def test_it_describes_the_same_people_as_the_uncorrected_data():
    # But for a handful of entries the numbers agree; what was corrected are the meanings of the codes.
    def people(data):
        columns = (data.features[column] for column in ("duration", "amount", "age"))
        return Counter(zip(data.favourable, *columns, strict=True))

    assert (people(load_south_german()) & people(load_german())).total() == 990
