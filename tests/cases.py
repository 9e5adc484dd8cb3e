"""Cases of a parametrised test, a few of which stand for all in `make test`."""

from collections.abc import Collection, Iterable

import pytest


def mostly_extended(cases: Iterable[object], quick: Collection[object]) -> list[object]:
    """Mark cases as `extended`, but for the quick ones."""
    cases = list(cases)
    assert all(case in cases for case in quick)
    return [case if case in quick else pytest.param(case, marks=pytest.mark.extended) for case in cases]
