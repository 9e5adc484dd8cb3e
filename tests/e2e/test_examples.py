"""Every example runs without a warning and prints what the page shows."""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.extended
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "examples.md"
OUTPUTS = ROOT / "docs" / "examples"
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))
LONGEST = 65  # lines: an example fits a screen


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    @cache
    def ended(name: str) -> tuple[Path, subprocess.CompletedProcess[str]]:
        folder = tmp_path_factory.mktemp(name)
        command = [sys.executable, "-W", "error", str(ROOT / "examples" / f"{name}.py")]
        return folder, subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)  # noqa: S603 - our own script

    return ended


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_prints_what_the_page_shows(name, run):
    _, ended = run(name)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == (OUTPUTS / f"{name}.txt").read_text(encoding="utf-8")


def test_the_lending_example_writes_a_report(run):
    folder, _ = run("german_credit_menus")
    assert "<!DOCTYPE html>" in (folder / "menus.html").read_text(encoding="utf-8")


def test_without_dice_the_audit_says_what_is_missing(tmp_path):
    (tmp_path / "dice_ml.py").write_text("raise ImportError('hidden')", encoding="utf-8")
    code = f"import runpy, sys; sys.path.insert(0, '.'); runpy.run_path({str(ROOT / 'examples' / 'audit_dice.py')!r})"
    ended = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert ended.returncode == 1
    assert "pip install dice-ml" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_every_example_is_on_the_page_and_fits_a_screen():
    text = PAGE.read_text(encoding="utf-8")
    assert set(re.findall(r"^examples/(\w+)\.py$", text, re.MULTILINE)) == set(EXAMPLES)
    assert set(re.findall(r"^docs/examples/(\w+)\.txt$", text, re.MULTILINE)) == set(EXAMPLES)
    lines = {
        name: len((ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8").splitlines()) for name in EXAMPLES
    }
    assert [name for name, count in lines.items() if count > LONGEST] == []
