"""Archives made to do harm are refused with a typed error, before they take time or memory."""

import io
import json
import stat
import struct
import tracemalloc
import zipfile
from contextlib import suppress

import numpy as np
import pytest

import copa
from copa._core import archive
from copa._core.archive import ArchiveReader, Budget, parse_json, read_arrays, repacked, write_archive
from copa._core.formats import require_known_entries
from copa.exceptions import DataError, InvalidInputError

KNOWN = r"content\.json|arrays\.npz|part-[0-9]"
ZEROS = bytes(40 * archive.MEGABYTE)


def zipped(*members, method=zipfile.ZIP_DEFLATED):
    """A zip file of (name or ZipInfo, bytes)."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as file:
        for name, raw in members:
            file.writestr(name, raw, method)
    return whole.getvalue()


def npy(shape, dtype="<f8", data=b""):
    """An array whose header says what it likes."""
    head = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


def read(raw, name="content.json"):
    with ArchiveReader(raw, KNOWN) as file:
        return file.read(name)


def test_what_is_written_is_read_again_and_the_same_members_give_the_same_bytes():
    members = {"content.json": b'{"a": [1]}', "part-1": b"raw" * 100}
    raw = write_archive(members, stored={"part-1"})
    assert raw == write_archive(members, stored={"part-1"})
    with ArchiveReader(raw, KNOWN) as file:
        assert file.names == tuple(members)
        assert file.read_json("content.json") == {"a": [1]}
        assert file.read("part-1") == members["part-1"]
    assert members["part-1"] in raw


@pytest.mark.parametrize("name", ["other", "part-12", "Content.json", "../content.json", "/content.json", "part-1\n"])
def test_an_unknown_member_refuses_the_whole_file(name):
    with pytest.raises(DataError, match="which no file of this kind does"):
        read(zipped(("content.json", b"{}"), (name, b"")))


@pytest.mark.parametrize("name", ["../a.npy", "a/../../b.npy", "/a.npy", "a//b.npy", "./a.npy"])
def test_a_name_that_leads_out_of_the_archive_is_refused_even_where_any_name_is_allowed(name):
    with pytest.raises(DataError, match="which no file of this kind does"):
        ArchiveReader(zipped((name, b"")), r"(?s:.+)")


def test_a_name_that_ends_earlier_for_others_is_refused():
    with pytest.raises(DataError, match=r"'content\.json\\x00\.py', which no file of this kind does"):
        ArchiveReader(
            zipped(("content.json-.py", b"{}")).replace(b"content.json-.py", b"content.json\0.py"), r"(?s:.+)"
        )


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_is_there_twice_is_refused():
    with pytest.raises(DataError, match=r"'content\.json' twice"):
        read(zipped(("content.json", b"{}"), ("content.json", b"[]")))


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFDIR, stat.S_IFIFO])
def test_a_member_that_is_a_link_or_no_file_is_refused(kind):
    info = zipfile.ZipInfo("content.json")
    info.external_attr = (kind | 0o777) << 16
    with pytest.raises(DataError, match="is a link or another special file"):
        read(zipped((info, b"/etc/passwd")))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_that_cannot_be_read_piece_by_piece_are_refused(method):
    with pytest.raises(DataError, match="compressed by a method that is not read"):
        read(zipped(("content.json", b"{}"), method=method))


def test_an_encrypted_member_is_refused():
    raw = bytearray(zipped(("content.json", b"{}")))
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(DataError, match="is encrypted"):
        read(bytes(raw))


def test_a_bomb_is_refused_before_it_is_inflated():
    raw = zipped(("content.json", b"{}"), ("part-1", ZEROS))
    assert len(raw) < 50_000
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=r"with part-1 it takes 40 MB in memory, and a file of .* at most 32 MB"):
            read(raw, "part-1")
        assert tracemalloc.get_traced_memory()[1] < archive.MEGABYTE
    finally:
        tracemalloc.stop()


def test_many_members_share_one_budget():
    raw = zipped(*((f"part-{k}", ZEROS[: 10 * archive.MEGABYTE]) for k in range(4)))
    with ArchiveReader(raw, KNOWN) as file:
        for name in file.names[:3]:
            file.read(name)
        with pytest.raises(DataError, match="with part-3 it takes 40 MB"):
            file.read("part-3")


def test_an_archive_inside_an_archive_shares_its_budget():
    inner = zipped(("part-1", ZEROS[: 20 * archive.MEGABYTE]))
    raw = zipped(("part-1", inner), ("part-2", inner), method=zipfile.ZIP_STORED)
    with ArchiveReader(raw, KNOWN) as outer:
        with ArchiveReader(outer.read("part-1"), KNOWN, outer.budget) as first:
            first.read("part-1")
        with (
            ArchiveReader(outer.read("part-2"), KNOWN, outer.budget) as second,
            pytest.raises(DataError, match="40 MB"),
        ):
            second.read("part-1")


@pytest.mark.parametrize(("says", "words"), [(10, "Bad CRC-32"), (20_000_000, "shorter than it says")])
def test_a_member_that_lies_about_its_size_is_refused(says, words):
    raw = bytearray(zipped(("part-1", ZEROS[: 10 * archive.MEGABYTE])))
    struct.pack_into("<I", raw, raw.index(b"PK\x01\x02") + 24, says)
    tracemalloc.start()
    try:
        with pytest.raises((DataError, zipfile.BadZipFile), match=words):
            read(bytes(raw), "part-1")
        assert tracemalloc.get_traced_memory()[1] < 2 * says + archive.MEGABYTE
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.9, 0.99])
def test_a_truncated_file_is_no_zip_file(share):
    raw = zipped(("content.json", b"{}" * 1000), ("part-1", bytes(range(256))))
    with pytest.raises(zipfile.BadZipFile):
        read(raw[: int(share * len(raw))])


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (npy("(100000000000,)"), "declares 100000000000 entries"),
        (npy("(2, 3)", data=bytes(40)), "declares 6 entries"),
        (npy("(3,)", data=bytes(32)), "declares 3 entries"),
        (npy("(-1, -8)", "|u1", data=bytes(8)), "declares the shape"),
        (npy("(100000000000,)", "<U0"), "declares the shape"),
        (npy("(1,)", "|O", data=b"cos\nsystem\n(S'true'\ntR."), "Python objects, which are never loaded"),
        (b"\x93NUMPY\x03\x00" + npy("(1,)")[8:], r"header of version \(3, 0\)"),
        (npy("(" + "1, " * 5000 + ")"), "(?i)header"),
    ],
    ids=["huge", "too few", "too many", "negative", "empty text", "objects", "version", "long header"],
)
def test_an_array_that_is_not_what_it_declares_is_refused(raw, words):
    tracemalloc.start()
    try:
        with pytest.raises(ValueError if "header" in words and "version" not in words else DataError, match=words):
            read_arrays(zipped(("a.npy", raw)), "a")
        assert tracemalloc.get_traced_memory()[1] < archive.MEGABYTE
    finally:
        tracemalloc.stop()


def test_arrays_come_back_as_they_were_saved_and_others_are_refused():
    arrays = {"a": np.arange(6.0).reshape(2, 3).T, "b/c": np.array(["x", "yy"]), "d": np.array(3, dtype="M8[s]")}
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    found = read_arrays(repacked(buffer.getvalue()), "a|b/c|d")
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array, strict=True)
    found["a"][0, 0] = 7.0  # they can be written to, as those of numpy can
    with pytest.raises(DataError, match=r"'d\.npy', which no file of this kind does"):
        read_arrays(buffer.getvalue(), "a|b/c")


@pytest.mark.parametrize("text", ["[" * 101 + "]" * 101, '{"a":' * 200_000, b'["\\"]", ' + b"[" * 101])
def test_json_that_is_nested_too_deeply_is_refused(text):
    with pytest.raises(InvalidInputError, match=r"nested too deeply: .* levels, and at most 100 are read"):
        parse_json(text)


@pytest.mark.parametrize("value", [[[]] * 300, "[" * 300, {'a"[': ["\\", "{" * 300]}, [[[1, "]"], 2.5, None]]])
def test_json_of_any_length_is_read(value):
    assert parse_json(json.dumps(value)) == parse_json(json.dumps(value).encode()) == value


def test_json_in_another_encoding_than_utf_8_is_no_json():
    with pytest.raises(ValueError, match="utf-8"):
        parse_json(json.dumps(["é"], ensure_ascii=False).encode("latin-1"))


def test_json_that_becomes_large_in_memory_is_refused_before_it_is_parsed():
    raw = zipped(("content.json", b"[" + b"{}," * 600_000 + b"{}]"))
    tracemalloc.start()
    try:
        with (
            ArchiveReader(raw, KNOWN) as file,
            pytest.raises(DataError, match=r"with what content\.json holds it takes 1\d\d MB .* at most 32 MB"),
        ):
            file.read_json("content.json")
        assert tracemalloc.get_traced_memory()[1] < 4 * archive.MEGABYTE
    finally:
        tracemalloc.stop()


N = 30_000
KEYS = ",".join(f'"{k:x}":"{k:x}"' for k in range(N))


@pytest.mark.parametrize(
    "text",
    [
        "[" + "{}," * N + "{}]",
        "[" + "[[[[[]]]]]," * N + "0]",
        "[" + '{"a":1000},' * N + "0]",
        "[" + "[1000]," * N + "0]",
        "[" + ",".join(f"{k}.5" for k in range(N)) + "]",
        "{" + KEYS + "}",
        "[" + KEYS.replace(":", ",") + "]",
        '["' + "a" * N + '\U0001f600", ' + KEYS.replace(":", ",") + "]",
        '["' + "a" * 10 * N + '\\ud83d\\ude00"]',
        "[" + "],[" * N + "]",
    ],
    ids=["maps", "nested", "entries", "lists", "numbers", "keys", "strings", "wide", "escaped", "closing"],
)
def test_json_takes_no_more_than_is_counted(text, monkeypatch):
    monkeypatch.setattr(archive, "CHUNK", 1024)  # what is counted at a time takes next to nothing
    raw = text.encode()
    tracemalloc.start()
    try:
        with suppress(json.JSONDecodeError):
            parse_json(raw)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.02 * archive.json_cost(raw)


def test_json_that_takes_most_of_the_budget_is_stored_so_that_it_can_be_read():
    digits = np.random.default_rng(0).integers(0, 10, 100_000).tolist()
    large, small = (json.dumps([{"a": digit} for digit in digits[:n]]).encode() for n in (100_000, 1000))
    for content, method in ((large, zipfile.ZIP_STORED), (small, zipfile.ZIP_DEFLATED)):
        raw = write_archive({"content.json": content, "part-1": b"ab" * 5000})
        with ArchiveReader(raw, KNOWN) as file:
            assert file.read_json("content.json") == json.loads(content)
        with zipfile.ZipFile(io.BytesIO(raw)) as file:
            assert file.getinfo("content.json").compress_type == method
            assert file.getinfo("part-1").compress_type == zipfile.ZIP_DEFLATED


def test_what_compresses_too_well_is_stored_so_that_it_can_be_read():
    raw = write_archive({"part-1": ZEROS, "part-2": b"ab" * 5000})
    assert len(raw) > len(ZEROS)
    assert read(raw, "part-1") == ZEROS
    with zipfile.ZipFile(io.BytesIO(raw)) as file:
        assert file.getinfo("part-2").compress_type == zipfile.ZIP_DEFLATED
        assert file.getinfo("part-2").compress_size < 1000


def test_a_budget_grows_with_the_file():
    budget = Budget(archive.MEGABYTE)
    budget.take(200 * archive.MEGABYTE, "all")
    with pytest.raises(DataError, match=r"with more it takes 200 MB .* at most 200 MB"):
        budget.take(1, "more")


def test_entries_of_a_newer_version_name_it():
    require_known_entries(["a"], ["a", "b"], "setting", {})
    told = (
        rf"written by COPA 7\.1, with the setting 'c'; this is COPA {copa.__version__}, which does not know it: update"
    )
    with pytest.raises(DataError, match=told):
        require_known_entries(["a", "c"], ["a", "b"], "setting", {"made_with": {"copa": "7.1"}})
    for made_with in ({}, {"made_with": None}, {"made_with": {}}):
        with pytest.raises(DataError, match="written by an unknown version of COPA, with"):
            require_known_entries(["c"], [], "setting", made_with)
