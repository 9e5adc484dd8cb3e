from dataclasses import replace

import numpy as np
import pytest

from reproduction.data.shifted import load_shifted
from reproduction.methods import authors_program
from reproduction.methods import dice as dice_module
from reproduction.methods.copa import StoppedCopa
from reproduction.methods.dice import Dice


@pytest.fixture(scope="module")
def scaled(student):
    return replace(student, encoding=authors_program.both_ranges(student.data))


@pytest.mark.parametrize("n_inputs", [7, 15, 40])
def test_the_random_start_is_that_of_a_linear_layer_of_torch(n_inputs):
    torch = pytest.importorskip("torch")
    torch.manual_seed(131)
    layer = torch.nn.Linear(n_inputs, 1)
    expected = [*layer.bias.tolist(), *layer.weight[0].tolist()]
    found = authors_program.random_start(n_inputs, 131)
    np.testing.assert_allclose(found, expected, atol=1e-7)  # torch has single precision


def test_ranges_are_those_of_both_data_sets():
    data = load_shifted("student")
    encoding = authors_program.both_ranges(data)
    rows = np.vstack([encoding.encode(table.features) for table in (data.present, data.shifted)])
    assert rows.min(axis=0).tolist() == [1.0] + [0.0] * (rows.shape[1] - 1)
    assert (rows.max(axis=0) == 1.0).all()


def test_numbers_take_each_others_places_and_categories_keep_theirs(scaled, german):
    rows, blocks = scaled.origins, scaled.encoding.blocks
    found = authors_program.displaced(scaled, rows)
    # The file begins with age, the alphabet (capitals first) with Fedu; they end with G2 and with studytime.
    np.testing.assert_array_equal(found[:, blocks["age"]], rows[:, blocks["Fedu"]])
    np.testing.assert_array_equal(found[:, blocks["G2"]], rows[:, blocks["studytime"]])
    np.testing.assert_array_equal(found[:, blocks["higher"]], rows[:, blocks["higher"]])
    np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(rows, axis=1))
    np.testing.assert_array_equal(authors_program.displaced(german, german.origins), german.origins)


def test_weights_are_inverse_deviations_of_the_number_whose_place_is_taken(scaled):
    features = authors_program.both_tables(scaled.data).features
    weights = authors_program.displaced_weights(scaled, features)
    age = features["age"]
    deviation = (age - age.median()).abs().median() / (age.max() - age.min())
    assert weights["Fedu"] == pytest.approx(1.0 / deviation, abs=5e-3)


def test_a_number_without_deviation_has_weight_one(scaled):
    features = authors_program.both_tables(scaled.data).features.copy()
    features["age"] = np.where(np.arange(len(features)) == 0, 20.0, 17.0)
    assert authors_program.displaced_weights(scaled, features)["Fedu"] == 1.0


def test_applicants_are_declined_and_those_held_out_come_first(scaled):
    theta, _ = authors_program.program_classifier(scaled)
    many = replace(scaled, settings=replace(scaled.settings, n_applicants=1000))
    people = authors_program.program_applicants(many, theta)
    declined = scaled.encoding.encode(scaled.data.present.features) @ theta < 0.0
    assert sorted(people.index) == np.flatnonzero(declined).tolist()
    held_out = authors_program._split(scaled)[1]
    among = people.index.isin(held_out)
    assert among[: among.sum()].all()
    assert authors_program.program_applicants(scaled, theta).index.tolist() == people.index[:4].tolist()


def test_equal_applicants_get_equal_plans_from_the_same_start_only(scaled):
    people = scaled.applicants.iloc[[0, 0]]
    twins = replace(scaled, applicants=people)
    same = StoppedCopa(0.5, 5.0, same_start=True).plans(twins).points
    np.testing.assert_array_equal(same[0], same[1])
    other = StoppedCopa(0.5, 5.0).plans(twins).points
    assert np.abs(other[0] - other[1]).max() > 0.01


def test_dice_gets_both_tables_and_the_displaced_weights(tmp_path, scaled, monkeypatch):
    asked = []

    def explainer(case, layers, table, weights):
        asked.append((layers, len(table), weights))
        return lambda _: case.data.present.features.head(5)

    monkeypatch.setattr(dice_module, "require_dice", lambda: None)
    monkeypatch.setattr(dice_module, "explainer", explainer)
    Dice(tmp_path, limit=1, kind="own_seed", displaced=True).plans(scaled)
    layers, n_rows, weights = asked[0]
    assert n_rows == len(scaled.data.present) + len(scaled.data.shifted)
    assert weights == authors_program.displaced_weights(scaled, authors_program.both_tables(scaled.data).features)
    # Its coordinates are those of the encoding, so that the classifier is the same in both.
    np.testing.assert_allclose(np.concatenate([layers[0][1], layers[0][0][0]]), scaled.theta, atol=1e-9)
    Dice(tmp_path, limit=1).plans(scaled)
    assert asked[1][1:] == (len(scaled.data.present), None)
