"""The certificates of many plans, as arrays where that is what they came from, each built when it is asked for."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, overload

import numpy as np

from copa._core.arrays import Array
from copa._core.records import Positions, segment_rows
from copa.bounds.certificate import Certificate
from copa.bounds.validity import CertificateList, Proofs
from copa.exceptions import InvalidInputError
from copa.uncertainty.ambiguity import MomentBall

NOBODY: tuple[None, ...] = (None,)

# Where each array of a group comes from in a certificate.
FIELDS = {
    "directions": "directions",
    "matrices": "matrix",
    "penalties": "penalty",
    "blocks": "blocks",
    "any_mixtures": "any_mixture",
    "upper_mixtures": "upper_mixture",
}


@dataclass(frozen=True, eq=False)
class Certificates(Sequence[Certificate | None]):
    """Certificates picked from other sequences of them: entry i is `sources[source[i]][place[i]]`."""

    sources: Sequence[Sequence[Certificate | None]]
    source: Positions  # (N,)
    place: Positions  # (N,)

    @classmethod
    def of(cls, certificates: Sequence[Certificate | None]) -> "Certificates":
        """Take any sequence of certificates."""
        if isinstance(certificates, Certificates):
            return certificates
        n = len(certificates)
        return cls((certificates,), np.zeros(n, dtype=np.intp), np.arange(n, dtype=np.intp))

    @classmethod
    def chain(cls, parts: Sequence[Sequence[Certificate | None]]) -> "Certificates":
        """Put sequences one after another."""
        taken = [cls.of(part) for part in parts]
        offsets = np.cumsum([0] + [len(part.sources) for part in taken])
        return cls(
            [source for part in taken for source in part.sources],
            np.concatenate([part.source + offset for part, offset in zip(taken, offsets[:-1], strict=True)]),
            np.concatenate([part.place for part in taken]),
        )

    def select(self, rows: Positions) -> "Certificates":
        """Return those of some applicants."""
        return Certificates(self.sources, self.source[rows], self.place[rows])

    def __len__(self) -> int:
        return len(self.place)

    @overload
    def __getitem__(self, index: int) -> Certificate | None: ...
    @overload
    def __getitem__(self, index: slice) -> "Certificates": ...
    def __getitem__(self, index: int | slice) -> "Certificate | Certificates | None":
        if isinstance(index, slice):
            return self.select(np.arange(len(self), dtype=np.intp)[index])
        certificate: Certificate | None = self.sources[int(self.source[index])][int(self.place[index])]
        return certificate

    def __iter__(self) -> Iterator[Certificate | None]:
        return (self[i] for i in range(len(self)))


def pack_certificates(
    certificates: Sequence[Certificate | None], points: Array, ball: MomentBall, counts: Positions
) -> dict[str, Any]:
    """Collect certificates in arrays, one group per number of options.

    Parameters
    ----------
    points : (M, D) options of all applicants, which the certificates must be about
    counts : (N,) number of options of each applicant

    Returns
    -------
    Arrays by name: "rows/J" positions of the applicants with J options and a certificate, and the fields of `Proofs`
    as "field/J"
    """
    groups: dict[int, tuple[list[int], list[Certificate]]] = {}
    starts = np.cumsum(counts) - counts
    for i, certificate in enumerate(certificates):
        if certificate is None:
            continue
        own = points[starts[i] : starts[i] + counts[i]]
        if not (np.array_equal(certificate.points, own) and same_ball(certificate.ball, ball)):
            raise InvalidInputError(
                f"the certificate at position {i} is about other options, or another ball, than the plans are; "
                "certify the rows that are delivered"
            )
        rows, group = groups.setdefault(int(counts[i]), ([], []))
        rows.append(i)
        group.append(certificate)
    arrays: dict[str, Any] = {}
    for n_options, (rows, group) in sorted(groups.items()):
        arrays[f"rows/{n_options}"] = np.array(rows, dtype=np.int64)
        for name, attribute in FIELDS.items():
            arrays[f"{name}/{n_options}"] = np.array([getattr(certificate, attribute) for certificate in group])
    return arrays


def unpack_certificates(arrays: Mapping[str, Any], points: Array, ball: MomentBall, counts: Positions) -> Certificates:
    """Read what `pack_certificates` returned; a ValueError says where its arrays do not fit."""
    sources: list[Sequence[Certificate | None]] = [NOBODY]
    source, place = np.zeros(len(counts), dtype=np.intp), np.zeros(len(counts), dtype=np.intp)
    for key in sorted(key for key in arrays if key.startswith("rows/")):
        n_options = int(key.removeprefix("rows/"))
        rows = np.asarray(arrays[key], dtype=np.intp)
        if not (counts[rows] == n_options).all():
            raise ValueError(f"certificates for {n_options} options belong to plans of another number of options")
        room = Proofs.empty(len(rows), n_options, ball.dimension)
        proofs = Proofs(**{name: np.asarray(arrays[f"{name}/{n_options}"], dtype=np.float64) for name in FIELDS})
        for f in fields(Proofs):
            if getattr(proofs, f.name).shape != getattr(room, f.name).shape:
                raise ValueError(f"certificates of {n_options} options have {f.name} of another shape")
            getattr(proofs, f.name).setflags(write=False)
        plans = points[segment_rows(rows, counts)].reshape(len(rows), n_options, ball.dimension)
        plans.setflags(write=False)
        source[rows], place[rows] = len(sources), np.arange(len(rows))
        sources.append(CertificateList(plans, ball, proofs))
    return Certificates(sources, source, place)


def same_ball(one: MomentBall, other: MomentBall) -> bool:
    """Whether two balls hold the same distributions, to the last bit of their moments."""
    if one is other:
        return True
    if one.radius != other.radius or (one.drift is None) != (other.drift is None):
        return False
    pairs = [(one.mean, other.mean), (one.cov, other.cov), (one.drift, other.drift)]
    return all(a is b or (a is not None and b is not None and np.array_equal(a, b)) for a, b in pairs)
