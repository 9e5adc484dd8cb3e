"""Zip files of known members, read within limits: what a file may take in memory follows from its size on disk.

Three things hold for every archive that is read here. Only members on the list of its kind are read, and one that is
not on the list refuses the whole file. Members are stored or deflated, and inflate to the size they declare. All of
them together, those of archives inside the archive and what JSON becomes in memory included, stay within one `Budget`.

What is written here stays far from these limits: what compresses too well to be read again is stored as it is.
`copa._core.formats` says what kinds of files there are.
"""

import hashlib
import io
import json
import math
import re
import stat
import zipfile
import zlib
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np

from copa.exceptions import DataError, InvalidInputError

MEGABYTE = 2**20
RATIO = 200  # bytes in memory for a byte on disk, over all layers
SMALLEST_BUDGET = 32 * MEGABYTE  # of small files, in which zeros may compress well
WRITTEN_RATIO, SMALL = 50, 16_384  # what has more bytes, and compresses by more, is stored as it is
SMALL_JSON = 2 * MEGABYTE  # in memory; JSON of archives that take more, and more than half their budget, is stored too
# Bytes in memory that these stand for in JSON: a mapping, a list, an entry of a mapping, one more value, half a string.
JSON_COSTS = {b"{": 200, b"[": 128, b":": 128, b",": 48, b'"': 32}
DEEPEST = 100  # levels of lists and mappings in JSON
LONGEST_HEADER = 10_000  # of an array
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
ENCRYPTED = 0x1
NO_SIGNS = bytes(set(range(256)) - set(b'[]{}"'))
CHUNK = 2**16  # brackets and quotes that are counted at a time


class ArchiveError(DataError):
    """An archive has other members than its kind has, or is larger than it may be."""


class Budget:
    """Bytes that the members of a file, and of the archives inside it, may take altogether.

    Parameters
    ----------
    size : int
        Bytes of the file on disk.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.limit = max(SMALLEST_BUDGET, RATIO * size)
        self.taken = 0

    def take(self, n_bytes: int, what: str) -> None:
        """Count some bytes, before they are read."""
        self.taken += n_bytes
        if self.taken > self.limit:
            raise ArchiveError(
                f"with {what} it takes {self.taken / MEGABYTE:,.0f} MB in memory, and a file of {self.size:,} bytes "
                f"at most {self.limit / MEGABYTE:,.0f} MB"
            )

    def parse_json(self, raw: bytes, what: str, **options: Any) -> Any:
        """Return what JSON holds that was read, once that is counted; options are those of `json.loads`."""
        self.take(json_cost(raw), f"what {what} holds")
        return parse_json(raw, **options)


class ArchiveReader:
    """A zip file whose members are known by name.

    Parameters
    ----------
    source : Path or bytes
    known : str
        Regular expression that every member's name must match as a whole.
    budget : Budget, optional
        That of the file which this one is inside of; None for a file of its own.

    Raises
    ------
    ArchiveError
        If there is a member of another name, or of a kind that is not read. What is no zip file at all raises as
        `zipfile` does.
    """

    def __init__(self, source: Path | bytes, known: str, budget: Budget | None = None) -> None:
        size = len(source) if isinstance(source, bytes) else source.stat().st_size
        self.budget = Budget(size) if budget is None else budget
        self._zip = zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source)
        self._infos: dict[str, zipfile.ZipInfo] = {}
        try:
            for info in self._zip.infolist():
                self._admit(info, re.compile(known))
        except ArchiveError:
            self._zip.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the members, in their order."""
        return tuple(self._infos)

    def size(self, name: str) -> int:
        """Bytes that a member declares, which is what it is read up to."""
        return self._info(name).file_size

    def _admit(self, info: zipfile.ZipInfo, known: re.Pattern[str]) -> None:
        name = info.orig_filename
        if info.filename != name or not known.fullmatch(name) or {"", ".", ".."} & set(name.split("/")):
            raise ArchiveError(f"it holds {name[:80]!r}, which no file of this kind does")
        if name in self._infos:
            raise ArchiveError(f"it holds {name!r} twice")
        if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
            raise ArchiveError(f"its member {name!r} is a link or another special file")
        if info.compress_type not in METHODS or info.flag_bits & ENCRYPTED:
            raise ArchiveError(f"its member {name!r} is encrypted, or compressed by a method that is not read")
        self._infos[name] = info

    def _info(self, name: str) -> zipfile.ZipInfo:
        if name not in self._infos:
            raise ArchiveError(f"it lacks {name}")
        return self._infos[name]

    def read(self, name: str, sha256: str | None = None) -> bytes:
        """Return a member, of the size it declares and, where one is given, of this SHA-256."""
        info = self._info(name)
        self.budget.take(info.file_size, name)
        with self._zip.open(info) as stream:
            raw = stream.read(info.file_size)
        if len(raw) != info.file_size:
            raise ArchiveError(f"its member {name!r} is shorter than it says")
        if sha256 is not None and hashlib.sha256(raw).hexdigest() != sha256:
            raise DataError(f"its member {name} was changed after it was saved: the SHA-256 differs")
        return raw

    def read_json(self, name: str, **options: Any) -> Any:
        """Return what a member of JSON holds; options are those of `json.loads`."""
        return self.budget.parse_json(self.read(name), name, **options)

    def read_arrays(self, name: str, known: str) -> dict[str, Any]:
        """Return the arrays of a member that is an .npz file; `known` matches their names."""
        return read_arrays(self.read(name), known, self.budget)

    def require_array(self, name: str) -> None:
        """Raise if the header of an .npy member asks for more than the member has; the numbers are not read."""
        with self._zip.open(self._info(name)) as stream:
            head = io.BytesIO(stream.read(LONGEST_HEADER + 16))
        _require_declared(head, self.size(name), name)


