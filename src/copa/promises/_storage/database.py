"""The database of a ledger: how it is opened, its transactions, and its version.

On SQLite a transaction that writes begins with BEGIN IMMEDIATE, and ends when the disk has it (write-ahead log,
`synchronous=FULL`): what was acknowledged is there after a kill or a power cut. PostgreSQL does the same by itself.
"""

import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from copa._core.words import shown
from copa.exceptions import CopaError, DataError, InvalidInputError, MissingPackageError
from copa.promises._storage import tables

SECONDS_TO_WAIT = 60  # for another writer
WRITES, OUTSIDE = "copa_writes", "copa_outside"  # options of a connection: its transaction writes, it begins none
LOCK = 0x434F5041  # number of PostgreSQL's advisory lock under which tables are made
NOT_SECRET = ("host", "port", "user", "dbname", "sslmode")  # what a URL's query may say in a message
SERVER = re.compile(r"passw\w*\s*=|//.*@")  # an address with a password, and not a file
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+]+:")  # of a URL; one letter is a drive

UNREADABLE = "the URL of the ledger cannot be read; write postgresql://user@host/name"


class Database:
    """The open database of a ledger, at a URL as SQLAlchemy reads it or at the path of an SQLite file."""

    def __init__(self, url: str, *, create: bool) -> None:
        self.url = read_url(url)
        self.name = public_name(self.url)
        self.file = Path(str(self.url.database)) if self.is_sqlite else None
        if self.file is not None:
            self._require_place(self.file, create=create)
        self.engine = self._engine()
        try:
            self._prepare(create=create)
        except BaseException:
            self.engine.dispose()
            raise

    @property
    def is_sqlite(self) -> bool:
        """True for a file of SQLite, False for PostgreSQL."""
        return self.url.get_backend_name() == "sqlite"

    def _engine(self) -> sa.Engine:
        try:
            if not self.is_sqlite:
                return sa.create_engine(self.url, isolation_level="READ COMMITTED")
            engine = sa.create_engine(self.url, connect_args={"timeout": SECONDS_TO_WAIT})
        except ImportError as error:
            raise MissingPackageError(
                f"a ledger on PostgreSQL needs psycopg ({error}): pip install 'copa-recourse[ledger]'"
            ) from error
        sa.event.listen(engine, "connect", _set_up_sqlite)
        sa.event.listen(engine, "begin", _begin_sqlite)
        return engine

    def _require_place(self, file: Path, *, create: bool) -> None:
        if file.is_dir() or not file.absolute().parent.is_dir():
            raise InvalidInputError(f"the ledger must be a file in a folder that exists, got {file}")
        if not create and not file.is_file():
            raise self._absent()
        try:  # rows of people: nobody else reads the file, nor the log that SQLite puts beside it
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            pass
        except OSError as error:
            raise InvalidInputError(f"the ledger {file} cannot be made: {error.strerror}") from error

    def _absent(self) -> InvalidInputError:
        where = self.name if self.file is None else self.file.absolute()
        return InvalidInputError(
            f"no ledger at {where}; make it with `copa promises create`, or with create=True in Python"
        )

    def _prepare(self, *, create: bool) -> None:
        """Make the tables if there are none; refuse those of another program, or of another version."""
        with self.reading() as connection:
            names = sa.inspect(connection).get_table_names()
        if not names and not create:
            raise self._absent()
        if not names:
            self._create()
        elif tables.head.name not in names:
            raise DataError(f"{self.name} is a database of something else: it has the table {shown(names[0])}")
        with self.reading() as connection:
            versions = connection.scalars(sa.select(tables.head.c.version)).all()
            if len(versions) != 1:
                raise self.damaged("its head is not there")
            if versions[0] != tables.VERSION:
                raise DataError(
                    f"the ledger {self.name} is of version {shown(versions[0])}, and this COPA knows version "
                    f"{tables.VERSION}; update COPA"
                )

    def _create(self) -> None:
        if self.is_sqlite:
            self.outside("PRAGMA journal_mode=WAL")  # stays in the file
        with self.writing() as connection:
            if not self.is_sqlite:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCK)))
            if sa.inspect(connection).get_table_names():
                return  # another process was faster
            tables.metadata.create_all(connection)
            name, now = uuid.uuid4().hex, datetime.now(UTC).isoformat(timespec="seconds")
            digest = tables.origin(tables.VERSION, name, now)
            first = {"version": tables.VERSION, "ledger": name, "created": now, "seq": 0, "digest": digest}
            connection.execute(tables.head.insert(), first)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Begin a transaction that sees one state of the ledger, whatever others write meanwhile."""
        try:
            with self.errors_named(), self.engine.connect() as plain:
                # SQLite's transaction is such a snapshot from its first SELECT on.
                how = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
                connection = plain.execution_options(**how)
                with connection.begin():
                    yield connection
        except CopaError:
            raise
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # bytes that are not what was written
            raise self.damaged(f"{type(error).__name__}: {error}".partition("\n")[0]) from error

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Begin a transaction that writes: all of it is there when it ends, or nothing."""
        with self.errors_named(), self.engine.connect() as plain:
            connection = plain.execution_options(**{WRITES: True})
            with connection.begin():
                yield connection

    def outside(self, statement: str) -> None:
        """Run a statement that is not possible in a transaction."""
        options: dict[str, Any] = {OUTSIDE: True} if self.is_sqlite else {"isolation_level": "AUTOCOMMIT"}
        with self.errors_named(), self.engine.connect() as connection:
            connection.execution_options(**options).exec_driver_sql(statement).close()

    @contextmanager
    def errors_named(self) -> Iterator[None]:
        """Turn an error of the database into one line that names the ledger."""
        try:
            yield
        except sa.exc.SQLAlchemyError as error:
            reason = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
            if isinstance(error, sa.exc.DBAPIError) and "locked" in reason:
                raise DataError(
                    f"the ledger {self.name} is busy: another process was writing for {SECONDS_TO_WAIT} s; try again"
                ) from error
            raise DataError(f"the ledger {self.name} cannot be used: {reason}") from error

    def damaged(self, why: str) -> DataError:
        """Return the error for a ledger that is not as it was written."""
        return DataError(f"the ledger {self.name} is damaged: {why}")

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def read_url(url: Any) -> sa.URL:
    """Read the URL of a ledger, or the path of an SQLite file."""
    text = str(url) if isinstance(url, (str, Path, sa.URL)) else ""
    if isinstance(url, sa.URL):
        text = url.render_as_string(hide_password=False)
    if not text:
        raise InvalidInputError(
            f"the ledger must be a URL, such as postgresql://host/name, or a file, got {shown(url)}"
        )
    if "://" not in text and not SCHEME.match(text):
        if SERVER.search(text):
            raise InvalidInputError(UNREADABLE)
        return sa.URL.create("sqlite", database=text)
    try:
        read = sa.make_url(text)
    except (sa.exc.ArgumentError, ValueError):
        raise InvalidInputError(UNREADABLE) from None
    backend = read.get_backend_name()
    if backend in ("postgresql", "postgres"):
        return read.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise InvalidInputError(f"a ledger is stored by sqlite or postgresql, got {shown(backend)}")
    if read.database in (None, "", ":memory:"):
        raise InvalidInputError("a ledger must outlive the process: give a file, such as sqlite:///promises.db")
    return read


def public_name(url: sa.URL) -> str:
    """Return the URL as messages show it, without a password or anything in its query that could be a secret."""
    query = {name: value for name, value in url.query.items() if name in NOT_SECRET}
    return url.set(query=query).render_as_string(hide_password=True)


def _set_up_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # Python's driver begins transactions when it thinks fit; here `begin` does
    for pragma in ("synchronous=FULL", "foreign_keys=ON", "secure_delete=ON", "cell_size_check=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: sa.Connection) -> None:
    options = connection.get_execution_options()
    if not options.get(OUTSIDE):
        connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get(WRITES) else "BEGIN")
