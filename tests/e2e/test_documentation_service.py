"""What the page on the service shows happens: its commands and its snippet are run against one."""

import contextlib
import io
import json
import subprocess

import pytest

from copa.promises import Ledger
from copa.service.problems import KINDS
from e2e.service_runs import serving
from e2e.test_documentation import ROOT, SERVED, blocks
from unit.planner import loans
from unit.service import banks

pytestmark = pytest.mark.extended
PAGE = "docs/service.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The bundle that the page names."""
    folder = tmp_path_factory.mktemp("production")
    banks.write_bundle(folder / "loans.bundle", loans.planner(loans.fitted_pipeline()))
    return folder


@pytest.fixture(scope="module")
def url(folder):
    Ledger.open(f"sqlite:///{folder}/promises.db", create=True).close()
    recording = ("--ledger", f"sqlite:///{folder}/promises.db", "--model-version", "2026-11")
    with serving(folder / "loans.bundle", folder, *recording) as server:
        yield server.url


def contained(shown, whole):
    """Whether an answer that is shown shortened is that answer."""
    if isinstance(shown, dict):
        return all(name in whole and contained(value, whole[name]) for name, value in shown.items())
    if isinstance(shown, list):
        return len(shown) <= len(whole) and all(map(contained, shown, whole))
    return shown == whole


def test_the_service_is_asked_with_curl_and_in_python_as_shown(url, folder):
    answer, printed, asked = None, "", []
    for language, text in blocks(PAGE):
        here = text.replace(SERVED, url)
        if language == "console" and text.startswith("curl"):
            told = subprocess.run(["bash", "-c", here], cwd=folder, capture_output=True, check=True).stdout  # noqa: S603, S607
            answer = json.loads(told)
            asked.append("curl")
        elif language == "json" and answer is not None:
            assert contained(json.loads(text), answer)
            answer = None
        elif language == "python" and SERVED in text:
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(compile(here, PAGE, "exec"), {})  # noqa: S102 - running the documentation is the test
            printed = output.getvalue()
            asked.append("python")
        elif language == "text" and printed:
            assert text == printed
            printed = ""
    assert asked == ["curl", "python", *["curl"] * 3]
    assert (answer, printed) == (None, "")


def test_every_problem_is_listed():
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    assert [kind for kind, (status, _) in KINDS.items() if f"`{kind}`" not in text or str(status) not in text] == []
