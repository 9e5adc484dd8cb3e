import sys

import numpy as np
import pytest

import copa
from copa.analysis.frontier import Frontier
from copa.report import static


def lines_of(figure):
    return [np.array(line.get_ydata(), dtype=float) for line in figure.axes[0].get_lines()]


def test_statuses_are_counted(german):
    axes = static.status_chart(german).axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    counts = [bar.get_width() for bar in axes.patches]
    assert dict(zip(names, counts, strict=True))["options found"] == 2
    assert sum(counts) == 7


def test_the_distribution_of_guarantees_counts_menus(german):
    each, some, every = lines_of(static.guarantee_distribution(german))[:3]
    lowest = np.array([plan.option_lower.min() for plan in german if plan.n_options])
    assert each[60] == pytest.approx((lowest >= 0.6).mean())  # at 0.60: there are 101 levels
    assert (every <= each).all()
    assert (each <= some).all()


def test_the_radius_chart_shows_the_bounds_at_the_radii_asked_for(german):
    plan = german[0]
    each, _, every = lines_of(static.radius_chart(plan, [0.0, 0.05, 0.3]))[:3]
    bounds = copa.validity_bounds(plan.points, plan.ambiguity.mean, plan.ambiguity.cov, 0.3)
    assert each[-1] == pytest.approx(bounds.option_lower.min())
    assert every[-1] == pytest.approx(bounds.lower)


def test_the_frontier_chart_has_the_median_of_the_same_people_at_every_level():
    effort = np.array([[1.0, 2.0, np.nan], [3.0, 5.0, np.nan], [2.0, 4.0, np.nan], [9.0, np.nan, np.nan]])
    *people, median, _ = lines_of(static.frontier_chart(Frontier(np.array([0.5, 0.7, 0.9]), effort, True), 0.7))
    assert len(people) == 4
    assert median.tolist() == [2.0, 4.0]


def test_figures_can_be_saved(german, tmp_path):
    static.radius_chart(german[5]).savefig(tmp_path / "radius.pdf")
    assert (tmp_path / "radius.pdf").read_bytes().startswith(b"%PDF")


def test_there_is_nothing_to_draw_without_options(german):
    with pytest.raises(copa.InvalidInputError, match="no options"):
        static.radius_chart(german[3])
    with pytest.raises(copa.InvalidInputError, match="no applicant of this batch has options"):
        static.guarantee_distribution(german[3:4])


def test_missing_matplotlib_is_named_with_its_installation(german, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(copa.CopaError, match="pip install matplotlib"):
        static.status_chart(german)
