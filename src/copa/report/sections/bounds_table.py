"""The bounds of a plan as a table of bars, which the script keeps up with the slider."""

from copa.plans import Plan
from copa.plans.markup import level_mark, safe
from copa.plans.probabilities import rounded_down, rounded_up
from copa.report.curves import RadiusCurves
from copa.report.words import WHOM


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
    rows = "".join(_row(name, low, high, level if kind == whom else None) for name, low, high, kind in lines)
    marked = f" The mark is the guarantee asked for, {level:g}." if level is not None else ""
    return (
        '<table class="bounds"><caption>Proven bounds on the probability that options hold: full up to "at least", '
        f'hatched up to "at most", where the truth may lie.{marked}</caption><thead><tr><th scope="col">what holds</th>'
        '<th scope="col">at least</th><th scope="col">at most</th><td></td></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _row(name: str, low: float, high: float, level: float | None) -> str:
    least, most = rounded_down(low), rounded_up(high)
    mark = "" if level is None else level_mark(level)
    return (
        f'<tr><th scope="row">{safe(name)}</th><td class="number least">{least}</td>'
        f'<td class="number most">{most}</td><td class="range" aria-hidden="true"><div class="track">'
        f'<div class="open" style="width:{100.0 * float(most):.1f}%"></div>'
        f'<div class="sure" style="width:{100.0 * float(least):.1f}%"></div>{mark}</div></td></tr>'
    )
