"""Values that few training rows have: who counts them, who withholds them, and who may still have them."""

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from copa import Feature, FeatureSchema, InvalidInputError
from copa.data.schema.support import LEAST_ROWS, count_withheld, withheld_in_words
from property.schema_strategies import recodings

HOMES = ("rent", "own", "boat", "castle")
HOME = Feature("home", "categorical", values=HOMES)


def training(**rows):
    """A column with so many rows of each home."""
    return pd.DataFrame({"home": np.repeat(list(rows), list(rows.values()))})


TRAINING = training(rent=60, own=LEAST_ROWS, boat=LEAST_ROWS - 1)


def filled(feature=HOME, table=TRAINING):
    return FeatureSchema([feature]).with_support(table)[feature.name]


def judged(feature, own, new):
    columns = ({feature.name: [own]}, {feature.name: [new]})
    return FeatureSchema([feature]).violations(*map(pd.DataFrame, columns))[0]


def test_values_with_fewer_than_fifteen_rows_are_withheld_and_their_rows_are_kept():
    home = filled()
    assert LEAST_ROWS == 15
    assert home.withheld == ("boat", "castle")
    assert dict(home.support) == {"boat": 14, "castle": 0}


def test_rare_offer_withholds_nothing_and_keeps_the_rows():
    home = filled(HOME.replace(rare="offer"))
    assert home.withheld == ()
    assert dict(home.support) == {"boat": 14, "castle": 0}


def test_the_judge_refuses_a_withheld_value_with_its_rows_and_lets_people_keep_or_leave_it():
    home = filled()
    assert judged(home, "rent", "boat") == ["home: 'boat' has 14 training rows, fewer than 15, and is not offered"]
    assert judged(home, "boat", "castle") == ["home: 'castle' has 0 training rows, fewer than 15, and is not offered"]
    assert judged(home, "boat", "boat") == judged(home, "boat", "rent") == judged(home, "rent", "own") == []
    one = filled(table=training(rent=60, own=60, boat=1))
    assert judged(one, "rent", "boat") == ["home: 'boat' has 1 training row, fewer than 15, and is not offered"]


def test_the_judge_uses_the_words_of_the_column_and_names_the_field():
    home = filled(HOME.replace(title="where one lives", labels={"boat": "on a boat"}))
    found = FeatureSchema([home]).find_violations(pd.DataFrame({"home": ["own"]}), pd.DataFrame({"home": ["boat"]}))
    assert [violation.constraint for violation in found[0]] == ["withheld"]
    assert str(found[0][0]) == "where one lives: 'on a boat' has 14 training rows, fewer than 15, and is not offered"


def test_regions_leave_withheld_values_out_except_for_those_who_have_them():
    region = FeatureSchema([filled()]).limits(pd.DataFrame({"home": ["rent", "boat"]})).categorical["home"]
    assert region.tolist() == [[True, True, False, False], [True, True, True, False]]


def test_a_column_whose_other_values_are_all_withheld_cannot_change():
    home = filled(table=training(rent=60, own=3))
    region = FeatureSchema([home]).limits(pd.DataFrame({"home": ["rent", "own"]})).categorical["home"]
    assert region.tolist() == [[True, False, False, False], [True, True, False, False]]


def test_missing_and_unknown_entries_are_no_support_and_codings_do_not_matter():
    table = training(rent=60, own=LEAST_ROWS, boat=LEAST_ROWS - 1)
    odd = pd.DataFrame({"home": [*table["home"], None, np.nan, "tent"]}, dtype=object)
    assert filled(table=odd) == filled()
    numbers = Feature("n", "ordinal", values=(1, 2, 3))
    column = pd.Series([1] * 20 + [2] * 14 + [3] * 15, name="n")
    for recoded in [column, *recodings(column)]:
        assert filled(numbers, recoded.to_frame()).withheld == (2,)


