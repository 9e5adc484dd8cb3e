import gzip
import os
from importlib.resources import files
from pathlib import Path

import pandas as pd
import pytest

import copa
from copa.data.datasets import load_student
from copa.data.datasets.bundled import SHA256

PAPER_DATA = Path(os.environ.get("COPA_DATA", Path(__file__).parents[5] / "shared" / "data"))


def test_it_has_the_published_size_and_classes():
    data = load_student()
    assert data.features.shape == (649, 32)
    assert data.favourable.dtype == bool
    assert data.favourable.sum() == 348


def test_the_final_grade_is_not_among_the_features_and_the_earlier_ones_are_numbers():
    features = load_student().features
    assert "G3" not in features
    assert pd.api.types.is_integer_dtype(features["G1"])
    assert pd.api.types.is_integer_dtype(features["G2"])
    assert set(features["internet"]) == {"no", "yes"}


def test_favourable_is_a_final_grade_of_at_least_twelve():
    stored = gzip.decompress(files("copa.data.datasets").joinpath("student_por.csv.gz").read_bytes())
    grades = [int(line.rpartition(b";")[2]) for line in stored.splitlines()[1:]]
    assert load_student().favourable.tolist() == [grade >= 12 for grade in grades]


def test_a_damaged_file_is_refused(monkeypatch):
    monkeypatch.setitem(SHA256, "student", "0" * 64)
    with pytest.raises(copa.DataError, match=r"student_por\.csv\.gz is not the published file .* SHA-256"):
        load_student()


@pytest.mark.skipif(not (PAPER_DATA / "gp_student.csv").exists(), reason="the paper's data are not here")
def test_the_papers_files_are_the_two_schools():
    data = load_student()
    for school, file in (("GP", "gp_student.csv"), ("MS", "ms_student.csv")):
        rows = data.features["school"] == school
        paper = pd.read_csv(PAPER_DATA / file)
        assert len(paper) == rows.sum()
        assert paper.iloc[:, -1].tolist() == data.favourable[rows].astype(int).tolist()
