import pytest

from copa.analysis.backtest_record import ONLY_A_FORECAST
from unit.analysis.backtests import backtest, broken, calm, start, transition
from unit.report.pages import Page

EVIL = "</script><b>&amp;\u202e<img src=x onerror=alert(1)>"


def test_the_page_names_the_version_at_which_promises_broke(tmp_path):
    found = broken(at=8)
    html = found.to_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == html
    page = Page(html)
    assert "Promises were not kept, first at 8." in page.text
    assert "not kept, at 8" in page.text
    assert all(found.in_words(h) in page.text for h in (1, 2))
    assert page.figures() == ["horizons", "versions"]
    assert set(page.data["figures"]) == {"horizons", "versions"}


def test_a_calm_history_is_said_to_be_one():
    text = Page(calm(9).to_html()).text
    assert "No version clearly broke what was promised." in text
    assert "No history shows a break that has not happened yet" in text
    assert "not kept," not in text


def test_without_history_the_page_says_that_it_certifies_nothing():
    text = Page(backtest([transition(1, 2)], kind="splits").to_html()).text
    assert ONLY_A_FORECAST in text
    assert "A forecast from parts of the same rows." in text


def test_numbers_that_the_record_lacks_are_not_shown():
    found = backtest([transition(1, 2)], starts=(start("1", expected=None, effort=None),))
    page = Page(found.to_html())
    assert "not known" in page.text
    assert "nan" not in page.text.lower()
    assert [line["name"] for line in page.data["figures"]["horizons"]["data"]] == [
        "accepted",
        "inside the ambiguity set",
    ]


def test_names_of_versions_are_escaped_everywhere():
    versions = (EVIL, f"{EVIL} 2")
    found = backtest([transition(1, 2, 0.1)], versions=("1", "2"), starts=(start("1", radius_source=EVIL),)).to_html()
    assert "<img src=x" not in found
    record = backtest([], versions=versions)
    pair = type(transition(1, 2))(versions[0], versions[1], 1, 50, 0.1, None, 0.5, 0.2)
    record = type(record).judged(
        [pair], kind="versions", versions=versions, guarantee=0.9, guarantee_for="each", confidence=0.95, n_refits=0,
        starts=(start(EVIL),), max_horizon=1,
    )  # fmt: skip
    html = record.to_html()
    assert "<img src=x" not in html
    assert "\u202e" not in html
    assert "<b>" not in html.partition("<main>")[2].partition("</main>")[0]


def test_figures_are_drawn_by_plotly():
    plotly = pytest.importorskip("plotly.graph_objects")
    figure = broken().plot()
    assert isinstance(figure, plotly.Figure)
    first = figure.data[0]
    assert list(first.x) == list(range(9))
    assert first.y[6] == 0.2
    assert first.marker.symbol[6] == "circle"
    assert first.marker.symbol[5] == "circle-open"
