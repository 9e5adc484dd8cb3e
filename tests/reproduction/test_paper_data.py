from collections import Counter

import numpy as np
import pytest

from copa import DataError, InvalidInputError
from reproduction.data.shifted import find_sba_file, load_shifted
from reproduction.pages.about import german_facts, sba_facts, student_facts


def rows(table):
    return Counter(map(tuple, table.features.assign(good=table.favourable).to_numpy().tolist()))


def test_the_corrected_german_data_share_990_customers_with_the_original():
    data = load_shifted("german", "paper")
    assert len(data.present) == len(data.shifted) == 1000
    assert (rows(data.present) & rows(data.shifted)).total() == 990
    assert "990" in german_facts()[0]


def test_by_the_sound_protocol_no_german_customer_is_on_both_sides():
    data = load_shifted("german", "sound")
    whole = load_shifted("german", "paper")
    assert len(data.present) == 500
    # As often as a row occurs in all of the corrected data, it can occur after taking the present ones away.
    left = rows(whole.shifted)
    left.subtract(rows(data.present))
    assert len(data.shifted) == 1000 - (rows(data.present) & rows(whole.shifted)).total()
    assert all(count <= max(left[key], 0) for key, count in rows(data.shifted).items())


def test_students_are_split_by_school():
    data = load_shifted("student", "paper")
    assert (len(data.present), len(data.shifted)) == (423, 226)
    assert "from 63% to 35%" in student_facts()[0]  # shares of good final grades


def test_only_the_sound_protocol_has_immutable_columns():
    for name in ("german", "student"):
        held = {
            protocol: [f.name for f in load_shifted(name, protocol).schema.features if f.immutable]
            for protocol in ("paper", "sound")
        }
        assert held["paper"] == []
        assert "age" in held["sound"]


def test_every_row_of_the_present_obeys_its_schema():
    for protocol in ("paper", "sound"):
        data = load_shifted("student", protocol)
        assert set(data.schema.check(data.present.features)) == {""}


def test_a_missing_file_of_loans_is_said_with_what_to_do(tmp_path):
    with pytest.raises(DataError, match=r"SBAcase\.csv was not found in .*COPA_DATA"):
        load_shifted("sba", "paper", tmp_path)


def test_another_file_of_that_name_is_refused(tmp_path):
    (tmp_path / "SBAcase.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(DataError, match="is not the case file"):
        load_shifted("sba", "paper", tmp_path)


def test_the_file_of_loans_is_found_where_the_environment_points(sba_folder, monkeypatch):
    monkeypatch.setenv("COPA_DATA", str(sba_folder))
    assert find_sba_file() == sba_folder / "SBAcase.csv"


def test_loans_run_backwards_in_the_paper_and_forwards_by_the_sound_protocol(sba_folder):
    paper, sound = (load_shifted("sba", protocol, sba_folder) for protocol in ("paper", "sound"))
    assert (len(paper.present), len(paper.shifted)) == (943, 1159)
    assert (len(sound.present), len(sound.shifted)) == (1159, 943)
    np.testing.assert_array_equal(sound.present.favourable, ~paper.shifted.favourable)
    assert not {"ChgOffPrinGr", "Selected"} & set(sound.present.features)
    assert "99." in sba_facts(sba_folder)[2]


@pytest.mark.parametrize(("name", "protocol"), [("germany", "paper"), ("german", "best")])
def test_unknown_names_are_refused(name, protocol):
    with pytest.raises(InvalidInputError, match="must be one of"):
        load_shifted(name, protocol)