def test_every_categorical_kind_is_counted_and_numbers_and_immutable_columns_are_not():
    schema = FeatureSchema(
        [
            Feature("n", "integer"),
            Feature("x", "numeric"),
            Feature("grade", "ordinal", values=(1, 2)),
            Feature("flag", "binary", values=(False, True)),
            Feature("fixed", "binary", values=(False, True), immutable=True),
        ]
    )
    truths = [False] * 29 + [True]
    table = pd.DataFrame({"n": 1, "x": 0.5, "grade": [2] * 29 + [1], "flag": truths, "fixed": truths})
    found = schema.with_support(table)
    assert {name: found[name].withheld for name in found} == {
        "n": (), "x": (), "grade": (1,), "flag": (True,), "fixed": ()
    }  # fmt: skip


def test_an_inferred_schema_withholds_alike():
    assert (
        FeatureSchema.infer(TRAINING)["home"].withheld == ()
    )  # what is training data is said when a planner is fitted
    assert FeatureSchema.infer(TRAINING).with_support(TRAINING)["home"].withheld == ("boat",)


def test_what_a_person_withholds_stays_and_what_was_found_is_found_again():
    home = HOME.replace(withheld=["own", "castle"])
    first = filled(home)
    assert first.withheld == ("own", "boat", "castle")
    assert dict(first.support) == {"boat": 14}
    assert judged(first, "rent", "own") == ["home: 'own' is withheld by the schema, and is not offered"]
    later = filled(first, training(rent=60, own=60, boat=60, castle=60))
    assert later.withheld == ("own", "castle")
    assert not later.support
    assert filled(home.replace(rare="offer")).withheld == ("own", "castle")


def test_support_counts_whom_it_keeps_from_what():
    home = filled(HOME.replace(transitions={"own": ["rent", "boat"]}, withheld=["castle"]))
    assert count_withheld(home).tolist() == [1, 1, 0, 1]  # boat, to all but those who have one
    assert count_withheld(filled(HOME.replace(allowed=["rent"]))).tolist() == [0, 0, 0, 0]


def test_words_name_the_values_and_how_to_change_that():
    text = withheld_in_words([filled()])
    assert text.startswith("2 values with fewer than 15 training rows will not be offered (`rare: offer` in the schema")
    assert text.endswith("home 'boat' (14), home 'castle' (0)")
    many = Feature("m", "categorical", values=tuple(range(14)))
    assert withheld_in_words([filled(many, pd.DataFrame({"m": [0] * 20}))]).endswith("m 10 (0) and 3 more")
    assert withheld_in_words([HOME]) == ""


def test_files_hold_what_is_withheld_and_old_ones_are_read(tmp_path):
    feature = Feature("home", "categorical", values=(True, 2, "no", "x y"), rare="offer")
    other = Feature("other", "categorical", values=HOMES, withheld=["boat"], support={"boat": 3})
    schema = FeatureSchema([feature, other])
    schema = schema.replace({"home": {"support": {True: 3, "no": 0}}})
    for name in ("s.yaml", "s.json"):
        schema.save(tmp_path / name)
        assert FeatureSchema.load(tmp_path / name) == schema
    assert FeatureSchema.from_dict(schema.to_dict()) == schema
    assert "rare" not in FeatureSchema([HOME]).to_dict()["columns"]["home"]
    old = {"format": "copa_schema", "version": 1, "columns": {"home": {"kind": "categorical", "values": list(HOMES)}}}
    assert FeatureSchema.from_dict(old) == FeatureSchema([HOME])


def test_people_write_it_in_yaml():
    text = "{kind: categorical, values: [rent, own, boat], rare: offer, withheld: [own], support: {boat: 2}}"
    content = {"format": "copa_schema", "version": 1, "columns": {"home": yaml.safe_load(text)}}
    home = FeatureSchema.from_dict(content)["home"]
    assert (home.rare, home.withheld, dict(home.support)) == ("offer", ("own",), {"boat": 2})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"rare": "sell"}, r"rare must be one of|withhold"),
        ({"withheld": ["tent"]}, r"withheld may only name its values .* got 'tent'"),
        ({"support": {"tent": 1}}, r"support may only name its values"),
        ({"support": {"boat": -1}}, r"support of 'boat'"),
        ({"support": ["boat"]}, r"support must be a mapping"),
        ({"kind": "integer", "values": None, "rare": "offer"}, r"rare means nothing for kind 'integer'"),
        ({"kind": "numeric", "values": None, "withheld": [1]}, r"withheld may only name"),
    ],
)
def test_what_makes_no_sense_is_refused(fields, message):
    with pytest.raises(InvalidInputError, match=message):
        Feature("home", **{"kind": "categorical", "values": HOMES} | fields)


