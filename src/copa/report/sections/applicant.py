"""One applicant: the menu, how sure it is, for how long, at what price, and what it leans on."""

import numpy as np

from copa.plans import Plan
from copa.plans.cells import as_text, cells_of
from copa.plans.markup import safe
from copa.plans.plan_html import STATUS_SIGNS, cards_html, notes_html
from copa.plans.probabilities import rounded_down
from copa.plans.wording import tried_words
from copa.report.content import Content, Section
from copa.report.curves import RadiusCurves, ShelfLife
from copa.report.figures.applicant import frontier_figure, leaning_figure, radius_figure
from copa.report.figures.base import Figure
from copa.report.leaning import GENERAL, Leaning
from copa.report.sections.bounds_table import bounds_table
from copa.report.sections.pieces import facts, figure_box, note
from copa.report.words import WHOM, heading, moments_of, rounded_radius, units, value_text

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
