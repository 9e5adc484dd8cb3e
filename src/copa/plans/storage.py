"""A batch as one file: a zip of JSON and arrays with a digest, in which there is nothing to execute."""

import hashlib
import re
import zipfile
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from copa._core.archive import Budget
from copa._core.files import write_atomically
from copa._core.formats import Archive, Format, require_known_entries
from copa._core.progress import counting
from copa.data.tables.packing import pack_frame, pack_values, unpack_frame, unpack_values
from copa.exceptions import DataError
from copa.plans.columns import APPLICANT, OPTION, read_statuses
from copa.plans.records import BatchRecord, PlanRecord
from copa.plans.request import PlanBasis, PlanRequest
from copa.theory.sets.set_files import pack_set, unpack_set

Batch = TypeVar("Batch", bound=BatchRecord[PlanRecord])


def _require_known_terms(content: dict[str, Any]) -> None:
    for name, kind in (("request", PlanRequest), ("basis", PlanBasis)):
        require_known_entries(content[name], [f.name for f in fields(kind)], f"entry of the {name}", content)


PLANS = Format(
    "copa-plan-file",
    what="a file of plans",
    content="plans.json",
    versions=(1,),
    arrays=r"message|(?:batch|ambiguity|applicants|options)/.+",
    check=_require_known_terms,
)
PACKED_APART = ("applicants", "options", "message")
NUMBERS = [name for per in (APPLICANT, OPTION) for name in BatchRecord.columns(per) if name not in PACKED_APART]


def save(batch: BatchRecord[PlanRecord], path: Path) -> None:
    """Write a batch; the same batch gives the same bytes."""
    write_atomically(path, pack(batch))


def pack(batch: BatchRecord[PlanRecord]) -> bytes:
    """Return the bytes of a saved batch."""
    import pandas as pd

    arrays: dict[str, Any] = {f"batch/{name}": getattr(batch, name) for name in NUMBERS}
    ambiguity, moments = pack_set(batch.ambiguity)
    arrays |= {f"ambiguity/{name}": array for name, array in moments.items()}
    content = {
        "request": batch.request.to_dict(),
        "basis": batch.basis.to_dict(),
        "ambiguity": ambiguity,
        "n_held_out": batch.n_held_out,
        "applicants": pack_frame(batch.applicants, "applicants", arrays),
        "options": pack_frame(batch.options, "options", arrays),
        "message": pack_values(pd.Series(batch.message, dtype=object), "message", arrays, "message"),
    }
    return PLANS.pack(Archive(content, arrays), compresslevel=1)


def load(cls: type[Batch], path: Path) -> Batch:
    """Read a batch; a DataError says why the file is none."""
    return cls.concat(list(read_batches(cls, path)))


def read(cls: type[Batch], source: Path | bytes, path: Path | None = None, budget: Budget | None = None) -> Batch:
    """Read a saved batch; errors name `path`, and a budget is that of the file that the bytes are inside of."""
    with PLANS.opened(source, path, budget) as (content, arrays, _):
        return _unpack(cls, content, arrays)


def _unpack(cls: type[Batch], content: dict[str, Any], arrays: dict[str, Any]) -> Batch:
    ambiguity = unpack_set(content["ambiguity"], _under("ambiguity/", arrays))
    numbers = {name: arrays[f"batch/{name}"] for name in NUMBERS}
    applicants = unpack_frame(content["applicants"], "applicants", arrays)
    read_statuses(numbers["status"], "status", (len(applicants),))  # before room is made for as many as claimed
    return cls(
        applicants=applicants,
        options=unpack_frame(content["options"], "options", arrays),
        message=unpack_values(content["message"], "message", arrays).to_numpy(),
        ambiguity=ambiguity,
        n_held_out=content["n_held_out"],
        request=PlanRequest.from_dict(content["request"]),
        basis=PlanBasis.from_dict(content["basis"]),
        **numbers,
    )


def _under(prefix: str, arrays: dict[str, Any]) -> dict[str, Any]:
    """Return the arrays whose names begin with a prefix, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


PARTS = Format(
    "copa-plan-parts",
    what="a file of plans",
    content="parts.json",
    versions=(1,),
    members=r"part-[0-9]{6,9}\.copa",
)
READING = "reading the plans"  # as progress is shown


class PartsWriter:
    """Writer of batches, one after another, into a zip file that its caller opens and closes."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._parts: list[dict[str, Any]] = []

    def add(self, batch: BatchRecord[PlanRecord]) -> None:
        """Add a batch."""
        raw = pack(batch)
        name = f"part-{len(self._parts):06d}.copa"
        self._parts.append({"name": name, "sha256": hashlib.sha256(raw).hexdigest()})
        # Members without a date of their own: the same parts give the same bytes.
        self._archive.writestr(zipfile.ZipInfo(name), raw)

    def close(self) -> None:
        """Write the list of parts."""
        self._archive.writestr(zipfile.ZipInfo(PARTS.content), PARTS.seal({"parts": self._parts}))


def in_parts(path: Path) -> bool:
    """Return whether a file holds many batches; false for everything else, unreadable files included."""
    try:
        with zipfile.ZipFile(path) as archive:
            return PARTS.content in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def read_batches(cls: type[Batch], path: Path) -> Iterator[Batch]:
    """Yield the batch of a file, or its batches, or those of a finished run; a DataError says what is wrong with it."""
    if path.is_dir():
        yield from _read_folder(cls, path)
        return
    if not in_parts(path):
        yield read(cls, path, path)
        return
    with PARTS.opened(path, path) as (content, _, reader):
        for part in counting(content["parts"], READING, len(content["parts"]), "parts"):
            yield read(cls, reader.read(part["name"], part["sha256"]), budget=reader.budget)


def _read_folder(cls: type[Batch], folder: Path) -> Iterator[Batch]:
    """Yield the batches of a folder that `copa.planner.runs` filled."""
    path = folder / PARTS.content
    if not path.is_file():
        raise DataError(
            f"the folder {folder} holds no finished run: it has no {PARTS.content}; run the command that fills it again"
        )
    with PARTS.errors_named(path):
        parts = [(str(part["name"]), part["sha256"]) for part in PARTS.unseal(path.read_bytes())["parts"]]
        if not all(re.fullmatch(PARTS.members or "", name) for name, _ in parts):
            raise DataError("it lists files that are no parts of a run")
    for name, sha256 in counting(parts, READING, len(parts), "parts"):
        part = folder / name
        with PLANS.errors_named(part):
            raw = part.read_bytes()
            if hashlib.sha256(raw).hexdigest() != sha256:
                raise DataError(f"it is not the file that {PARTS.content} lists")
        yield read(cls, raw, part)
