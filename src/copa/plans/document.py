"""A batch as JSON for other programs, with plain names and full precision; and a check of the claims in it."""

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from copa._core.arrays import Array
from copa._core.formats import Digest
from copa._core.progress import counting
from copa._core.threads import stop_if_interrupted
from copa._core.words import STATUSES, shown
from copa.data.tables.cells import as_json, as_text, cells_of
from copa.exceptions import CopaError, DataError
from copa.plans.changes import Change
from copa.plans.frames import option_numbers
from copa.plans.wording import GUARANTEES_MEAN, assumption
from copa.theory.bounds.certificate import Certificate, Verification
from copa.theory.sets.ambiguity import AmbiguitySet, is_exact
from copa.theory.sets.set_files import describe_set, set_from_json, set_to_json

if TYPE_CHECKING:
    import pandas as pd

    from copa.plans.records import BatchRecord, PlanRecord


FORMAT = "copa-plans"
VERSION = 1
BOUNDS = {"all": "lower", "any": "any_lower", "upper": "upper"}  # keys of an applicant, and the columns they tell


class TextFile(Protocol):
    """File that text is written to."""

    def write(self, text: str, /) -> object:
        """Write some text."""


class DocumentWriter:
    """Writer of batches of the same terms as one JSON document: a line per applicant, the digest at the end.

    With `certificates` it has the proofs too, so that `copa verify` can check the document alone.
    """

    def __init__(self, file: TextFile, *, certificates: bool = False) -> None:
        self._file = file
        self._certificates = certificates
        self._digest = Digest()
        self._separator = ""

    def add(self, batch: "BatchRecord[PlanRecord]") -> None:
        """Write the applicants of a batch; the first batch also gives the header."""
        if not self._separator:
            header = _header(batch, certificates=self._certificates)
            self._digest.add(header)
            self._file.write(f'{_dumped(header)[:-1]}, "applicants": [')
            self._separator = "\n"
        for entry in plan_entries(batch, certificates=self._certificates):
            self._digest.add(entry)
            self._file.write(f"{self._separator}{_dumped(entry)}")
            self._separator = ",\n"

    def close(self) -> None:
        """Write the end."""
        self._file.write(f'\n], "digest": "{self._digest.text()}"}}\n')


def batch_document(batch: "BatchRecord[PlanRecord]", *, certificates: bool = False) -> str:
    """Return the batch as JSON text, one line per applicant."""
    text = io.StringIO()
    writer = DocumentWriter(text, certificates=certificates)
    writer.add(batch)
    writer.close()
    return text.getvalue()


def require_document(content: Any) -> None:
    """Raise if JSON content is not a document of plans, is newer, or was changed after it was written."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DataError(f"not a document of plans: it must be an object with format {FORMAT!r}")
    if content.get("version") != VERSION:
        raise DataError(
            f"version {content.get('version')!r} of the document cannot be read, only {VERSION}; update COPA"
        )
    if not isinstance(content.get("applicants"), list) or "digest" not in content:
        raise DataError("the document of plans has no list of applicants, or no digest; write the plans again")
    if content["digest"] != document_digest(content):
        raise DataError("the document was changed after it was written: its content does not have its digest")


def document_digest(content: Mapping[str, Any]) -> str:
    """Return the digest that belongs to the content of a document."""
    digest = Digest().add({key: content[key] for key in content if key not in ("applicants", "digest")})
    for entry in content["applicants"]:
        digest.add(entry)
    return digest.text()


def _header(batch: "BatchRecord[PlanRecord]", *, certificates: bool) -> dict[str, Any]:
    """Return the entries of a document before its applicants."""
    proven_for = {"ambiguity": set_to_json(batch.ambiguity)} if certificates else {}
    return {"format": FORMAT, "version": VERSION} | terms_entry(batch) | proven_for


def terms_entry(batch: "BatchRecord[PlanRecord]") -> dict[str, Any]:
    """Return the request for plans, and the assumptions behind their guarantees."""
    request, basis, ambiguity = batch.request, batch.basis, batch.ambiguity
    return {
        "asked": {
            "guarantee": request.level,
            "expected_rate": request.guarantee if request.expected else None,
            "guarantee_for": request.guarantee_for,
            "n_options": request.n_options,
            "objective": request.objective,
            "cost": request.cost,
            "plausibility": request.plausibility,
        },
        "assumptions": {
            "favourable": as_json(basis.favourable),
            "threshold": as_json(basis.threshold),
            **describe_set(ambiguity),
            "radius": ambiguity.radius,
            "radius_source": basis.radius_source,
            "drift": ambiguity.drift is not None,
            "guarantees_mean": GUARANTEES_MEAN,
            "in_words": assumption(ambiguity, basis, request),
        },
    }


def _dumped(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False)


def ambiguity_of(content: Mapping[str, Any]) -> AmbiguitySet:
    """Return the ambiguity set of a document with certificates."""
    return set_from_json(content["ambiguity"])


def assumption_violations(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield contradictions between the assumptions of a document and the ambiguity set of its certificates."""
    ambiguity = ambiguity_of(content)
    said = content["assumptions"]
    proven = {"radius": ambiguity.radius, "drift": ambiguity.drift is not None, **describe_set(ambiguity)}
    for name, value in proven.items():
        if said.get(name) != value:
            yield f"the assumptions say {name} {said.get(name)!r}, the certificates are about {value!r}"


