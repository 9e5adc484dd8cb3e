"""Settings of a service: limits, token, the hosts that it answers to, the applicants that it knows."""

import hashlib
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from copa._core.reading import read_count, read_number
from copa._core.words import shown
from copa.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

    from copa.analysis.backtest_record import Backtest

LOCAL = ("localhost", "127.0.0.1", "[::1]", "::1")
LEAST_TOKEN, MOST_TOKEN = 16, 4096  # characters


@dataclass(frozen=True, kw_only=True, eq=False)
class ServiceSettings:
    """Limits of a service, and who may ask it.

    Parameters
    ----------
    token_digest : bytes, optional
        SHA-256 of the token that requests must bring (`read_token`); None asks for none, which is for a service on this
        machine only.
    hosts : tuple of str
        Names in the header `Host` of requests that are answered; empty for any. A page of another site that makes its
        name point to this machine has another one.
    max_body : int
        Most bytes of a request.
    max_applicants : int
        Most applicants of a request.
    max_options : int
        Most options of a plan.
    time_limit : float
        Seconds for a request; whatever is not planned by then is not answered.
    max_requests : int
        Requests that are worked on or wait at the same time; others are told to come again.
    applicants : DataFrame, optional
        Applicants that may be searched for, their names as index; None for a service that knows nobody. They need a
        token.
    backtest : Backtest, optional
        What the explorer shows validators of promises of the past (`copa backtest --json`).
    ledger : str, optional
        URL of the ledger in which options are recorded as promises, which must be there; None for a service that
        records none.
    model_version : str
        What promises call the model in force; by default the first digits of the bundle's SHA-256.

    Examples
    --------
    >>> from copa.service import ServiceSettings
    >>> ServiceSettings(max_applicants=50).time_limit
    10.0
    """

    token_digest: bytes | None = None
    hosts: tuple[str, ...] = LOCAL
    max_body: int = 2_000_000
    max_applicants: int = 200
    max_options: int = 20
    time_limit: float = 10.0
    max_requests: int = 256
    applicants: "pd.DataFrame | None" = None
    backtest: "Backtest | None" = None
    ledger: str | None = field(default=None, repr=False)  # its URL may have a password
    model_version: str = ""

    def __post_init__(self) -> None:
        for name in ("max_body", "max_applicants", "max_options", "max_requests"):
            read_count(getattr(self, name), name)
        read_number(self.time_limit, "time_limit", positive=True)
        if self.applicants is not None and self.token_digest is None:
            raise InvalidInputError("applicants are personal data, and need a token (--token-file FILE), also here")
        digest = self.token_digest
        if digest is not None and (not isinstance(digest, bytes) or len(digest) != hashlib.sha256().digest_size):
            raise InvalidInputError("token_digest must be the SHA-256 of a token, or None; `read_token` makes it")


def digest_of(token: str) -> bytes:
    """SHA-256 of a token: what a service keeps of it."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def read_token(path: Path) -> bytes:
    """Read the token of a file that only its owner may read, and return its SHA-256.

    Parameters
    ----------
    path : Path

    Raises
    ------
    InvalidInputError
        If there is no such file, others may read it, or what it holds is no token.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            raw = file.read(MOST_TOKEN + 2)
    except OSError as error:
        raise InvalidInputError(f"the token file {path} cannot be read: {error.strerror}") from error
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InvalidInputError(
            f"the token file {path} can be read by others (mode {stat.S_IMODE(mode):03o}); `chmod 600 {path}`"
        )
    text = raw.decode("ascii", "replace").strip()
    if not LEAST_TOKEN <= len(text) <= MOST_TOKEN or not all("!" <= sign <= "~" for sign in text):
        raise InvalidInputError(
            f"the token file {path} must hold one line of {LEAST_TOKEN} to {MOST_TOKEN:,} visible ASCII characters "
            "without blanks; `python -c 'import secrets; print(secrets.token_urlsafe(32))'` makes a good one"
        )
    return digest_of(text)


def require_token_elsewhere(host: str, token_digest: bytes | None) -> None:
    """Raise for an address that others can reach, without a token.

    Parameters
    ----------
    host : str
        Name or address that the service is to listen at.
    token_digest : bytes or None
    """
    if token_digest is None and not is_loopback(host):
        raise InvalidInputError(
            f"the address {shown(host)} can be reached from other machines, and whoever reaches it can ask; give a "
            "token (--token-file FILE), or stay at 127.0.0.1"
        )


def is_loopback(host: str) -> bool:
    """Return whether an address, or every address of a name, can be reached from this machine only."""
    import ipaddress
    import socket

    try:
        found = {entry[4][0] for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except (OSError, UnicodeError):
        return False
    if not host or not found:
        return False
    return all(ipaddress.ip_address(str(address).partition("%")[0]).is_loopback for address in found)
