"""Menus for the applicants of a black box: found on stand-ins, chosen by what the models themselves say."""

from time import perf_counter

import numpy as np
import numpy.typing as npt

from copa.arrays import Array, Indices
from copa.planner.black_boxes.rounds import Evidence, gather, lower_of_rows, stand_in
from copa.planner.black_boxes.samples import Samples, ask, ask_beside, ask_retrained
from copa.planner.black_boxes.selection import candidates, choose
from copa.planner.black_boxes.state import BlackBoxPlanner, accepted_by
from copa.planner.construction import Construction, Request
from copa.planner.delivery import Applicants, Delivered, bound_options
from copa.planning.menus import BELOW, MET, UNREACHABLE, Menus
from copa.planning.neighbourhood import Draws
from copa.planning.rows import write_rows
from copa.plans.trials import Trials

FRESH = 8  # rows drawn beside each option to see how true its stand-in is
TOGETHER = 32  # applicants whose rows the models are asked about in one call
RULE_TOLERANCE = 1e-9


def construct_for_black_box(fitted: BlackBoxPlanner, applicants: Applicants, request: Request) -> Construction:
    """Build the menus of applicants, and bound what is delivered."""
    space, n = fitted.space, len(applicants)
    menus = Menus.empty(n, request.n_options, len(space.lines), len(space.choices))
    fidelity = np.full(n, np.nan)
    for first in range(0, n, TOGETHER):
        if perf_counter() > request.deadline:
            break
        some = np.arange(first, min(first + TOGETHER, n))
        found, fidelity[some] = _menus(fitted, applicants.take(some), request)
        menus = menus.replaced(some, found)
        if request.progress is not None:
            request.progress(len(some))
    return _finished(fitted, applicants, menus, fidelity, request)


def explain_tries(
    fitted: BlackBoxPlanner,  # noqa: ARG001 - the engines of all models are asked alike
    applicants: Applicants,  # noqa: ARG001
    menus: Menus,
    levels: Array,
    request: Request,
) -> list[str]:
    """Say for each applicant what was not found: a search among rows is no proof that there is none."""
    highest = np.floor(menus.highest * 1000.0) / 1000.0
    return [
        "none of the allowed rows that were tried is accepted by the model; others were not tried"
        if level < 0.0
        else f"accepted today, but the surest allowed row that was found holds with {best:.3f}, and "
        f"{request.guarantee:g} was asked for; retraining moves this model's answers too much here"
        for level, best in zip(levels, highest, strict=True)
    ]


def _menus(fitted: BlackBoxPlanner, applicants: Applicants, request: Request) -> tuple[Menus, Array]:
    """Search, choose, try every option with one change less, and choose again; and how true the stand-ins are."""
    evidence = gather(fitted, applicants, request)
    menus, chosen = _choose_all(fitted, applicants, evidence, request)
    lighter = _with_one_change_less(fitted, applicants, evidence.samples.take(chosen))
    if len(lighter.owner):
        known = Evidence(lighter, ask_retrained(fitted, applicants, lighter, request.n_jobs))
        evidence = evidence.joined(known)
        menus, chosen = _choose_all(fitted, applicants, evidence, request)
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


def _choose_all(
    fitted: BlackBoxPlanner, applicants: Applicants, evidence: Evidence, request: Request
) -> tuple[Menus, Indices]:
    """The menus, and the positions of all their options in the evidence."""
    space, samples = fitted.space, evidence.samples
    menus = Menus.empty(len(applicants), request.n_options, len(space.lines), len(space.choices))
    here = applicants.places.take(samples.owner)
    efforts = space.effort(here, samples.values[:, None], samples.atoms[:, None])[:, 0]
    allowed = _allowed(fitted, applicants, samples)
    lower = lower_of_rows(fitted, evidence.retrained)
    level, everyone = level_of_each(request), []
    for i in range(len(applicants)):
        rows = np.flatnonzero(samples.owner == i)
        mine = evidence.take(rows)
        found = candidates(mine, allowed[rows], efforts[rows], lower[rows], level)
        menu = rows[choose(found, request.n_options, request.diversity_weight)]
        good = allowed[rows] & (mine.samples.scores >= 0.0)
        menus.highest[i] = lower[rows][good].max(initial=0.0)
        menus.outcomes[i] = UNREACHABLE if len(menu) == 0 else MET if menus.highest[i] >= level else BELOW
        menus.counts[i] = len(menu)
        for values, atoms in ((menus.values, menus.atoms), (menus.relaxed_values, menus.relaxed_atoms)):
            values[i, : len(menu)], atoms[i, : len(menu)] = samples.values[menu], samples.atoms[menu]
        everyone.append(menu)
    return menus, np.concatenate(everyone) if everyone else np.zeros(0, dtype=np.int64)


