"""What the documentation shows is what happens: every Python snippet runs, and printed output is as shown."""

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(page.relative_to(ROOT).as_posix() for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: str) -> list[tuple[str, str]]:
    return BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES)
def test_snippets_run_and_print_what_is_shown(page):
    namespace: dict[str, object] = {}
    printed = ""
    for language, text in blocks(page):
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(compile(text, page, "exec"), namespace)  # noqa: S102 - running the documentation is the test
            printed = output.getvalue()
        elif language == "text":
            assert printed == text


def test_the_readme_shows_code_with_its_output():
    languages = [language for language, _ in blocks("README.md")]
    assert languages.index("text") == languages.index("python") + 1


@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", text) if not target.startswith("http")]
    assert [target for target in targets if not (ROOT / page).parent.joinpath(target).exists()] == []


def test_the_tests_named_in_the_theory_exist():
    text = (ROOT / "docs/theory.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)`", text)
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_example_of_bounds_prints_a_table_with_all_kinds_of_them():
    script = ROOT / "examples" / "german_credit_bounds.py"
    run = subprocess.run([sys.executable, "-W", "error", script], capture_output=True, text=True, check=True)  # noqa: S603
    for words in ("at least one option", "all options", "breaks first", "without the solver"):
        assert words in run.stdout


def test_the_demo_shows_ten_menus_and_writes_them_as_cards(tmp_path):
    script = ROOT / "examples" / "german_credit_menus.py"
    command = [sys.executable, "-W", "error", script]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)  # noqa: S603 - our own script
    for words in ("10 applicants", "Option 1", "Today's model accepts this option", "without the solver"):
        assert words in run.stdout
    assert "<details" in (tmp_path / "menus.html").read_text(encoding="utf-8")
