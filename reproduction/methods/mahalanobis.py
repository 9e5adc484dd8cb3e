"""The paper's corrections of another method's plans: the requirement first, then the Mahalanobis improvement."""

from dataclasses import dataclass
from time import process_time
from typing import TYPE_CHECKING

from copa import mahalanobis_correction, requirement_correction
from reproduction.methods.base import Method, Plans

if TYPE_CHECKING:
    from reproduction.case import Case
    from reproduction.encoding import Array


@dataclass(frozen=True)
class Corrected:
    """Plans of `base`, corrected towards the moments of retraining (paper, Section 3)."""

    base: Method
    name: str = "MahalanobisCrr"

    def plans(self, case: "Case") -> Plans:
        """Correct the plans; the time is that of the correction alone."""
        given = self.base.plans(case)
        started = process_time()
        settings = case.settings
        points = correct(case, given.points, n_corrections=settings.n_corrections, budget=settings.budget)
        return Plans(given.who, points, given.seconds * 0.0 + (process_time() - started) / len(points))


def correct(case: "Case", points: "Array", *, n_corrections: int, budget: float) -> "Array":
    """Correct plans (n, J, D): every option to the margin, then the K that break first by up to the budget."""
    mean, cov = case.moments.mean, case.moments.cov
    moved = requirement_correction(points, mean, margin=case.settings.margin, fixed=case.fixed)
    if n_corrections == 0:
        return moved
    return mahalanobis_correction(
        moved,
        mean,
        cov,
        radius=case.settings.radius,
        budget=budget,
        n_corrections=n_corrections,
        fixed=case.fixed,
        n_jobs=1,
    )
