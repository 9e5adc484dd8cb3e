"""Plans on a feature map: search on a straight-line picture, look at phi itself, draw the picture anew there."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from copa._core.arrays import Array, Indices
from copa._core.threads import for_each_chunk
from copa.exceptions import InvalidInputError
from copa.models import Encoding, LinearModel, raw_jacobian
from copa.planner.settings import Execution
from copa.planner.strategies.base import ROUNDING, Applicants, Found, write_options
from copa.planner.strategies.exploration import (
    Rows,
    Samples,
    build_in_turns,
    choose_plans,
    level_of_each,
    search_one,
    sureness,
)
from copa.planner.strategies.parametric import Parametric
from copa.plans.request import PlanRequest
from copa.schema import FeatureSchema
from copa.search._kernels.arguments import FoundPlans
from copa.search.cost import unit_of_effort
from copa.search.neighbourhood import Draws, rows_around
from copa.search.problem import ActionSpace, as_levels
from copa.search.run import Goals

if TYPE_CHECKING:
    import pandas as pd


SECANT = 0.1  # units of effort


@dataclass(frozen=True, eq=False)
class Slopes:
    """Straight-line pictures of the model at M rows.

    Attributes
    ----------
    directions : (M, A, D) what a raw unit of each number, and each level, adds to the encoded vector
    encoded : (M, D) what the applicant's own row would be encoded as, were the picture true everywhere
    """

    directions: Array
    encoded: Array

    def space(self, strategy: "FeatureMap", k: int) -> ActionSpace:
        """The action space as it looks from row k."""
        return replace(strategy.space, directions=self.directions[k])


def slopes_at(strategy: "FeatureMap", applicants: Applicants, rows: Rows) -> Slopes:
    """Pictures of the model at rows of applicants; exact at the row, and along each categorical column by itself."""
    space, model = strategy.space, strategy.model
    m, n = len(rows.owner), len(space.numeric)
    directions = np.zeros((m, len(space.directions), strategy.parameters.dimension))
    frame = rows.frame(space, applicants)
    here = model.encode(frame)
    if n:
        slopes = _slopes(strategy, frame)
        unknown = np.asarray(np.isnan(slopes).any(axis=(1, 2)))
        directions[:, :n] = np.where(
            unknown[:, None, None], _secants(strategy, applicants, rows, here) if unknown.any() else 0.0, slopes
        )
    for f, _ in space.categorical:
        directions[:, space.levels(f)] = _exchanged(strategy, applicants, rows, f) - here[:, None]
    own = applicants.regions.own[rows.owner]
    back = np.einsum("ml,mld->md", (own - rows.values)[:, :n], directions[:, :n])
    everyone = np.arange(m)
    for f, _ in space.categorical:
        back += directions[everyone, as_levels(own[:, f])] - directions[everyone, as_levels(rows.values[:, f])]
    return Slopes(directions, here + back)


def _slopes(strategy: "FeatureMap", frame: "pd.DataFrame") -> Array:
    """Slopes (M, L, D) of the numeric columns; NaN at rows where one is not finite, such as that of a root at zero."""
    names = [feature.name for feature in strategy.space.numeric]
    slopes = np.zeros((len(frame), len(names), strategy.parameters.dimension))
    given = frame[list(strategy.model.columns)]
    try:
        slopes[:, :, 1:] = raw_jacobian(strategy.model.transformers, given, names).transpose(0, 2, 1)
    except InvalidInputError:  # of some row: the others must not pay for it
        for k in range(len(frame)):
            try:
                slopes[k, :, 1:] = raw_jacobian(strategy.model.transformers, given.iloc[[k]], names)[0].T
            except InvalidInputError:
                slopes[k] = np.nan
    return slopes


def _secants(strategy: "FeatureMap", applicants: Applicants, rows: Rows, here: Array) -> Array:
    """Slopes (M, L, D) over a part of a unit of effort, towards the wider side of each range."""
    space, own = strategy.space, applicants.regions.take(rows.owner)
    slopes = np.zeros((len(rows.owner), len(space.numeric), here.shape[1]))
    for k, feature in enumerate(space.numeric):
        above, below = own.upper[:, k] - rows.values[:, k], rows.values[:, k] - own.lower[:, k]
        step = max(SECANT * unit_of_effort(feature), feature.step or 0.0)
        way = np.where(above >= below, np.minimum(step, above), -np.minimum(step, below))
        moved = rows.values.copy()
        moved[:, k] += way
        there = strategy.model.encode(Rows(rows.owner, moved).frame(space, applicants))
        slopes[:, k] = (there - here) / np.where(way == 0.0, np.inf, way)[:, None]
    return slopes


def _exchanged(strategy: "FeatureMap", applicants: Applicants, rows: Rows, column: int) -> Array:
    """Encoded rows (M, V, D) with each level of a column in turn."""
    m, levels = len(rows.owner), strategy.space.levels(column)
    values = np.repeat(rows.values, len(levels), axis=0)
    values[:, column] = np.tile(levels, m)
    trial = Rows(np.repeat(rows.owner, len(levels)), values)
    return strategy.model.encode(trial.frame(strategy.space, applicants)).reshape(m, len(levels), -1)


# How far numbers may go from the row where the picture was drawn, in units of effort, turn by turn.
REACHES = (3.0, 2.0, 1.0, 1.0, 0.5)
WIDER = 2  # times as many options as are asked for are followed: some of them meet
SPARE = 0.02  # of what is missing to certainty is asked for in addition: a picture is not quite the model
SCATTERED, FOLLOWED = 96, 4  # rows drawn around an applicant; of the surest and of the cheapest ones this many
SEED = 0  # of these draws: the same for everyone
BATCH_SIZE = 128  # applicants at a time


@dataclass(frozen=True, eq=False, kw_only=True)
class FeatureMap(Parametric):
    """A model that is linear in features which are no sums over the columns (products, splines).

    The directions of `space` are empty: the model is linearised anew at each row that the search looks at.
    """

    kind: ClassVar[str] = "feature map"

    @classmethod
    def probe(cls, model: LinearModel, schema: FeatureSchema, X: "pd.DataFrame") -> Encoding:
        """What each column does: that depends on the row."""
        return Encoding.without_directions(model, schema, X)

    def build(self, applicants: Applicants, request: PlanRequest, run: Execution) -> Found:
        """Sequential linearisation: search on a first-order model of phi, evaluate phi, linearise again there."""

        def build(some: Indices) -> FoundPlans:
            return _plans(self, applicants.take(some), request, run)

        plans = build_in_turns(self.space, len(applicants), BATCH_SIZE, build, request.n_options, run)
        return Found(plans, write_options(self, applicants, plans, run.n_jobs))


def _plans(strategy: "FeatureMap", applicants: Applicants, request: PlanRequest, run: Execution) -> FoundPlans:
    """Search in turns, choose, try every option with less, and choose again."""
    own = Rows(np.arange(len(applicants)), applicants.regions.own)
    tried = look_at(strategy, applicants, own)
    scattered = _scattered(strategy, applicants, own)
    focus = in_order(_search(strategy, applicants, own, REACHES[0], request, run, first=True), promising(scattered))
    tried = tried.joined(scattered)
    for reach in REACHES:
        focus = _search(strategy, applicants, focus, reach, request, run, first=False)
        if len(focus.owner) == 0:
            break
        tried = tried.joined(look_at(strategy, applicants, focus))
    plans, chosen = choose_plans(strategy.space, applicants, tried, request)
    lighter = tried.take(chosen).eased(strategy.space, applicants)
    if len(lighter.owner):
        tried = tried.joined(look_at(strategy, applicants, lighter))
        plans, _ = choose_plans(strategy.space, applicants, tried, request)
    return plans


def _scattered(strategy: "FeatureMap", applicants: Applicants, own: Rows) -> Samples:
    """Allowed rows all around the applicants: where the slopes at home lead nowhere, others may lead somewhere."""
    space = strategy.space
    draws = Draws.make(SCATTERED, space, SEED)
    drawn = rows_around(space, applicants.regions, own.values, draws, reach=2.0)
    return look_at(strategy, applicants, Rows(np.repeat(own.owner, SCATTERED), drawn))


def promising(samples: Samples) -> Rows:
    """Of each applicant's rows the surest, and the cheapest of those that are accepted today."""
    size = np.abs(samples.points[:, 1:]).sum(axis=1)
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


