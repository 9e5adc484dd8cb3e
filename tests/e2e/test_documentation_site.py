"""The site is built without a warning, holds every public name, and needs no network to be read."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import copa

pytestmark = pytest.mark.extended
ROOT = Path(__file__).parents[2]
# What a browser fetches by itself: scripts, styles, pictures, fonts. A link that a reader may follow is none of these.
FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


class Fetched(HTMLParser):
    """Addresses that a page loads."""

    def __init__(self):
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if FETCHED.get(tag) == name and value]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", "mkdocs.yml", "--site-dir", folder]
    # Without the word of the theme about its own next version, which is about no page of ours.
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)  # noqa: S603 - our own site
    return folder, ended


def test_the_site_is_built_without_a_warning(built):
    _, ended = built
    assert ended.returncode == 0, ended.stderr
    assert [line for line in ended.stderr.splitlines() if "WARNING" in line or "ERROR" in line] == []


def test_no_page_loads_anything_from_elsewhere(built):
    folder, _ = built
    pages = list(folder.rglob("*.html"))
    assert len(pages) >= 14
    loaded = Fetched()
    for page in pages:
        loaded.feed(page.read_text(encoding="utf-8"))
    assert len(loaded.found) > 100
    assert [address for address in loaded.found if re.match(r"(https?:)?//", address)] == []
    styles = [style.read_text(encoding="utf-8") for style in folder.rglob("*.css")]
    assert [found for style in styles for found in re.findall(r"url\([\"']?(?:https?:)?//[^)]*\)", style)] == []


def test_the_reference_holds_every_public_name(built):
    folder, _ = built
    text = (folder / "api.html").read_text(encoding="utf-8")
    anchors = set(re.findall(r'id="(copa[\w.]*)"', text))
    last_words = {anchor.rsplit(".", 1)[-1] for anchor in anchors}
    modules = {"datasets", "metrics"}
    assert [name for name in copa.__all__ if name not in modules and name not in last_words] == []
    assert {"load_german", "load_student", "plan_metrics", "write_report", "ReportBuilder"} <= last_words


def test_every_page_is_in_the_navigation(built):
    folder, _ = built
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert {path for path in pages if not (folder / path).exists()} == set()
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [page for page in pages if page.replace(".html", ".md") not in nav] == []
