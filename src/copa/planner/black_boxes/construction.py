"""Menus for the applicants of a black box: found on stand-ins, chosen by what the models themselves say."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from copa.arrays import Array, Indices
from copa.planner.black_boxes.delivering import deliver_menus
from copa.planner.black_boxes.rounds import Evidence, gather, stand_in
from copa.planner.black_boxes.samples import ask, ask_beside
from copa.planner.black_boxes.state import BlackBoxPlanner, accepted_by
from copa.planner.delivery import Applicants
from copa.planner.judge import Construction
from copa.planner.request import Request
from copa.planner.tries.samples import Rows, Samples
from copa.planner.tries.searching import build_in_turns
from copa.planner.tries.selection import choose_menus
from copa.planning.menus import Menus
from copa.planning.neighbourhood import Draws
from copa.plans.trials import Trials

if TYPE_CHECKING:
    import pandas as pd

FRESH = 8  # rows drawn beside each option to see how true its stand-in is
TOGETHER = 256  # applicants whose rows the models are asked about in one call


def construct_for_black_box(fitted: BlackBoxPlanner, applicants: Applicants, request: Request) -> Construction:
    """Build the menus of applicants, and bound what is delivered."""
    fidelity = np.full(len(applicants), np.nan)

    def build(some: Indices) -> Menus:
        found, fidelity[some] = _menus(fitted, applicants.take(some), request)
        return found

    menus = build_in_turns(fitted.space, len(applicants), TOGETHER, build, request)

    def points(rows: Rows, table: "pd.DataFrame") -> Array:
        return fitted.points(table, rows.owner, request.n_jobs)

    made = deliver_menus(fitted, applicants, menus, request, points)
    return _tried(fitted, applicants, made, fidelity, request)


def _menus(fitted: BlackBoxPlanner, applicants: Applicants, request: Request) -> tuple[Menus, Array]:
    """Search, choose, try every option with less, and choose again; and how true the stand-ins are."""
    evidence = gather(fitted, applicants, request)
    menus, chosen = choose_menus(fitted.space, applicants, evidence.samples, request)
    lighter = evidence.samples.take(chosen).eased(fitted.space, applicants)
    if len(lighter.owner):
        known = ask(fitted, applicants, lighter)
        evidence = evidence.joined(Evidence.ask(fitted, applicants, known, request.n_jobs))
        menus, chosen = choose_menus(fitted.space, applicants, evidence.samples, request)
    return menus, _fidelity(fitted, applicants, evidence, evidence.samples.take(chosen))


def _fidelity(fitted: BlackBoxPlanner, applicants: Applicants, evidence: Evidence, options: Samples) -> Array:
    """Share of fresh rows near the options of which the stand-in says what the model says, (N,); NaN without any."""
    shares = np.full(len(applicants), np.nan)
    space = fitted.space
    draws = Draws.make(FRESH, len(space.lines), len(space.choices), fitted.seed + 99)
    fresh = ask_beside(fitted, applicants, options, draws)
    for i in np.unique(options.owner):
        mine = evidence.take(np.flatnonzero(evidence.samples.owner == i))
        fit = stand_in(mine, options.points[options.owner == i])
        near = fresh.owner == i
        shares[i] = np.mean((fit.scores(fresh.points[near])[0] >= 0.0) == (fresh.scores[near] >= 0.0))
    return shares


def _tried(
    fitted: BlackBoxPlanner, applicants: Applicants, made: Construction, fidelity: Array, request: Request
) -> Construction:
    """Delivered menus with what the held-out fits say of them."""
    held_out = accepted_by(fitted.held_out, made.delivered.options, request.n_jobs)
    return replace(made, trials=Trials.count(held_out, made.delivered.owner, len(applicants), fidelity))
