"""Guarantees and efforts by group."""

import numpy as np

from copa.plans.markup import safe
from copa.plans.probabilities import rounded_down
from copa.report.content import Content, Section
from copa.report.figures.batch import groups_figure
from copa.report.groups import Group, compare_groups
from copa.report.sections.pieces import figure_box, note, table
from copa.report.words import WHOM, heading, percent


def groups_section(content: Content) -> Section:
    """A table and a figure by group; nothing where no group was asked for."""
    column = content.totals.group
    if column is None or not len(content.totals.sample):
        return Section("", {})
    name = heading(content.terms.schema, column)
    groups = compare_groups(content.totals.sample, column, content.terms.schema)
    head = ["group", "applicants", "with a menu", "status ok", *(f"median, {WHOM[k]}" for k in ("each", "any", "all"))]
    rows = [_row(group) for group in groups]
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


def _row(group: Group) -> list[str]:
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
