"""What the tests of the ledger share."""

import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import sqlalchemy as sa

TERMS = {"model_version": "2026-01", "valid_for": "12 months", "made": "2026-01-15"}
IN_TIME, TOO_LATE = "2026-06-30", "2027-02-01"


def execute(ledger, statement, /, **values):
    """Change a database behind the back of its ledger."""
    engine = ledger._database.engine
    with engine.connect().execution_options(copa_writes=True) as connection, connection.begin():
        if ledger._database.is_sqlite:
            connection.exec_driver_sql("PRAGMA defer_foreign_keys=ON")
        return connection.execute(sa.text(statement), values).rowcount


def query(ledger, statement, /, **values):
    with ledger._database.reading() as connection:
        return connection.execute(sa.text(statement), values).all()


def copied(ledger, target: Path) -> Path:
    """A copy of an SQLite ledger in one file."""
    ledger._database.outside("PRAGMA wal_checkpoint(TRUNCATE)")  # the write-ahead log is in the file now
    shutil.copy(ledger._database.file, target)
    return target


def content(file: Path) -> list[str]:
    """All that any query can find in the tables of an SQLite file."""
    connection = sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)
    try:
        if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            return ["damaged"]
        return [line for line in connection.iterdump() if line.startswith("INSERT")]
    except (sqlite3.Error, UnicodeDecodeError) as error:
        return [repr(error)]
    finally:
        connection.close()


def repeated(batch, n_promises):
    """A batch of many applicants with the plans of a few."""
    times = -(-n_promises // len(batch.options))
    rows = np.tile(np.arange(len(batch)), times)
    many = batch.select(rows)
    return replace(many, applicants=many.applicants.set_axis([f"person {k}" for k in range(len(rows))]))
