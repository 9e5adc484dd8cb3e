"""The file of a ledger on SQLite, below what SQL shows: its header, its structure, its schema, its bytes."""

import hashlib
import os
import sqlite3
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import sqlalchemy as sa

from copa.promises._storage.database import APPLICATION_ID, Database, migrate
from copa.promises._storage.tables import VERSION

PIECE = 2**20  # bytes that are read at a time
HEADER = 100  # bytes
# Fields of the header by position and length that are the same in every ledger. Not among them are counts that SQLite
# checks itself, the two numbers of the last writing (equal, see below), and the version of SQLite that wrote last.
CONSTANT = {
    (0, 16): b"SQLite format 3\x00",
    (18, 2): b"\x02\x02",  # write-ahead log
    (20, 4): bytes([0, 64, 32, 32]),
    (44, 4): (4).to_bytes(4, "big"),  # format of the schema
    (48, 4): bytes(4),
    (52, 4): bytes(4),
    (56, 4): (1).to_bytes(4, "big"),  # UTF-8
    (60, 4): int(VERSION).to_bytes(4, "big"),
    (64, 4): bytes(4),
    (68, 4): APPLICATION_ID.to_bytes(4, "big"),
    (72, 20): bytes(20),
}
CHANGES, CHANGES_AGAIN = slice(24, 28), slice(92, 96)

# A process that closes a file loses all locks that SQLite holds on it in the same process: these stay open.
_open_files: dict[tuple[int, int], int] = {}
_reading = Lock()


def _handle(path: Path) -> int:
    found = path.stat()
    key = (found.st_dev, found.st_ino)
    if key not in _open_files:
        _open_files[key] = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
    return _open_files[key]


def _read(handle: int, length: int, at: int) -> bytes:
    """Bytes of an open file from a position on, on every system; threads share the file and its position."""
    with _reading:
        os.lseek(handle, at, os.SEEK_SET)
        return os.read(handle, length)


def pieces(path: Path) -> Iterator[bytes]:
    """The bytes of a file, piece by piece."""
    handle, at = _handle(path), 0
    while piece := _read(handle, PIECE, at):
        yield piece
        at += len(piece)


def is_complete(path: Path) -> bool:
    """Whether all of a ledger is in its file, and nothing in the write-ahead log beside it."""
    log = path.with_name(f"{path.name}-wal")
    return not log.exists() or not log.stat().st_size


def file_digest(path: Path) -> str | None:
    """SHA-256 of the file; None where part of the ledger is in the write-ahead log."""
    if not is_complete(path):
        return None
    digest = hashlib.sha256()
    for piece in pieces(path):
        digest.update(piece)
    return digest.hexdigest()


def file_faults(database: Database, connection: sa.Connection) -> Iterator[str]:
    """Yield what is wrong with the file of a ledger: its header, its pages and indices, its schema."""
    assert database.file is not None  # noqa: S101 - it is one
    if is_complete(database.file):
        yield from _header_faults(_read(_handle(database.file), HEADER, 0))
    yield from (
        f"the file is damaged: {fault}"
        for fault in connection.scalars(sa.text("PRAGMA integrity_check(5)")).all()
        if fault != "ok"
    )
    if connection.scalars(sa.text("SELECT 1 FROM pragma_foreign_key_check")).first():
        yield "the file is damaged: a row refers to another one that is not there"
    if _schema(connection) != expected_schema():
        yield "tables or indices are not those of a ledger"


def _header_faults(header: bytes) -> Iterator[str]:
    for (at, length), expected in CONSTANT.items():
        if header[at : at + length] != expected:
            yield f"bytes {at} to {at + length - 1} of the file's header are not those of a ledger"
    if header[CHANGES] != header[CHANGES_AGAIN]:
        yield "the file's header was changed by another program"


def _schema(connection: sa.Connection) -> frozenset[tuple[Any, ...]]:
    return frozenset(
        tuple(row) for row in connection.execute(sa.text("SELECT type, name, tbl_name, sql FROM sqlite_master"))
    )


@lru_cache(maxsize=1)
def expected_schema() -> frozenset[tuple[Any, ...]]:
    """The schema that the migrations make."""
    engine = sa.create_engine("sqlite://", creator=lambda: sqlite3.connect(":memory:"))
    try:
        with engine.begin() as connection:
            migrate(connection)
            return _schema(connection)
    finally:
        engine.dispose()
