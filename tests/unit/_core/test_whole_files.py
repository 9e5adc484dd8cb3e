"""Files that are whole or not there, and what killed writers leave."""

import hashlib
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import pytest

import copa
from copa._core import files as whole_files
from copa._core.files import digest_of_file, remove_abandoned_parts, remove_locked, whole_file, write_atomically

# Says that it has begun, and waits to be killed.
WRITER = """
import sys
from pathlib import Path
from copa._core.files import whole_file
with whole_file(Path(sys.argv[1]), binary=True) as file:
    file.write(b"half")
    file.flush()
    print("begun", flush=True)
    sys.stdin.read()
"""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def part(folder, name="p.csv", code="0123abcd"):
    path = folder / f".{name}.{code}.part"
    path.write_bytes(b"half")
    return path


def test_a_file_takes_its_name_when_it_is_whole(tmp_path):
    path = tmp_path / "p.csv"
    path.write_bytes(b"old")
    with whole_file(path, binary=False) as file:
        file.write("new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == ["p.csv"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_nothing_stays_of_what_goes_wrong(tmp_path, error):
    def fail():
        with whole_file(tmp_path / "p.csv", binary=True) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        fail()
    assert names(tmp_path) == []


def test_a_folder_that_is_gone_is_a_data_error(tmp_path):
    with (
        pytest.raises(copa.DataError, match="cannot be written: No such file"),
        whole_file(tmp_path / "none" / "x", binary=True),
    ):
        pytest.fail("there is nothing to write to")


def test_a_part_without_a_writer_is_removed_and_all_else_stays(tmp_path):
    part(tmp_path)
    others = [
        ".p.csv.0123abcd",
        ".p.csv.0123abcg.part",
        ".q.csv.0123abcd.part",
        "p.csv.0123abcd.part",
        ".pxcsv.0123abcd.part",
    ]
    for name in others:
        (tmp_path / name).write_bytes(b"mine")
    write_atomically(tmp_path / "p.csv", b"new")
    assert names(tmp_path) == sorted([*others, "p.csv"])


def test_two_writers_at_once_do_not_disturb_each_other(tmp_path):
    path = tmp_path / "p.csv"
    with whole_file(path, binary=True) as first:
        first.write(b"first")
        write_atomically(path, b"second")
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first"
    assert names(tmp_path) == ["p.csv"]


@pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX does")
def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path):
    path, pipes = tmp_path / "p.csv", {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], **pipes) as writer:  # noqa: S603 - our own
        assert writer.stdout.readline() == b"begun\n"
        remove_abandoned_parts(path)
        assert len(names(tmp_path)) == 1  # its writer is alive
        writer.send_signal(signal.SIGKILL)
        writer.wait(timeout=30)
    assert len(names(tmp_path)) == 1
    write_atomically(path, b"new")
    assert names(tmp_path) == ["p.csv"]


def test_a_part_that_was_taken_for_an_abandoned_one_is_begun_again(tmp_path, monkeypatch):
    lock, taken = whole_files.try_lock, []

    def too_late(file):
        if not taken:
            taken.append(file.name)
            os.unlink(file.name)  # noqa: PTH108 - the name is text
        return lock(file)

    monkeypatch.setattr(whole_files, "try_lock", too_late)
    write_atomically(tmp_path / "p.csv", b"new")
    assert taken
    assert (tmp_path / "p.csv").read_bytes() == b"new"
    assert names(tmp_path) == ["p.csv"]


def test_a_part_that_someone_who_cleans_up_has_locked_first_is_not_written_to(tmp_path, monkeypatch):
    lock, cleaners = whole_files.try_lock, []

    def too_late(file):
        if not cleaners:
            cleaners.append(Path(file.name).open("rb+"))  # noqa: SIM115 - it stays open while it is locked
            assert lock(cleaners[0])
        return lock(file)

    monkeypatch.setattr(whole_files, "try_lock", too_late)
    with whole_file(tmp_path / "p.csv", binary=True) as file:
        remove_locked(cleaners[0], Path(cleaners[0].name))
        file.write(b"new")
    assert (tmp_path / "p.csv").read_bytes() == b"new"
    assert names(tmp_path) == ["p.csv"]


def test_where_there_are_no_locks_only_old_parts_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(whole_files, "try_lock", lambda _: None)
    part(tmp_path, code="11111111")
    old = part(tmp_path, code="22222222")
    os.utime(old, (time.time() - 90_000, time.time() - 90_000))
    write_atomically(tmp_path / "p.csv", b"new")
    assert names(tmp_path) == [".p.csv.11111111.part", "p.csv"]


def test_thousands_of_files_of_a_folder_are_swept_in_one_look(tmp_path, monkeypatch):
    looks = []
    look = os.scandir
    monkeypatch.setattr(os, "scandir", lambda folder: (looks.append(folder), look(folder))[1])
    paths = [tmp_path / f"{k}.txt" for k in range(5)]
    abandoned, foreign = tmp_path / ".3.txt.0123abcd.part", tmp_path / ".other.txt.0123abcd.part"
    abandoned.touch()
    foreign.touch()
    remove_abandoned_parts(*paths)
    for path in paths:
        write_atomically(path, b"whole", swept=True)
    assert looks == [tmp_path]
    assert not abandoned.exists()
    assert foreign.exists()


def test_a_large_file_is_hashed_a_piece_at_a_time(tmp_path):
    size = 64 * 2**20
    with (tmp_path / "people.csv").open("wb") as file:
        file.truncate(size)
    expected = hashlib.sha256(bytes(size)).hexdigest()
    tracemalloc.start()
    try:
        assert digest_of_file(tmp_path / "people.csv") == expected
        assert tracemalloc.get_traced_memory()[1] < size / 8
    finally:
        tracemalloc.stop()
