import shutil

import pytest

from e2e.command_runs import fit_bank, write_bank


@pytest.fixture(scope="session")
def fitted_bank(tmp_path_factory):
    """The files of a small bank, and its bundle."""
    folder = write_bank(tmp_path_factory.mktemp("fitted"))
    fit_bank(folder)
    return folder


@pytest.fixture(scope="module")
def bank(fitted_bank, tmp_path_factory):
    """A copy of these files, which a module may add to."""
    return shutil.copytree(fitted_bank, tmp_path_factory.mktemp("bank") / "bank")


@pytest.fixture(scope="module")
def bundle(bank):
    return bank / "bank.bundle"


@pytest.fixture
def small_blocks(monkeypatch):
    """Parts of 16 applicants, so that 60 of them make four."""
    monkeypatch.setattr("copa.planner.runs.PART_ROWS", 16)
    monkeypatch.setattr("copa.data.tables.files.CHUNK", 7)
