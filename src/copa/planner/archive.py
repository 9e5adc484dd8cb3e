"""The file itself: a zip of JSON, arrays and further members."""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from copa._core.archive import ArchiveReader, Budget, made_with, require_known_entries, write_archive
from copa._core.words import shown
from copa.exceptions import DataError

FORMAT = "copa-planner"
VERSIONS = (1, 2)  # of files for linear models, which older copies of copa read as well, and of the others
CONTENT, ARRAYS = "planner.json", "arrays.npz"
MEMBERS = r"planner\.json|arrays\.npz|refits/[0-9]{4,6}\.(?:skops|npz)"
NAMES = r"theta|mean|cov|directions|drift|scores|rows/.+"  # of arrays


class OtherFormatError(DataError):
    """A file is whole, and is none that this version of COPA reads."""


@dataclass(frozen=True)
class Archive:
    """What a file holds.

    Attributes
    ----------
    content : as JSON has it
    arrays : by name
    members : bytes that are files of their own, by name
    budget : what these may take in memory, once they are read; None for a file that is yet to be written
    """

    content: dict[str, Any]
    arrays: dict[str, Any]
    members: Mapping[str, bytes] = field(default_factory=dict)
    budget: Budget | None = None

    def require(self, parts: tuple[str, ...], arrays: tuple[str, ...], path: str | Path) -> None:
        """Raise if something is missing."""
        missing = [name for name in parts if name not in self.content]
        missing += [name for name in arrays if name not in self.arrays]
        if missing:
            raise damaged(path, f"it lacks {', '.join(missing)}; save it again")


def damaged(path: str | Path, why: object) -> DataError:
    """The error for a file that is not what it should be."""
    return DataError(f"{path} is not a saved planner, or is damaged: {why}")


def pack_archive(archive: Archive) -> bytes:
    """Return the bytes of a file."""
    content = {"format": FORMAT, "made_with": made_with(), **archive.content}
    arrays = io.BytesIO()
    np.savez(arrays, **archive.arrays)
    members = {CONTENT: json.dumps(content, indent=1).encode(), ARRAYS: arrays.getvalue()}
    return write_archive(members | dict(archive.members), stored=archive.members)


def unpack_archive(raw: bytes, path: str | Path, budget: Budget | None = None) -> Archive:
    """Read the bytes of a file, or say why it is none.

    Parameters
    ----------
    path : where the bytes come from, for messages
    budget : that of the file which they are inside of
    """
    try:
        with ArchiveReader(raw, MEMBERS, budget) as file:
            content = file.read_json(CONTENT)
            _require_format(content, path)
            arrays = file.read_arrays(ARRAYS, NAMES)
            members = {name: file.read(name) for name in file.names if name not in (CONTENT, ARRAYS)}
    except (MemoryError, OtherFormatError):
        raise
    except Exception as error:  # a damaged file can go wrong anywhere, and means the same wherever it does
        raise damaged(path, error) from error
    return Archive(content, arrays, members, file.budget)


def _require_format(content: Any, path: str | Path) -> None:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise OtherFormatError(f"{path} is not a saved planner")
    if content.get("version") not in VERSIONS:
        raise OtherFormatError(
            f"{path} is of version {shown(content.get('version'))}, this copa reads versions up to "
            f"{VERSIONS[-1]}: update copa-recourse"
        )


# Settings that are not written: the model is not ours to save, and the rest is in the fitted state.
NOT_SAVED = ("model", "schema", "moments", "radius", "drift", "ambiguity")


def pack_settings(planner: Any) -> dict[str, Any]:
    """The settings, as JSON has them."""
    given = planner.get_params(deep=False).items()
    return {name: _plain(value) for name, value in given if name not in NOT_SAVED}


def complete_settings(content: dict[str, Any], planner_class: Any, path: str | Path) -> dict[str, Any]:
    """The settings of a file, with the default of each that there was not yet when it was written.

    They also take the place of those in the content.
    """
    settings = content.get("settings")
    if not isinstance(settings, dict):
        raise damaged(path, "it lacks settings; save it again")
    parameters = signature(planner_class.__init__).parameters
    names = planner_class._get_param_names()  # noqa: SLF001 - scikit-learn's only way to ask a class
    defaults = {name: parameters[name].default for name in names if name not in NOT_SAVED}
    try:
        require_known_entries(settings, defaults, "setting", content)
    except DataError as error:
        raise DataError(f"the planner {path} cannot be read: {error}") from error
    content["settings"] = defaults | settings
    return dict(content["settings"])


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
