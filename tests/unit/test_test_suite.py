"""The tests themselves: nothing about them depends on chance, order or how busy the machine is."""

import os
import re
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import settings

from cases import shuffle

TESTS = Path(__file__).parents[1]
SETTLED_IN = {
    r"\b(derandomize|database)=|settings\([^)]*deadline=": ["conftest.py"],  # one profile for all
    # A child says when it has used a second of processor time; everybody else waits for a condition.
    r"\btime\.sleep\(": ["e2e/test_interruption.py", "waiting.py"],
    r"import .*# noqa: F401 - a fixture": [],
}


def run(*words, **environment):
    """The last lines of a run of some tests, as on a machine that is not CI's: there the summary is written out."""
    elsewhere = {name: value for name, value in os.environ.items() if name not in {"CI", "BUILD_NUMBER"}}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words]
    found = subprocess.run(  # noqa: S603 - our own tests
        command, cwd=TESTS.parent, env=elsewhere | environment, capture_output=True, text=True, check=False
    )
    return found.stdout.splitlines()


@pytest.mark.parametrize("pattern", SETTLED_IN)
def test_what_is_settled_in_one_place_is_nowhere_else(pattern):
    files = set(TESTS.rglob("*.py")) - {Path(__file__)}
    found = sorted(path.relative_to(TESTS).as_posix() for path in files if re.search(pattern, path.read_text("utf-8")))
    assert found == SETTLED_IN[pattern]


def test_no_example_is_timed_or_remembered(pytestconfig):
    assert settings.default.deadline is None
    assert settings.default.database is None
    assert settings.default.derandomize == (pytestconfig.getoption("--hypothesis-profile") != "random")


@pytest.mark.extended
def test_tests_that_lack_a_browser_are_counted_in_one_of_the_last_lines_with_the_command_that_installs_it(tmp_path):
    lines = run("-n", "2", "-m", "extended", "tests/e2e/test_letters_in_a_browser.py", PATH=str(tmp_path))
    (number,) = re.findall(r"(\d+) skipped", lines[-1])
    assert lines[-2].startswith(f"{number} tests were skipped: Chromium and its chromedriver are not installed")
    assert "apt-get install chromium chromium-driver" in lines[-2]


def test_a_seed_gives_an_order_of_the_tests_in_which_modules_stay_together():
    def order(seed):
        tests = [SimpleNamespace(path=module, name=name) for module in "abcd" for name in "pqrs"]
        shuffle(tests, seed)
        assert len([module for module, _ in groupby(tests, key=lambda test: test.path)]) == 4
        return [test.path + test.name for test in tests]

    first, other = order(1), order(2)
    assert first == order(1)
    assert first != other
    assert sorted(first) == sorted(other)


@pytest.mark.extended
def test_a_missing_package_fails_a_complete_run_and_a_missing_browser_does_not(tmp_path):
    skip = "import pytest\npytest.importorskip('no_such_package')\n"
    (tmp_path / "test_one.py").write_text(skip)
    (tmp_path / "test_other.py").write_text(
        "import pytest\nfrom e2e.browser_pages import NO_BROWSER\n"
        "def test_package():\n    pytest.importorskip('no_such_package')\n"
        "@pytest.mark.skipif(True, reason=NO_BROWSER)\ndef test_browser():\n    pass\n"
    )
    words = ("-p", "conftest", "--continue-on-collection-errors", str(tmp_path))
    assert re.search(r" 3 skipped in", run(*words, PYTHONPATH=str(TESTS))[-1])
    lines = run(*words, "--complete", PYTHONPATH=str(TESTS))
    assert re.search(r" 1 failed, 1 skipped, 1 error in", lines[-1])
    assert sum("--complete does not allow: could not import 'no_such_package'" in line for line in lines) == 2
