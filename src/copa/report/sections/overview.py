"""The first part of the page: what was asked, what became of everybody, and the figures about all of them."""

import numpy as np

from copa.arrays import Array
from copa.plans.consistency import STATUSES
from copa.plans.markup import safe
from copa.plans.plan_html import STATUS_SIGNS
from copa.plans.probabilities import rounded_down
from copa.report.content import Content, Section
from copa.report.curves import KINDS
from copa.report.figures import batch as figures
from copa.report.figures.base import Figure
from copa.report.sections.pieces import facts, figure_box, note
from copa.report.words import MEANINGS, WHOM, asked_for, condition, counted, favourable, heading, percent

MOST_FEATURES = 15


def header(content: Content) -> str:
    """Title, what was asked, and what the probabilities rest on."""
    terms, ball, totals = content.terms, content.ball, content.totals
    asked = [
        ("Applicants", f"{totals.n_applicants:,}", ""),
        ("Guarantee asked for", *asked_for(terms)),
        ("Options asked for", f"up to {terms.n_options}", "per applicant"),
        ("Favourable answer", *favourable(terms)),
        ("Radius of the ball", f"{ball.radius:.3g}", terms.radius_source),
    ]
    promise = (
        "Every guarantee on this page is conditional: a proven lower bound on the probability that an option still "
        f"gets the favourable answer, {condition(ball, terms)}."
    )
    drawn = {"parameters": "model's parameters", "scores": "scores", "stand-in": "stand-in's parameters"}[terms.basis]
    meaning = (
        f"The ball holds every distribution of the {drawn} whose mean and covariance are that close, "
        "whatever its shape; about models outside it nothing is promised. Effort counts changes in units of each "
        "column's spread."
    )
    return (
        f'<header class="top"><p class="kicker">Recourse report</p><h1>{safe(content.title)}</h1>{facts(asked)}'
        f'<p class="promise"><strong>{safe(promise)}</strong> {safe(meaning)}</p></header>'
    )


def overview(content: Content) -> Section:
    """Key numbers, statuses and figures about all applicants."""
    drawn: dict[str, Figure] = {}
    boxes = [
        _guarantees(content, drawn),
        _efforts(content, drawn),
        _features(content, drawn),
        _frontier(content, drawn),
    ]
    grid = f'<div class="grid">{"".join(boxes)}</div>' if any(boxes) else ""
    sampled = ""
    if not content.totals.sample.is_complete:
        sampled = note(
            f"Guarantees, efforts and groups are those of a random sample of {len(content.totals.sample):,} "
            "applicants; statuses and changes are counted over all of them."
        )
    html = (
        f'<section id="overview"><h2>All applicants</h2>{_tiles(content)}{_statuses(content)}{grid}{sampled}</section>'
    )
    return Section(html, drawn)


def _tiles(content: Content) -> str:
    totals = content.totals
    tiles = []
    if totals.n_applicants:
        share = totals.statuses["ok"] / totals.n_applicants
        words = "have a menu at the guarantee asked for" if content.level is not None else "have a menu"
        tiles.append((f"{totals.statuses['ok']:,}", f"of {totals.n_applicants:,} ({percent(share)}) {words}"))
    if totals.with_options:
        values = _kinds(content)
        kind = content.terms.guarantee_for
        median = np.median(values[kind])
        tiles.append((rounded_down(median), f"median guarantee for {WHOM[kind]}"))
        other = "all" if kind != "all" else "any"
        tiles.append((rounded_down(np.median(values[other])), f"median guarantee for {WHOM[other]}"))
        tiles.append((f"{np.median(_effort(content)):.2f}", "median effort of the cheapest option"))
    cells = "".join(
        f'<div class="tile"><b>{safe(number)}</b><span>{safe(words)}</span></div>' for number, words in tiles
    )
    return f'<div class="tiles">{cells}</div>'


