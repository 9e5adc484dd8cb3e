import pytest

from copa.analysis.backtest_record import ONLY_A_FORECAST
from copa.report import backtest_figure, backtest_page
from unit.analysis.backtests import backtest, broken, calm, start, transition
from unit.report.pages import Page

EVIL = "</script><b>&amp;\u202e<img src=x onerror=alert(1)>"


def test_the_page_says_the_verdict_and_names_the_strictest_version(tmp_path):
    found = broken()
    html = backtest_page(found, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == html
    page = Page(html)
    assert "Promises were not kept." in page.text
    assert "0.050 (by 6)" in page.text
    assert all(found.in_words(h) in page.text for h in (1, 2))
    assert page.figures() == ["horizons", "versions"]
    assert set(page.data["figures"]) == {"horizons", "versions"}


def test_a_calm_history_is_said_to_be_one():
    text = Page(backtest_page(calm(9))).text
    assert "Nothing speaks against the promises, but there are too few transitions to call them kept." in text
    assert "No history shows a break that has not happened yet" in text
    assert "9 transitions can support 0.716 at most, and 0.9 takes 29 in which every promise is kept" in text


def test_a_weak_model_is_on_the_page_once_without_a_path():
    html = backtest_page(calm(9, weak=("2",)))
    assert Page(html).text.count("no better than always giving the more frequent answer") == 1
    assert ".py" not in Page(html).text


def test_without_history_the_page_says_that_it_certifies_nothing():
    text = Page(backtest_page(backtest([transition(1, 2)], kind="splits"))).text
    assert ONLY_A_FORECAST in text
    assert "A forecast from parts of the same rows." in text


def test_numbers_that_the_record_lacks_are_not_shown():
    found = backtest([transition(1, 2)], starts=[start("1", expected=None, effort=None)])
    page = Page(backtest_page(found))
    assert "not known" in page.text
    assert "nan" not in page.text.lower()
    assert [line["name"] for line in page.data["figures"]["horizons"]["data"]] == [
        "accepted on average",
        "accepted by the strictest version",
        "inside the ambiguity set",
    ]


def test_names_of_versions_are_escaped_everywhere():
    versions = (EVIL, f"{EVIL} 2")
    found = backtest([transition(1, 2, 0.1)], versions=("1", "2"), starts=[start("1", radius_source=EVIL)])
    assert "<img src=x" not in backtest_page(found)
    pair = transition(*versions, 0.1, horizon=1)
    record = backtest([pair], versions=versions, starts=[start(EVIL)], weak=versions[:1])
    html = backtest_page(record)
    assert "<img src=x" not in html
    assert "\u202e" not in html
    assert "<b>" not in html.partition("<main>")[2].partition("</main>")[0]


def test_figures_are_drawn_by_plotly():
    plotly = pytest.importorskip("plotly.graph_objects")
    figure = backtest_figure(broken())
    assert isinstance(figure, plotly.Figure)
    first = figure.data[0]
    assert list(first.x) == list(range(9))
    assert first.y[4] == 0.05
    assert first.marker.symbol[4] == "circle"
    assert first.marker.symbol[3] == "circle-open"