def read_arrays(raw: bytes, known: str, budget: Budget | None = None) -> dict[str, Any]:
    """Return the arrays of an .npz file by name; `known` matches the names."""
    with ArchiveReader(raw, rf"(?:{known})\.npy", budget) as archive:
        return {name.removesuffix(".npy"): _array(archive.read(name), name) for name in archive.names}


def require_arrays(raw: bytes, budget: Budget) -> None:
    """Raise if an .npz file would take more than the budget has, or an array in it more than there is."""
    with ArchiveReader(raw, r"\w+\.npy", budget) as archive:
        for name in archive.names:
            budget.take(archive.size(name), name)
            archive.require_array(name)


def _array(raw: bytes, name: str) -> Any:
    file = io.BytesIO(raw)
    _require_declared(file, len(raw), name)
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)


def _require_declared(file: BinaryIO, size: int, name: str) -> None:
    """Raise if an array of the header at the beginning of a file does not end where the file does."""
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ArchiveError(f"the array {name} has a header of version {version}, which is not read")
    first = version == (1, 0)
    header: Any = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
    shape, _, dtype = header(file, max_header_size=LONGEST_HEADER)
    if dtype.hasobject:
        raise ArchiveError(f"the array {name} holds Python objects, which are never loaded")
    n_entries = math.prod(shape)
    if any(n < 0 for n in shape) or (n_entries and not dtype.itemsize):
        raise ArchiveError(f"the array {name} declares the shape {shape} of {dtype}, which there is not")
    if n_entries * dtype.itemsize != size - file.tell():
        raise ArchiveError(f"the array {name} declares {n_entries} entries, and there are others")


def parse_json(raw: str | bytes, **options: Any) -> Any:
    """Return what JSON holds.

    Parameters
    ----------
    raw : str or bytes
    **options
        Those of `json.loads`.

    Raises
    ------
    InvalidInputError
        If it is nested too deeply. What is no JSON raises a ValueError, which this one is as well.
    """
    text = raw if isinstance(raw, str) else str(raw, "utf-8")
    depth = _depth(raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw)
    if depth > DEEPEST:
        raise InvalidInputError(f"it is nested too deeply: {depth:,} levels, and at most {DEEPEST} are read")
    return json.loads(text, **options)


def json_cost(raw: bytes) -> int:
    """Bytes that JSON takes in memory while it is read: its text, and at most what can be made of it."""
    width = 1 if raw.isascii() and b"\\u" not in raw else 4  # of a character
    return 2 * width * len(raw) + sum(cost * raw.count(sign) for sign, cost in JSON_COSTS.items())


def _depth(raw: bytes) -> int:
    """Levels of lists and mappings; in pieces, because there can be as many brackets as bytes."""
    # Without escaped backslashes and then escaped quotes, every quote begins or ends a string.
    signs = raw.replace(rb"\\", b"").replace(rb"\"", b"").translate(None, NO_SIGNS)
    deepest, level, n_quotes = 0, 0, 0
    for begin in range(0, len(signs), CHUNK):
        chunk = np.frombuffer(signs[begin : begin + CHUNK], dtype=np.uint8)
        quotes = n_quotes + np.cumsum(chunk == ord('"'))
        steps = np.where((chunk == ord("[")) | (chunk == ord("{")), 1, -1)
        levels = level + np.cumsum(np.where((chunk == ord('"')) | (quotes % 2 == 1), 0, steps))
        deepest, level, n_quotes = max(deepest, int(levels.max())), int(levels[-1]), int(quotes[-1])
    return deepest


def write_archive(
    members: Mapping[str, bytes], *, stored: Container[str] = (), compresslevel: int | None = None
) -> bytes:
    """Return the bytes of a zip file; the same members give the same bytes.

    Parameters
    ----------
    members : Mapping from name to bytes
    stored : names of members that are left as they are, because those who made them have compressed them
    compresslevel : int, optional
    """
    kept = {name for name, raw in members.items() if name in stored or _compresses_too_well(raw)}
    whole = _zipped(members, kept, compresslevel)
    parsed = {name for name in members if name.endswith(".json")}
    taken = 2 * sum(map(len, members.values())) + sum(json_cost(members[name]) for name in parsed)
    if parsed - kept and taken > max(SMALL_JSON, RATIO // 2 * len(whole)):
        return _zipped(members, kept | parsed, compresslevel)
    return whole


def _zipped(members: Mapping[str, bytes], stored: Container[str], compresslevel: int | None) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, raw in members.items():
            method = zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED
            # A date of its own for every file would make the bytes differ.
            archive.writestr(zipfile.ZipInfo(name), raw, method, compresslevel)
    return whole.getvalue()


def repacked(raw: bytes, *, compresslevel: int | None = None) -> bytes:
    """Return a zip file that others wrote, its members compressed as far as they may be."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return write_archive(members, compresslevel=compresslevel)


def _compresses_too_well(raw: bytes) -> bool:
    """Return whether a member compresses so well that it could be refused when it is read."""
    return len(raw) > SMALL and len(zlib.compress(raw, 1)) * WRITTEN_RATIO < len(raw)
