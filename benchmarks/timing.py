"""Timing two sides that take turns, so that a busy machine disturbs both alike."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Timed:
    """The least seconds that a call took, and what it returned in that round."""

    seconds: float
    result: Any


def timed(call: Callable[[], Any], repeats: int = 1) -> Timed:
    """Time a call; the least of several repetitions is the one least disturbed by others."""
    least, result = float("inf"), None
    for _ in range(repeats):
        start = time.perf_counter()
        result = call()
        least = min(least, time.perf_counter() - start)
    return Timed(least, result)


def taking_turns(calls: dict[str, tuple[Callable[[], Any], int]], rounds: int) -> dict[str, Timed]:
    """Time each call, given with its repetitions per round, in rounds."""
    best: dict[str, Timed] = {}
    for _ in range(rounds):
        for name, (call, repeats) in calls.items():
            now = timed(call, repeats)
            best[name] = min(best.get(name, now), now, key=lambda t: t.seconds)
    return best
