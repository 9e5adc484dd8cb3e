import json
from dataclasses import asdict

import numpy as np
import pytest

from unit.analysis.backtests import backtest, broken, calm, start, transition


def test_kept_takes_enough_transitions_for_the_level():
    assert calm(9).horizon(1).verdict == "kept"
    few = calm(8)
    assert few.horizon(1).highest_level == pytest.approx(8 / 9)
    assert few.horizon(1).verdict == "too few transitions to say"
    assert "too few transitions to say, they can support 0.888 at most" in few.in_words(1)
    assert calm(8, guarantee=0.8).horizon(1).verdict == "kept"


def test_a_break_in_one_transition_is_not_kept_and_the_version_is_named():
    found = broken(at=8, n=10, horizon=2)
    assert [(r.verdict, r.broke_at) for r in found.horizons] == [("not kept", "8"), ("not kept", "8")]
    assert found.broke_at == "8"
    assert {(t.start, t.later) for t in found.transitions if t.broken} == {("7", "8"), ("6", "8"), ("7", "9")}
    assert found.horizon(1).accepted == pytest.approx(8.2 / 9)  # most transitions hide it in the mean
    assert found.horizon(1).accepted_before == 1.0
    assert "not kept, first by version 8; versions before 8 accept 1.000" in found.in_words(1)


def test_versions_are_compared_by_their_place_and_not_by_their_names():
    found = backtest([transition(8, 9, 0.1), transition(9, 10, 0.1)], n_versions=10)
    assert found.broke_at == "9"


def test_a_share_slightly_below_over_all_transitions_is_not_kept_though_none_alone_is_clear():
    found = backtest([transition(k, k + 1, 0.75) for k in range(1, 12)])
    assert found.broke_at is None
    assert found.horizon(1).verdict == "not kept"


def test_a_little_below_the_promise_is_neither_kept_nor_clearly_not():
    found = backtest([transition(k, k + 1, 0.88) for k in range(1, 12)])
    assert found.horizon(1).verdict == "too few transitions to say"
    assert "below what was promised, but not clearly" in found.in_words(1)


def test_shares_of_refits_are_compared_with_the_confidence():
    pairs = [transition(k, k + 1, 1.0, kept=0.93) for k in range(1, 12)]
    assert backtest(pairs, n_refits=50).horizon(1).verdict == "kept"
    assert backtest(pairs, n_refits=50, confidence=0.95).horizon(1).verdict == "too few transitions to say"
    pairs[4] = transition(5, 6, 1.0, kept=0.4)
    assert backtest(pairs, n_refits=50, confidence=0.95).broke_at == "6"
    assert "0.881 of the options are accepted by at least 0.9 of the 50 refits" in backtest(
        pairs, n_refits=50
    ).in_words(1)


def test_shares_count_every_promise_once():
    found = backtest([transition(1, 2, 1.0, n_promises=300), transition(2, 3, 0.6, n_promises=100)])
    result = found.horizon(1)
    assert (result.accepted, result.n_promises, result.n_transitions) == (pytest.approx(0.9), 400, 2)
    assert (result.guaranteed, result.expected, result.effort) == (0.92, 0.97, 2.0)


def test_forecasts_and_efforts_are_those_of_the_plans_that_were_asked_about():
    starts = (start("1", effort=4.0, plain_effort=1.0), start("2", n_options=300, guaranteed=0.96, effort=2.0))
    found = backtest([transition(1, 2), transition(2, 3)], starts=starts)
    assert found.horizon(1).guaranteed == pytest.approx(0.95)
    assert found.horizon(1).effort == pytest.approx(6.0 / 2.5)
    alone = backtest([transition(2, 3)], starts=starts)
    assert alone.horizon(1).guaranteed == 0.96


def test_without_promises_nothing_is_said():
    found = backtest([], starts=(start("1", 0, n_served=0, guaranteed=None, expected=None, effort=None),))
    assert found.horizon(1).verdict == "too few transitions to say"
    assert found.horizon(1).accepted is None
    assert "no option was promised" in found.in_words(1)
    assert json.loads(found.to_json())["horizons"][0]["accepted"] is None


def test_splits_are_never_kept_but_may_be_not_kept():
    found = calm(30, kind="splits")
    assert found.horizon(1).verdict == "forecast only"
    assert "cannot certify one sample" in found.limits[0]
    assert backtest([transition(1, 2, 0.3)], kind="splits").horizon(1).verdict == "not kept"


def test_json_and_table_hold_what_the_record_holds(tmp_path):
    found = broken()
    content = json.loads(found.to_json(tmp_path / "b.json"))
    assert json.loads((tmp_path / "b.json").read_text()) == content == json.loads(json.dumps(found.to_dict()))
    assert content["transitions"] == [asdict(t) for t in found.transitions]
    assert content["starts"] == [asdict(s) for s in found.starts]
    assert [h["verdict"] for h in content["horizons"]] == ["not kept", "not kept"]
    assert (content["format"], content["version"], content["broke_at"]) == ("copa-backtest", 1, "8")
    table = found.to_frame()
    assert table.loc[2, "broke_at"] == "8"
    np.testing.assert_allclose(table["accepted"], [r.accepted for r in found.horizons])


def test_the_repr_is_short():
    assert repr(broken()) == "Backtest(10 versions, promised 0.9; 1: not kept, 2: not kept)"


def test_plans_are_the_unit_where_options_are_promised_together():
    assert "11 plans" not in calm(1).in_words(1)
    assert "of 100 plans" in calm(1, guarantee_for="any").in_words(1)
