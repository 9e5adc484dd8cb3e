import re
from collections import Counter

import pytest

from cases import shuffle
from e2e.browser_pages import NO_AXE, NO_BROWSER, close_browser
from postgres_server import NO_POSTGRES

with_commands = (NO_BROWSER, NO_AXE, NO_POSTGRES)  # reasons to skip a test that say how to install what it needs
NEVER_INSTALLED = re.compile(r"MLflow|torch|SBAcase")  # in reasons to skip a test: no extra for tests brings these

try:
    from hypothesis import HealthCheck, settings
except ImportError:  # the environments of a few tests do without: see `make test-lowest-quick` and `make test-mlflow`
    pass
else:
    # Nothing depends on chance, on earlier runs or on how busy the machine is.
    untimed = {"deadline": None, "database": None, "suppress_health_check": [HealthCheck.too_slow]}
    settings.register_profile("fixed", derandomize=True, **untimed)
    settings.register_profile("random", derandomize=False, max_examples=500, **untimed)
    settings.load_profile("fixed")


def pytest_addoption(parser):
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run modules, and the tests of each, in random order")
    parser.addoption("--complete", action="store_true", help="fail where a test is skipped for want of a package")


def pytest_report_header(config):
    seed = config.getoption("shuffle")
    return None if seed is None else f"random order: --shuffle={seed} runs the tests in the same order again"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if config.getoption("shuffle") is not None:
        shuffle(items, config.getoption("shuffle"))


def complete(report, config):
    """Turn a skip for want of a package of `make test-all` into a failure, with --complete."""
    if config.getoption("complete") and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if reason not in with_commands and not NEVER_INSTALLED.search(reason):
            report.outcome, report.longrepr = "failed", f"skipped, which --complete does not allow: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    return complete((yield), item.config)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return complete((yield), collector.config)


def pytest_sessionfinish():
    close_browser()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter):
    """Say in the last lines how many tests were skipped for want of a program, and the command that installs it."""
    yield
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    for reason in with_commands:
        if reasons[reason]:
            terminalreporter.write_line(f"{reasons[reason]} tests were skipped: {reason}", yellow=True)
