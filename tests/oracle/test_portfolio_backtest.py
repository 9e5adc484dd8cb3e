"""Forecast shares of broken promises against models on other real rows: a part of benchmarks/portfolio.py."""

import pytest

from benchmarks.portfolio import DATA, one_split


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_realised_shares_fall_under_the_95_percent_quantile():
    splits = [one_split(name, penalty, seed) for name in DATA for penalty in (1.0, 0.1) for seed in (20, 21, 22)]
    assert sum(split.is_under for split in splits) >= 12 / 14 * len(splits)
    forecast = sum(split.risk.mean for split in splits) / len(splits)
    realised = sum(split.realised for split in splits) / len(splits)
    assert realised == pytest.approx(forecast, abs=0.08)
    assert max(split.risk.effective_number / split.risk.n_promises for split in splits) < 0.5
