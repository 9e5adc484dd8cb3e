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
from copa.promises._storage.digests import origin

SECONDS_TO_WAIT = 60  # for another writer
APPLICATION_ID = 0x434F5041  # "COPA", in the header of an SQLite file
WRITES = "copa_writes"  # option of a connection whose transaction writes
LOCK = 0x434F5041  # number of PostgreSQL's advisory lock under which tables are made
MIGRATIONS = Path(__file__).parent / "migrations"


class Database:
    """An open database of a ledger.

    Parameters
    ----------
    url : str
        As SQLAlchemy reads it, such as "postgresql://host/name" or "sqlite:///promises.db"; or the path of an SQLite
        file.
    create : bool
        Make the ledger if there is none.
    upgrade : bool
        Bring the tables of an older version to this one.
    """

    def __init__(self, url: str, *, create: bool, upgrade: bool) -> None:
        self.url = read_url(url)
        self.name = self.url.render_as_string(hide_password=True)
        self.file = Path(str(self.url.database)) if self.is_sqlite else None
        if self.file is not None:
            self._require_place(self.file, create=create)
        self.engine = self._engine()
        try:
            self._prepare(create=create, upgrade=upgrade)
        except BaseException:
            self.engine.dispose()
            raise

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file of SQLite."""
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
            raise InvalidInputError(f"the ledger {file} does not exist (looked for {file.absolute()})")
        try:  # rows of people: nobody else reads the file, nor the log that SQLite puts beside it
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            pass
        except OSError as error:
            raise InvalidInputError(f"the ledger {file} cannot be made: {error.strerror}") from error

    def _prepare(self, *, create: bool, upgrade: bool) -> None:
        """Make the tables if there are none; refuse those of another program, or of a newer version."""
        with self.reading() as connection:
            found = self._version(connection)
        if found is None and not create:
            raise DataError(f"{self.name} holds no ledger")
        if found is None:
            self._create()
        elif found < tables.VERSION and not upgrade:
            raise DataError(
                f"the ledger {self.name} is of the older version {found}, and this COPA writes {tables.VERSION}; make "
                "a copy of it, then open it once with Ledger.open(url, upgrade=True)"
            )
        elif found < tables.VERSION:
            self._upgrade()
        with self.reading() as connection:
            if self._version(connection) is None or len(connection.execute(sa.select(tables.head)).all()) != 1:
                raise self.damaged("its head is not there")
            if self.is_sqlite and connection.scalar(sa.text("PRAGMA journal_mode")) != "wal":
                raise self.damaged("its write-ahead log was turned off")

    def _version(self, connection: sa.Connection) -> str | None:
        """Version of the tables; None where there is none at all."""
        names = sa.inspect(connection).get_table_names()
        if not names:
            return None
        if tables.version.name not in names:
            raise DataError(f"{self.name} is a database of something else: it has the table {shown(names[0])}")
        found = connection.scalars(sa.select(tables.version.c.version_num)).all()
        if len(found) != 1 or not re.fullmatch(r"[0-9]{4}", found[0]):
            raise self.damaged(f"its version is {shown(found[0] if found else None)}")
        if found[0] > tables.VERSION:
            raise DataError(
                f"the ledger {self.name} is of version {found[0]}, and this COPA knows those up to {tables.VERSION}; "
                "update COPA"
            )
        return str(found[0])

    def _create(self) -> None:
        if self.is_sqlite:
            self.outside("PRAGMA journal_mode=WAL")  # stays in the file
        with self.writing() as connection:
            if not self.is_sqlite:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCK)))
            if sa.inspect(connection).get_table_names():
                return  # another process was faster
            migrate(connection)
            name, now = uuid.uuid4().hex, datetime.now(UTC).isoformat(timespec="seconds")
            connection.execute(
                tables.head.insert(), {"ledger": name, "created": now, "seq": 0, "digest": origin(name, now)}
            )
            if self.is_sqlite:
                connection.exec_driver_sql(f"PRAGMA application_id={APPLICATION_ID}")
                connection.exec_driver_sql(f"PRAGMA user_version={int(tables.VERSION)}")
        if self.is_sqlite:
            self.outside("PRAGMA wal_checkpoint(TRUNCATE)")  # `verify` reads the header of the file

    def _upgrade(self) -> None:
        with self.writing() as connection:
            if not self.is_sqlite:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCK)))
            migrate(connection)
            if self.is_sqlite:
                connection.exec_driver_sql(f"PRAGMA user_version={int(tables.VERSION)}")

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A transaction that sees one state of the ledger."""
        try:
            with self.errors_named(), self.engine.connect() as connection, connection.begin():
                yield connection
        except CopaError:
            raise
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # bytes that are not what was written
            raise self.damaged(f"{type(error).__name__}: {error}".partition("\n")[0]) from error

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that writes: all of it is there when it ends, or nothing."""
        with self.errors_named(), self.engine.connect() as plain:
            connection = plain.execution_options(**{WRITES: True})
            with connection.begin():
                yield connection

    def outside(self, statement: str) -> None:
        """Run a statement that is not possible in a transaction."""
        with self.errors_named(), self.engine.connect() as connection:
            raw: Any = connection.connection.driver_connection
            try:
                if not self.is_sqlite:
                    raw.autocommit = True
                raw.execute(statement)
            except raw_errors(self.engine) as error:
                raise DataError(f"{statement} failed on the ledger {self.name}: {error}") from error
            finally:
                if not self.is_sqlite:
                    raw.autocommit = False

    @contextmanager
    def errors_named(self) -> Iterator[None]:
        """Say in one line what is wrong with the database."""
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
        """The error for a ledger that is not as it was written."""
        return DataError(f"the ledger {self.name} is damaged: {why}")

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def raw_errors(engine: sa.Engine) -> Any:
    """The class of errors of a database's driver."""
    driver: Any = engine.dialect.dbapi
    return driver.Error


def read_url(url: Any) -> sa.URL:
    """Read the URL of a ledger, or the path of an SQLite file."""
    text = str(url) if isinstance(url, (str, Path, sa.URL)) else ""
    if isinstance(url, sa.URL):
        text = url.render_as_string(hide_password=False)
    if not text:
        raise InvalidInputError(
            f"the ledger must be a URL, such as postgresql://host/name, or a file, got {shown(url)}"
        )
    if "://" not in text:
        return sa.URL.create("sqlite", database=text)
    try:
        read = sa.make_url(text)
    except (sa.exc.ArgumentError, ValueError):
        raise InvalidInputError("the URL of the ledger cannot be read; write postgresql://user@host/name") from None
    backend = read.get_backend_name()
    if backend in ("postgresql", "postgres"):
        return read.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise InvalidInputError(f"a ledger is stored by sqlite or postgresql, got {shown(backend)}")
    if read.database in (None, "", ":memory:"):
        raise InvalidInputError("a ledger must outlive the process: give a file, such as sqlite:///promises.db")
    return read


def migrate(connection: sa.Connection, version: str = "head") -> None:
    """Bring the tables of a database to a version."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, version)


def _set_up_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # Python's driver begins transactions when it thinks fit; here `begin` does
    for pragma in ("synchronous=FULL", "foreign_keys=ON", "secure_delete=ON", "cell_size_check=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get(WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