def look_at(strategy: "FeatureMap", applicants: Applicants, rows: Rows) -> Samples:
    """What the model says of rows, and how surely each holds, from phi itself."""
    points = strategy.encode(rows.frame(strategy.space, applicants))
    scores = (points[:, None] @ strategy.model.theta)[:, 0] - strategy.floor
    lower = sureness(strategy.parameters, *strategy.parameters.option_moments(points))
    return Samples(rows.owner, rows.values, rows.coordinates(strategy.space, applicants), scores, lower)


def _search(
    strategy: "FeatureMap",
    applicants: Applicants,
    focus: Rows,
    reach: float,
    request: PlanRequest,
    run: Execution,
    *,
    first: bool,
) -> Rows:
    """The options found on pictures drawn at the rows of the focus, not far from there.

    First a menu from the applicant's own row; later one option from each of these, at prices of its own, so that they
    do not all become the same.
    """
    slopes = slopes_at(strategy, applicants, focus)
    m = len(focus.owner)
    n_options = WIDER * request.n_options if first else 1
    rank = np.arange(m) - np.searchsorted(focus.owner, focus.owner)
    plans = FoundPlans.empty(m, n_options, len(strategy.space.columns))
    level = level_of_each(request)
    level = min(level + max(ROUNDING, SPARE * (1.0 - level)), 1.0 - ROUNDING)
    goals = Goals(strategy.parameters, np.array([level]), np.array([2.0 * strategy.floor]))
    near = _nearby(strategy, applicants.take(focus.owner), focus, reach)

    def work(some: slice) -> None:
        for k in range(*some.indices(m)):
            prices = run.multipliers if first else run.multipliers[[rank[k] % len(run.multipliers)]]
            here = replace(run, multipliers=prices)
            seen_from = slopes.space(strategy, k)
            plans.put([k], search_one(seen_from, near.take([k]), slopes.encoded[[k]], goals, request, here, n_options))

    for_each_chunk(work, m, 1, run.n_jobs)
    which, option = plans.positions
    return Rows(focus.owner[which], plans.options[which, option])


def _nearby(strategy: "FeatureMap", applicants: Applicants, focus: Rows, reach: float) -> Applicants:
    """The same applicants with numbers that may not go far from the focus."""
    regions, values = applicants.regions, focus.values[:, : len(strategy.space.numeric)]
    room = reach * np.array([unit_of_effort(feature) for feature in strategy.space.numeric])
    lower = np.clip(values - room, regions.lower, regions.upper)
    upper = np.clip(values + room, regions.lower, regions.upper)
    return replace(applicants, regions=regions._replace(lower=lower, upper=upper))
