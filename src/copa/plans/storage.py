"""A batch as one file: a zip of JSON and arrays with a digest, in which there is nothing to execute."""

import hashlib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from copa._core.archive import Budget
from copa._core.files import write_atomically
from copa._core.formats import Archive, Format, require_known_entries
from copa._core.progress import counting
from copa.bounds.certificate_list import pack_certificates, unpack_certificates
from copa.plans.columns import APPLICANT, OPTION, read_positions, read_statuses
from copa.plans.intervals import Intervals
from copa.plans.rates import HeldOutRates
from copa.plans.records import BatchRecord, PlanRecord
from copa.plans.request import TERMS, PlanTerms
from copa.tables.packing import pack_frame, pack_values, unpack_frame, unpack_values
from copa.uncertainty.set_files import pack_set, unpack_set

Batch = TypeVar("Batch", bound=BatchRecord[PlanRecord])


def _require_known_terms(content: dict[str, Any]) -> None:
    require_known_entries(content["terms"], TERMS, "term", content)


PAPERS_SET, OTHER_SETS = 2, 3  # versions; the second says which set of distributions is meant
PLANS = Format(
    "copa-plan-file",
    what="a file of plans",
    content="plans.json",
    versions=(PAPERS_SET, OTHER_SETS),
    arrays=r"message|(?:batch|ball|certificates|trials|intervals|applicants|options)/.+",
    check=_require_known_terms,
)
PACKED_APART = ("applicants", "options", "message", "certificates")
NUMBERS = [name for per in (APPLICANT, OPTION) for name in BatchRecord.names(per) if name not in PACKED_APART]


def save(batch: BatchRecord[PlanRecord], path: Path) -> None:
    """Write a batch; the same batch gives the same bytes."""
    write_atomically(path, pack(batch))


def pack(batch: BatchRecord[PlanRecord]) -> bytes:
    """Return the bytes of a saved batch."""
    import pandas as pd

    arrays: dict[str, Any] = {f"batch/{name}": getattr(batch, name) for name in NUMBERS}
    told, moments = pack_set(batch.ambiguity)
    arrays |= {f"ball/{name}": array for name, array in moments.items()}
    proofs = pack_certificates(batch.certificates, batch.points, batch.ambiguity, batch.counts)
    arrays |= {f"certificates/{name}": array for name, array in proofs.items()}
    if batch.held_out is not None:
        arrays |= {f"trials/{name}": array for name, array in batch.held_out.pack().items()}
    content = {
        "version": OTHER_SETS if told else PAPERS_SET,
        "terms": PlanTerms.of(batch.request, batch.basis).to_dict(),
        "applicants": pack_frame(batch.applicants, "applicants", arrays),
        "options": pack_frame(batch.options, "options", arrays),
        "message": pack_values(pd.Series(batch.message, dtype=object), "message", arrays, "message"),
    }
    if batch.intervals is not None:
        content["intervals"], ends = batch.intervals.pack()
        arrays |= {f"intervals/{name}": array for name, array in ends.items()}
    return PLANS.pack(Archive(content | ({"ambiguity": told} if told else {}), arrays), compresslevel=1)


def load(cls: type[Batch], path: Path) -> Batch:
    """Read a batch, or say why the file is none."""
    if in_parts(path):
        return cls.concat(list(read_parts(cls, path)))
    return read(cls, path, path)


def read(cls: type[Batch], source: Path | bytes, path: Path | None = None, budget: Budget | None = None) -> Batch:
    """Read a saved batch.

    Parameters
    ----------
    cls : type
    source : Path or bytes
    path : Path, optional
        The file that errors name; without it they name none.
    budget : Budget, optional
        That of the file which the bytes are inside of; None for a file of its own.
    """
    with PLANS.opened(source, path, budget) as (content, arrays, _):
        return _unpack(cls, content, arrays)


def _unpack(cls: type[Batch], content: dict[str, Any], arrays: dict[str, Any]) -> Batch:
    moments = {n.removeprefix("ball/"): arrays[n] for n in arrays if n.startswith("ball/")}
    ambiguity = unpack_set(content["ambiguity"] if content["version"] == OTHER_SETS else {}, moments)
    numbers = {name: arrays[f"batch/{name}"] for name in NUMBERS}
    applicants = unpack_frame(content["applicants"], "applicants", arrays)
    read_statuses(numbers["status"], "status", len(applicants), APPLICANT)  # before room is made for as many as claimed
    owner = read_positions(numbers["owner"], "owner", len(numbers["points"]), OPTION)
    counts = np.bincount(owner, minlength=len(applicants)).astype(np.intp)
    proofs = {n.removeprefix("certificates/"): arrays[n] for n in arrays if n.startswith("certificates/")}
    request, basis = PlanTerms.from_dict(content["terms"]).parts()
    tried = {n.removeprefix("trials/"): arrays[n] for n in arrays if n.startswith("trials/")}
    ends = {n.removeprefix("intervals/"): arrays[n] for n in arrays if n.startswith("intervals/")}
    return cls(
        applicants=applicants,
        options=unpack_frame(content["options"], "options", arrays),
        message=unpack_values(content["message"], "message", arrays).to_numpy(),
        ambiguity=ambiguity,
        certificates=unpack_certificates(proofs, numbers["points"], ambiguity, counts),
        held_out=HeldOutRates.unpack(tried, len(applicants), len(numbers["owner"])),
        intervals=Intervals.unpack(content.get("intervals"), ends, len(numbers["owner"])),
        request=request,
        basis=basis,
        **numbers,
    )


PARTS = Format(
    "copa-plan-parts",
    what="a file of plans",
    content="parts.json",
    versions=(1,),
    members=r"part-[0-9]{6,9}\.copa",
)


class PartsWriter:
    """Writes batches one after another into one zip file.

    Parameters
    ----------
    archive : ZipFile
        Open for writing; whoever opened it closes it.
    """

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
    """Whether a file is one of many batches; false for everything else, unreadable files included."""
    try:
        with zipfile.ZipFile(path) as archive:
            return PARTS.content in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def read_parts(cls: type[Batch], path: Path) -> Iterator[Batch]:
    """Yield the batches of a file, one at a time; a DataError says what is wrong with it."""
    with PARTS.opened(path, path) as (content, _, reader):
        for part in counting(content["parts"], "reading the file", len(content["parts"]), "parts"):
            yield read(cls, reader.read(part["name"], part["sha256"]), budget=reader.budget)
