"""One run: the experiments by name, their tables and pictures, and the page that compares ours with the paper's."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from reproduction.experiments import appendix_b, benchmark, causes, figures, table1, table2, training
from reproduction.pages import comparison, tables
from reproduction.pages import figures as figure_pages
from reproduction.pages.about import about_section, data_section, times_section
from reproduction.pages.benchmark import benchmark_section
from reproduction.pages.page import Grid, Picture, Section, to_html, to_markdown
from reproduction.settings import require_known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reproduction.session import Session

TITLE = "The paper, reproduced and checked"


def table1_sections(session: "Session") -> list[Section]:
    """Table 1 and, by the paper's protocol, whether the orderings are those of the paper."""
    found = table1.run(session)
    sections = [tables.table1_section(found, session.protocol)]
    if session.protocol == "paper":
        sections.insert(0, comparison.orderings_section(found))
    return sections


def causes_sections(session: "Session") -> list[Section]:
    """Where Table 1 differs from the printed one, and the experiments that say why."""
    ours = table1.run(session, "paper")
    changed = causes.run(session)
    return [
        comparison.broken_orderings_section(ours, changed),
        comparison.agreement_section(ours, changed),
        comparison.causes_section(changed, ours),
        comparison.training_section(training.run(session)),
    ]


def table2_sections(session: "Session") -> list[Section]:
    """Table 2."""
    return [tables.table2_section(table2.run(session), session.protocol)]


def classifiers_sections(session: "Session") -> list[Section]:
    """Performance of the classifiers."""
    return [tables.classifiers_section(appendix_b.run_classifiers(session), session.protocol)]


def radius_sections(session: "Session") -> list[Section]:
    """Figure "radius"."""
    found = figures.run_radius(session)
    _draw(session, figure_pages.draw_radius, found["bounds"], found["futures"], session.folder)
    return [figure_pages.radius_section(found["bounds"], found["futures"])]


def shift_sections(session: "Session", *, correlated: bool) -> list[Section]:
    """Figure "shift"."""
    found = figures.run_shift(session, correlated=correlated)
    name = "fig_shift_correlated" if correlated else "fig_shift"
    _draw(session, figure_pages.draw_shift, found, session.folder, name)
    return [figure_pages.shift_section(found, correlated=correlated)]


def mahalanobis_sections(session: "Session") -> list[Section]:
    """Figure "Mahalanobis"."""
    found = figures.run_mahalanobis(session)
    if found.empty:
        return []
    _draw(session, figure_pages.draw_mahalanobis, found, session.folder, f"fig_mahalanobis_{session.protocol}")
    return [figure_pages.mahalanobis_section(found, session.protocol)]


def examples_sections(session: "Session") -> list[Section]:
    """The paper's three customers."""
    return [tables.examples_section(appendix_b.run_examples(session))]


def benchmark_sections(session: "Session") -> list[Section]:
    """The comparison beyond the paper, by both protocols."""
    return [benchmark_section(benchmark.run(session))]


EXPERIMENTS: dict[str, Callable[["Session"], list[Section]]] = {
    "table1": table1_sections,
    "causes": causes_sections,
    "table2": table2_sections,
    "classifiers": classifiers_sections,
    "fig-radius": radius_sections,
    "fig-shift": partial(shift_sections, correlated=False),
    "fig-shift-correlated": partial(shift_sections, correlated=True),
    "fig-mahalanobis": mahalanobis_sections,
    "examples": examples_sections,
    "benchmark": benchmark_sections,
}
NAMES = tuple(EXPERIMENTS)


def run_experiment(name: str, session: "Session", protocols: tuple[str, ...]) -> list[Section]:
    """Run an experiment: Table 1 by every protocol, the others by the first one, or by their own."""
    sections = EXPERIMENTS[name](session)
    if name == "table1":
        for protocol in protocols[1:]:
            sections += table1_sections(replace(session, protocol=protocol))
    return sections


def _draw(session: "Session", draw: Callable[..., None], *arguments: object) -> None:
    session.attempt("pictures", partial(draw, *arguments))


def reproduce(session: "Session", names: "Sequence[str]", protocols: tuple[str, ...], docs: Path | None = None) -> Path:
    """Run experiments and write their results.

    Parameters
    ----------
    session : Session
    names : sequence of str
        Names of experiments, or "all".
    protocols : tuple of str
        For Table 1; the other experiments take the first, or have their own.
    docs : Path, optional
        A page in Markdown to write too; its pictures go into folders beside it.

    Returns
    -------
    Path
        The HTML page; tables (CSV) and pictures (PNG, PDF) are beside it.
    """
    for name in names:
        require_known("experiment", name, (*NAMES, "all"))
    chosen = NAMES if "all" in names else [name for name in NAMES if name in names]
    sections, times = [], []
    for name in chosen:
        session.tell(f"{name} ...")
        started = perf_counter()
        sections += run_experiment(name, session, protocols)
        times.append([name, f"{perf_counter() - started:.0f} s"])
        session.tell(f"{name}: {times[-1][1]}")
    sections = [about_section(session, protocols), *sections, data_section(session), times_section(times)]
    if session.skipped:
        rows = [[what, why] for what, why in session.skipped.items()]
        sections.append(Section("Left out", [Grid(["what", "why"], rows)]))
    page = session.folder / "reproduction.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(to_html(TITLE, sections, session.folder), encoding="utf-8")
    if docs is not None:
        write_docs(docs, sections, session.folder)
    return page


def write_docs(docs: Path, sections: "Sequence[Section]", folder: Path) -> None:
    """Write the page in Markdown, with copies of its pictures in `pictures/NAME` beside it."""
    pictures = docs.parent / "pictures" / docs.stem
    for section in sections:
        for part in section.body:
            if isinstance(part, Picture) and (folder / f"{part.name}.png").is_file():
                pictures.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(folder / f"{part.name}.png", pictures / f"{part.name}.png")
    docs.write_text(to_markdown(TITLE, sections, f"pictures/{docs.stem}"), encoding="utf-8")