def level_of_each(request: Request) -> float:
    """The level of every option that is enough for what is asked: for all of J together, Boole's."""
    if request.guarantee_for == "all":
        return 1.0 - (1.0 - request.guarantee) / request.n_options
    return request.guarantee


def _allowed(fitted: BlackBoxPlanner, applicants: Applicants, samples: Samples) -> npt.NDArray[np.bool_]:
    """Whether rows obey the rules and the cap on changes, (M,); their values are allowed by the way they are drawn."""
    space, own = fitted.space, applicants.places.take(samples.owner)
    changes = (samples.values != own.values).sum(axis=1) + (samples.atoms != own.atoms).sum(axis=1)
    shares = space.terrain[6]
    slack = applicants.slack[samples.owner] - (samples.values - own.values) @ shares[:, : len(space.lines)].T
    for k in range(len(space.choices)):
        slack -= shares[:, samples.atoms[:, k]].T - shares[:, own.atoms[:, k]].T
    return np.asarray((changes <= space.cap) & (slack >= -RULE_TOLERANCE).all(axis=1))


def _with_one_change_less(fitted: BlackBoxPlanner, applicants: Applicants, options: Samples) -> Samples:
    """Every option with each of its changes taken back in turn."""
    own = applicants.places.take(options.owner)
    n_lines = len(fitted.space.lines)
    changed = np.hstack([options.values != own.values, options.atoms != own.atoms])
    rows, columns = np.nonzero(changed & (changed.sum(axis=1) > 1)[:, None])
    values, atoms = options.values[rows], options.atoms[rows]
    for position, (row, column) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True)):
        if column < n_lines:
            inside = np.clip(own.values[row, column], own.lower[row, column], own.upper[row, column])
            values[position, column] = inside
        elif own.allowed[row, own.atoms[row, column - n_lines]]:
            atoms[position, column - n_lines] = own.atoms[row, column - n_lines]
    return ask(fitted, applicants, options.owner[rows], values, atoms)


def _finished(
    fitted: BlackBoxPlanner, applicants: Applicants, menus: Menus, fidelity: Array, request: Request
) -> Construction:
    """Deliver the menus, ask the models about the rows delivered, and see which guarantees hold."""
    owner, option = np.nonzero(np.arange(menus.values.shape[1]) < menus.counts[:, None])
    values, atoms = menus.values[owner, option], menus.atoms[owner, option]
    rows = write_rows(fitted.space, applicants.table, applicants.places, owner, values, atoms)
    points = fitted.points(rows, owner, request.n_jobs)
    effort = fitted.space.effort(applicants.places.take(owner), values[:, None], atoms[:, None])[:, 0]
    delivered = Delivered(rows, owner, points, points, fitted.model.accepts(rows), effort, effort)
    if not delivered.accepted.all():
        delivered = delivered.keep(delivered.accepted)
    bounds = bound_options(delivered.points, delivered.owner, len(applicants), fitted.ball, request.n_jobs)
    lowest = np.ones(len(applicants))
    np.minimum.at(lowest, delivered.owner, bounds.option_lower)
    value = {"each": lowest, "all": bounds.lower, "any": bounds.any_lower}[request.guarantee_for]
    has_options = np.bincount(delivered.owner, minlength=len(applicants)) > 0
    held_out = accepted_by(fitted.held_out, delivered.options, request.n_jobs)
    trials = Trials.count(held_out, delivered.owner, len(applicants), fidelity)
    return Construction(menus, delivered, bounds, bounds.lower, has_options & (value >= request.guarantee), trials)
