"""Parts of the page, each a piece of HTML."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from copa._core.arrays import Array
from copa._core.words import STATUSES, counted, rounded_down, rounded_up
from copa.analysis.attribution import GENERAL, Leaning
from copa.analysis.curves import KINDS, RadiusCurves, ShelfLife
from copa.analysis.groups import Group, compare_groups
from copa.plans import Plan
from copa.plans.card import STATUS_SIGNS, cards_html, level_mark, notes_html, safe
from copa.plans.wording import (
    MEANINGS,
    WHOM,
    asked_for,
    condition,
    favourable,
    heading,
    moments_of,
    percent,
    rounded_radius,
    tried_words,
    units,
    value_text,
)
from copa.report import figures
from copa.report.content import Content, Section
from copa.report.figures import (
    Figure,
    corrections_figure,
    frontier_figure,
    groups_figure,
    leaning_figure,
    radius_figure,
)
from copa.tables.cells import as_text, cells_of


def figure_box(key: str, title: str, reading: str, *, wide: bool = False) -> str:
    """A figure drawn by the script, with the one sentence that says what it shows.

    Parameters
    ----------
    key : name of the figure in the page's data
    title, reading : plain text, not yet escaped
    wide : whether it takes the whole width
    """
    return (
        f'<figure class="figure{" wide" if wide else ""}"><h4>{safe(title)}</h4>'
        f'<div class="plot" data-figure="{safe(key)}" role="img" aria-label="{safe(f"{title}. {reading}")}"></div>'
        f"<figcaption>{safe(reading)}</figcaption></figure>"
    )


def facts(lines: Sequence[tuple[str, str, str]]) -> str:
    """Names, values, and a few words on each value."""
    items = "".join(
        f"<div><dt>{safe(name)}</dt><dd>{safe(value)}{f'<small>{safe(words)}</small>' if words else ''}</dd></div>"
        for name, value, words in lines
    )
    return f'<dl class="facts">{items}</dl>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    """A table of plain text whose first column names the rows and whose other columns are numbers."""
    cells = "".join(f'<th scope="col">{safe(name)}</th>' for name in head)
    body = "".join(
        f'<tr><th scope="row">{safe(row[0])}</th>{"".join(f"<td>{safe(cell)}</td>" for cell in row[1:])}</tr>'
        for row in rows
    )
    return (
        f'<div class="scroll"><table class="numbers"><caption>{safe(caption)}</caption>'
        f"<thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def note(text: str) -> str:
    """A remark in small type."""
    return f'<p class="note">{safe(text)}</p>'


def bounds_table(plan: Plan, curves: RadiusCurves, level: float | None) -> str:
    """One line per option, then the menu as a whole: at least, at most, and a bar between the two."""
    own = int((curves.radii < plan.ball.radius).sum())
    whom = plan.terms.guarantee_for
    lines = [
        (f"Option {j + 1}", curves.option_lower[own, j], curves.option_upper[own, j], "each")
        for j in range(plan.n_options)
    ]
    if plan.n_options > 1:
        lines += [
            (WHOM["any"].capitalize(), curves.any_lower[own], curves.any_upper[own], "any"),
            (WHOM["all"].capitalize(), curves.all_lower[own], curves.all_upper[own], "all"),
        ]
    rows = "".join(_bounds_row(name, low, high, level if kind == whom else None) for name, low, high, kind in lines)
    marked = f" The mark is the guarantee asked for, {level:g}." if level is not None else ""
    return (
        '<table class="bounds"><caption>Proven bounds on the probability that options hold: full up to "at least", '
        f'hatched up to "at most", where the truth may lie.{marked}</caption><thead><tr><th scope="col">what holds</th>'
        '<th scope="col">at least</th><th scope="col">at most</th><td></td></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _bounds_row(name: str, low: float, high: float, level: float | None) -> str:
    least, most = rounded_down(low), rounded_up(high)
    mark = "" if level is None else level_mark(level)
    return (
        f'<tr><th scope="row">{safe(name)}</th><td class="number least">{least}</td>'
        f'<td class="number most">{most}</td><td class="range" aria-hidden="true"><div class="track">'
        f'<div class="open" style="width:{100.0 * float(most):.1f}%"></div>'
        f'<div class="sure" style="width:{100.0 * float(least):.1f}%"></div>{mark}</div></td></tr>'
    )


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
    drawn = {"parameters": "model's parameters", "scores": "scores", "surrogate": "surrogate's parameters"}[terms.basis]
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
        _overall_frontier(content, drawn),
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


def _overall_frontier(content: Content, drawn: dict[str, Figure]) -> str:
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


def groups_section(content: Content) -> Section:
    """A table and a figure by group; nothing where no group was asked for."""
    column = content.totals.group
    if column is None or not len(content.totals.sample):
        return Section("", {})
    name = heading(content.terms.schema, column)
    groups = compare_groups(content.totals.sample, column, content.terms.schema)
    head = ["group", "applicants", "with a menu", "status ok", *(f"median, {WHOM[k]}" for k in ("each", "any", "all"))]
    rows = [_group_row(group) for group in groups]
    body = table([*head, "median effort"], rows, f"Guarantees and least efforts by '{name}'")
    some = [group for group in groups if group.with_options]
    drawn = {"groups": groups_figure(some)} if some else {}
    box = figure_box("groups", f"Least effort by '{name}'", _reading(some), wide=True) if some else ""
    remark = note(
        "Medians are over applicants with a menu. A difference between groups is a fact about these menus, not yet an "
        "explanation: groups differ in what they start from and in what may change."
    )
    html = f'<section id="groups"><h2>Groups compared: {safe(name)}</h2>{body}{remark}{box}</section>'
    return Section(html, drawn)


def _group_row(group: Group) -> list[str]:
    ok = f"{group.at_level:,} ({percent(group.at_level / group.size)})" if group.size else "0"
    row = [group.name, f"{group.size:,}", f"{group.with_options:,}", ok]
    if not group.with_options:
        return [*row, "-", "-", "-", "-"]
    medians = [rounded_down(float(np.median(values))) for values in (group.each, group.any, group.all)]
    return [*row, *medians, f"{np.median(group.effort):.2f}"]


def _reading(groups: list[Group]) -> str:
    medians = [float(np.median(group.effort)) for group in groups]
    low, high = int(np.argmin(medians)), int(np.argmax(medians))
    if len(groups) == 1:
        return f"The median effort is {medians[0]:.2f}."
    return (
        f"The median effort is lowest for '{groups[low].name}' ({medians[low]:.2f}) and highest for "
        f"'{groups[high].name}' ({medians[high]:.2f}). Boxes hold the middle half, whiskers everybody."
    )


MOST_DRAWN = 30


def corrections_section(content: Content) -> Section:
    """Totals, and the plans one by one; nothing where no corrections were added."""
    made = content.corrections
    if made is None:
        return Section("", {})
    if not made.n_plans:
        return Section(
            f'<section id="corrections"><h2>Corrections</h2>{note("No plan had options to correct.")}</section>', {}
        )
    before, after, moved = made.means.tolist()
    kept = made.n_plans - made.n_raised - made.n_lowered
    total = (
        f"Of {counted(made.n_plans, 'plan')}, {made.n_raised:,} got surer as a whole, {kept:,} stayed as sure, "
        f"{made.n_lowered:,} got less sure. On average all options of a plan held together with at least "
        f"{rounded_down(before)} before and {rounded_down(after)} after, and an option was moved by {moved:.2f} in the "
        f"model's own units. The guarantee asked for was reached by {made.n_reached_before:,} before and "
        f"{made.n_reached_after:,} after."
    )
    if made.n_left_out:
        total += (
            f" Left out: {counted(made.n_left_out, 'option')} that the constraints or today's model refuse and that "
            "could not be corrected. A plan without options holds with probability 0."
        )
    rows = [
        [name, rounded_down(old), rounded_down(new), f"{far:.2f}"]
        for name, old, new, far in zip(made.names, made.before, made.after, made.moved, strict=True)
    ]
    drawn = {
        "corrections": corrections_figure(made.names[:MOST_DRAWN], made.before[:MOST_DRAWN], made.after[:MOST_DRAWN])
    }
    gains = made.after - made.before
    best = int(np.argmax(gains))
    reading = (
        f"All options hold together with at least this probability, before and after. The largest gain is that of "
        f"{made.names[best]}: from {rounded_down(made.before[best])} to {rounded_down(made.after[best])}."
    )
    box = figure_box("corrections", "Before and after", reading, wide=True)
    first = f"The first {len(rows)} of {made.n_plans:,} plans" if made.n_plans > len(rows) else "Plan by plan"
    body = table(["applicant", "all before", "all after", "farthest move of an option"], rows, first)
    html = (
        f'<section id="corrections"><h2>Corrections</h2><p>{total}</p>{box}'
        f"<details><summary>{first}</summary>{body}</details></section>"
    )
    return Section(html, drawn)


MOST_PARTS = 8  # of a score; the others are put together


def applicant_section(content: Content, i: int, plan: Plan) -> Section:
    """The page of the i-th applicant who is shown."""
    drawn: dict[str, Figure] = {}
    status = f'<span class="sign sign-{plan.status}">{STATUS_SIGNS[plan.status]}</span>'
    curves = content.curves[i]
    parts = [f'<div class="copa">{notes_html(plan)}{cards_html(plan)}</div>', _today(plan)]
    if curves is not None:
        boxes = [
            _radius(content, i, curves, drawn),
            _frontier(content, i, plan, drawn),
            _leaning(content, i, plan, drawn),
        ]
        assumed = (
            f'<p class="note">Each number holds if {safe(moments_of(plan.terms))} stay within radius '
            f'<span class="at">{rounded_radius(plan.ball.radius)}</span> {safe(units(plan.ball))}; '
            "the slider shows other radii.</p>"
        )
        parts = [
            _slider(content, curves),
            assumed,
            parts[0],
            bounds_table(plan, curves, content.level),
            note(tried_words(plan)) if tried_words(plan) else "",
            _lives(content, i),
            f'<div class="grid">{"".join(boxes)}</div>',
            parts[1],
        ]
    html = (
        f'<article class="applicant" id="applicant-{i}" data-applicant="{i}" tabindex="-1">'
        f"<h3>Applicant {safe(as_text(plan.label))} {status}</h3>{''.join(parts)}</article>"
    )
    return Section(html, drawn)


def _slider(content: Content, curves: RadiusCurves) -> str:
    """The radius as something to move; every position is a radius that was computed."""
    own = int(np.searchsorted(curves.radii, content.ball.radius))
    return (
        '<div class="slider"><label><span>What if the next models drift further? Radius '
        f'<output>{rounded_radius(content.ball.radius)}</output></span><input type="range" min="0" '
        f'max="{len(curves.radii) - 1}" step="1" value="{own}" autocomplete="off"></label>'
        '<button type="button" class="reset" disabled>as assumed</button></div>'
    )


def _today(plan: Plan) -> str:
    """The applicant's own row."""
    schema = plan.terms.schema
    lines = [
        (heading(schema, name), value_text(schema, name, cells_of(plan.factual[name])[0]), "")
        for name in plan.factual.columns
    ]
    return f'<details class="today"><summary>The applicant today</summary>{facts(lines)}</details>'


