"""The paper's method for black boxes (Appendix C): one linear surrogate around each applicant, and a covariance for it.

Kept for comparison. The surrogate is fitted where the applicant is, not where the boundary is; it is not fitted again
where it was wrong; and how the model varies is assumed (0.05 I), not estimated. A guarantee holds if the surrogate is
true.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from copa._core.arrays import Array, Indices
from copa._core.threads import for_each_chunk
from copa.data.schema.columns import ReadTable
from copa.exceptions import InvalidInputError
from copa.models.black_box import BlackBox, fit_locally
from copa.planner.search.arguments import FoundPlans
from copa.planner.search.neighbourhood import Draws, rows_around
from copa.planner.search.problem import ActionSpace, Linearisation
from copa.planner.search.regions import read_regions
from copa.planner.search.run import Goals
from copa.planner.settings import Execution, FitSettings
from copa.planner.strategies.applicants import Applicants
from copa.planner.strategies.base import ROUNDING
from copa.planner.strategies.black_box import BlackBoxStrategy
from copa.planner.strategies.exploration import level_of_each, search_one
from copa.planner.strategies.options import Found
from copa.planner.strategies.samples import Rows
from copa.plans.request import PlanRequest
from copa.theory.sets.ambiguity import AmbiguitySet
from copa.theory.sets.standard_ball import standard_points

if TYPE_CHECKING:
    import pandas as pd

VARIANCE = 0.05  # of every parameter of the surrogate, as in the paper
RADIUS = 0.01  # the paper's, where nothing is said
PERTURBED = 500  # rows around the applicant
WIDTH = 0.75  # of the neighbourhood, times the square root of the number of columns, as LIME has it


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Lime(BlackBoxStrategy):
    """A black box whose guarantees rest on one surrogate for each applicant."""

    kind: ClassVar[str] = "lime"
    subject: ClassVar[str] = "surrogate"

    @classmethod
    def learn(
        cls,
        model: BlackBox,  # noqa: ARG003 - nothing is retrained, a covariance is assumed
        space: ActionSpace,  # noqa: ARG003
        X: "pd.DataFrame",  # noqa: ARG003
        y: Any,  # noqa: ARG003
        settings: FitSettings,
    ) -> dict[str, Any]:
        """The radius. The paper's counts lengths of the option, which are sqrt(VARIANCE) standard deviations."""
        given = settings.later_models.ambiguity
        radius, source = (RADIUS, "the paper's") if given is None else (given.radius, "given")
        return {"radius": radius / float(np.sqrt(VARIANCE)), "radius_source": source}

    def points(
        self,
        rows: "pd.DataFrame",
        owner: Indices,  # noqa: ARG002 - each row stands for itself
        n_options: int,
        n_jobs: int | None = None,  # noqa: ARG002
        encoded: Array | None = None,  # noqa: ARG002
    ) -> Array:
        """Rows as points of the ambiguity set, each by the surrogate around itself, (M, D)."""
        table = ReadTable.of(rows)
        start, regions = self.start(table), read_regions(self.space, table)
        applicants = Applicants(table, table, regions, start, self.space.slack(table))
        return surrogate_points(start, np.arange(len(table)), fit_surrogates(self, applicants), n_options)

    def build(self, applicants: Applicants, request: PlanRequest, run: Execution) -> Found:
        """Search plans on the surrogates; the model itself only says whether it accepts the rows delivered."""
        space, n = self.space, len(applicants)
        weights = fit_surrogates(self, applicants)
        plans = FoundPlans.empty(n, request.n_options, len(space.columns))
        cov = VARIANCE * np.eye(1 + space.n_directions)
        level = min(level_of_each(request) + ROUNDING, 1.0 - ROUNDING)
        goals = Goals(self.ambiguity(1), np.array([level]), np.array([ROUNDING]))

        def work(some: slice) -> None:
            for i in range(*some.indices(n)):
                here = applicants.take([i])
                local = Linearisation.around(space, weights[i], cov, weights[i])
                plans.put([i], search_one(local, here, here.encoded, goals, request, run, request.n_options))
                run.advance(1)

        for_each_chunk(work, n, 1, run.n_jobs)
        owner, option = plans.positions
        rows = Rows(owner, plans.options[owner, option]).coordinates(space, applicants)
        points = surrogate_points(rows, owner, weights, request.n_options)
        return Found(plans, self.write_options(applicants, plans, run.n_jobs, points))

    def require_audits(self) -> None:
        """Raise: there is a surrogate for each applicant whom it plans for, and none to judge other plans by."""
        raise InvalidInputError(
            "surrogate='lime' has a surrogate for each applicant it plans for, none to judge other plans by"
        )

    @property
    def fixed_set(self) -> AmbiguitySet | None:
        """The set, whose radius is that of the paper."""
        return self.ambiguity_class(radius=self.radius * float(np.sqrt(VARIANCE)), family=self.family)


def fit_surrogates(strategy: Lime, applicants: Applicants) -> Array:
    """Parameters (N, D) of a linear surrogate for the model's score around each applicant."""
    space, regions = strategy.space, applicants.regions
    draws = Draws.make(PERTURBED, space, strategy.seed)
    owner = np.repeat(np.arange(len(applicants)), PERTURBED)
    rows = Rows(owner, rows_around(space, regions, regions.own, draws))
    points = rows.coordinates(space, applicants).reshape(len(applicants), PERTURBED, -1)
    scores = strategy.model.scores(rows.table(space, applicants)).reshape(len(applicants), PERTURBED)
    width = WIDTH * np.sqrt(len(space.columns))
    weights = np.zeros((len(applicants), 1 + space.n_directions))
    for i in range(len(applicants)):
        nearness = np.exp(-((points[i, :, 1:] ** 2).sum(axis=1)) / width**2)
        weights[i] = fit_locally(points[i], scores[i][None], nearness).weights[0]
    return weights


def surrogate_points(rows: Array, owner: Indices, weights: Array, n_options: int) -> Array:
    """Rows in local coordinates (M, D) as points of the standard ball: their scores by the surrogate, VARIANCE I."""
    mean = np.einsum("md,md->m", rows, weights[owner])
    return standard_points(mean, np.sqrt(VARIANCE) * rows.T, owner, n_options + 1)
