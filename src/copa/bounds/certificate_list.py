"""The certificates of many plans: their numbers as arrays, each certificate built when it is asked for."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, overload

import numpy as np

from copa._core.arrays import Array
from copa._core.records import Positions, segment_rows
from copa._core.words import counted
from copa.bounds.certificate import PROOF, BallCertificate, Certificate, proof_shapes
from copa.exceptions import InvalidInputError
from copa.uncertainty.ambiguity import AmbiguitySet
from copa.uncertainty.set_files import pack_set

NOBODY: tuple[None, ...] = (None,)


@dataclass(frozen=True, eq=False)
class Proofs:
    """The numbers behind the certificates of N plans of J options in a ball, as the kernels write them."""

    directions: Array  # (N, J, n)
    matrices: Array  # (N, n, n)
    penalties: Array  # (N,)
    blocks: Array  # (N, J, n, n)
    any_mixtures: Array  # (N, J)
    upper_mixtures: Array  # (N, J)

    @classmethod
    def empty(cls, n_plans: int, n_options: int, dimension: int) -> "Proofs":
        """Room for a batch."""
        return cls(*(np.zeros((n_plans, *shape)) for shape in proof_shapes(n_options, dimension).values()))


# Names of the arrays, as files have them, and of the numbers of one certificate that they hold.
FIELDS = dict(zip((f.name for f in fields(Proofs)), PROOF, strict=True))


@dataclass(frozen=True, eq=False)
class ProvenPlans:
    """Plans of J options in one ambiguity set, and their proofs, None where the set itself is all that is needed."""

    points: Array  # (N, J, D)
    ambiguity: AmbiguitySet
    proofs: Proofs | None

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, k: int) -> Certificate:
        if self.proofs is None or not self.ambiguity.in_ball:
            return Certificate(self.points[k], self.ambiguity)
        numbers: dict[str, Any] = {name: getattr(self.proofs, array)[k] for array, name in FIELDS.items()}
        return BallCertificate(self.points[k], self.ambiguity, **(numbers | {"penalty": float(numbers["penalty"])}))


@dataclass(frozen=True, eq=False)
class Certificates(Sequence[Certificate | None]):
    """Certificates picked from sources: entry i is `sources[source[i]][place[i]]`."""

    sources: Sequence[ProvenPlans | Sequence[Certificate | None]]
    source: Positions  # (N,)
    place: Positions  # (N,)

    @classmethod
    def of(cls, certificates: ProvenPlans | Sequence[Certificate | None]) -> "Certificates":
        """Take any sequence of certificates."""
        if isinstance(certificates, Certificates):
            return certificates
        n = len(certificates)
        return cls((certificates,), np.zeros(n, dtype=np.intp), np.arange(n, dtype=np.intp))

    @classmethod
    def concat(cls, parts: Sequence[Sequence[Certificate | None]]) -> "Certificates":
        """Put sequences one after another."""
        taken = [cls.of(part) for part in parts]
        offsets = np.cumsum([0] + [len(part.sources) for part in taken])
        return cls(
            [source for part in taken for source in part.sources],
            np.concatenate([part.source + offset for part, offset in zip(taken, offsets[:-1], strict=True)]),
            np.concatenate([part.place for part in taken]),
        )

    def take(self, rows: Positions) -> "Certificates":
        """Return some of them."""
        return Certificates(self.sources, self.source[rows], self.place[rows])

    def __repr__(self) -> str:
        return f"Certificates({counted(len(self), 'plan')})"

    def __len__(self) -> int:
        return len(self.place)

    @overload
    def __getitem__(self, index: int) -> Certificate | None: ...
    @overload
    def __getitem__(self, index: slice) -> "Certificates": ...
    def __getitem__(self, index: int | slice) -> "Certificate | Certificates | None":
        if isinstance(index, slice):
            return self.take(np.arange(len(self), dtype=np.intp)[index])
        return self.sources[int(self.source[index])][int(self.place[index])]

    def __iter__(self) -> Iterator[Certificate | None]:
        return (self[i] for i in range(len(self)))


def pack_certificates(
    certificates: Sequence[Certificate | None], points: Array, ambiguity: AmbiguitySet, counts: Positions
) -> dict[str, Any]:
    """Collect certificates in arrays, one group per number of options.

    Parameters
    ----------
    certificates : sequence of N Certificate or None
    points : ndarray of shape (M, D)
        Options of all applicants, which the certificates must be about.
    ambiguity : AmbiguitySet
    counts : ndarray of shape (N,)
        Number of options of each applicant.

    Returns
    -------
    dict of str to ndarray
        "rows/J": positions of the applicants with J options and a certificate; "field/J": the fields of `Proofs`, where
        the set needs them.

    Raises
    ------
    InvalidInputError
        If a certificate is about other options or another set, or the set is one that files do not know.
    """
    groups: dict[int, tuple[list[int], list[Certificate]]] = {}
    starts = np.cumsum(counts) - counts
    pack_set(ambiguity)  # or the error for a set that files do not know
    for i, certificate in enumerate(certificates):
        if certificate is None:
            continue
        own = points[starts[i] : starts[i] + counts[i]]
        if not (np.array_equal(certificate.points, own) and ambiguity.same_as(certificate.ambiguity)):
            raise InvalidInputError(
                f"the certificate at position {i} is about other options, or another ambiguity set, than the plans "
                "are; certify the rows that are delivered"
            )
        rows, group = groups.setdefault(int(counts[i]), ([], []))
        rows.append(i)
        group.append(certificate)
    arrays: dict[str, Any] = {}
    for n_options, (rows, group) in sorted(groups.items()):
        arrays[f"rows/{n_options}"] = np.array(rows, dtype=np.int64)
        if ambiguity.in_ball:
            for name, attribute in FIELDS.items():
                arrays[f"{name}/{n_options}"] = np.array([getattr(certificate, attribute) for certificate in group])
    return arrays


def unpack_certificates(
    arrays: Mapping[str, Any], points: Array, ambiguity: AmbiguitySet, counts: Positions
) -> Certificates:
    """Read what `pack_certificates` returned; a ValueError says where its arrays do not fit."""
    sources: list[ProvenPlans | Sequence[Certificate | None]] = [NOBODY]
    source, place = np.zeros(len(counts), dtype=np.intp), np.zeros(len(counts), dtype=np.intp)
    for key in sorted(key for key in arrays if key.startswith("rows/")):
        n_options = int(key.removeprefix("rows/"))
        rows = np.asarray(arrays[key], dtype=np.intp)
        if not (counts[rows] == n_options).all():
            raise ValueError(f"certificates for {n_options} options belong to plans of another number of options")
        proofs = _stored_proofs(arrays, n_options, len(rows), ambiguity.dimension) if ambiguity.in_ball else None
        plans = points[segment_rows(rows, counts)].reshape(len(rows), n_options, ambiguity.dimension)
        plans.setflags(write=False)
        source[rows], place[rows] = len(sources), np.arange(len(rows))
        sources.append(ProvenPlans(plans, ambiguity, proofs))
    return Certificates(sources, source, place)


def _stored_proofs(arrays: Mapping[str, Any], n_options: int, n_plans: int, dimension: int) -> Proofs:
    """The proofs of plans of one size, of the shapes that they must have."""
    proofs = Proofs(**{name: np.asarray(arrays[f"{name}/{n_options}"], dtype=np.float64) for name in FIELDS})
    shapes = proof_shapes(n_options, dimension)
    for name, attribute in FIELDS.items():
        if getattr(proofs, name).shape != (n_plans, *shapes[attribute]):
            raise ValueError(f"certificates of {n_options} options have {name} of another shape")
        getattr(proofs, name).setflags(write=False)
    return proofs
