import os
from dataclasses import replace
from pathlib import Path

import pytest

from reproduction.data.case import prepare
from reproduction.data.shifted import load_shifted
from reproduction.session import Session
from reproduction.settings import Settings

SBA_FOLDER = Path(os.environ.get("COPA_DATA", Path(__file__).parents[3] / "shared" / "data"))
TINY = replace(
    Settings.quick(),
    n_applicants=4,
    n_models=30,
    n_futures=15,
    n_samples=4000,
    n_splits=1,
    n_dice=0,
    n_benchmark=3,
    n_networks=2,
)


@pytest.fixture(scope="session")
def tiny():
    return TINY


@pytest.fixture(scope="session")
def german():
    return prepare(load_shifted("german"), TINY)


@pytest.fixture(scope="session")
def student():
    return prepare(load_shifted("student"), TINY)


@pytest.fixture
def lines():
    return []


@pytest.fixture
def session(tmp_path, lines):
    """A session without DiCE and without the SBA file, which tells what it does to `lines`."""
    empty = tmp_path / "no data"
    empty.mkdir()
    return Session(TINY, "paper", tmp_path / "out", tmp_path / "cache", empty, lines.append, progress=False)


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """The same, for all tests together: what one of them computes, the others find in its folder."""
    folder = tmp_path_factory.mktemp("shared")
    empty = folder / "no data"
    empty.mkdir()
    return Session(TINY, "paper", folder / "out", folder / "cache", empty, lambda _: None, progress=False)


@pytest.fixture(scope="session")
def sba_folder():
    if not (SBA_FOLDER / "SBAcase.csv").is_file():
        pytest.skip("SBAcase.csv does not come with the package")
    return SBA_FOLDER


@pytest.fixture(autouse=True)
def few_refits(monkeypatch):
    """Two refits of the network are enough to see the planner at work."""
    monkeypatch.setattr("reproduction.methods.planner.N_REFITS", 2)
