"""The one format of COPA's files: a zip of JSON, arrays and further members, in which there is nothing to execute.

A `Format` names a kind of file (saved planners, bundles, plans), writes it and reads it. Format, version, digest and
limits are checked here, and what is wrong with a file is said here, in the same words for every kind. Files also say
which version of COPA wrote them, so that what a newer one put in can be named.
"""

import hashlib
import io
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from copa._core.archive import ArchiveError, ArchiveReader, Budget, write_archive
from copa.exceptions import CopaError, DataError

ARRAYS = "arrays.npz"  # member of every file that has arrays


class Digest:
    """A running digest of JSON content and arrays: the same for any white space, another for another order."""

    def __init__(self) -> None:
        self._sha = hashlib.sha256()

    def add(self, content: Any) -> Self:
        """Add what JSON holds; returns itself."""
        text = json.dumps(content, separators=(",", ":"), allow_nan=False)
        self._sha.update(text.encode("ascii") + b"\n")
        return self

    def add_array(self, name: str, array: Any) -> None:
        """Add an array of numbers, times or text, with its name, type and shape."""
        values = np.asarray(array)
        self.add([name, values.dtype.str, list(values.shape)])
        self._sha.update(values.tobytes())

    def text(self) -> str:
        """Return the digest of all that was added."""
        return f"sha256:{self._sha.hexdigest()}"


def digest_of(content: Mapping[str, Any], arrays: Mapping[str, Any]) -> str:
    """Return the digest of JSON content, its own entry "digest" left out, and of arrays by their names."""
    digest = Digest().add({key: value for key, value in content.items() if key != "digest"})
    for name in sorted(arrays):
        digest.add_array(name, arrays[name])
    return digest.text()


@dataclass(frozen=True)
class Archive:
    """Content of a file.

    Attributes
    ----------
    content : dict
        As JSON has it.
    arrays : dict from str to ndarray
    members : Mapping from str to bytes
        Files of their own inside the file.
    budget : Budget, optional
        What the members may take in memory, once they are read; None for a file that is yet to be written.
    """

    content: dict[str, Any]
    arrays: dict[str, Any] = field(default_factory=dict)
    members: Mapping[str, bytes] = field(default_factory=dict)
    budget: Budget | None = None


class OpenArchive(NamedTuple):
    """A file whose JSON and arrays are read and checked; its members are read one by one."""

    content: dict[str, Any]
    arrays: dict[str, Any]
    reader: ArchiveReader


