"""A PostgreSQL server for tests, on a temporary directory and a free port, where there is one on this machine."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NO_POSTGRES = "PostgreSQL is not installed (Debian: apt-get install postgresql)"
PLACES = ("/usr/lib/postgresql/*/bin", "/usr/local/pgsql/bin", "/opt/homebrew/opt/postgresql*/bin")


def programs() -> Path | None:
    """Folder of `initdb` and `postgres`."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    folders = [
        folder for place in PLACES for folder in Path("/").glob(place.lstrip("/")) if (folder / "initdb").exists()
    ]
    return max(folders, default=None)


def reason_without() -> str | None:
    """Why there is no server here; None where there is one."""
    if programs() is None:
        return NO_POSTGRES
    if os.getuid() == 0 and (shutil.which("runuser") is None or _postgres_user() is None):
        return "PostgreSQL does not run as root, and there is no user postgres"
    return None


def _postgres_user() -> int | None:
    import pwd

    try:
        return pwd.getpwnam("postgres").pw_uid
    except KeyError:
        return None


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")  # noqa: S603


@contextmanager
def running_server() -> Iterator[str]:
    """The URL of a running server, without the name of a database; it ends with the block."""
    folder = Path(tempfile.mkdtemp(prefix="copa-postgres-"))
    own = folder / "data"
    as_user: list[str] = []
    if os.getuid() == 0:
        as_user = ["runuser", "-u", "postgres", "--"]
        os.chown(folder, _postgres_user() or 0, -1)
    bin_folder, port = programs(), _free_port()
    # Nothing outlives the tests, so that the server need not wait for the disk.
    settings = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
    try:
        init = ["initdb", "-D", str(own), "-U", "copa", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        _run(*as_user, str(bin_folder / init[0]), *init[1:])
        control = [*as_user, str(bin_folder / "pg_ctl"), "-D", str(own), "-w", "-t", "60"]
        _run(*control, "-o", settings, "-l", str(folder / "log"), "start")
        try:
            yield f"postgresql://copa@127.0.0.1:{port}"
        finally:
            _run(*control, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