def _kinds(content: Content) -> dict[str, Array]:
    sample = content.totals.sample
    some = np.isfinite(sample["each"])
    return {kind: sample[kind][some] for kind in KINDS}


def _effort(content: Content) -> Array:
    effort: Array = content.totals.sample["effort"]
    known: Array = effort[np.isfinite(effort)]
    return known


def _statuses(content: Content) -> str:
    totals = content.totals
    rows = []
    for status in STATUSES:
        count = totals.statuses[status]
        if count:
            share = count / totals.n_applicants
            rows.append(
                f'<tr><th scope="row"><span class="sign sign-{status}">{STATUS_SIGNS[status]}</span></th>'
                f'<td class="number">{count:,}</td><td class="number">{percent(share)}</td>'
                f'<td class="share" aria-hidden="true"><div style="width:{100.0 * share:.1f}%"></div></td>'
                f"<td>{safe(MEANINGS[status])}</td></tr>"
            )
    return (
        '<h3>What became of them</h3><table class="statuses"><thead class="unseen"><tr><th scope="col">status</th>'
        '<th scope="col">applicants</th><th scope="col">share</th><td></td><th scope="col">meaning</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
        if rows
        else note("There are no applicants.")
    )


def _guarantees(content: Content, drawn: dict[str, Figure]) -> str:
    if not content.totals.with_options:
        return ""
    values = _kinds(content)
    drawn["guarantees"] = figures.guarantees_figure(values, content.level)
    at = 0.9 if content.level is None else content.level
    shares = {kind: percent(float((own >= at).mean())) for kind, own in values.items()}
    reading = (
        f"At {at:g}: in {shares['each']} of the menus each option holds at least that surely, in {shares['any']} at "
        f"least one does, in {shares['all']} all of them together."
    )
    return figure_box("guarantees", "How sure the menus are", reading)


def _efforts(content: Content, drawn: dict[str, Figure]) -> str:
    if not content.totals.with_options:
        return ""
    effort = _effort(content)
    drawn["efforts"] = figures.efforts_figure(effort)
    low, middle, high = np.quantile(effort, [0.25, 0.5, 0.75])
    reading = (
        f"Half of the menus have a cheapest option with an effort between {low:.2f} and {high:.2f}; the median is "
        f"{middle:.2f}."
    )
    return figure_box("efforts", "How much the cheapest option asks for", reading)


def _features(content: Content, drawn: dict[str, Figure]) -> str:
    totals = content.totals
    frequent = totals.options_changing.most_common(MOST_FEATURES)
    if not frequent:
        return ""
    names = [heading(content.terms.schema, column) for column, _ in frequent]
    shares = np.array([count for _, count in frequent]) / totals.n_options
    drawn["features"] = figures.features_figure(names, shares)
    people = totals.applicants_changing[frequent[0][0]]
    rest = len(totals.options_changing) - len(frequent)
    more = f" {counted(rest, 'column')} more change less often." if rest > 0 else ""
    reading = (
        f"'{names[0]}' changes most often: in {percent(shares[0])} of the options, for "
        f"{counted(people, 'applicant')}.{more}"
    )
    return figure_box("features", "What options change", reading)


def _frontier(content: Content, drawn: dict[str, Figure]) -> str:
    frontier = content.frontier
    if frontier is None or content.level is None or not np.isfinite(frontier.effort).any():
        return ""
    drawn["frontier"] = figures.overall_frontier_figure(frontier, content.level)
    reached = np.isfinite(frontier.effort)
    highest = int(np.flatnonzero(reached.any(axis=0))[-1])
    reading = (
        f"Least effort found when {counted(len(reached), 'applicant')} (the first ones) are planned for at other "
        f"levels; {frontier.levels[highest]:g} is within reach of {int(reached[:, highest].sum())} of them. Each point "
        "is the median over those who reach it."
    )
    if not frontier.complete:
        reading += " The time allowed for this figure ended before all levels were tried."
    return figure_box("frontier", "What a higher guarantee costs", reading)
