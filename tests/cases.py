"""Which tests run, and in which order."""

import random
from collections.abc import Collection, Iterable
from itertools import groupby

import pytest


def mostly_extended(cases: Iterable[object], quick: Collection[object]) -> list[object]:
    """Mark cases as `extended`, but for the quick ones."""
    cases = list(cases)
    assert all(case in cases for case in quick)
    return [case if case in quick else pytest.param(case, marks=pytest.mark.extended) for case in cases]


def shuffle(items: list, seed: int) -> None:
    """Shuffle modules, and tests within them: fixtures of a module are still made once."""
    draw = random.Random(seed)  # noqa: S311 - an order of tests
    modules = [list(tests) for _, tests in groupby(items, key=lambda item: item.path)]
    draw.shuffle(modules)
    for tests in modules:
        draw.shuffle(tests)
    items[:] = [test for tests in modules for test in tests]
