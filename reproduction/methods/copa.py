"""COPA: the minimiser of the paper's objective within the ranges of the data (paper, Section 4)."""

from dataclasses import dataclass
from time import process_time
from typing import TYPE_CHECKING

import numpy as np

from copa import build_plans
from reproduction.methods.base import Plans

if TYPE_CHECKING:
    from reproduction.case import Case


@dataclass(frozen=True)
class Copa:
    """The paper's objective at two weights.

    Parameters
    ----------
    validity_weight, diversity_weight : the paper's lambda_1 and lambda_2
    ranges : whether options stay within the ranges of the data, as those in the paper's examples do
    """

    validity_weight: float
    diversity_weight: float
    ranges: bool = True

    @property
    def name(self) -> str:
        """What the tables call it."""
        return f"COPA ({self.validity_weight:g}, {self.diversity_weight:g})"

    def plans(self, case: "Case") -> Plans:
        """Build the plans of all applicants whom the ranges allow one."""
        started = process_time()
        dimension = case.encoding.dimension
        lower, upper = (np.zeros(dimension), np.ones(dimension)) if self.ranges else (None, None)
        built = build_plans(
            case.origins,
            case.moments.mean,
            case.moments.cov,
            n_options=case.settings.n_options,
            validity_weight=self.validity_weight,
            diversity_weight=self.diversity_weight,
            margin=case.settings.margin,
            fixed=case.fixed,
            lower=lower,
            upper=upper,
            random_state=case.settings.seed,
            n_jobs=1,
        )
        seconds = (process_time() - started) / max(len(built), 1)
        served = np.flatnonzero(built.status == "ok")
        return Plans(served, built.points[served], np.full(len(served), seconds))
