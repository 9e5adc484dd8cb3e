"""Plans on a feature map: search on a first-order model of phi, evaluate phi, linearise again there."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from copa._core.arrays import Array, Indices
from copa._core.threads import for_each_chunk
from copa.data.schema import FeatureSchema
from copa.models import Encoding, LinearModel
from copa.planner.search.arguments import FoundPlans
from copa.planner.search.neighbourhood import Draws, rows_around
from copa.planner.search.problem import as_levels
from copa.planner.search.run import Goals
from copa.planner.settings import Execution
from copa.planner.strategies.applicants import Applicants
from copa.planner.strategies.base import ROUNDING
from copa.planner.strategies.exploration import Exploration, build_in_turns, level_of_each, search_one
from copa.planner.strategies.local_reliability import LEVEL
from copa.planner.strategies.next_parameters import Chooser
from copa.planner.strategies.options import Found
from copa.planner.strategies.parametric import Parametric
from copa.planner.strategies.samples import Rows, Samples, signed_guarantee
from copa.plans.cost import unit_of_effort
from copa.plans.request import PlanRequest
from copa.theory.sets.ambiguity import AmbiguitySet

if TYPE_CHECKING:
    import pandas as pd


STEP = 1e-4  # units of effort, to either side, over which phi is differentiated
# How far numbers may go from the row where phi was linearised, in units of effort, turn by turn.
TRUST_RADII = (3.0, 2.0, 1.0, 1.0, 0.5)
WIDER = 2  # times as many options as are asked for are followed: some of them meet
SPARE = 0.02  # of what is missing to certainty is asked for in addition: a first-order model is not quite phi
SCATTERED, FOLLOWED = 96, 4  # rows drawn around an applicant; of the surest and of the cheapest ones this many
DRAWN = 256  # rows around an applicant, of which halves of the data choose
SEED = 0  # of these draws: the same for everyone
BATCH_SIZE = 128  # applicants at a time


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FeatureMap(Parametric):
    """A model that is linear in features which are no sums over the columns (products, splines).

    Its `directions` are zero: the model is linearised anew at each row that the search looks at.
    """

    kind: ClassVar[str] = "feature map"

    @classmethod
    def probe(cls, model: LinearModel, schema: FeatureSchema, X: "pd.DataFrame") -> Encoding:
        """Encoding without directions: the effect of a column depends on the row."""
        return Encoding.without_directions(model, schema, X)

    def build(self, applicants: Applicants, request: PlanRequest, run: Execution) -> Found:
        """Sequential linearisation, with the derivatives of phi."""

        def build(some: Indices) -> FoundPlans:
            return PhiExploration(self.space, applicants.take(some), request, run, self).plans()[0]

        plans = build_in_turns(self.space, len(applicants), BATCH_SIZE, build, request.n_options, run)
        return Found(plans, self.write_options(applicants, plans, run.n_jobs))

    def chooser(self, applicants: Applicants) -> Chooser:
        """The cheapest row at the level among rows drawn around each applicant, or the surest of them."""
        draws = Draws.make(DRAWN, self.space, SEED)
        owner = np.repeat(np.arange(len(applicants)), DRAWN)
        rows = Rows(owner, rows_around(self.space, applicants.regions, applicants.regions.own, draws, scale=2.0))
        good = rows.allowed(self.space, applicants)
        rows = Rows(owner[good], rows.values[good])
        points = self.encode(rows.table(self.space, applicants))
        effort = self.space.effort(applicants.regions.take(rows.owner), rows.values)

        def choose(half: AmbiguitySet) -> Array:
            lower = signed_guarantee(half, *half.option_moments(points))
            chosen = []
            for i in np.flatnonzero(applicants.encoded @ half.mean < self.floor):
                mine = np.flatnonzero(rows.owner == i)
                reached = mine[lower[mine] >= LEVEL]
                if len(reached):
                    chosen.append(reached[np.argmin(effort[reached])])
                elif len(mine) and lower[mine].max() > 0.0:
                    chosen.append(mine[np.argmax(lower[mine])])
            return points[chosen]

        return choose


@dataclass(frozen=True, eq=False)
class Slopes:
    """First-order models of phi at M rows.

    Attributes
    ----------
    directions : ndarray of shape (M, A, D)
        What a raw unit of each number, and each level, adds to the encoded vector.
    encoded : ndarray of shape (M, D)
        What the applicant's own row would be encoded as, were phi linear.
    """

    directions: Array
    encoded: Array


@dataclass(frozen=True, eq=False)
class PhiExploration(Exploration[Samples]):
    """Exploration with the derivatives of phi as slopes.

    Attributes
    ----------
    strategy : FeatureMap
    """

    n_turns: ClassVar[int] = len(TRUST_RADII)

    strategy: FeatureMap

    def start(self) -> tuple[Samples, Rows]:
        """Look around: where the slopes at home lead nowhere, those of other rows may lead somewhere."""
        own = Rows(np.arange(len(self.applicants)), self.applicants.regions.own)
        tried = self.evaluate(own)
        draws = Draws.make(SCATTERED, self.space, SEED)
        drawn = rows_around(self.space, self.applicants.regions, own.values, draws, scale=2.0)
        scattered = self.evaluate(Rows(np.repeat(own.owner, SCATTERED), drawn))
        focus = in_order(self._search(own, TRUST_RADII[0], first=True), promising(scattered))
        return tried.joined(scattered), focus

    def evaluate(self, rows: Rows) -> Samples:
        """Score rows by phi itself."""
        strategy = self.strategy
        points = strategy.encode(rows.table(self.space, self.applicants))
        scores = (points[:, None] @ strategy.model.theta)[:, 0] - strategy.floor
        lower = signed_guarantee(strategy.parameters, *strategy.parameters.option_moments(points))
        return Samples(rows.owner, rows.values, rows.coordinates(self.space, self.applicants), scores, lower)

    def search(self, evaluated: Samples, focus: Rows, turn: int) -> Rows:  # noqa: ARG002 - phi is known everywhere
        """One option from each row of the focus, at prices of its own, so that they do not all become the same."""
        return self._search(focus, TRUST_RADII[turn], first=False)

    def _search(self, focus: Rows, radius: float, *, first: bool) -> Rows:
        """Options found near the focus on first-order models at its rows; first, a plan from the applicant's own."""
        request, run = self.request, self.run
        slopes = self.linearise(focus)
        m = len(focus.owner)
        n_options = WIDER * request.n_options if first else 1
        rank = np.arange(m) - np.searchsorted(focus.owner, focus.owner)
        plans = FoundPlans.empty(m, n_options, len(self.space.columns))
        level = level_of_each(request)
        level = min(level + max(ROUNDING, SPARE * (1.0 - level)), 1.0 - ROUNDING)
        goals = Goals(self.strategy.parameters, np.array([level]), np.array([2.0 * self.strategy.floor]))
        near = self._nearby(focus, radius)

        def work(some: slice) -> None:
            for k in range(*some.indices(m)):
                prices = run.multipliers if first else run.multipliers[[rank[k] % len(run.multipliers)]]
                here = replace(run, multipliers=prices)
                linear = replace(self.strategy.linearisation, directions=slopes.directions[k], space=self.space)
                plans.put([k], search_one(linear, near.take([k]), slopes.encoded[[k]], goals, request, here, n_options))

        for_each_chunk(work, m, 1, run.n_jobs, what="searching around rows", unit="rows")
        which, option = plans.positions
        return Rows(focus.owner[which], plans.options[which, option])

    def _nearby(self, focus: Rows, radius: float) -> Applicants:
        """The applicants of the focus, with numbers that may not go far from it."""
        applicants = self.applicants.take(focus.owner)
        regions, values = applicants.regions, focus.values[:, : len(self.space.numeric)]
        room = radius * np.array([unit_of_effort(feature) for feature in self.space.numeric])
        lower = np.clip(values - room, regions.lower, regions.upper)
        upper = np.clip(values + room, regions.lower, regions.upper)
        return replace(applicants, regions=regions._replace(lower=lower, upper=upper))

    def linearise(self, rows: Rows) -> Slopes:
        """First-order models of phi at rows; exact there, and along each categorical column by itself."""
        space, n = self.space, len(self.space.numeric)
        m, dimension = len(rows.owner), self.strategy.parameters.dimension
        directions = np.zeros((m, space.n_directions, dimension))
        table = rows.table(space, self.applicants)
        here = self.strategy.model.encode(table)
        if n:
            directions[:, :n] = self._slopes(rows, table.frame)
        for f, _ in space.level_columns:
            directions[:, space.levels(f)] = self._exchanged(rows, f) - here[:, None]
        own = self.applicants.regions.own[rows.owner]
        back = np.einsum("ml,mld->md", (own - rows.values)[:, :n], directions[:, :n])
        everyone = np.arange(m)
        for f, _ in space.level_columns:
            back += directions[everyone, as_levels(own[:, f])] - directions[everyone, as_levels(rows.values[:, f])]
        return Slopes(directions, here + back)

    def _slopes(self, rows: Rows, frame: "pd.DataFrame") -> Array:
        """Slopes (M, L, D) of phi along the numeric columns by central differences, one-sided at a limit."""
        from pandas import concat

        regions = self.applicants.regions.take(rows.owner)
        names = [feature.name for feature in self.space.numeric]
        # Whole numbers cannot take a small step, and single precision would round it away.
        here = {name: frame[name].to_numpy(dtype=np.float64, na_value=np.nan) for name in names}
        given, varied = frame.assign(**here), []
        widths = np.zeros((len(names), len(frame)))
        for k, feature in enumerate(self.space.numeric):
            value, step = here[feature.name], STEP * unit_of_effort(feature)
            low = np.maximum(value - step, np.minimum(value, regions.lower[:, k]))
            high = np.minimum(value + step, np.maximum(value, regions.upper[:, k]))
            varied += [given.assign(**{feature.name: end}) for end in (low, high)]
            widths[k] = high - low
        ends = self.strategy.model.encode(concat(varied, ignore_index=True)).reshape(len(names), 2, len(frame), -1)
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes = ((ends[:, 1] - ends[:, 0]) / widths[:, :, None]).transpose(1, 0, 2)
        return np.where(np.isfinite(slopes), slopes, 0.0)  # a logarithm at zero: no slope to follow

    def _exchanged(self, rows: Rows, column: int) -> Array:
        """Encoded rows (M, V, D) with each level of a column in turn that its applicant may take."""
        m, levels = len(rows.owner), self.space.levels(column)
        allowed = self.applicants.regions.allowed[rows.owner][:, levels]
        values = np.repeat(rows.values, len(levels), axis=0)
        values[:, column] = np.where(allowed, levels, rows.values[:, [column]]).ravel()
        varied = Rows(np.repeat(rows.owner, len(levels)), values)
        return self.strategy.model.encode(varied.table(self.space, self.applicants)).reshape(m, len(levels), -1)


def promising(samples: Samples) -> Rows:
    """The surest rows of each applicant, and the cheapest of those that are accepted today."""
    size = samples.sizes
    chosen = []
    for i in np.unique(samples.owner):
        rows = np.flatnonzero(samples.owner == i)
        surest = rows[np.argsort(-samples.lower[rows], kind="stable")[:FOLLOWED]]
        accepted = rows[samples.scores[rows] >= 0.0]
        chosen.append(np.union1d(surest, accepted[np.argsort(size[accepted], kind="stable")[:FOLLOWED]]))
    rows = np.concatenate(chosen) if chosen else np.zeros(0, dtype=np.int64)
    return samples.take(rows)


def in_order(*parts: Rows) -> Rows:
    """Rows put together, those of one applicant next to each other."""
    owner = np.concatenate([part.owner for part in parts])
    order = np.argsort(owner, kind="stable")
    return Rows(owner[order], np.concatenate([part.values for part in parts])[order])
