"""What corrections did to plans that were given."""

import numpy as np

from copa.plans.probabilities import rounded_down
from copa.report.content import Content, Section
from copa.report.figures.batch import corrections_figure
from copa.report.sections.pieces import figure_box, note, table
from copa.report.words import counted

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
