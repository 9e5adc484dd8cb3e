"""What a worker does: open the planner once, plan for a partition of the applicants, and return a file's bytes."""

import hashlib
import io
import json
import pickle
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from copa.plans import PlanBatch
from copa.plans.writers import ParquetWriter

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner import RecoursePlanner

BLOCK = 250  # applicants that are planned for at a time: the memory that planning takes does not grow beyond it
FACTS = b"copa"  # the entry of a file's metadata that says what is in it
_opening = Lock()


@dataclass(frozen=True)
class PackedPlanner:
    """A planner as bytes, which go to each worker once.

    Parameters
    ----------
    raw : bytes
        A bundle, in which there is nothing to execute; or a pickle, of a planner whose model no bundle may hold.
    pickled : bool
        Whether it is the latter.
    """

    raw: bytes = field(repr=False)
    pickled: bool = False

    @classmethod
    def of(cls, planner: "RecoursePlanner") -> "PackedPlanner":
        """Pack a fitted planner with its settings."""
        from copa.models.storage import ForeignTypeError
        from copa.planner.persistence import pack_planner

        planner._fitted()  # noqa: SLF001 - which says that it is not fitted
        try:
            return cls(pack_planner(planner, include_model=True))
        except ForeignTypeError:  # a model of another package: it goes the way of the user's own functions
            return cls(pickle.dumps(planner), pickled=True)

    @cached_property
    def sha256(self) -> str:
        """Of the bytes."""
        return hashlib.sha256(self.raw).hexdigest()

    def opened(self) -> "RecoursePlanner":
        """Return the planner, opened once in a process however many ask for it; it plans on one thread."""
        with _opening:
            return _open(self)


@lru_cache(maxsize=2)
def _open(packed: PackedPlanner) -> "RecoursePlanner":
    from copa.planner.bundle import unpack_bundle

    if packed.pickled:
        planner: RecoursePlanner = pickle.loads(packed.raw)  # noqa: S301 - made by the same user's client
    else:
        planner = unpack_bundle(packed.raw, Path("the planner that was sent")).planner
    return planner.set_params(n_jobs=1, progress=False)  # type: ignore[no-any-return]  # scikit-learn has no types


class Part(NamedTuple):
    """Plans for one partition.

    Parameters
    ----------
    data : bytes
        Of a Parquet file.
    n_applicants : int
    statuses : dict of str to int
        How many applicants have each status.
    """

    data: bytes
    n_applicants: int
    statuses: dict[str, int]


def plan_blocks(planner: "RecoursePlanner", applicants: "pd.DataFrame") -> Iterator[PlanBatch]:
    """Yield plans, some applicants at a time; how long they took is no result, and is left out."""
    for first in range(0, max(len(applicants), 1), BLOCK):
        batch = planner.plan(applicants.iloc[first : first + BLOCK])
        yield replace(batch, seconds=np.full(len(batch), np.nan))


def plan_part(planner: "RecoursePlanner", applicants: "pd.DataFrame") -> Part:
    """Plan for a partition; the same applicants give the same bytes, wherever it is done."""
    file, counts = io.BytesIO(), Counter[str]()
    writer = ParquetWriter(file)
    for batch in plan_blocks(planner, applicants):
        writer.add(batch)
        counts.update(batch.status.tolist())
    statuses = dict(sorted(counts.items()))
    writer.close({FACTS: json.dumps({"applicants": len(applicants), "statuses": statuses}).encode()})
    return Part(file.getvalue(), len(applicants), statuses)


def read_part(path: Path) -> Part:
    """Return what a file of plans says of itself, with its bytes.

    Raises
    ------
    ValueError
        If it is not a whole file of ours.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    data = path.read_bytes()
    try:
        told: dict[str, Any] = json.loads((pq.read_metadata(io.BytesIO(data)).metadata or {})[FACTS])
        return Part(data, told["applicants"], told["statuses"])
    except (pa.ArrowException, KeyError, TypeError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error