def plan_entries(
    batch: "BatchRecord[PlanRecord]", *, certificates: bool = False, whole_rows: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield the JSON of each plan, the same in files and in answers of the service.

    With `certificates` it has the proofs; with `whole_rows` each option has its row beside its changes.
    """
    factuals = table_columns(batch.applicants)
    options = _option_entries(batch)
    if whole_rows:
        cells_by_name = table_columns(batch.options)
        for i, option in enumerate(options):
            option["row"] = {name: cells[i] for name, cells in cells_by_name.items()}
    ends = np.cumsum(batch.counts)
    for i, label in enumerate(batch.applicants.index):
        rows = slice(int(ends[i] - batch.counts[i]), int(ends[i]))
        offered = options[rows]
        entry = {
            "applicant": as_json(label),
            "status": str(batch.status[i]),
            "message": batch.message[i],
            "factual": {name: cells[i] for name, cells in factuals.items()},
            "options": offered,
            **{key: float(getattr(batch, name)[i]) if offered else None for key, name in BOUNDS.items()},
            "highest_level": as_json(batch.highest_level[i]),
            "reliability": as_json(batch.reliability[i]),
        }
        if certificates:
            entry |= {"gap": float(batch.gap[i]) if offered else None, "certificate": _certificate(batch, i, rows)}
        yield entry


def claimed(entry: Mapping[str, Any], ambiguity: AmbiguitySet) -> dict[str, Any]:
    """Return the claims in the entry of an applicant in a document with certificates, by the names of `Claim`."""
    options, proof = entry["options"], entry["certificate"]
    bounds = {name: float(entry[key]) for key, name in (BOUNDS | {"gap": "gap"}).items() if options}
    return {
        "label": entry["applicant"],
        "status": entry["status"],
        "option_lower": np.array([option["guarantee"] for option in options], dtype=np.float64),
        "weights": np.array([option["weight"] for option in options], dtype=np.float64),
        "lower": 0.0,
        "any_lower": 0.0,
        "upper": 1.0,
        "gap": 1.0,
        "certificate": None if proof is None else Certificate.from_numbers(proof, ambiguity),
        **bounds,
    }


def tables_of(content: Mapping[str, Any]) -> tuple["pd.DataFrame", "pd.DataFrame", list[int]]:
    """Return the applicants of a document, their options, and the position of the applicant of each option."""
    import pandas as pd

    entries = list(content["applicants"])
    factuals = [dict(entry["factual"]) for entry in entries]
    labels = [tuple(label) if isinstance(label := entry["applicant"], list) else label for entry in entries]
    rows, owner = [], []
    for i, entry in enumerate(entries):
        for option in entry["options"]:
            rows.append(factuals[i] | {change["column"]: change["to"] for change in option["changes"]})
            owner.append(i)
    names = list(factuals[0]) if factuals else []
    applicants = pd.DataFrame({name: pd.Series([row.get(name) for row in factuals]) for name in names})
    options = pd.DataFrame({name: pd.Series([row.get(name) for row in rows], dtype=object) for name in names})
    return applicants.set_axis(pd.Index(labels, tupleize_cols=False)), options, owner


def _certificate(batch: "BatchRecord[PlanRecord]", i: int, rows: slice) -> dict[str, Any] | None:
    """Return the proof of a plan, without the ambiguity set, which is the same for all."""
    certificate = batch.certificates[i]
    if certificate is None:
        return None
    numbers = {name: np.asarray(number).tolist() for name, number in certificate.proof().items()}
    return {"points": batch.points[rows].tolist(), **numbers}


def _option_entries(batch: "BatchRecord[PlanRecord]") -> list[dict[str, Any]]:
    """Return the JSON of each option."""
    ranged = np.any(~np.isnan(batch.at_least), axis=1)
    efforts = iter(batch.change_effort[batch.changed].tolist())  # in the order of the changes
    changes = [[_change_entry(change, next(efforts)) for change in option] for option in batch.changes_of()]
    totals, weights = batch.effort.tolist(), batch.option_weights.tolist()
    numbers, guarantees = option_numbers(batch).tolist(), batch.option_lower.tolist()
    plausibility, rates = batch.plausibility.tolist(), batch.expected_rate.tolist()
    return [
        {
            "option": numbers[i],
            "changes": changes[i],
            "effort": as_json(totals[i]),
            "guarantee": guarantees[i],
            "expected": as_json(rates[i]),
            "accepted": bool(batch.accepted[i]),
            "weight": as_json(weights[i]),
            "plausibility": as_json(plausibility[i]),
            "ranges": {"guarantee": float(batch.interval_level[i])} if ranged[i] else None,
        }
        for i in range(len(batch.owner))
    ]


def _change_entry(change: Change, effort: float) -> dict[str, Any]:
    return {
        "column": str(change.column),
        "from": as_json(change.before),
        "to": as_json(change.after),
        "effort": as_json(effort),
        "at_least": change.at_least,
        "at_most": change.at_most,
    }


def table_columns(table: "pd.DataFrame") -> dict[str, list[Any]]:
    """Return the columns of a table as lists of JSON values."""
    return {str(name): [as_json(cell) for cell in cells_of(table[name])] for name in table.columns}


# A certificate that is made again on another processor proves the same to the gap at which the solver stops, 1e-9, and
# the worst distribution's masses are known to the root of that. Both are below what is shown.
ROUNDING = 1e-8
WEIGHT_ROUNDING = 1e-4


@dataclass(frozen=True, eq=False)
class Claim:
    """Claims of a file about one plan of J options, and their proof; attributes are named as in `Plan`."""

    asked: float | None  # the guarantee asked for
    asked_for: str  # "each", "all" or "any"
    label: Any
    status: str
    option_lower: Array
    weights: Array
    lower: float
    any_lower: float
    upper: float
    gap: float
    certificate: Certificate | None

    @property
    def proven_for(self) -> str:
        """Distributions that the proof is about, in words: those of the certificate, whatever else a file says."""
        return "" if self.certificate is None else f"every distribution {self.certificate.ambiguity.in_words()}"

    @property
    def by_formula(self) -> bool:
        """True where guarantees are recomputed with the formula of their set; the paper's set has dual proofs."""
        return self.certificate is not None and not is_exact(self.certificate.ambiguity)

    def violations(self) -> list[str]:
        """Say which numbers are not proven; an empty list where all are."""
        if self.status not in STATUSES:
            return [f"the status is {shown(self.status)}, which is none of those that plans have"]
        if len(self.option_lower) == 0:
            return []
        if self.certificate is None:
            return ["there is no certificate for its options"]
        try:
            proven = self.certificate.verify()
        except CopaError as error:
            return [str(error)]
        return [*self._bound_violations(proven), *self._option_violations(self.certificate), *self._status_violations()]

    def _bound_violations(self, proven: Verification) -> Iterator[str]:
        least = "holds with at least {:.9g} is claimed, {:.9g} is proven"
        most = "at most {:.9g} is claimed, {:.9g} is proven"
        if not self.lower <= proven.lower + ROUNDING:
            yield f"all options: {least.format(self.lower, proven.lower)}"
        if not self.any_lower <= proven.any_lower + ROUNDING:
            yield f"at least one option: {least.format(self.any_lower, proven.any_lower)}"
        if not self.upper >= proven.all_upper - ROUNDING:
            yield f"all options: {most.format(self.upper, proven.all_upper)}"
        if not self.lower + self.gap >= proven.upper - ROUNDING:
            yield f"the gap {self.gap:.3g} is claimed, up to {proven.upper - self.lower:.3g} is possible"

    def _option_violations(self, certificate: Certificate) -> Iterator[str]:
        if len(certificate.points) != len(self.option_lower):
            yield f"{len(self.option_lower)} options are claimed, the certificate is about {len(certificate.points)}"
            return
        exact = certificate.option_lower()
        for j in np.flatnonzero(~(self.option_lower <= exact + ROUNDING)).tolist():
            yield f"option {j + 1}: at least {self.option_lower[j]:.9g} is claimed, {exact[j]:.9g} is proven"
        if self.lower > 0.0:
            mass = certificate.option_weights()
            for j in np.flatnonzero(~(np.abs(self.weights - mass) <= WEIGHT_ROUNDING)).tolist():
                yield f"option {j + 1}: the weight {self.weights[j]:.9g} is claimed, {mass[j]:.9g} is right"

    def _status_violations(self) -> Iterator[str]:
        reached = {"each": float(self.option_lower.min()), "all": self.lower, "any": self.any_lower}[self.asked_for]
        if self.status == "ok" and self.asked is not None and not reached >= self.asked:
            yield f"the status is ok, but {self.asked_for} has {reached:.9g}, below the {self.asked:g} asked for"


CLAIMED = [f.name for f in fields(Claim)][2:]  # as attributes of a plan are named


def claims_of_batch(batch: "BatchRecord[PlanRecord]") -> Iterator[Claim]:
    """Yield the claims of a batch, one applicant after another."""
    request = batch.request
    for plan in batch:
        asked = request.guarantee if not request.expected else None
        yield Claim(asked, request.guarantee_for, **{name: getattr(plan, name) for name in CLAIMED})


def claims_of_document(content: Mapping[str, Any]) -> Iterator[Claim]:
    """Yield the claims of a JSON document with certificates, one applicant after another.

    Raises
    ------
    DataError
        If the document holds no certificates, or is damaged.
    """
    if "ambiguity" not in content:
        raise DataError("the document holds no certificates, so that nothing in it can be proven; write it with them")
    try:
        ambiguity, asked = ambiguity_of(content), content["asked"]
        for entry in content["applicants"]:
            yield Claim(asked["guarantee"], asked["guarantee_for"], **claimed(entry, ambiguity))
    except (CopaError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"the document of plans is damaged: {type(error).__name__}: {error}") from error


# Contents of a file beside its bounds. A bundle recomputes some of them; the rest is covered by the digest only.
RECOMPUTED_BY_BUNDLE = (
    *("rows", "acceptance today", "efforts", "plausibility", "expected rates", "intervals", "favourable label"),
    *("threshold", "source of the radius"),
)
COVERED_BY_DIGEST = (
    *("names of applicants", "statuses other than ok", "what was asked for", "messages", "words of the assumptions"),
    *("highest levels", "numbers before rounding", "fidelity of surrogates", "times"),
)
BY_FORMULA = "recomputed with the formula of their set, which is no independent proof"


@dataclass
class Findings:
    """Result of checking plans with certificates."""

    n_plans: int = 0  # with options
    n_options: int = 0
    proven_for: str = ""  # distributions that the proofs are about, in words
    by_formula: bool = False  # bounds were recomputed with the formula of a set, which is not an independent proof
    violations: list[str] = field(default_factory=list)  # claims that do not hold
    digest_only: tuple[str, ...] = (*RECOMPUTED_BY_BUNDLE, *COVERED_BY_DIGEST)  # covered by nothing but the digest

    def check(self, claims: Iterable[Claim], n_plans: int) -> "Findings":
        """Check claims against their certificates, and return the same findings."""
        for claim in counting(claims, "checking plans", n_plans, "plans"):
            stop_if_interrupted()
            self.n_plans += len(claim.option_lower) > 0
            self.n_options += len(claim.option_lower)
            self.proven_for = self.proven_for or claim.proven_for
            self.by_formula |= claim.by_formula
            self.violations += [f"applicant {as_text(claim.label)}: {violation}" for violation in claim.violations()]
        return self

    def to_json(self, most: int | None = None) -> dict[str, Any]:
        """Return the answer of `copa verify --json` and `/v1/verify`, with at most so many violations."""
        return {
            "plans": self.n_plans,
            "options": self.n_options,
            "proven": not self.violations,
            "proven_for": self.proven_for,
            "by_formula": self.by_formula,
            "digest_only": list(self.digest_only),
            "faults": self.violations[:most],
        }


def check_document(content: Mapping[str, Any]) -> Findings:
    """Check every bound of a JSON document with certificates, and the document against its digest.

    Raises
    ------
    DataError
        If it is no such document, is damaged, or was changed after it was written.
    """
    require_document(content)
    try:
        findings = Findings().check(claims_of_document(content), len(content["applicants"]))
        findings.violations += assumption_violations(content)
    except DataError:
        raise
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        raise DataError(f"the document of plans is damaged: {type(error).__name__}: {error}") from error
    return findings