@given(st.lists(st.integers(0, 30), min_size=2, max_size=5), st.sampled_from(["ordinal", "categorical"]), st.data())
def test_search_and_judge_agree_on_what_is_withheld(counts, kind, data):
    values = "abcde"[: len(counts)]
    allowed = data.draw(st.one_of(st.none(), st.lists(st.sampled_from(values), unique=True)))
    feature = Feature("c", kind, values=tuple(values), allowed=allowed)
    table = pd.DataFrame({"c": np.repeat(list(values), counts)}, dtype=object)
    schema = FeatureSchema([feature]).with_support(table)
    pairs = pd.DataFrame([(own, new) for own in values for new in values], columns=["own", "new"])
    own, new = pairs[["own"]].set_axis(["c"], axis=1), pairs[["new"]].set_axis(["c"], axis=1)
    region = schema.limits(pd.DataFrame({"c": list(values)})).categorical["c"].ravel()
    rare = [a != b and counts[values.index(b)] < 15 for a, b in pairs.itertuples(index=False)]
    plain = FeatureSchema([feature]).obeys(own, new)
    assert schema.obeys(own, new).tolist() == region.tolist() == (plain & ~np.array(rare)).tolist()
    assert [not found for found in schema.violations(own, new)] == region.tolist()


PAID = pd.DataFrame({"paid": [*range(1, 1001), 70_000, -9, -9]})


def filled_range(table=PAID, **fields):
    paid = FeatureSchema([Feature("paid", "integer", special=[-9], **fields)]).with_support(table)["paid"]
    return paid.lower, paid.upper, paid.observed


def test_open_ends_of_a_range_are_filled_in_from_the_data():
    assert filled_range() == (11.0, 991.0, ("lower", "upper"))
    assert filled_range(lower=0) == (0.0, 991.0, ("upper",))
    assert filled_range(immutable=True) == filled_range()
    assert filled_range(upper=5000, step=50) == (50.0, 5000.0, ("lower",))
    assert filled_range(lower=0, upper=5000) == (0.0, 5000.0, ())


def test_ranges_stay_open_where_nothing_is_known():
    assert filled_range(PAID[:0]) == (None, None, ())
    assert filled_range(PAID[-2:]) == (None, None, ())
    assert filled_range(upper=5) == (None, 5.0, ())


def test_filled_in_ends_are_found_again_and_given_ones_are_not():
    schema = FeatureSchema([Feature("paid", "integer", lower=0)]).with_support(PAID[:10])
    assert (schema["paid"].upper, schema["paid"].observed) == (10.0, ("upper",))
    assert schema.with_support(PAID[:100])["paid"].upper == 100.0
    decided = schema.replace(paid={"upper": 500})
    assert decided["paid"].observed == ()
    assert decided.with_support(PAID)["paid"].upper == 500.0
    assert FeatureSchema.from_dict(schema.to_dict()) == schema


def test_a_number_beyond_the_data_is_refused_with_the_reason():
    paid = FeatureSchema([Feature("paid", "integer")]).with_support(PAID[:1000])["paid"]
    assert judged(paid, 500, 5000) == ["paid: must be at most 991 (99 % of the training rows have no more), got 5000"]
    assert judged(paid, 500, 1) == ["paid: must be at least 10 (99 % of the training rows have no less), got 1"]
    assert judged(paid, 5000, 5000) == []


def test_a_special_code_within_the_data_needs_a_range_that_leaves_it_out():
    with pytest.raises(InvalidInputError, match="special code 500 must lie outside the range of amounts, 10 to 992; g"):
        FeatureSchema([Feature("paid", "integer", special=[500])]).with_support(PAID[:1001])
    assert filled_range(PAID, immutable=True)[2] == ("lower", "upper")
    paid = FeatureSchema([Feature("paid", "integer", special=[500], immutable=True)]).with_support(PAID[:1001])["paid"]
    assert paid.observed == ()
