"""What saved plans claim, held against what their certificates prove.

Every bound is computed again from the options, the ball and the certificate with plain linear algebra. That the options
*as the model sees them* belong to the rows beside them, and what today's model says, cannot be told without the model.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array
from copa.bounds.certificate import Certificate, Verification
from copa.exceptions import CopaError, DataError
from copa.plans.document import ambiguity_of, claimed
from copa.tables.cells import as_text

if TYPE_CHECKING:
    from copa.plans.records import BatchRecord, PlanRecord

# Bounds come from two computations of the same numbers; they agree to about 1e-15, and this is far below what is shown.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Claim:
    """What is claimed of one plan of J options, and its proof.

    Parameters
    ----------
    asked : float or None
        Guarantee asked for, None where none was.
    asked_for : {"each", "all", "any"}
        What it was asked of.
    label, status, option_lower, weights, lower, any_lower, upper, gap, certificate
        As in `Plan`.
    """

    asked: float | None
    asked_for: str
    label: Any
    status: str
    option_lower: Array
    weights: Array
    lower: float
    any_lower: float
    upper: float
    gap: float
    certificate: Certificate | None

    def faults(self) -> list[str]:
        """Say which numbers are not proven; an empty list where all are."""
        if len(self.option_lower) == 0:
            return []
        if self.certificate is None:
            return ["there is no certificate for its options"]
        try:
            proven = self.certificate.verify()
        except CopaError as error:
            return [str(error)]
        return [*self._bound_faults(proven), *self._option_faults(self.certificate), *self._status_faults()]

    def _bound_faults(self, proven: Verification) -> Iterator[str]:
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

    def _option_faults(self, certificate: Certificate) -> Iterator[str]:
        if len(certificate.points) != len(self.option_lower):
            yield f"{len(self.option_lower)} options are claimed, the certificate is about {len(certificate.points)}"
            return
        exact = certificate.option_lower()
        for j in np.flatnonzero(~(self.option_lower <= exact + ROUNDING)).tolist():
            yield f"option {j + 1}: at least {self.option_lower[j]:.9g} is claimed, {exact[j]:.9g} is proven"
        if self.lower > 0.0:
            mass = certificate.option_weights()
            for j in np.flatnonzero(~(np.abs(self.weights - mass) <= ROUNDING)).tolist():
                yield f"option {j + 1}: the weight {self.weights[j]:.9g} is claimed, {mass[j]:.9g} is right"

    def _status_faults(self) -> Iterator[str]:
        reached = {"each": float(self.option_lower.min()), "all": self.lower, "any": self.any_lower}[self.asked_for]
        if self.status == "ok" and self.asked is not None and not reached >= self.asked:
            yield f"the status is ok, but {self.asked_for} has {reached:.9g}, below the {self.asked:g} asked for"


CLAIMED = [f.name for f in fields(Claim)][2:]  # as attributes of a plan are named


def claims_of_batch(batch: "BatchRecord[PlanRecord]") -> Iterator[Claim]:
    """Yield what a batch claims, one applicant after another."""
    request = batch.request
    for plan in batch:
        yield Claim(request.guarantee, request.guarantee_for, **{name: getattr(plan, name) for name in CLAIMED})


def claims_of_document(content: Mapping[str, Any]) -> Iterator[Claim]:
    """Yield what a JSON document with certificates claims, one applicant after another.

    Raises
    ------
    DataError
        If the document holds no certificates, or is damaged.
    """
    if "ball" not in content:
        raise DataError("the document holds no certificates, so that nothing in it can be proven; write it with them")
    try:
        ambiguity, asked = ambiguity_of(content), content["asked"]
        for entry in content["applicants"]:
            yield Claim(asked["guarantee"], asked["guarantee_for"], **claimed(entry, ambiguity))
    except (CopaError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"the document of plans is damaged: {type(error).__name__}: {error}") from error


def name_fault(claim: Claim, fault: str) -> str:
    """Return a fault as a line that says whose it is."""
    return f"applicant {as_text(claim.label)}: {fault}"