def _lives(content: Content, i: int) -> str:
    lives = content.lives[i]
    if lives is None or content.level is None:
        return ""
    single = content.kept.counts[i] == 1
    items = [
        f"<li>{safe(life_words(kind, life, content.ball.radius, single=bool(single)))}</li>"
        for kind, life in lives.items()
        if kind == "each" or not single
    ]
    return (
        f"<h4>Shelf life: how far may the next models drift before {content.level:g} is lost?</h4>"
        f'<ul class="lives">{"".join(items)}</ul>'
    )


def life_words(kind: str, life: ShelfLife, assumed: float, *, single: bool = False) -> str:
    """How long a level lasts, as a sentence."""
    whom = "The option" if single else WHOM[kind].capitalize()
    keeps = "keep" if kind == "all" else "keeps"
    if np.isnan(life.radius):
        return f"{whom}: not reached, even if the estimated moments are exactly right (radius 0)."
    radius = rounded_radius(life.radius)
    more = "at least " if life.open_ended else ""
    sentence = f"{whom} {keeps} it up to {more}radius {radius}"
    if assumed == 0.0:
        return f"{sentence}; radius 0 is what was assumed."
    times = np.floor(100.0 * life.radius / assumed + 1e-9) / 100.0
    if life.radius < assumed:
        return f"{sentence} only: {times:.2f} times as far as assumed."
    return f"{sentence}: the next models may drift {more}{times:.2f} times as far as assumed."


