"""A report of as many applicants as one file holds."""

import pytest

from benchmarks import report
from e2e.browser_pages import in_a_browser

pytestmark = in_a_browser


@pytest.mark.slow
def test_twenty_thousand_applicants_open_in_three_seconds_and_filter_in_a_third_of_one(tmp_path):
    measured = report.measure(report.many_plans(report.N_APPLICANTS), tmp_path / "many.html")
    assert measured.missed() == []
    assert measured.n_rows < 50  # only rows in sight are elements