@dataclass(frozen=True)
class Format:
    """A kind of file.

    Attributes
    ----------
    name : str
        What the JSON of a file calls it.
    what : str
        What messages call it.
    content : str
        Name of the member that holds the JSON.
    versions : tuple of int
        Versions that are read; the last one is written unless the content names another.
    arrays : str, optional
        Regular expression of the arrays' names; files have none without it.
    members : str, optional
        Regular expression of the names of further members.
    check : callable, optional
        Raises for JSON of a known version that is not read all the same.
    """

    name: str
    what: str
    content: str
    versions: tuple[int, ...]
    arrays: str | None = None
    members: str | None = None
    check: Callable[[dict[str, Any]], None] | None = None

    def pack(self, archive: Archive, *, compresslevel: int | None = None) -> bytes:
        """Return the bytes of a file; the same content gives the same bytes."""
        content = dict(archive.content)
        if archive.members:
            content["members"] = {name: hashlib.sha256(raw).hexdigest() for name, raw in archive.members.items()}
        files = {self.content: self.seal(content, archive.arrays)}
        if self.arrays is not None:
            packed = io.BytesIO()
            np.savez(packed, **archive.arrays)
            files[ARRAYS] = packed.getvalue()
        return write_archive(files | dict(archive.members), stored=archive.members, compresslevel=compresslevel)

    def seal(self, content: Mapping[str, Any], arrays: Mapping[str, Any] | None = None) -> bytes:
        """Return the JSON of a file: the content, what it was made with, and the digest."""
        head = {"format": self.name, "version": self.versions[-1], "made_with": made_with()}
        text = json.dumps(head | dict(content), allow_nan=False)
        whole = json.loads(text)  # as the file holds it: names that JSON turns into text, lists in place of tuples
        return json.dumps(whole | {"digest": digest_of(whole, arrays or {})}).encode()

    @contextmanager
    def opened(
        self, source: Path | bytes, path: str | Path | None = None, budget: Budget | None = None
    ) -> Iterator[OpenArchive]:
        """Open a file, check it, and let a DataError name it for all that goes wrong while it is open.

        Parameters
        ----------
        source : Path or bytes
        path : str or Path, optional
            Where the bytes come from, for messages; None leaves it to the caller to name the file.
        budget : Budget, optional
            That of the file which this one is inside of.
        """
        names = (re.escape(self.content), self.members, None if self.arrays is None else re.escape(ARRAYS))
        readable = "|".join(name for name in names if name is not None)
        with self.errors_named(path), ArchiveReader(source, readable, budget) as reader:
            content = reader.read_json(self.content)
            self._require_readable(content)
            arrays = {} if self.arrays is None else reader.read_arrays(ARRAYS, self.arrays)
            self._require_digest(content, arrays)
            yield OpenArchive(content, arrays, reader)

    def unseal(self, raw: bytes) -> dict[str, Any]:
        """Return the JSON that `seal` made, once it is checked."""
        content = Budget(len(raw)).parse_json(raw, self.content)
        self._require_readable(content)
        self._require_digest(content, {})
        return dict(content)

    def _require_digest(self, content: dict[str, Any], arrays: Mapping[str, Any]) -> None:
        if content.get("digest") != digest_of(content, arrays):
            raise DataError("its content was changed after it was saved, or is damaged: it does not have its digest")

    def read(self, raw: bytes, path: str | Path, budget: Budget | None = None) -> Archive:
        """Read the bytes of a whole file and its members, each of which must have its digest."""
        with self.opened(raw, path, budget) as (content, arrays, reader):
            digests = dict(content.get("members", {}))
            others = {*reader.names} - {self.content, ARRAYS} - {*digests}
            if others:
                raise ArchiveError(f"it does not list its member {min(others)!r}")
            members = {name: reader.read(name, str(sha256)) for name, sha256 in digests.items()}
        return Archive(content, arrays, members, reader.budget)

    @contextmanager
    def errors_named(self, path: str | Path | None, *, but: tuple[type[Exception], ...] = ()) -> Iterator[None]:
        """Say of whatever goes wrong in reading a file, but for errors of these types, that the file is damaged."""
        passed: tuple[type[BaseException], ...] = (MemoryError, ImportError, Warning, *but)
        try:
            yield
        except passed:  # a warning that the user made an error is not the file's fault
            raise
        except Exception as error:  # a damaged file can go wrong anywhere, and means the same wherever it does
            if path is None:
                raise
            raise self._named(error, path) from error

    def _named(self, error: Exception, path: str | Path) -> DataError:
        if isinstance(error, DataError) and not isinstance(error, ArchiveError):
            return DataError(f"{path}: {error}")
        if isinstance(error, OSError):
            return DataError(f"the file {path} cannot be read: {error.strerror or error}")
        why: object = error
        if isinstance(error, KeyError):
            why = f"it lacks {error}"
        elif not isinstance(error, CopaError):
            why = f"{type(error).__name__}: {error}"
        return DataError(f"{path} is not {self.what}, or is damaged: {why}")

    def _require_readable(self, content: Any) -> None:
        format_name = content.get("format") if isinstance(content, dict) else None
        if format_name != self.name:
            raise DataError(f"it is not {self.what}: its format is {format_name!r}, not {self.name!r}")
        version = content.get("version")
        if version not in self.versions:
            newer = not isinstance(version, int) or version > self.versions[-1]
            raise DataError(
                f"it has version {version!r} of the format {self.name}, and this copa reads "
                f"{' and '.join(map(str, self.versions))}; {'update copa-recourse' if newer else 'save it again'}"
            )
        if self.check is not None:
            self.check(content)


def made_with() -> dict[str, str]:
    """Return the version of the program that writes a file, as the file says it."""
    return {"copa": _version()}


def require_known_entries(names: Iterable[str], known: Iterable[str], what: str, content: Mapping[str, Any]) -> None:
    """Raise if a file has entries that this version does not know, naming the version that wrote them.

    Parameters
    ----------
    found, known : names
    what : str
        One of the entries, in a word.
    content : Mapping
        JSON of the file, which says what it was made with.
    """
    unknown = sorted(set(names) - set(known))
    if unknown:
        made = content.get("made_with")
        version = made.get("copa") if isinstance(made, Mapping) else None
        writer = "an unknown version of COPA" if version is None else f"COPA {version!s:.20}"
        raise DataError(
            f"it was written by {writer}, with the {what} {unknown[0][:80]!r}; this is COPA {_version()}, "
            "which does not know it: update copa-recourse"
        )


def _version() -> str:
    """The version of COPA; asked of the package as it is, because this module is far below it."""
    return str(sys.modules["copa"].__version__)
