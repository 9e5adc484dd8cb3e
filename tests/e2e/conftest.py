import pytest


@pytest.fixture
def small_blocks(monkeypatch):
    """Parts of 16 applicants, so that 60 of them make four."""
    monkeypatch.setattr("copa.planner.runs.PART_ROWS", 16)
    monkeypatch.setattr("copa.data.tables.files.CHUNK", 7)
