"""The experiments by name: what each runs, draws and says."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from reproduction import (
    benchmark,
    causes,
    classifiers,
    examples,
    figures,
    mahalanobis_figure,
    radius_figure,
    shift_figure,
    table1,
    table2,
    training_facts,
)
from reproduction.pages import comparison, tables
from reproduction.pages import figures as figure_pages
from reproduction.pages.benchmark import benchmark_section
from reproduction.pages.model import Section

if TYPE_CHECKING:
    from reproduction.session import Session


def run_table1(session: "Session") -> list[Section]:
    """Table 1 and, by the paper's protocol, whether the orderings are those of the paper."""
    found = table1.run(session)
    sections = [tables.table1_section(found, session.protocol)]
    if session.protocol == "paper":
        sections.insert(0, comparison.orderings_section(found))
    return sections


def run_causes(session: "Session") -> list[Section]:
    """Where Table 1 differs from the printed one, and the experiments that say why."""
    ours = table1.run(session, "paper")
    changed = causes.run(session)
    return [
        comparison.broken_orderings_section(ours, changed),
        comparison.agreement_section(ours, changed),
        comparison.causes_section(changed, ours),
        comparison.training_section(training_facts.run(session)),
    ]


def run_table2(session: "Session") -> list[Section]:
    """Table 2."""
    return [tables.table2_section(table2.run(session), session.protocol)]


def run_classifiers(session: "Session") -> list[Section]:
    """Performance of the classifiers."""
    return [tables.classifiers_section(classifiers.run(session), session.protocol)]


def run_radius(session: "Session") -> list[Section]:
    """Figure "radius"."""
    found = radius_figure.run(session)
    _draw(session, figures.draw_radius, found["bounds"], found["futures"], session.folder)
    return [figure_pages.radius_section(found["bounds"], found["futures"])]


def run_shift(session: "Session", *, correlated: bool) -> list[Section]:
    """Figure "shift"."""
    found = shift_figure.run(session, correlated=correlated)
    name = "fig_shift_correlated" if correlated else "fig_shift"
    _draw(session, figures.draw_shift, found, session.folder, name)
    return [figure_pages.shift_section(found, correlated=correlated)]


def run_mahalanobis(session: "Session") -> list[Section]:
    """Figure "Mahalanobis"."""
    found = mahalanobis_figure.run(session)
    if found.empty:
        return []
    _draw(session, figures.draw_mahalanobis, found, session.folder, f"fig_mahalanobis_{session.protocol}")
    return [figure_pages.mahalanobis_section(found, session.protocol)]


def run_examples(session: "Session") -> list[Section]:
    """The paper's three customers."""
    return [tables.examples_section(examples.run(session))]


def run_benchmark(session: "Session") -> list[Section]:
    """The comparison beyond the paper, by both protocols."""
    return [benchmark_section(benchmark.run(session))]


EXPERIMENTS: dict[str, Callable[["Session"], list[Section]]] = {
    "table1": run_table1,
    "causes": run_causes,
    "table2": run_table2,
    "classifiers": run_classifiers,
    "fig-radius": run_radius,
    "fig-shift": partial(run_shift, correlated=False),
    "fig-shift-correlated": partial(run_shift, correlated=True),
    "fig-mahalanobis": run_mahalanobis,
    "examples": run_examples,
    "benchmark": run_benchmark,
}
NAMES = tuple(EXPERIMENTS)


def run_experiment(name: str, session: "Session", protocols: tuple[str, ...]) -> list[Section]:
    """Run an experiment: Table 1 by every protocol, the others by the first one, or by their own."""
    sections = EXPERIMENTS[name](session)
    if name == "table1":
        for protocol in protocols[1:]:
            sections += run_table1(replace(session, protocol=protocol))
    return sections


def _draw(session: "Session", draw: Callable[..., None], *arguments: object) -> None:
    session.attempt("pictures", partial(draw, *arguments))
