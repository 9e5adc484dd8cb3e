"""What the documentation shows is what happens: every Python snippet runs, and printed output is as shown."""

import re
import shlex

import pytest
import typer

from cases import mostly_extended
from copa.cli.app import app
from e2e.page_blocks import BLOCK, ROOT, chapter, run_snippets

FILES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
PAGES = sorted(page.relative_to(ROOT).as_posix() for page in FILES)
SERVED = "http://127.0.0.1:8000"  # a service; tests/e2e/test_documentation_service.py runs what asks it
INCLUDED = "--8<--"  # a file shown on a page; tests/e2e/test_examples.py runs those
SPARK = "from pathlib import Path\n\nfrom pyspark"  # test_spark.py runs it, where it can
MLFLOW = ("docs/operations.md", "With MLflow")  # test_mlflow_page.py runs this chapter, where it can


def blocks(page: str) -> list[tuple[str, str]]:
    found = BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    return [(language, text) for language, text in found if not text.startswith((INCLUDED, SPARK))]


def snippets(page: str) -> list[tuple[str, str]]:
    """The blocks of a page, without a snippet that asks a service and what it prints, and without MLflow's."""
    elsewhere = BLOCK.findall(chapter(*MLFLOW)) if page == MLFLOW[0] else []
    found = [block for block in blocks(page) if block not in elsewhere]
    asking = {k for k, (language, text) in enumerate(found) if language == "python" and SERVED in text}
    return [block for k, block in enumerate(found) if not {k, k - 1} & asking]


WITH_SNIPPETS = [page for page in PAGES if any(own == "python" for own, _ in snippets(page))]
READ_FIRST = ("README.md", "docs/index.md", "docs/promises.md")  # the others run in `make test-all`


def commands(page: str) -> list[list[str]]:
    """Words of the lines of a page that run `copa`."""
    lines = [line for language, text in blocks(page) if language == "console" for line in text.splitlines()]
    return [shlex.split(line, comments=True) for line in lines if line.startswith("copa ")]


@pytest.mark.parametrize("page", mostly_extended(WITH_SNIPPETS, READ_FIRST))
def test_snippets_run_and_print_what_is_shown(page):
    run_snippets(page, snippets(page))


def test_the_pages_that_should_show_code_do():
    assert {"README.md", "docs/index.md", "docs/planning.md", "docs/models.md", "docs/report.md"} <= set(WITH_SNIPPETS)


def test_the_readme_shows_code_with_its_output():
    languages = [language for language, _ in blocks("README.md")]
    assert languages.index("text") == languages.index("python") + 1


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)])
def test_commands_that_are_shown_exist_with_their_options(page):
    for words in commands(page):
        command = typer.main.get_command(app)
        rest, known = words[1:], {name for parameter in command.params for name in parameter.opts}
        while hasattr(command, "commands") and not rest[0].startswith("-"):
            assert rest[0] in command.commands
            command, rest = command.commands[rest[0]], rest[1:]
            known |= {name for parameter in command.params for name in parameter.opts}
        assert [word for word in rest if word.startswith("-") and word not in known] == []


@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", text) if not target.startswith("http")]
    assert [target for target in targets if not (ROOT / page).parent.joinpath(target).exists()] == []


def test_the_files_named_for_contributors_and_extensions_exist():
    text = "".join((ROOT / page).read_text(encoding="utf-8") for page in ("CONTRIBUTING.md", "docs/api.md"))
    named = set(re.findall(r"`([\w/]+\.(?:py|md|toml))`", text))
    assert len(named) > 15
    assert [path for path in sorted(named) if not any((top / path).exists() for top in (ROOT, ROOT / "src/copa"))] == []


def test_the_names_that_contributors_are_sent_to_are_in_their_files():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`(\w+)` (?:of|in) `([\w/]+\.py)`", text)
    assert len(named) > 5
    files = {file: next(top / file for top in (ROOT, ROOT / "src/copa") if (top / file).exists()) for _, file in named}
    assert [(name, file) for name, file in named if name not in files[file].read_text(encoding="utf-8")] == []


def test_the_tests_of_the_claims_of_the_theory_exist():
    text = (ROOT / "tests/CLAIMS.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)`", text)
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).exists()] == []