def _radius(content: Content, i: int, curves: RadiusCurves, drawn: dict[str, Figure]) -> str:
    drawn[f"radius-{i}"] = radius_figure(curves, content.level)
    kind = content.terms.guarantee_for
    least = curves.lower(kind)
    whom = "the option" if curves.option_lower.shape[1] == 1 else WHOM[kind]
    reading = (
        f"For {whom}, the guarantee goes from {rounded_down(least[0])} at radius 0 to {rounded_down(least[-1])} at "
        f"radius {curves.radii[-1]:.3g}."
    )
    if content.level is not None:
        reading += " The dashed line is the level asked for, the vertical one the radius of the slider."
    return figure_box(f"radius-{i}", "Guarantee against radius", reading)


def _frontier(content: Content, i: int, plan: Plan, drawn: dict[str, Figure]) -> str:
    frontier = content.frontier
    if frontier is None or i not in content.frontier_rows:
        return ""
    effort = frontier.effort[content.frontier_rows.index(i)]
    if not np.isfinite(effort).any():
        return ""
    least = {"each": plan.option_lower.min(), "any": plan.any_lower, "all": plan.lower}[plan.terms.guarantee_for]
    drawn[f"frontier-{i}"] = frontier_figure(frontier.levels, effort, (float(least), float(plan.effort.min())))
    reached = np.flatnonzero(np.isfinite(effort))
    low, high = reached[0], reached[-1]
    reading = (
        f"A guarantee of {frontier.levels[low]:g} for {WHOM[plan.terms.guarantee_for]} was found from effort "
        f"{effort[low]:.2f} on, {frontier.levels[high]:g} from {effort[high]:.2f} on."
    )
    if high + 1 < len(effort):
        reading += f" No menu was found at {frontier.levels[high + 1]:g}."
    return figure_box(f"frontier-{i}", "What a higher guarantee costs", reading)


