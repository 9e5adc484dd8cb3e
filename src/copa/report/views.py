"""Views of all applicants for the templates of a report: words and numbers, from what was counted before."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.words import ALREADY_VALID, STATUSES, counted, rounded_down
from copa.analysis.curves import KINDS
from copa.analysis.frontier import Frontier
from copa.analysis.groups import LEAST_GROUP, compare_groups
from copa.analysis.totals import Corrections, Totals
from copa.data.schema import FeatureSchema
from copa.data.tables.cells import cells_of
from copa.models.refits.reliability import LEAST_RELIABILITY
from copa.plans import Plan, PlanBatch, PlanRequest
from copa.plans.card import LEAST_SHOWN, STATUS_SIGNS, plan_view
from copa.plans.cost import COSTS, Cost
from copa.plans.units import effort_words, heading, value_text
from copa.plans.wording import MEANINGS, WHOM, as_asked, favourable, percent, request_fact, request_words
from copa.report import figures

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner import RecoursePlanner

MOST_FEATURES = 15
MOST_DRAWN = 30  # corrected plans
SAID_OF = 0.9  # a guarantee whose share of menus is told, where none was asked for
PROVEN = "This is proven if the assumption at the end holds."
GUARANTEE_MEANS = (
    "A guarantee that stands beside an option is the least probability with which a later model that is trained like "
    f"this one accepts it. {PROVEN}"
)
# What the assumption takes for granted, by what it is about.
RESERVATIONS = {
    "surrogate": "It takes the model for a linear one around the applicant; of the model itself nothing is proven.",
    "assumed": "How much the scores of later models vary was assumed for it, not estimated.",
}

GROUPS_MEAN = (
    "Medians are over applicants with a menu. A difference between groups is a fact about these menus, not yet an "
    "explanation: groups differ in what they start from and in what may change."
)
FEW = (
    f"Groups of fewer than {LEAST_GROUP} people are not compared, nor medians given of fewer than {LEAST_GROUP} menus."
)

View = dict[str, Any]  # what a template shows; "figures" are drawn by the page's script


def promise(batch: PlanBatch) -> list[str]:
    """Say what was asked for and what the numbers of an option mean, in plain sentences."""
    request, level = batch.request, batch.request.level
    if level is None:
        sentences = [request_words(request), GUARANTEE_MEANS]
    else:
        whom = "the option" if request.guarantee_for == "each" else WHOM[request.guarantee_for]
        later = f"on average at least {100.0 * level:g} of 100 later models that are trained like this one"
        sentences = [f"A guarantee of at least {level:g} means: {later} accept {whom}. {PROVEN}"]
    if batch.basis.subject in RESERVATIONS:
        sentences.append(RESERVATIONS[batch.basis.subject])
    if batch.n_held_out:
        sentences.append(
            "The expected rate is the share of models retrained as a test that accept an option: a frequency."
        )
    if batch.basis.reliability is not None and batch.basis.reliability < LEAST_RELIABILITY:
        sentences.append("The training data are too few for these probabilities to be relied on.")
    return sentences


def asked(batch: PlanBatch, totals: Totals) -> list[tuple[str, str, str]]:
    """Return names, values and remarks: what was asked, and of whom."""
    accepted = f"{totals.n_accepted:,} of them accepted today as they are" if totals.n_accepted else ""
    return [
        ("Applicants", f"{totals.n_applicants:,}", accepted),
        ("Guarantee asked for", *request_fact(batch.request)),
        ("Options asked for", f"up to {batch.request.n_options}", "per applicant"),
        ("Favourable answer", *favourable(batch.basis)),
    ]


def effort_example(batch: PlanBatch, totals: Totals, planner: "RecoursePlanner | None") -> str:
    """Say what effort 1 is in this table, the columns that change most often first; "" where the cost is unknown."""
    cost: Cost | None = None
    if planner is not None:  # a cost of its own may have the name of a known one
        cost = planner.strategy_.space.cost
    elif batch.request.cost in COSTS:
        cost = COSTS[batch.request.cost]()
    columns = [column for column, _ in totals.options_changing.most_common()]
    return "" if cost is None else effort_words(batch.basis.schema, columns, cost)


def beside_cards(batch: PlanBatch) -> Iterator[View]:
    """Yield what is said beside the cards of each plan: what its guarantees mean, and what an effort is."""
    cost, meaning = COSTS.get(batch.request.cost), promise(batch)
    for plan in batch:
        columns = batch.options.columns[batch.changed[plan.own_rows].any(axis=0)].tolist()
        effort = effort_words(batch.basis.schema, columns, cost()) if columns and cost is not None else ""
        yield {"promise": meaning, "effort": effort}


def first_person(plan: Plan) -> View:
    """Return the view of the applicant whom the page shows before its script draws others."""
    schema = plan.basis.schema
    today = [(heading(schema, n), value_text(schema, n, cells_of(plan.factual[n])[0]), "") for n in plan.factual]
    return plan_view(plan) | {"today": today}


def listed_statuses(batch: PlanBatch) -> list[View]:
    """Return the statuses that applicants of the list have, in its order: name and sign."""
    names = dict.fromkeys(batch.status.tolist())
    return [{"name": name, "sign": as_asked(STATUS_SIGNS[name], batch.request)} for name in names]


def overview(totals: Totals, batch: PlanBatch, frontier: Frontier | None) -> View:
    """Return key numbers, statuses and figures about all applicants who are declined today."""
    level, guarantees, n = batch.request.level, totals.with_options, totals.n_declined
    counts = [(status, totals.statuses[status]) for status in STATUSES if totals.statuses[status]]
    statuses = [_status(status, count, count / n, batch.request) for status, count in counts]
    if totals.n_accepted:
        statuses.append(_status(ALREADY_VALID, totals.n_accepted, None, batch.request))
    view: View = {
        "n_declined": n,
        "n_accepted": totals.n_accepted,
        "served": _served(totals, batch.request),
        "statuses": statuses,
        "sampled": "" if totals.sample.is_complete else f"{len(totals.sample):,}",
        "figures": {},
    }
    if len(guarantees):
        kinds = [kind for kind in KINDS if guarantees[kind].max() >= LEAST_SHOWN]
        view |= _guarantees(guarantees, batch.request, kinds)
        view["figures"] |= {
            "guarantees": figures.guarantees_figure(guarantees[kinds], level) if kinds else None,
            "efforts": figures.efforts_figure(guarantees["effort"].to_numpy()),
        }
    if totals.options_changing:
        frequent = totals.options_changing.most_common(MOST_FEATURES)
        names = [heading(batch.basis.schema, column) for column, _ in frequent]
        shares = np.array([count for _, count in frequent]) / totals.n_options
        n_people, n_more = totals.applicants_changing[frequent[0][0]], len(totals.options_changing) - len(frequent)
        view["features"] = {"first": names[0], "share": percent(shares[0]), "n_people": n_people, "n_more": n_more}
        view["figures"]["features"] = figures.features_figure(names, shares)
    frontier = None if frontier is None else frontier.only_tried()
    if frontier is not None and frontier.n_drawn <= 1:
        view["too_few"] = (len(frontier.effort), frontier.complete)
    elif frontier is not None and level is not None:
        view["frontier"] = _followed(frontier)
        view["figures"]["frontier"] = figures.overall_frontier_figure(frontier, level)
    view["figures"] = {key: figure for key, figure in view["figures"].items() if figure is not None}
    return view


def _served(totals: Totals, request: PlanRequest) -> View:
    """Count the declined who have what was asked for: a menu at the level, or any menu where no level was asked for."""
    asked = request.objective == "level"
    count = totals.statuses["ok"] if asked else totals.n_with_options
    words = as_asked(" at the guarantee asked for", request) if asked else ""
    share = percent(count / max(totals.n_declined, 1))
    return {"count": f"{count:,}", "percent": share, "words": f"have a menu{words}"}


def _status(status: str, count: int, share: float | None, request: PlanRequest) -> View:
    """Return a line of the table of statuses; those who are accepted today have no share."""
    sign, meaning = as_asked(STATUS_SIGNS[status], request), as_asked(MEANINGS[status], request)
    words = {"name": status, "sign": sign, "meaning": meaning}
    return words | {"count": f"{count:,}", "share": share or 0.0, "percent": "" if share is None else percent(share)}


def _guarantees(guarantees: "pd.DataFrame", request: PlanRequest, kinds: list[str]) -> View:
    """Return medians, the shares that reach the level, and the middle half of the efforts."""
    at = SAID_OF if request.level is None else request.level
    kinds_told = (request.guarantee_for, "any" if request.guarantee_for == "all" else "all")
    medians = [(WHOM[kind], guarantees[kind].median()) for kind in kinds_told]
    return {
        "at": at,
        "medians": [(whom, median) for whom, median in medians if median >= LEAST_SHOWN],
        "reached": [(WHOM[kind], percent((guarantees[kind] >= at).mean())) for kind in kinds],
        "efforts": guarantees["effort"].quantile([0.25, 0.5, 0.75]).tolist(),
    }


def _followed(frontier: Frontier) -> View:
    """Return whom the curve of cost against guarantee follows, in numbers."""
    drawn = frontier.n_drawn
    reached = zip(frontier.levels.tolist(), frontier.n_reached.tolist(), strict=True)
    return {
        "n_tried": len(frontier.effort),
        "n_followed": int(frontier.followed.sum()),
        "highest": f"{frontier.levels[drawn - 1]:g}",
        "ends": [(f"{frontier.levels[k]:g}", f"{frontier.medians[k]:.2f}") for k in (0, drawn - 1)],
        "reached": ", ".join(f"{level:g} by {count}" for level, count in reached),
        "complete": frontier.complete,
    }


def groups(totals: Totals, schema: FeatureSchema) -> View | None:
    """Return a table and a figure by group; None where no group was asked for."""
    if totals.group is None or not len(totals.sample):
        return None
    table = compare_groups(totals.sample.rows, totals.group, schema)
    some = table[table["comparable"]]
    kinds = [kind for kind in KINDS if (some[kind] >= LEAST_SHOWN).any()]
    head = [*(f"median, {WHOM[kind]}" for kind in kinds), "median effort"] if len(some) else []
    return {
        "name": heading(schema, totals.group),
        "head": head,
        "rows": [_group_row(str(group), numbers, kinds, len(head)) for group, numbers in table.iterrows()],
        "medians": sorted(some[0.5].items(), key=lambda group: group[1]),
        "notes": [GROUPS_MEAN, *([FEW] if len(some) < len(table) else [])],
        "figures": {"groups": figures.groups_figure(some)} if len(some) > 1 else {},
    }


def _group_row(name: str, numbers: "pd.Series[Any]", kinds: list[str], n_medians: int) -> list[str]:
    """Return a line of the table of groups; a small group is marked, and few plans have no medians."""
    size, with_options, ok = (int(numbers[column]) for column in ("size", "with_options", "at_level"))
    few = size < LEAST_GROUP
    name = f"{name} (too few to compare)" if few else name
    row = [name, f"{size:,}", f"{with_options:,}", f"{ok:,}" if few else f"{ok:,} ({percent(ok / size)})"]
    if not numbers["comparable"]:
        return [*row, *["-"] * n_medians]
    return [*row, *(rounded_down(numbers[kind]) for kind in kinds), f"{numbers[0.5]:.2f}"]


def corrections(made: Corrections | None) -> View | None:
    """Return totals, and the plans one by one; None where no corrections were added."""
    if made is None or not made.n_plans:
        return None if made is None else {"made": made, "figures": {}}
    few = len(made.names) < made.n_plans
    rows = list(zip(made.names, made.before.tolist(), made.after.tolist(), made.moved.tolist(), strict=True))
    drawn = figures.corrections_figure(made.names[:MOST_DRAWN], made.before[:MOST_DRAWN], made.after[:MOST_DRAWN])
    return {
        "made": made,
        "best": rows[int(np.argmax(made.after - made.before))],
        "first": f"The first {len(rows)} of {counted(made.n_plans, 'plan')}" if few else "Plan by plan",
        "rows": [[name, rounded_down(old), rounded_down(new), f"{far:.2f}"] for name, old, new, far in rows],
        "figures": {"corrections": drawn},
    }
