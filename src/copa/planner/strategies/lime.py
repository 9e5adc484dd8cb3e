"""The paper's way with black boxes (Appendix C): one linear stand-in around each applicant, and a covariance for it.

Kept for comparison. The stand-in is fitted where the applicant is, not where the boundary is; it is not fitted again
where it was wrong; and how the model varies is assumed (0.05 I), not seen. What is promised holds if the stand-in is
true.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from copa._core.arrays import Array, Indices
from copa._core.threads import for_each_chunk
from copa.models.surrogate import fit_locally
from copa.planner.deliver import Applicants, Construction
from copa.planner.request import Request
from copa.planner.strategies.black_box_state import AskedPlanner
from copa.planner.strategies.exploration import Rows, deliver_menus, level_of_each, search_one
from copa.planner.strategies.linear import ROUNDING
from copa.search.neighbourhood import Draws, rows_around
from copa.search.problem import Places
from copa.search.run import Menus
from copa.uncertainty.ambiguity import MomentBall
from copa.uncertainty.score_retraining import standard_ball, standard_points

if TYPE_CHECKING:
    import pandas as pd

VARIANCE = 0.05  # of every parameter of the stand-in, as in the paper
RADIUS = 0.01  # the paper's, where nothing is said
PERTURBED = 500  # rows around the applicant
WIDTH = 0.75  # of the neighbourhood, times the square root of the number of columns, as LIME has it


@dataclass(frozen=True, eq=False, kw_only=True)
class LimePlanner(AskedPlanner):
    """A planner whose promises rest on one stand-in for each applicant."""

    @property
    def basis(self) -> str:
        """What the ball is about."""
        return "surrogate"

    def points(self, rows: "pd.DataFrame", owner: Indices, n_jobs: int | None = None) -> Array:  # noqa: ARG002 - each row stands for itself
        """Rows as points of the ball, each by the stand-in around itself, (M, D)."""
        applicants = Applicants(rows, rows, Places.read(self.space, rows), self.start(rows), self.space.slack(rows))
        weights = stand_ins(self, applicants)
        return stand_in_points(self.start(rows), np.arange(len(rows)), weights, self.ball.dimension)


def lime_ball(n_options: int, radius: float) -> MomentBall:
    """The paper's ball around a stand-in with covariance VARIANCE I, in the standard form of `standard_ball`.

    There a radius counts standard deviations of the score; the paper's counts lengths of the option, which are
    sqrt(VARIANCE) standard deviations.
    """
    return standard_ball(n_options, radius / float(np.sqrt(VARIANCE)))


def stand_ins(fitted: LimePlanner, applicants: Applicants) -> Array:
    """Parameters (N, D) of a linear stand-in for the model's score around each applicant."""
    space, places = fitted.space, applicants.places
    draws = Draws.make(PERTURBED, len(space.lines), len(space.choices), fitted.seed)
    owner = np.repeat(np.arange(len(applicants)), PERTURBED)
    rows = Rows(owner, *rows_around(space, places, places.values, places.atoms, draws))
    points = rows.coordinates(space, applicants).reshape(len(applicants), PERTURBED, -1)
    scores = fitted.model.scores(rows.frame(space, applicants)).reshape(len(applicants), PERTURBED)
    width = WIDTH * np.sqrt(len(space.columns))
    weights = np.zeros((len(applicants), space.mean.size))
    for i in range(len(applicants)):
        nearness = np.exp(-((points[i, :, 1:] ** 2).sum(axis=1)) / width**2)
        weights[i] = fit_locally(points[i], scores[i][None], nearness).weights[0]
    return weights


def stand_in_points(rows: Array, owner: Indices, weights: Array, dimension: int) -> Array:
    """Rows in local coordinates (M, D) as points of the standard ball: their scores by the stand-in, VARIANCE I."""
    mean = np.einsum("md,md->m", rows, weights[owner])
    return standard_points(mean, np.sqrt(VARIANCE) * rows.T, owner, dimension)


def construct_by_lime(fitted: LimePlanner, applicants: Applicants, request: Request) -> Construction:
    """Build the menus on the stand-ins; the model itself is only asked whether it accepts the rows delivered."""
    space, n = fitted.space, len(applicants)
    weights = stand_ins(fitted, applicants)
    menus = Menus.empty(n, request.n_options, len(space.lines), len(space.choices))
    cov = VARIANCE * np.eye(space.mean.size)
    level = min(level_of_each(request) + ROUNDING, 1.0 - ROUNDING)

    def work(some: slice) -> None:
        for i in range(*some.indices(n)):
            here = applicants.take([i])
            local = replace(space, mean=weights[i], cov=cov, drift=cov, theta=weights[i])
            goal = (level, fitted.ball.radius, ROUNDING)
            menus.put(i, search_one(local, here, here.encoded, goal, request, request.n_options))
            if request.progress is not None:
                request.progress(1)

    for_each_chunk(work, n, 1, request.n_jobs)

    def points(rows: Rows, _: "pd.DataFrame") -> Array:
        return stand_in_points(rows.coordinates(space, applicants), rows.owner, weights, fitted.ball.dimension)

    return deliver_menus(fitted, applicants, menus, request, points)
