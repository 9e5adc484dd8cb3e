"""The tables of a ledger, and the digests of their rows.

No fact is stored twice. Everything that a query needs is a column, and the digest of an event is taken from the columns
themselves, so that no copy beside the chain can contradict it. The exceptions are `head`, which repeats the last event
so that writers have one row to wait for, and `personal.identity`, by which a promise that is recorded again is found;
`verify` computes both anew.

head
    One row: version of the tables, name of the ledger, when it was made, number and digest of the last event.
layouts
    Columns and dtypes of promised rows, as a table without rows.
terms
    What the promises of a batch have in common: the model, the dates, the schema.
events
    The chain.
personal
    Content of an event about a person: the only table that `purge` deletes from. The event holds a salted digest of it.

The digest of an event is the SHA-256 of the canonical JSON of the digest before it, its sequence number, its columns,
and the digests of what it refers to: the terms and the personal data. The first event follows the digest of the
ledger's own version, name and time of making. Personal data enter by a digest that has a random salt, so that the chain
can be checked when they and the salt are deleted, and nobody can find out then by trying what they were.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

VERSION = 1  # of the tables
IDENTITY_DIGITS = 40

PROMISED, REDEEMED, KEPT, BROKEN, WAIVED = "promised", "redeemed", "kept", "broken", "waived"
DECIDED, PURGED = "decided", "purged"
CLOSING = (KEPT, BROKEN, WAIVED)  # kinds of events after which a promise binds no more
OPEN, EXPIRED, ALL = "open", "expired", "all"  # by the dates of a promise that no event has ended
STATUSES = (OPEN, KEPT, BROKEN, EXPIRED, WAIVED)

metadata = sa.MetaData()
SEQ = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _column(name: str, kind: Any, *keys: sa.ForeignKey, **more: Any) -> "sa.Column[Any]":
    """Return a column that is never null, unless `nullable` is given."""
    return sa.Column(name, kind, *keys, **({"nullable": False} | more))


head = sa.Table(
    "head",
    metadata,
    _column("version", sa.Integer),
    _column("ledger", sa.Text, primary_key=True),
    _column("created", sa.Text),
    _column("seq", sa.BigInteger),
    _column("digest", sa.Text),
)
layouts = sa.Table(
    "layouts",
    metadata,
    _column("id", sa.Integer, primary_key=True, autoincrement=False),
    _column("content", sa.LargeBinary),
)
terms = sa.Table(
    "terms",
    metadata,
    _column("id", sa.Integer, primary_key=True, autoincrement=False),
    _column("layout", sa.Integer, sa.ForeignKey("layouts.id")),
    _column("model_version", sa.Text),
    _column("made", sa.Text),
    _column("valid_until", sa.Text),
    _column("content", sa.Text),
)
events = sa.Table(
    "events",
    metadata,
    _column("seq", SEQ, primary_key=True, autoincrement=False),
    _column("kind", sa.Text),
    _column("promise", sa.Text),
    _column("at", sa.Text),
    _column("recorded_by", sa.Text),
    _column("terms", sa.Integer, sa.ForeignKey("terms.id"), nullable=True),
    _column("content", sa.Text),
    _column("personal", sa.Text, nullable=True),
    _column("digest", sa.Text),
)
personal = sa.Table(
    "personal",
    metadata,
    _column("seq", SEQ, sa.ForeignKey("events.seq"), primary_key=True, autoincrement=False),
    _column("salt", sa.Text),
    _column("applicant", sa.Text),
    _column("content", sa.Text),
    _column("identity", sa.Text, nullable=True),
)

# Kinds that end a promise, with values and not parameters: the query must be in the words of the index that answers it.
_KINDS = ", ".join(f"'{kind}'" for kind in CLOSING)
_CLOSED = sa.text(f"kind IN ({_KINDS})")
IS_CLOSING = sa.text(f"closing.kind IN ({_KINDS})")

sa.Index("events_of_promise", events.c.promise)
sa.Index("one_end_of_a_promise", events.c.promise, unique=True, sqlite_where=_CLOSED, postgresql_where=_CLOSED)
sa.Index("promises_of_applicant", personal.c.applicant)
sa.Index("one_promise_of_its_kind", personal.c.identity, unique=True)

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode


def canonical(content: Any) -> str:
    """Return JSON with sorted keys, without white space, in ASCII: the same content is the same text."""
    return _encode(content)


def sha256(text: str | bytes) -> str:
    """Return the SHA-256 in hexadecimal digits."""
    return hashlib.sha256(text.encode("ascii") if isinstance(text, str) else text).hexdigest()


def origin(version: int, ledger: str, created: str) -> str:
    """Return the digest that the first event of a ledger follows."""
    return sha256(canonical(["copa-ledger", version, ledger, created]))


def terms_digest(numbers: tuple[int, int], layout: bytes, columns: Sequence[str]) -> str:
    """Return the digest of terms: of their number and that of their layout, the layout, and their other columns."""
    return sha256(canonical([*numbers, sha256(layout), *columns]))


def personal_digest(salt: str, applicant: str, content: str) -> str:
    """Return the digest of personal data."""
    return sha256(canonical([salt, applicant, content]))


def event_digest(before: str, columns: Sequence[Any], terms: str | None) -> str:
    """Return the digest of an event: of the digest before it, of its columns, and of the digest of its terms.

    The columns are `seq`, `kind`, `promise`, `at`, `recorded_by`, `content` and `personal`.
    """
    return sha256(canonical([before, *columns, terms]))


def identity_of(applicant: str, content: str, personal_content: str, terms: str) -> str:
    """Return the digest by which a promise that is recorded again is found; it is deleted with the personal data."""
    return sha256(canonical([applicant, content, personal_content, terms]))[:IDENTITY_DIGITS]
