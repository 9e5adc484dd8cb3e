import pytest


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 16 applicants, so that 60 of them make four."""
    monkeypatch.setattr("copa.cli.plan.BLOCK", 16)
    monkeypatch.setattr("copa.data.tables.files.CHUNK", 7)
