import pandas as pd

from reproduction.experiments.published import Printed
from reproduction.pages.benchmark import benchmark_section
from reproduction.pages.page import Grid, Picture, Section, number, seconds, share, spread, to_html, to_markdown
from reproduction.pages.tables import compared

SECTIONS = [Section("A & B", ["1 < 2", Grid(["x|y", "z"], [["<b>", "2"]]), Picture("fig", 'a "curve"')])]


def test_html_escapes_every_text(tmp_path):
    page = to_html("<title>", SECTIONS, tmp_path)
    assert "<b>" not in page
    assert "&lt;b&gt;" in page
    assert "A &amp; B" in page
    assert "1 &lt; 2" in page
    assert "it was not drawn" in page


def test_html_shows_words_between_backticks_as_code(tmp_path):
    assert "<p>by <code>copa &lt;x&gt;</code>.</p>" in to_html("t", [Section("s", ["by `copa <x>`."])], tmp_path)


def test_html_holds_its_pictures(tmp_path):
    (tmp_path / "fig.png").write_bytes(b"picture")
    page = to_html("t", SECTIONS, tmp_path)
    assert "data:image/png;base64,cGljdHVyZQ==" in page
    assert 'alt="a &quot;curve&quot;"' in page


def test_markdown_has_tables_and_links_to_pictures():
    text = to_markdown("t", SECTIONS, "pictures")
    assert "| x\\|y | z |\n|---|---|\n| <b> | 2 |" in text
    assert '![a "curve"](pictures/fig.png)' in text
    assert "![" not in to_markdown("t", SECTIONS, None)


def test_numbers_are_written_beside_the_printed_ones_with_the_difference():
    assert compared(1.0, 0.5, Printed(0.75, 0.25)) == "1.000 ± 0.500 (0.750 ± 0.250; +0.250)"
    assert compared(1.0, float("nan"), Printed(1.5)) == "1.000 (1.500; -0.500)"
    assert compared(1.0, 0.5, None) == "1.000 ± 0.500"
    assert (number(float("nan")), share(0.5), seconds(2.4), seconds(0.0021)) == ("-", "50 %", "2 s", "2.1 ms")
    assert spread(float("nan"), 1.0) == "-"


def test_a_guarantee_that_breaks_inside_its_ball_is_said_and_not_explained_away():
    balls = ("paper", "bootstrap", "shift")
    counted = ("served", "options", "allowed", "now", "empirical", "empirical_each")
    measured = ("proximity", "diversity", "sparsity", "seconds", *(f"lower_{ball}" for ball in balls))
    row = dict.fromkeys((*counted, *measured), 0.5)
    row |= {f"{what}_{ball}": 0.0 for what in ("broken", "radius", "distance") for ball in balls}
    names = {"protocol": "paper", "data": "german", "method": "ROAR", "applicant": 1}
    fine = benchmark_section(pd.DataFrame([row | names]))
    wrong = benchmark_section(pd.DataFrame([row | names | {"broken_shift": 1.0}]))
    texts = ["".join(part for part in section.body if isinstance(part, str)) for section in (fine, wrong)]
    assert "lie in the ball: 0. So where a guarantee failed" in texts[0]
    assert "lie in the ball: 1." in texts[1]
    assert "So where" not in texts[1]
