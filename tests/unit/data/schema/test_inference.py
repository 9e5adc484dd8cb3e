import numpy as np
import pandas as pd
import pytest

from copa import InvalidInputError
from copa.data.schema import Feature, FeatureSchema, LinearRule


def infer(column, **fields):
    overrides = {"features": {"x": fields}} if fields else {}
    return FeatureSchema.infer(pd.DataFrame({"x": column}), **overrides)["x"]


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ([True, False, True], "binary"),
        (pd.Series([True, None, False], dtype="boolean"), "binary"),
        (pd.Series([True, None, False], dtype=object), "binary"),
        ([1, 2, 1], "binary"),
        ([0.0, 1.0, np.nan], "binary"),
        (["no", "yes", "no"], "binary"),
        (pd.Series(["no", "yes", "no"], dtype="category"), "binary"),
        (["a", "b", "c"], "categorical"),
        (["a", "b", "c", None], "categorical"),
        (pd.Series([1, "b", 2.5], dtype=object), "categorical"),
        (pd.Series([1, 2, 3], dtype="category"), "categorical"),
        (pd.Series(pd.Categorical(["lo", "hi", "mid"], ["lo", "mid", "hi"], ordered=True)), "ordinal"),
        ([1, 2, 3], "integer"),
        (pd.Series([1, 2, 3], dtype="uint8"), "integer"),
        (pd.Series([1, 2, None, 3], dtype="Int64"), "integer"),
        ([1.0, 2.0, np.nan, 3.0], "integer"),
        (pd.Series([1, 2, None, 3], dtype=object), "integer"),
        ([1.0, 2.5, 3.0], "numeric"),
        ([0.5, 1.5, 0.5], "numeric"),
        ([np.nan, np.nan], "numeric"),
    ],
)
def test_kinds_follow_from_what_is_seen(column, kind):
    assert infer(column).kind == kind


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ([True, True], (False, True)),
        ([2.0, np.nan, 1.0], (1, 2)),
        (["b", "a", "c", "a"], ("a", "b", "c")),
        (pd.Series(["x", 10, 9], dtype=object), (9, 10, "x")),
        (pd.Series(pd.Categorical(["b", "a"], ["c", "b", "a"])), ("b", "a")),
        (pd.Series(pd.Categorical(["hi", "lo", "mid"], ["lo", "mid", "hi"], ordered=True)), ("lo", "mid", "hi")),
        (pd.Series(pd.Categorical(["yes", "no"], ["yes", "no"], ordered=True)), ("yes", "no")),
    ],
)
def test_values_are_those_seen_in_their_order(column, values):
    assert repr(infer(column).values) == repr(values)  # with their types


def test_an_ordered_level_never_seen_is_known_and_not_advised():
    feature = infer(pd.Series(pd.Categorical(["lo", "hi"], ["lo", "mid", "hi"], ordered=True)))
    assert feature.values == ("lo", "mid", "hi")
    assert feature.allowed == ("lo", "hi")


@pytest.mark.parametrize(
    ("column", "step"),
    [
        ([0.5, 1.0, 2.5], 0.1),
        ([1.25, 3.5, 10.01], 0.01),
        (pd.Series([0.1, 0.2, 0.7], dtype="float32"), 0.1),
        ([1e-6, 0.5, 1.5], 1e-6),
        (np.array([1.0, 3.0, 5.0]) / 7.0, 1e-4),
        (np.array([1.0, 3.0, 5.0]) / 7.0 * 1e6, 100.0),
        ([1, 2, 3], 1.0),
    ],
)
def test_steps_are_those_the_data_were_written_with(column, step):
    assert infer(column).step == step


def test_ranges_and_spreads_are_those_seen():
    feature = infer([1.5, 2.0, np.nan, 4.0])
    assert (feature.lower, feature.upper) == (1.5, 4.0)
    assert feature.spread == 0.85  # half of the way from 1.66 to 3.36, a third and two thirds along
    ranks = infer(pd.Series(pd.Categorical(["lo", "hi", "hi"], ["lo", "mid", "hi"], ordered=True)))
    assert ranks.spread == pytest.approx(np.std([0, 2, 2]), rel=5e-6)


