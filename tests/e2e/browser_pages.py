"""A real browser, at the width of a desk and of a hand."""

import shutil
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
NO_BROWSER = "Chromium and its chromedriver are not installed (Debian: apt-get install chromium chromium-driver)"
NO_AXE = "axe-core is not there (`make .venv/axe` fetches it with npm)"
AXE = Path(__file__).parents[2] / ".venv" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
DESK, HAND = (1280, 900), (390, 844)


in_a_browser = [
    pytest.mark.extended,
    pytest.mark.skipif(find_spec("selenium") is None, reason="selenium is not installed: pip install selenium"),
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=NO_BROWSER),
]


@cache
def chromium():
    """The browser of this process: each page has a tab of its own."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))


def close_browser():
    """Close the browser, if there is one."""
    if chromium.cache_info().currsize:
        chromium().quit()
        chromium.cache_clear()


@contextmanager
def opened(page, size=DESK, *, scripts=True, dark=False):
    """Open a page, a file or an address; close its tab in the end, whatever happens."""
    browser = chromium()
    tab = browser.current_window_handle
    browser.switch_to.new_window("tab")
    try:
        for log in ("browser", "performance"):
            browser.get_log(log)  # of earlier pages
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not scripts})
        show_at(browser, size, dark=dark)
        browser.get(page if isinstance(page, str) else page.as_uri())
        yield browser
    finally:
        browser.close()
        browser.switch_to.window(tab)


def show_at(browser, size, *, dark=False):
    """Give an open page another size, and the colours of day or night."""
    metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size[0] < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


def find(browser, selector):
    """Elements of a CSS selector."""
    return browser.find_elements("css selector", selector)


def enter(browser, selector, value, event="input"):
    """Give a field a value the way a hand does: the new value, and the event of it."""
    script = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event(arguments[2], {bubbles: true}))"
    browser.execute_script(script, find(browser, selector)[0], value, event)


def accessibility_findings(browser):
    """What axe-core calls serious or worse: rule, and the first element that breaks it."""
    if not AXE.is_file():
        pytest.skip(NO_AXE)
    browser.execute_script(AXE.read_text(encoding="utf-8"))
    found = browser.execute_async_script("const done = arguments[0]; axe.run().then(done)")
    assert len(found["passes"]) > 10
    bad = [finding for finding in found["violations"] if finding["impact"] in {"serious", "critical"}]
    return [(finding["id"], finding["nodes"][0]["html"]) for finding in bad]