def _leaning(content: Content, i: int, plan: Plan, drawn: dict[str, Figure]) -> str:
    lean = content.leanings[i]
    if lean is None:
        return ""
    order = np.argsort(-np.abs(lean.change), kind="stable")
    names = [_part_name(plan, lean, int(k)) for k in order[:MOST_PARTS]]
    change = lean.change[order[:MOST_PARTS]]
    if len(order) > MOST_PARTS:
        names, change = [*names, "everything else"], np.append(change, lean.change[order[MOST_PARTS:]].sum())
    drawn[f"leaning-{i}"] = leaning_figure(names, change)
    return figure_box(f"leaning-{i}", "What the plan leans on", leaning_words(plan, lean), wide=True)


def leaning_words(plan: Plan, lean: Leaning) -> str:
    """What breaks the plan first, as a sentence."""
    worst = int(np.argmin(lean.change))
    causes = [_cause(plan, lean, worst)]
    if not lean.is_column[worst] and lean.change[lean.is_column].min(initial=0.0) < 0.0:
        causes.append(_cause(plan, lean, int(np.argmin(np.where(lean.is_column, lean.change, np.inf)))))
    subject = f"Option {lean.option} breaks first" if plan.n_options > 1 else "The option breaks"
    return (
        f"{subject}, most of all if {', and then if '.join(causes)}. Bars say what the worst case takes from the "
        "option's score, part by part."
    )


def _cause(plan: Plan, lean: Leaning, k: int) -> str:
    """What the worst case does to one part of the score."""
    before, after = lean.before[k], lean.after[k]
    if lean.columns[k] == GENERAL and not lean.is_column[k]:
        return f"the model gets stricter in general (its general level goes from {before:+.2f} to {after:+.2f})"
    how = "counts less in favour" if before > 0.0 else "counts more against"
    return f"'{_part_name(plan, lean, k)}' {how} (its share of the score goes from {before:+.2f} to {after:+.2f})"


