import json

import numpy as np
import pytest

from copa.analysis.backtest_record import Backtest
from copa.exceptions import DataError, InvalidInputError
from unit.analysis.backtests import backtest, broken, calm, start, transition


def test_kept_takes_enough_transitions_for_the_level():
    assert calm(29).horizons.loc[1].verdict == "kept"
    assert "kept (at least 0.901 in expectation, with 95% confidence)" in calm(29).in_words(1)
    few = calm(9)
    result = few.horizons.loc[1]
    assert (result.verdict, result.n_needed) == ("nothing against it", 29)
    assert result.highest_level == result.lower == pytest.approx(0.05 ** (1 / 9), abs=1e-6)
    words = (
        "nothing against it; 9 transitions can support 0.716 at most, and 0.9 takes 29 in which every promise is kept"
    )
    assert words in few.in_words(1)
    assert calm(14, guarantee=0.8).horizons.loc[1].verdict == "kept"


def test_each_version_counts_once_however_many_promises_it_was_asked_about():
    found = backtest([transition(1, 2, 1.0, n_promises=3000), transition(2, 3, 0.6, n_promises=100)])
    result = found.horizons.loc[1]
    assert (result.accepted, result.n_promises, result.n_transitions) == (pytest.approx(0.8), 3100, 2)
    assert (result.guaranteed, result.expected, result.effort) == (0.92, 0.97, 2.0)
    assert result.verdict == "too few transitions to say"


def test_one_broken_version_is_named_and_not_enough_for_not_kept():
    found = backtest([transition(k, k + 1, 0.2 if k == 7 else 1.0) for k in range(1, 10)])
    result = found.horizons.loc[1]
    assert (result.verdict, result.lowest, result.lowest_at) == ("nothing against it", 0.2, "8")
    assert (
        "0.911 of the options on average, at least 0.200 (by 8), in 9 transitions with 900 options" in found.in_words(1)
    )


def test_several_broken_versions_are_not_kept():
    found = broken()
    assert found.horizons["verdict"].tolist() == ["not kept", "too few transitions to say"]
    assert found.horizons.loc[1].p_value <= 0.01 < found.horizons.loc[2].p_value
    assert found.in_words(1).endswith("not kept, with a p-value of 0.010")
    assert found.headline == "Promises were not kept."


def test_the_version_named_is_the_first_of_those_that_accept_least():
    found = backtest([transition(8, 9, 0.1), transition(9, 10, 0.1)], n_versions=10)
    assert found.horizons.loc[1].lowest_at == "9"  # and not "10", which comes first by its letters


def test_a_little_below_the_promise_is_neither_kept_nor_clearly_not():
    found = backtest([transition(k, k + 1, 0.88) for k in range(1, 12)])
    assert found.horizons.loc[1].verdict == "too few transitions to say"
    assert 'below what was promised, with a p-value of 0.304; "not kept" needs 0.01 or less' in found.in_words(1)
    assert found.headline == "There are too few transitions to say whether promises were kept."


def test_overlapping_transitions_are_refused():
    with pytest.raises(InvalidInputError, match="the one from '2' to '4' begins before another ends"):
        backtest([transition(1, 3), transition(2, 4)])
    backtest([transition(1, 3), transition(3, 5), transition(2, 3)])  # another horizon is another question


def test_a_weak_model_is_said_once_beside_the_verdict():
    found = calm(2, weak=("1", "3"))
    assert found.headline == (
        "Nothing speaks against the promises, but there are too few transitions to call them kept. Weak model: on its "
        "own rows it is no better than always giving the more frequent answer in 2 of 3 versions ('1', '3'). Its plans "
        "follow noise, whatever became of them."
    )
    assert found.to_json().count("Weak model") == 1
    assert "Weak model" not in calm(2).headline


def test_forecasts_and_efforts_are_those_of_the_plans_that_were_asked_about():
    starts = [start("1", effort=4.0, plain_effort=1.0), start("2", n_options=300, guaranteed=0.96, effort=2.0)]
    found = backtest([transition(1, 2), transition(2, 3)], starts=starts)
    assert found.horizons.loc[1].guaranteed == pytest.approx(0.94)
    assert found.horizons.loc[1].effort == pytest.approx(6.0 / 2.5)
    alone = backtest([transition(2, 3)], starts=starts)
    assert alone.horizons.loc[1].guaranteed == 0.96


def test_without_promises_nothing_is_said():
    found = backtest([], starts=[start("1", 0, n_served=0, guaranteed=None, expected=None, effort=None)])
    assert found.horizons.loc[1].verdict == "too few transitions to say"
    assert found.horizons.loc[1, ["p_value", "lower"]].tolist() == [1.0, 0.0]
    assert np.isnan(found.horizons.loc[1, "accepted"])
    assert "no option was promised" in found.in_words(1)
    assert json.loads(found.to_json())["horizons"][0]["accepted"] is None


def test_splits_are_forecasts_whatever_they_say():
    found = calm(30, kind="splits")
    assert found.horizons.loc[1].verdict == "forecast only"
    assert "cannot certify one sample" in found.limits[0]
    assert "forecast only, not below what was promised" in found.in_words(1)
    bad = backtest([transition(k, k + 1, 0.3) for k in range(1, 11, 2)], kind="splits")
    assert bad.horizons.loc[1].verdict == "forecast only"
    assert "forecast only, below what was promised" in bad.in_words(1)


def test_json_and_table_hold_what_the_record_holds(tmp_path):
    found = broken()
    content = json.loads(found.to_json(tmp_path / "b.json"))
    assert json.loads((tmp_path / "b.json").read_text()) == content == json.loads(json.dumps(found.to_dict()))
    assert content["transitions"] == found.transitions.to_dict("records")
    assert content["starts"] == found.starts.to_dict("records")
    assert [h["verdict"] for h in content["horizons"]] == ["not kept", "too few transitions to say"]
    assert (content["format"], content["version"], content["headline"]) == ("copa-backtest", 2, found.headline)
    assert Backtest.from_dict(content).to_dict() == content
    assert found.horizons.loc[2, "lowest_at"] == content["horizons"][1]["lowest_at"] == "6"
    assert found.horizons["accepted"].tolist() == [result["accepted"] for result in content["horizons"]]


def test_what_is_no_such_record_is_refused():
    content = broken().to_dict()
    for change, message in (
        ({"version": 1}, "version 1 of the backtest cannot be read, only 2; run it again"),
        ({"weak": ["1"]}, "the backtest was changed"),
        ({"transitions": content["transitions"][1:]}, "the backtest was changed"),
        ({"versions": ["1"]}, "the backtest is damaged"),
    ):
        with pytest.raises(DataError, match=message):
            Backtest.from_dict(content | change)


def test_the_repr_is_short():
    assert repr(calm(2)) == "Backtest(3 versions, promised 0.9; 1: nothing against it)"


def test_plans_are_the_unit_where_options_are_promised_together():
    assert "in 1 transition with 100 plans" in calm(1, guarantee_for="any").in_words(1)
