from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from copa import DataError
from reproduction.data.synthetic import synthetic_case
from reproduction.methods import dice as dice_module
from reproduction.methods.dice import Dice, linear_layer, read_plan, write_plan


@pytest.fixture(scope="module")
def one_option(tiny):
    return replace(synthetic_case(tiny), settings=replace(tiny, n_options=1))


def test_a_stored_plan_is_read_again_only_for_the_same_model(tmp_path, german):
    layer = linear_layer(german)
    options = german.data.present.features.head(3)
    write_plan(tmp_path / "1.json", [layer], options, 12.5)
    found, seconds = read_plan(tmp_path / "1.json", [layer])
    pd.testing.assert_frame_equal(found, options, check_dtype=False)
    assert seconds == 12.5
    assert read_plan(tmp_path / "1.json", [(layer[0] + 0.1, layer[1])]) is None
    assert read_plan(tmp_path / "2.json", [layer]) is None


def test_plans_in_the_cache_are_not_built_again(tmp_path, german, monkeypatch):
    monkeypatch.setattr(dice_module, "require_dice", lambda: None)
    monkeypatch.setattr(dice_module, "explainer", lambda *_: pytest.fail("DiCE was asked again"))
    options = german.data.present.features.head(5)
    label = german.applicants.index[0]
    folder = tmp_path / "dice" / "paper-german-linear-seed0-J5"
    write_plan(folder / f"{label}.json", [linear_layer(german)], options, 3.0)
    plans = Dice(tmp_path, limit=1).plans(german)
    np.testing.assert_allclose(plans.points[0], german.encoding.encode(options))
    assert plans.seconds.tolist() == [3.0]


def test_without_its_packages_dice_says_what_to_install(tmp_path, german, monkeypatch):
    monkeypatch.setattr(dice_module, "find_spec", lambda name: None if name == "torch" else object())
    with pytest.raises(DataError, match=r"torch.*pip install 'copa-recourse\[baselines\]'"):
        Dice(tmp_path, limit=1).plans(german)


def test_a_limit_of_zero_leaves_dice_out(tmp_path, german):
    with pytest.raises(DataError, match="not asked for"):
        Dice(tmp_path, limit=0).plans(german)


def test_the_layer_scores_dices_coordinates_as_the_classifier_scores_ours(one_option):
    rows = one_option.data.present.features
    scaled = (rows - rows.min()) / (rows.max() - rows.min())
    weights, intercept = linear_layer(one_option)
    expected = one_option.encoding.encode(rows) @ one_option.theta
    np.testing.assert_allclose(scaled.to_numpy() @ weights[0] + intercept, expected, atol=1e-9)


def test_the_real_package_builds_plans_that_the_classifier_accepts(tmp_path, one_option, capsys):
    pytest.importorskip("torch")
    pytest.importorskip("dice_ml")
    told = []
    plans = Dice(tmp_path, limit=1, tell=told.append).plans(one_option)
    assert plans.points.shape == (1, 1, 3)
    assert (plans.points @ one_option.theta >= 0.0).all()
    assert "plan 1 of 1" in told[0]
    assert capsys.readouterr() == ("", "")  # its own messages are kept away
    assert list(tmp_path.rglob("*.json"))