@pytest.mark.parametrize(
    "column", [[3, 3, 3], [2.5, np.nan, 2.5], ["a", "a", "a"], [True, True, True], [None, None, None]]
)
def test_constant_columns_are_immutable_and_have_a_spread(column):
    feature = infer(column)
    assert feature.immutable
    assert feature.spread == 1.0


def test_what_the_caller_says_comes_before_what_is_seen():
    feature = infer([1, 2, 3], lower=0, weight=2.0, direction="increase", upper=None)
    assert (feature.lower, feature.upper, feature.weight, feature.direction) == (0.0, None, 2.0, "increase")
    assert infer([1, 1, 1], immutable=False).immutable is False


def test_another_kind_is_described_as_that_kind():
    assert infer([3, 1, 2], kind="ordinal") == Feature("x", "ordinal", values=(1, 2, 3), spread=0.816497)
    assert infer([1, 2, 1], kind="integer") == Feature("x", "integer", lower=1, upper=2, spread=0.34)
    assert infer(["lo", "hi", "lo"], kind="ordinal", values=["lo", "hi"]).values == ("lo", "hi")


def test_immutable_rules_and_changes_are_taken_over():
    table = pd.DataFrame({"a": [1, 2, 3], "b": [1, 5, 9]})
    schema = FeatureSchema.infer(table, immutable=["b"], rules=["a <= b"], max_changes=1)
    assert (schema["a"].immutable, schema["b"].immutable) == (False, True)
    assert schema.rules == (LinearRule.parse("a <= b"),)
    assert schema.max_changes == 1
    assert FeatureSchema.infer(table, immutable=[], rules=[], features={}) == FeatureSchema.infer(table)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"immutable": ["agee"]}, "immutable: column 'agee' is not known; did you mean 'age'"),
        ({"immutable": "age"}, "immutable must be a list of columns, got the text 'age'"),
        ({"features": {"agee": {}}}, "features: column 'agee' is not known; did you mean 'age'"),
        (
            {"features": {"age": {"imutable": True}}},
            "column 'age': field 'imutable' is not known; did you mean 'immutable'",
        ),
        ({"features": {"age": {"kind": "ordinary"}}}, "kind must be one of .* did you mean 'ordinal'"),
        ({"features": {"age": True}}, "column 'age': expected a mapping from field to value, got True"),
        ({"features": ["age"]}, "expected a mapping from column to some of its fields"),
        ({"rules": ["agee <= 3"]}, "rule 'agee <= 3': column 'agee' is not known; did you mean 'age'"),
    ],
)
def test_misspelt_names_are_refused_with_the_nearest_one(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        FeatureSchema.infer(pd.DataFrame({"age": [1, 2, 3]}), **arguments)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pd.to_timedelta([1], unit="D"), "values of type timedelta64.* turn them into numbers .days"),
        (pd.Series([pd.Timestamp("2020-01-01")], dtype=object), "dates or durations are neither numbers nor choices"),
        (pd.Series([np.timedelta64(1, "D")], dtype=object), "dates or durations are .*; turn them into numbers .days"),
        (pd.Categorical(pd.to_datetime(["2020-01-01"])), "column 'x': dates or durations are neither numbers nor"),
        (pd.to_datetime(["2020-01-01"]), "column 'x': values of type datetime64.* are neither numbers nor choices"),
        ([1 + 2j, 3j], "column 'x': values of type complex128"),
        ([1.0, np.inf], "column 'x': numeric needs finite numbers, got inf in row 1"),
        (pd.Series([[1], [2]]), r"column 'x': its values must be text, .* got \[1\]"),
    ],
)
def test_columns_that_hold_something_else_are_refused(column, message):
    with pytest.raises(InvalidInputError, match=message):
        infer(column)


def test_text_cannot_be_made_a_line():
    with pytest.raises(InvalidInputError, match="numeric needs finite numbers, got 'a' in row 0"):
        infer(["a", "b"], kind="numeric")


def test_columns_without_names_are_refused():
    with pytest.raises(InvalidInputError, match="the name of a column must be text, got 0"):
        FeatureSchema.infer(pd.DataFrame([[1.0], [2.5]]))
    with pytest.raises(InvalidInputError, match="X must be a DataFrame with named columns"):
        FeatureSchema.infer(np.zeros((2, 2)))


