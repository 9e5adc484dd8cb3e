"""Plausibility of rows against a loop over pairs of cells."""

import numpy as np
import pandas as pd
import pytest

import copa
from copa import DataError, Feature, FeatureSchema
from copa.planner.search import plausibility
from copa.planner.search.plausibility import Plausibility

N = 60


def schema() -> FeatureSchema:
    return FeatureSchema(
        [
            Feature("income", "numeric", special=[-9.0]),
            Feature("age", "integer", immutable=True),
            Feature("grade", "ordinal", values=["low", "mid", "high", "top"]),
            Feature("job", "categorical", values=["clerk", "driver", "nurse", "pilot"]),
        ]
    )


def table(n: int = N, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    income = np.round(rng.normal(30.0, 10.0, n), 1)
    income[rng.random(n) < 0.1] = -9.0
    income[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame(
        {
            "income": income,
            "age": rng.integers(20, 70, n),
            "grade": rng.choice(["low", "mid", "high", "top"], n),
            "job": rng.choice(["clerk", "driver", "nurse"], n),  # nobody is a pilot
        }
    )


def cell_distance(name, one, other, scales):
    """Squared distance of two cells, in 17ths of a spread; another level counts 2 * 12^2."""
    if name == "job":
        return 0 if one == other else 288
    irregular = [pd.isna(x) or x == -9.0 for x in (one, other)]
    centre, scale = scales[name]
    parts = [np.clip(np.rint(17 * (x - centre) / scale), -51, 51) for x in (one, other)]
    held = [0 if odd else part for part, odd in zip(parts, irregular, strict=True)]
    same_kind = irregular == [False, False] or (all(irregular) and (one == other or (pd.isna(one) and pd.isna(other))))
    return (held[0] - held[1]) ** 2 + (0 if same_kind else 288)


def by_hand(training, rows, n_neighbours=10):
    ranks = {"low": 0, "mid": 1, "high": 2, "top": 3}
    training, rows = (part.assign(grade=part["grade"].map(ranks)) for part in (training, rows))
    scales = {}
    for name in ("income", "age", "grade"):
        seen = training[name][training[name].notna() & (training[name] != -9.0)]
        low, high = np.quantile(seen, [0.16, 0.84])
        scales[name] = np.median(seen), 0.5 * (high - low)
    every = training.to_dict("records")

    def remoteness(row, others):
        found = sorted(sum(cell_distance(n, row[n], other[n], scales) for n in row) for other in others)
        return sum(found[:n_neighbours])

    own = [remoteness(row, every[:k] + every[k + 1 :]) for k, row in enumerate(every)]
    return [float(np.mean([x >= remoteness(row, every) for x in own])) for row in rows.to_dict("records")]


def test_it_is_the_share_of_training_rows_that_are_as_far_from_their_neighbours():
    training, rows = table(), table(40, seed=1)
    rows.loc[0] = [1e6, 45, "mid", "clerk"]  # beyond three spreads all amounts are equal
    rows.loc[1] = [30.0, 45, "mid", "pilot"]
    rows.loc[2] = [np.nan, 69, "top", "pilot"]
    found = Plausibility.fit(schema(), training).scores(rows)
    np.testing.assert_allclose(found, by_hand(training, rows), rtol=0.0, atol=1e-12)
    assert found.min() < 0.2
    assert found.max() > 0.8


def test_it_does_not_depend_on_the_other_rows():
    known, rows = Plausibility.fit(schema(), table(500)), table(300, seed=2)
    together = known.scores(rows)
    order = np.random.default_rng(0).permutation(300)
    assert known.scores(rows.iloc[order]).tobytes() == together[order].tobytes()
    assert [known.scores(rows.iloc[[i]])[0] for i in range(20)] == together[:20].tolist()


def test_it_is_compared_with_rows_from_all_of_a_long_table(monkeypatch):
    monkeypatch.setattr(plausibility, "MOST_ROWS", 50)
    long = table(400)
    known = Plausibility.fit(schema(), long)
    assert len(known.rows) == 50
    assert known.table()["age"].iloc[[0, -1]].round().tolist() == pytest.approx(
        long["age"].iloc[[0, -1]].tolist(), abs=1
    )


def test_the_training_rows_can_be_told_as_nearly_as_they_are_known():
    training = table()
    known = Plausibility.fit(schema(), training)
    told = known.table()
    inside = np.abs(training["income"] - known.centres[0]) < 3.0 * known.scales[0]
    np.testing.assert_allclose(told["income"][inside], training["income"][inside], atol=known.scales[0] / 34)
    assert told["income"].isna().equals(training["income"].isna())
    assert (told["income"] == -9.0).equals(training["income"] == -9.0)
    pd.testing.assert_frame_equal(told[["grade", "job"]].astype(str), training[["grade", "job"]].astype(str))


def test_a_file_holds_it_and_damage_is_seen():
    known, rows = Plausibility.fit(schema(), table()), table(20, seed=3)
    arrays = known.pack()
    again = Plausibility.unpack(schema(), arrays)
    assert again.scores(rows).tobytes() == known.scores(rows).tobytes()
    for wrong in (
        {"rows": arrays["rows"][:, 1:]},
        {"rows": arrays["rows"].astype(float)},
        {"scales": 0.0 * arrays["scales"]},
        {"centres": arrays["centres"] * np.nan},
    ):
        with pytest.raises(DataError, match="do not fit the schema"):
            Plausibility.unpack(schema(), arrays | wrong)


def test_one_row_has_no_neighbours():
    assert Plausibility.fit(schema(), table(1)) is None
    assert Plausibility.fit(schema(), table(3)).scores(table(0)).tolist() == []


def test_the_bundled_data_are_mostly_plausible_and_odd_combinations_are_not():
    data = copa.datasets.load_german()
    known = Plausibility.fit(data.schema, data.features)
    assert (known.scores(data.features) >= 0.05).mean() > 0.95
    odd = data.features.head(30).assign(
        **{feature.name: data.features[feature.name].max() for feature in data.schema.features if feature.is_numeric}
    )
    assert known.scores(odd).max() < 0.05
