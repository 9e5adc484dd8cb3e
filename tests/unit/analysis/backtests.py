"""Backtests written by hand, for tests of what is said of them."""

import pandas as pd

from copa.analysis.backtest_record import Backtest


def start(version, n_options=100, **changes):
    given = {
        "n_older": 1, "n_applicants": 30, "n_served": 20, "n_options": n_options, "guaranteed": 0.92, "expected": 0.97,
        "effort": 3.0, "plain_effort": 1.5, "radius": 1.64, "radius_source": "confidence 0.95",
    } | changes  # fmt: skip
    return {"version": version, **given}


def transition(begin, later, accepted=1.0, n_promises=100, **changes):
    given = {"inside": 0.5, "below": 0.25} | ({} if "horizon" in changes else {"horizon": later - begin}) | changes
    return {"start": str(begin), "later": str(later), "n_promises": n_promises, "accepted": accepted, **given}


def backtest(transitions, n_versions=12, **changes):
    begun = dict.fromkeys(t["start"] for t in transitions)
    given = {
        "kind": "versions", "versions": tuple(str(k) for k in range(1, n_versions + 1)), "guarantee": 0.9,
        "guarantee_for": "each", "weak": (), "starts": [start(name) for name in begun],
        "max_horizon": max((t["horizon"] for t in transitions), default=1),
    } | changes  # fmt: skip
    return Backtest(transitions=pd.DataFrame(transitions), **given | {"starts": pd.DataFrame(given["starts"])})


def calm(n=11, **changes):
    """Every version kept the promises of the one before."""
    return backtest([transition(k, k + 1) for k in range(1, n + 1)], n + 1, **changes)


def broken(n=10):
    """The last five versions break nearly all promises of those before."""
    pairs = [(k, k + 1) for k in range(1, n)] + [(k, k + 2) for k in range(2, n - 1, 2)]
    return backtest([transition(k, v, 0.05 if v > n - 5 else 1.0) for k, v in sorted(pairs)], n)
