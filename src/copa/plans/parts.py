"""Many saved batches in one file, written and read part by part, so that memory does not grow with their number."""

import hashlib
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from copa.archive import ArchiveError, ArchiveReader, made_with
from copa.exceptions import DataError
from copa.plans.digests import digest_of

if TYPE_CHECKING:
    from copa.plans.batch import PlanBatch

FORMAT = "copa-plan-parts"
VERSION = 1
CONTENTS = "parts.json"
MEMBERS = r"parts\.json|part-[0-9]{6,9}\.copa"


class PartsWriter:
    """Writes saved batches (`copa.plans.files.pack`) one after another into one zip file.

    Parameters
    ----------
    archive : open for writing; whoever opened it closes it
    """

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._parts: list[dict[str, Any]] = []

    def add(self, raw: bytes) -> None:
        """Add the bytes of a saved batch."""
        name = f"part-{len(self._parts):06d}.copa"
        self._parts.append({"name": name, "sha256": hashlib.sha256(raw).hexdigest()})
        # Members without a date of their own: the same parts give the same bytes.
        self._archive.writestr(zipfile.ZipInfo(name), raw)

    def close(self) -> None:
        """Write the list of parts."""
        content: dict[str, Any] = {"format": FORMAT, "version": VERSION, "made_with": made_with()}
        content["parts"] = self._parts
        content["digest"] = digest_of(content, {})
        self._archive.writestr(zipfile.ZipInfo(CONTENTS), json.dumps(content, indent=1))


def in_parts(path: Path) -> bool:
    """Whether a file is one of many batches; false for everything else, unreadable files included."""
    try:
        with zipfile.ZipFile(path) as archive:
            return CONTENTS in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def read_parts(cls: "type[PlanBatch]", path: Path) -> Iterator["PlanBatch"]:
    """Yield the batches of a file, one at a time; a DataError says what is wrong with it."""
    from copa.plans import files

    try:
        with ArchiveReader(path, MEMBERS) as archive:
            for part in _contents(archive)["parts"]:
                yield files.read(cls, _member(archive, part), archive.budget)
    except ArchiveError as error:
        raise DataError(f"{path} is not a file of plans, or is damaged: {error}") from error
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    except MemoryError:
        raise
    except Exception as error:  # a damaged file can go wrong anywhere, and means the same wherever it does
        raise DataError(
            f"{path} is not a file of plans, or is damaged ({type(error).__name__}: {error}); save the plans again"
        ) from error


def _member(archive: ArchiveReader, part: dict[str, Any]) -> bytes:
    raw = archive.read(part["name"])
    if hashlib.sha256(raw).hexdigest() != part["sha256"]:
        raise DataError(f"{part['name']} was changed after it was saved: its SHA-256 differs")
    return raw


def _contents(archive: ArchiveReader) -> dict[str, Any]:
    content: dict[str, Any] = archive.read_json(CONTENTS)
    if content["format"] != FORMAT:
        raise DataError(f"not a file of plans: its format is {content['format']!r}, not {FORMAT!r}")
    if content["version"] != VERSION:
        raise DataError(f"version {content['version']!r} of the plan file cannot be read, only {VERSION}; update COPA")
    if content.get("digest") != digest_of(content, {}):
        raise DataError("the list of parts was changed after it was saved: its content does not have its digest")
    return content
