import uuid

import pytest

from copa.promises import Ledger
from postgres_server import reason_without, running_server


@pytest.fixture(scope="session")
def server():
    """The URL of a PostgreSQL server for this session."""
    reason = reason_without()
    if reason is not None:
        pytest.skip(reason)
    with running_server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """An empty database of either kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/promises.db"
    import psycopg

    server, name = request.getfixturevalue("server"), f"t{uuid.uuid4().hex}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"{server}/{name}"


@pytest.fixture
def ledger(url):
    """An empty ledger of either kind."""
    with Ledger.open(url, create=True) as opened:
        yield opened


@pytest.fixture
def small(tmp_path):
    """An empty ledger on SQLite."""
    with Ledger.open(tmp_path / "small.db", create=True) as opened:
        yield opened


@pytest.fixture
def set_today(monkeypatch):
    """Say what day it is."""
    from datetime import UTC, datetime

    def set_clock(day):
        noon = datetime.fromisoformat(f"{day}T12:00").replace(tzinfo=UTC)
        monkeypatch.setattr("copa.promises.days.now", lambda: noon)

    return set_clock
