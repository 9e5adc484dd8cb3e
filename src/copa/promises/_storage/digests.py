"""The digests of a ledger.

The digest of an event is the SHA-256 of the canonical JSON of the digest before it, its sequence number, its columns,
and the digests of what it refers to: the terms and the personal data. The first event follows the digest of the
ledger's own version, name and time of making. Personal data enter by a digest that has a random salt, so that the chain
can be checked when they and the salt are deleted, and nobody can find out then by trying what they were.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

IDENTITY_DIGITS = 40

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode


def canonical(content: Any) -> str:
    """JSON with sorted keys, without white space, in ASCII: the same content is the same text."""
    return _encode(content)


def sha256(text: str | bytes) -> str:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(text.encode("ascii") if isinstance(text, str) else text).hexdigest()


def origin(version: int, ledger: str, created: str) -> str:
    """What the first event of a ledger follows."""
    return sha256(canonical(["copa-ledger", version, ledger, created]))


def terms_digest(numbers: tuple[int, int], layout: bytes, columns: Sequence[str]) -> str:
    """Digest of terms: their number and that of their layout, the layout, and their other columns."""
    return sha256(canonical([*numbers, sha256(layout), *columns]))


def personal_digest(salt: str, applicant: str, content: str) -> str:
    """Digest of personal data."""
    return sha256(canonical([salt, applicant, content]))


def event_digest(before: str, columns: Sequence[Any], terms: str | None) -> str:
    """Digest of an event.

    Parameters
    ----------
    before : str
        Digest of the event before it.
    columns : sequence
        `seq`, `kind`, `promise`, `at`, `recorded_by`, `content` and `personal`.
    terms : str or None
        Digest of the terms it refers to.
    """
    return sha256(canonical([before, *columns, terms]))


def identity_of(applicant: str, content: str, said: str, terms: str) -> str:
    """Digest by which a promise that is recorded again is found; deleted with the personal data."""
    return sha256(canonical([applicant, content, said, terms]))[:IDENTITY_DIGITS]
