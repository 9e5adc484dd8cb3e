"""The file itself: a zip of JSON, arrays and further members."""

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from copa.exceptions import DataError
from copa.schema.names import shown

FORMAT = "copa-planner"
VERSIONS = (1, 2)  # of files for linear models, which older copies of copa read as well, and of the others
CONTENT, ARRAYS = "planner.json", "arrays.npz"


@dataclass(frozen=True)
class Archive:
    """What a file holds.

    Attributes
    ----------
    content : as JSON has it
    arrays : by name
    members : bytes that are files of their own, by name
    """

    content: dict[str, Any]
    arrays: dict[str, Any]
    members: Mapping[str, bytes] = field(default_factory=dict)

    def require(self, parts: tuple[str, ...], arrays: tuple[str, ...], path: str | Path) -> None:
        """Raise if something is missing."""
        missing = [name for name in parts if name not in self.content]
        missing += [name for name in arrays if name not in self.arrays]
        if missing:
            raise damaged(path, f"it lacks {', '.join(missing)}; save it again")


def damaged(path: str | Path, why: object) -> DataError:
    """The error for a file that is not what it should be."""
    return DataError(f"{path} is not a saved planner, or is damaged: {why}")


def write_archive(archive: Archive) -> bytes:
    """Return the bytes of a file."""
    content = {"format": FORMAT, **archive.content}
    arrays = io.BytesIO()
    np.savez(arrays, **archive.arrays)
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as file:
        # A date of its own for every file would make the bytes differ.
        file.writestr(zipfile.ZipInfo(CONTENT), json.dumps(content, indent=1).encode(), zipfile.ZIP_DEFLATED)
        file.writestr(zipfile.ZipInfo(ARRAYS), arrays.getvalue(), zipfile.ZIP_DEFLATED)
        for name, raw in archive.members.items():
            file.writestr(zipfile.ZipInfo(name), raw, zipfile.ZIP_STORED)  # compressed by those who made them
    return whole.getvalue()


def read_archive(path: Path) -> Archive:
    """Read a file, or say why it is none."""
    try:
        with zipfile.ZipFile(path) as file:
            content = json.loads(file.read(CONTENT))
            with np.load(io.BytesIO(file.read(ARRAYS)), allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
            members = {name: file.read(name) for name in file.namelist() if name not in (CONTENT, ARRAYS)}
    except MemoryError:
        raise
    except OSError as error:
        raise DataError(f"the planner {path} cannot be read: {error.strerror or error}") from error
    except Exception as error:  # a damaged file can go wrong anywhere, and means the same wherever it does
        raise damaged(path, error) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DataError(f"{path} is not a saved planner")
    if content.get("version") not in VERSIONS:
        raise DataError(
            f"{path} is of version {shown(content.get('version'))}, this copa reads versions up to "
            f"{VERSIONS[-1]}: update copa-recourse"
        )
    return Archive(content, arrays, members)
