"""A batch as one file: a zip of JSON and arrays with a digest, in which there is nothing to execute."""

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from copa._core.archive import ArchiveError, ArchiveReader, Budget, made_with, require_known_entries, write_archive
from copa._core.files import write_atomically
from copa.bounds.certificate_list import pack_certificates, unpack_certificates
from copa.exceptions import DataError
from copa.plans.columns import APPLICANT, OPTION, read_positions, read_statuses
from copa.plans.rates import HeldOutRates
from copa.plans.records import BatchRecord, PlanRecord
from copa.plans.request import TERMS, PlanTerms
from copa.tables.packing import digest_of, pack_frame, pack_values, unpack_frame, unpack_values
from copa.uncertainty.ambiguity import MomentBall

Batch = TypeVar("Batch", bound=BatchRecord[PlanRecord])

FORMAT = "copa-plan-file"
VERSION = 2
CONTENT, ARRAYS = "plans.json", "arrays.npz"
MEMBERS = r"plans\.json|arrays\.npz"
NAMES = r"message|(?:batch|ball|certificates|trials|applicants|options)/.+"  # of arrays
PACKED_APART = ("applicants", "options", "message", "certificates")
NUMBERS = [name for per in (APPLICANT, OPTION) for name in BatchRecord.names(per) if name not in PACKED_APART]


def save(batch: BatchRecord[PlanRecord], path: Path) -> None:
    """Write a batch; the same batch gives the same bytes."""
    write_atomically(path, pack(batch))


def pack(batch: BatchRecord[PlanRecord]) -> bytes:
    """Return the bytes of a saved batch."""
    import pandas as pd

    arrays: dict[str, Any] = {f"batch/{name}": getattr(batch, name) for name in NUMBERS}
    ball = batch.ambiguity
    arrays |= {"ball/mean": ball.mean, "ball/cov": ball.cov, "ball/radius": np.float64(ball.radius)}
    if ball.drift is not None:
        arrays["ball/drift"] = ball.drift
    proofs = pack_certificates(batch.certificates, batch.points, ball, batch.counts)
    arrays |= {f"certificates/{name}": array for name, array in proofs.items()}
    if batch.held_out is not None:
        arrays |= {f"trials/{name}": array for name, array in batch.held_out.pack().items()}
    content = {
        "format": FORMAT,
        "version": VERSION,
        "made_with": made_with(),
        "terms": batch.terms.to_dict(),
        "applicants": pack_frame(batch.applicants, "applicants", arrays),
        "options": pack_frame(batch.options, "options", arrays),
        "message": pack_values(pd.Series(batch.message, dtype=object), "message", arrays, "message"),
    }
    # As the file holds it: names that JSON turns into text, lists in place of tuples.
    content = json.loads(json.dumps(content, allow_nan=False))
    content["digest"] = digest_of(content, arrays)
    packed = io.BytesIO()
    np.savez(packed, **arrays)
    members = {CONTENT: json.dumps(content, allow_nan=False).encode(), ARRAYS: packed.getvalue()}
    return write_archive(members, compresslevel=1)


def load(cls: type[Batch], path: Path) -> Batch:
    """Read a batch, or say why the file is none."""
    if in_parts(path):
        return cls.concat(list(read_parts(cls, path)))
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DataError(f"the plans {path} cannot be read: {error.strerror}") from error
    with _faults_named(path):
        return read(cls, raw)


@contextmanager
def _faults_named(path: Path) -> Iterator[None]:
    """Say of whatever goes wrong in reading a file that it is the file which is wrong."""
    try:
        yield
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


