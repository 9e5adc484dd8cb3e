"""Signed checkpoints: how far a ledger was, with a signature by a key that whoever can write the ledger need not have.

A chain alone does not show that its last events were removed, or that all of it was written anew. Who kept a checkpoint
elsewhere can tell.
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from copa._core.words import shown
from copa.exceptions import CopaError, DataError, InvalidInputError
from copa.promises._storage.database import Database
from copa.promises._storage.digests import canonical
from copa.promises._storage.sqlite_file import file_digest
from copa.promises._storage.tables import head
from copa.tables.files import read_json_file

FORMAT, VERSION = "copa-ledger-checkpoint", 1
LEAST_KEY = 16  # bytes
FIELDS = ("format", "version", "ledger", "events", "digest", "at", "file", "signature")
ATTEMPTS = 5


@dataclass(frozen=True)
class Checkpoint:
    """How far a ledger was.

    Parameters
    ----------
    ledger : str
        Its name, which it has from its making.
    events : int
        Number of events.
    digest : str
        Digest of the last one.
    at : str
        When the checkpoint was made.
    file : str or None
        SHA-256 of the file; None for PostgreSQL, or where others were writing.
    """

    ledger: str
    events: int
    digest: str
    at: str
    file: str | None

    def signed(self, key: bytes) -> dict[str, Any]:
        """As JSON holds it, with its signature."""
        content = {"format": FORMAT, "version": VERSION, **vars(self)}
        return content | {"signature": _signature(content, key)}


def make_checkpoint(database: Database) -> Checkpoint:
    """Read how far a ledger is."""
    for _ in range(ATTEMPTS if database.is_sqlite else 0):
        database.outside("PRAGMA wal_checkpoint(TRUNCATE)")
        with database.writing() as connection:  # nobody else writes meanwhile
            assert database.file is not None  # noqa: S101 - it is one
            digest = file_digest(database.file)
            if digest is not None:
                return _checkpoint(connection, digest)
    with database.reading() as connection:
        return _checkpoint(connection, None)


def _checkpoint(connection: sa.Connection, file: str | None) -> Checkpoint:
    own = connection.execute(sa.select(head)).one()
    return Checkpoint(own.ledger, own.seq, own.digest, datetime.now(UTC).isoformat(timespec="seconds"), file)


def read_checkpoint(given: Any, key: Any) -> Checkpoint:
    """Read a checkpoint, from its file or as `signed` made it.

    Raises
    ------
    DataError
        If it is none, or the signature is not of this key.
    """
    content = dict(given) if isinstance(given, Mapping) else _read_file(Path(given))
    if content.get("format") != FORMAT or content.get("version") != VERSION or set(content) != set(FIELDS):
        raise DataError(f"not a checkpoint of a ledger: it must be an object with format {FORMAT!r} and version 1")
    signature = content.pop("signature")
    if not isinstance(signature, str) or not hmac.compare_digest(
        signature.encode("utf-8", "replace"), _signature(content, read_key(key)).encode()
    ):
        raise DataError("the checkpoint was changed, or signed with another key")
    return Checkpoint(**{name: content[name] for name in FIELDS[2:-1]})


def _read_file(path: Path) -> dict[str, Any]:
    try:
        return dict(read_json_file(path))
    except CopaError as error:  # whose message shows how the file begins: it may be the key, given in the wrong place
        raise DataError(f"the checkpoint {path} cannot be read, or is not JSON") from error


def read_key(key: Any) -> bytes:
    """Read a key: its bytes, or the file that holds them; ends of lines after it do not count."""
    if isinstance(key, bytes):
        raw = key
    elif isinstance(key, (str, Path)):
        try:
            raw = Path(key).read_bytes()
        except OSError as error:
            raise InvalidInputError(f"the key {key} cannot be read: {error.strerror}") from error
    else:
        raise InvalidInputError(
            f"a checkpoint needs a key, bytes or the name of its file, got {shown(type(key).__name__)}"
        )
    raw = raw.rstrip(b"\r\n")
    if len(raw) < LEAST_KEY:
        raise InvalidInputError(f"the key must have at least {LEAST_KEY} bytes, and has {len(raw)}")
    return raw


def _signature(content: Mapping[str, Any], key: bytes) -> str:
    return hmac.new(key, canonical(content).encode(), hashlib.sha256).hexdigest()