def test_missing_spreads_are_filled_in_and_others_stay():
    schema = FeatureSchema([Feature("a", "integer"), Feature("b", "numeric", spread=7.0)])
    filled = schema.with_spreads(pd.DataFrame({"a": [1, 3], "b": [1.0, 2.0]}))
    assert (filled["a"].spread, filled["b"].spread) == (0.68, 7.0)
    assert filled.with_spreads(pd.DataFrame({"a": [1, 9], "b": [1.0, 2.0]})) == filled


def test_special_codes_are_no_part_of_ranges_spreads_and_steps():
    amounts = np.repeat(100.0 * np.arange(1, 41), 5)
    schema = FeatureSchema.infer(pd.DataFrame({"debt": [*amounts, *[-9.0] * 90, *[-8.0] * 30]}))
    debt = schema["debt"]
    said = {"lower": 100, "upper": 4000, "step": 100, "spread": debt.spread, "special": [-9, -8]}
    assert debt == Feature("debt", "integer", **said)
    assert debt.spread == infer(amounts).spread
    assert schema.notes == {"debt": "looks like it has special codes: -9, -8"}
    assert schema.check(pd.DataFrame({"debt": [-9, 100, -8]})) == [""] * 3


def test_special_codes_are_not_guessed_where_the_caller_says_something_about_the_numbers():
    column = [*range(50), -9, -9]
    assert infer(column).special == (-9.0,)
    assert infer(column, special=[]).special == ()
    assert infer(column, lower=-20).special == ()
    assert infer(column, special=[-10]).special == (-10.0,)
    assert infer(column, kind="ordinal").kind == "ordinal"


def test_codes_under_an_encoder_are_categorical():
    table = pd.DataFrame({"branch": [3, 1, 3, np.nan], "flag": [1, 0, 1, 1], "age": [30, 40, 50, 60]})
    schema = FeatureSchema.infer(table, categories={"branch": [1.0, 2.0, 3.0, np.nan], "flag": [0, 1]})
    assert [feature.kind for feature in schema.features] == ["categorical", "binary", "integer"]
    assert repr(schema["branch"].values) == "(1, 2, 3)"
    assert FeatureSchema.infer(table, categories={"flag": [0, 1, 2]})["flag"].kind == "categorical"
    named = FeatureSchema.infer(table, categories={"branch": [1, 2, 3]}, features={"branch": {"kind": "ordinal"}})
    assert named["branch"].kind == "ordinal"


def test_notes_say_why_and_go_when_a_person_decides():
    table = pd.DataFrame({"age": [30, 40, 50], "Sex": ["m", "f", "m"], "debt": [1, 2, 3]})
    schema = FeatureSchema.infer(table)
    assert {name for name in schema if schema[name].immutable} == {"age", "Sex"}
    assert schema.notes == {"age": "immutable: looks like an age", "Sex": "immutable: looks like a protected attribute"}
    assert schema.with_support(table).with_spreads(table).notes == schema.notes
    assert set(schema.replace(age={"immutable": False}).notes) == {"Sex"}
    assert FeatureSchema.infer(table, features={"age": {"immutable": False}})["age"].immutable is False
    assert "age" not in FeatureSchema.infer(table, immutable=["age"]).notes


def test_notes_are_comments_of_a_yaml_file(tmp_path):
    table = pd.DataFrame({"age": [30, 40, 50], "sex: x": ["m", "f", "m"], "debt": [1, 2, 3]})
    schema = FeatureSchema.infer(table, rules=["debt <= age", "age >= 0"], max_changes=2)
    schema.save(tmp_path / "schema.yaml")
    lines = (tmp_path / "schema.yaml").read_text().splitlines()
    assert lines[3] == "  # immutable: looks like an age"
    assert lines[4].startswith("  age: {kind: integer, immutable: true")
    assert sum("#" in line for line in lines) == 2
    assert FeatureSchema.load(tmp_path / "schema.yaml") == schema
    schema.save(tmp_path / "schema.json")
    assert FeatureSchema.load(tmp_path / "schema.json") == schema