def read(cls: type[Batch], raw: bytes, budget: Budget | None = None) -> Batch:
    """Read the bytes of a saved batch; what goes wrong on the way is the caller's to name.

    Parameters
    ----------
    budget : of the file which the bytes are inside of; None for a file of its own
    """
    with ArchiveReader(raw, MEMBERS, budget) as archive:
        content = archive.read_json(CONTENT)
        _require_format(content)
        arrays = archive.read_arrays(ARRAYS, NAMES)
    if content.get("digest") != digest_of(content, arrays):
        raise DataError("the file was changed after it was saved, or is damaged: its content does not have its digest")
    ball = MomentBall.read(arrays["ball/mean"], arrays["ball/cov"], arrays["ball/radius"], arrays.get("ball/drift"))
    numbers = {name: arrays[f"batch/{name}"] for name in NUMBERS}
    applicants = unpack_frame(content["applicants"], "applicants", arrays)
    read_statuses(numbers["status"], "status", len(applicants), APPLICANT)  # before room is made for as many as claimed
    owner = read_positions(numbers["owner"], "owner", len(numbers["points"]), OPTION)
    counts = np.bincount(owner, minlength=len(applicants)).astype(np.intp)
    proofs = {n.removeprefix("certificates/"): arrays[n] for n in arrays if n.startswith("certificates/")}
    request, basis = PlanTerms.from_dict(content["terms"]).parts()
    tried = {n.removeprefix("trials/"): arrays[n] for n in arrays if n.startswith("trials/")}
    return cls(
        applicants=applicants,
        options=unpack_frame(content["options"], "options", arrays),
        message=unpack_values(content["message"], "message", arrays).to_numpy(),
        ambiguity=ball,
        certificates=unpack_certificates(proofs, numbers["points"], ball, counts),
        held_out=HeldOutRates.unpack(tried, len(applicants), len(numbers["owner"])),
        request=request,
        basis=basis,
        **numbers,
    )


def _require_format(content: Any) -> None:
    if content["format"] != FORMAT:
        raise DataError(f"not a file of plans: its format is {content['format']!r}, not {FORMAT!r}")
    if content["version"] != VERSION:
        newer = isinstance(content["version"], int) and content["version"] > VERSION
        advice = "update COPA" if newer else "save the plans again"
        raise DataError(f"version {content['version']!r} of the plan file cannot be read, only {VERSION}; {advice}")
    require_known_entries(content["terms"], TERMS, "term", content)


PARTS_FORMAT = "copa-plan-parts"
PARTS_VERSION = 1
CONTENTS = "parts.json"
PARTS_MEMBERS = r"parts\.json|part-[0-9]{6,9}\.copa"


class PartsWriter:
    """Writes saved batches (`copa.plans.storage.pack`) one after another into one zip file.

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
        content: dict[str, Any] = {"format": PARTS_FORMAT, "version": PARTS_VERSION, "made_with": made_with()}
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


def read_parts(cls: type[Batch], path: Path) -> Iterator[Batch]:
    """Yield the batches of a file, one at a time; a DataError says what is wrong with it."""
    with _faults_named(path), ArchiveReader(path, PARTS_MEMBERS) as archive:
        for part in _contents(archive)["parts"]:
            yield read(cls, _member(archive, part), archive.budget)


def _member(archive: ArchiveReader, part: dict[str, Any]) -> bytes:
    raw = archive.read(part["name"])
    if hashlib.sha256(raw).hexdigest() != part["sha256"]:
        raise DataError(f"{part['name']} was changed after it was saved: its SHA-256 differs")
    return raw


def _contents(archive: ArchiveReader) -> dict[str, Any]:
    content: dict[str, Any] = archive.read_json(CONTENTS)
    if content["format"] != PARTS_FORMAT:
        raise DataError(f"not a file of plans: its format is {content['format']!r}, not {PARTS_FORMAT!r}")
    if content["version"] != PARTS_VERSION:
        raise DataError(
            f"version {content['version']!r} of the plan file cannot be read, only {PARTS_VERSION}; update COPA"
        )
    if content.get("digest") != digest_of(content, {}):
        raise DataError("the list of parts was changed after it was saved: its content does not have its digest")
    return content
