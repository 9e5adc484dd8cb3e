"""Waiting for a condition instead of for a time that is long enough on an idle machine."""

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE = 120.0  # seconds: far more than a busy machine needs
POLL = 0.01  # seconds

Found = TypeVar("Found")


def wait_until(condition: Callable[[], Found], what: Callable[[], str] = str, patience: float = PATIENCE) -> Found:
    """Return the first true value of a condition; fail, with what there is to say, where it does not come true."""
    end = time.monotonic() + patience
    while not (found := condition()):
        assert time.monotonic() < end, f"nothing happened in {patience:.0f} s. {what()}"
        time.sleep(POLL)
    return found