def _part_name(plan: Plan, lean: Leaning, k: int) -> str:
    """A part of the score in words: a column with the value that the option has there."""
    name = lean.columns[k]
    if not lean.is_column[k]:
        return name
    schema = plan.terms.schema
    value = value_text(schema, name, cells_of(plan.options[name])[lean.option - 1])
    return f"{heading(schema, name)}: {value}"


def applicants_section(content: Content) -> Section:
    """Everybody who is shown one by one."""
    plans = list(content.kept)
    if not plans:
        return Section("", {})
    pages = [applicant_section(content, i, plan) for i, plan in enumerate(plans)]
    more = ""
    if content.totals.n_applicants > len(plans):
        more = note(
            f"The first {len(plans):,} of {content.totals.n_applicants:,} applicants are listed here; the figures "
            "above are about all of them, and the saved plans hold every menu."
        )
    statuses = [status for status in STATUSES if any(plan.status == status for plan in plans)]
    choices = "".join(f'<option value="{status}">{STATUS_SIGNS[status]}</option>' for status in statuses)
    items = "".join(_item(i, plan) for i, plan in enumerate(plans))
    html = (
        f'<section id="applicants"><h2>One by one</h2>{more}<div class="browser">'
        '<nav class="list" aria-label="Applicants"><label class="search">Search'
        '<input type="search" id="search" placeholder="name or column" autocomplete="off"></label>'
        '<label class="search">Status<select id="status" autocomplete="off">'
        f'<option value="">all</option>{choices}</select></label><p class="note" id="found" role="status">'
        f"{counted(len(plans), 'applicant')}</p><ul>{items}</ul></nav>"
        f'<div class="pages">{"".join(page.html for page in pages)}</div></div></section>'
    )
    return Section(html, {key: drawn for page in pages for key, drawn in page.figures.items()})


def _item(i: int, plan: Plan) -> str:
    """A line of the list: who, what became of the search, and how sure the least sure option is."""
    words = STATUS_SIGNS[plan.status]
    detail = f"{words} · {counted(plan.n_options, 'option')}" if plan.n_options else words
    columns = sorted({change.title for j in range(plan.n_options) for change in plan.changes(j + 1)})
    haystack = " ".join([as_text(plan.label), words, *columns]).casefold()
    return (
        f'<li><button type="button" class="choose" data-applicant="{i}" data-status="{plan.status}" '
        f'data-text="{safe(haystack)}"><b>{safe(as_text(plan.label))}</b><span>{detail}</span></button></li>'
    )


def slider_data(curves: list[RadiusCurves | None], own: float) -> dict[str, Any]:
    """What the script needs to follow the slider: bounds in thousandths, rounded to the safe side.

    `lower[i][r]` holds those of applicant i at radius r: each option, then (if there are several) any, then all.
    """
    known = [curve for curve in curves if curve is not None]
    if not known:
        return {"radii": [], "names": [], "own": 0, "lower": [], "upper": []}
    radii = known[0].radii
    return {
        "radii": [float(f"{radius:.6g}") for radius in radii.tolist()],
        "names": [rounded_radius(radius) for radius in radii.tolist()],
        "own": int((radii < own).sum()),
        "lower": [None if curve is None else _thousandths(curve, upper=False) for curve in curves],
        "upper": [None if curve is None else _thousandths(curve, upper=True) for curve in curves],
    }


def _thousandths(curve: RadiusCurves, *, upper: bool) -> list[list[int]] | None:
    each, some, every = (
        (curve.option_upper, curve.any_upper, curve.all_upper)
        if upper
        else (curve.option_lower, curve.any_lower, curve.all_lower)
    )
    if upper and each.min() >= 1.0 and every.min() >= 1.0:
        return None  # all of them are 1: nothing to follow
    rounding = rounded_up if upper else rounded_down
    rows = []
    for r in range(len(curve.radii)):
        values = [*each[r], some[r], every[r]] if each.shape[1] > 1 else [each[r, 0]]
        rows.append([round(1000.0 * float(rounding(value))) for value in values])
    return rows
