import gzip
import os
from importlib.resources import files
from pathlib import Path

import pandas as pd
import pytest

import copa
from copa.data.datasets import load_german
from copa.data.datasets.bundled import SHA256

PAPER_DATA = Path(os.environ.get("COPA_DATA", Path(__file__).parents[5] / "shared" / "data"))


def test_it_has_the_published_size_and_classes():
    data = load_german()
    assert data.features.shape == (1000, 20)
    assert data.favourable.sum() == 700


def test_numbers_are_numbers_and_codes_are_codes():
    features = load_german().features
    numeric = [column for column in features if pd.api.types.is_integer_dtype(features[column])]
    assert numeric == [
        "duration",
        "amount",
        "installment_rate",
        "residence_since",
        "age",
        "existing_credits",
        "dependents",
    ]
    codes = features.drop(columns=numeric)
    assert codes.apply(lambda column: column.str.fullmatch(r"A\d+").all()).all()


def test_each_call_gives_a_fresh_table():
    features = load_german().features
    features.loc[0, "age"] = -1
    assert load_german().features.loc[0, "age"] == 67


def test_a_damaged_file_is_refused(monkeypatch):
    monkeypatch.setitem(SHA256, "german", "0" * 64)
    with pytest.raises(copa.DataError, match="SHA-256"):
        load_german()


def test_the_file_is_stored_as_published():
    stored = files("copa.data.datasets").joinpath("german.data.gz").read_bytes()
    assert gzip.decompress(stored).startswith(b"A11 6 A34 A43 1169")


@pytest.mark.skipif(not (PAPER_DATA / "german_small.csv").exists(), reason="the paper's data are not here")
def test_the_papers_file_holds_the_same_rows_in_the_same_order():
    paper = pd.read_csv(PAPER_DATA / "german_small.csv")
    data = load_german()
    ours = data.features[["duration", "amount", "personal_status", "age"]].assign(label=data.favourable.astype(int))
    assert (paper.to_numpy() == ours.to_numpy()).all()
