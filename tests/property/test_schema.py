"""What must hold of every schema, whatever the table."""

import tempfile
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from copa.data.schema import Feature, FeatureSchema, LinearRule
from copa.data.tables.cells import multiples, snap
from property.exact_judge import refusals
from property.schema_strategies import quarters, recodings, schemas, tables, texts, worded

check = settings(max_examples=60)


def is_inside(schema, limits, options, name, row, own):
    """Whether an option's value in one column is inside the limits of the applicant in row 0."""
    feature, new = schema[name], options[name].iloc[row]
    if new == own or (pd.isna(new) and pd.isna(own)):  # staying is always possible
        return True
    if pd.isna(new) or feature.is_special(new):
        return False
    if feature.is_categorical:
        return bool(limits.categorical[name][0, schema.codes(options, name)[row]])
    lower, upper = limits.numeric[name]
    return bool(lower[0] <= new <= upper[0])


def is_on_grid(feature, own, new):
    """Whether a value may be reached in steps of the feature: exact arithmetic on the decimals."""
    if feature.step is None or new == own or pd.isna(new):
        return True
    return Fraction(str(new)) % Fraction(str(feature.step)) == 0


@check
@given(st.data())
def test_limits_and_violations_agree(data):
    schema = data.draw(schemas())
    columns = FeatureSchema(schema.features)
    origin = data.draw(tables(schema, max_rows=1, irregular=True))
    options = data.draw(tables(schema, irregular=True))
    limits = columns.limits(origin)
    for row, found in enumerate(columns.violations(origin, options)):
        broken = {message.partition(":")[0] for message in found}
        inside = {
            name: is_inside(schema, limits, options, name, row, origin[name].iloc[0])
            and is_on_grid(schema[name], origin[name].iloc[0], options[name].iloc[row])
            for name in schema
        }
        assert broken == {name for name, good in inside.items() if not good}


@settings(check, max_examples=300)
@given(st.data())
def test_verdicts_are_those_of_a_judge_that_was_written_anew(data):
    schema = data.draw(schemas())
    origins = data.draw(tables(schema, min_rows=6, irregular=True))
    options = data.draw(tables(schema, min_rows=6, irregular=True))
    expected = [not refusals(schema, origins.iloc[[k]], options.iloc[[k]]) for k in range(len(origins))]
    assert [not found for found in schema.violations(origins, options)] == expected
    assert schema.obeys(origins, options).tolist() == expected


@check
@given(st.data())
def test_a_largest_change_reaches_exactly_as_far_as_its_limits(data):
    share = data.draw(st.sampled_from([0.1, 0.07, 1 / 3, 0.25]))
    step = data.draw(st.sampled_from([0.1, 0.01, 0.7, 5.0]))
    schema = FeatureSchema([Feature("x", "numeric", step=step, max_change=share)])
    origin = pd.DataFrame({"x": [data.draw(st.one_of(quarters, st.floats(-1e4, 1e4)))]})
    ends = [end[0] for end in schema.limits(origin).numeric["x"]]
    inside = [snap(ends[0], step, "up"), snap(ends[1], step, "down")]
    beyond = [multiples(np.rint(inside[0] / step) - 1, step), multiples(np.rint(inside[1] / step) + 1, step)]
    last = [number for number in map(float, inside) if inside[0] <= inside[1]]
    assert schema.obeys(origin.loc[[0] * len(last)], pd.DataFrame({"x": last})).all()
    assert not schema.obeys(origin.loc[[0, 0]], pd.DataFrame({"x": [*map(float, beyond)]})).any()


@check
@given(st.data())
def test_staying_breaks_nothing_but_rules(data):
    schema = data.draw(schemas())
    origin = data.draw(tables(schema, max_rows=1, irregular=True))
    [found] = schema.violations(origin.iloc[0], origin)
    assert all(message.startswith("rule") for message in found)


@check
@given(st.data())
def test_many_options_are_judged_as_one_by_one(data):
    schema = data.draw(schemas())
    origins = data.draw(tables(schema, min_rows=2, irregular=True))
    options = origins.sample(frac=1.0, random_state=0).reset_index(drop=True)
    for feature in schema.features:  # some cells stay
        if data.draw(st.booleans()):
            options[feature.name] = origins[feature.name].to_numpy()
    one_by_one = [not found for found in schema.violations(origins, options)]
    assert schema.obeys(origins, options).tolist() == one_by_one
    mixed = options.astype(object)
    assert schema.obeys(origins.astype(object), mixed).tolist() == one_by_one


@check
@given(st.data())
def test_rules_and_counted_changes_are_judged_by_plain_arithmetic(data):
    schema = data.draw(schemas())
    origin = data.draw(tables(schema, max_rows=1))
    options = data.draw(tables(schema))
    for row, found in enumerate(schema.violations(origin, options)):
        own, new = origin.iloc[0], options.iloc[row]
        changed = sum(own[name] != new[name] for name in schema)
        assert any(m.startswith("changes ") for m in found) == (changed > (schema.max_changes or np.inf))
        for rule in schema.rules:
            assume(not any(schema[name].is_special(new[name]) for name in rule.coefficients))
            total = sum(Fraction(k) * Fraction(str(new[name])) for name, k in rule.coefficients.items())
            assert any(m.startswith(f"rule {rule.text}") for m in found) == (total > Fraction(rule.upper))


@check
@given(st.data(), st.sampled_from([".yaml", ".json"]))
def test_a_saved_schema_is_loaded_as_it_was(data, suffix):
    names = st.one_of(texts, st.sampled_from(["a", "b c"])).filter(bool)
    schema = data.draw(worded(data.draw(schemas(names))))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"schema{suffix}"
        schema.save(path)
        loaded = FeatureSchema.load(path)
    assert loaded == schema
    assert repr(loaded) == repr(schema)  # types included


@check
@given(st.data())
def test_words_change_what_is_said_and_not_what_is_allowed(data):
    schema = data.draw(schemas())
    spoken = data.draw(worded(schema))
    table = data.draw(tables(schema))
    options = table.sample(frac=1.0, random_state=0).reset_index(drop=True)
    assert spoken.check(table) == schema.check(table)
    plain, told = schema.violations(table, options), spoken.violations(table, options)
    assert [len(found) for found in told] == [len(found) for found in plain]
    limits, same = schema.limits(table), spoken.limits(table)
    for name, (lower, upper) in limits.numeric.items():
        np.testing.assert_array_equal(same.numeric[name], (lower, upper))
    for name, mask in limits.categorical.items():
        np.testing.assert_array_equal(same.categorical[name], mask)


@check
@given(st.data())
def test_codes_and_limits_do_not_depend_on_the_coding(data):
    schema = data.draw(schemas())
    table = data.draw(tables(schema))
    limits = schema.limits(table)
    for feature in schema.features:
        if feature.is_numeric:
            continue
        expected = [feature.values.index(value) for value in table[feature.name]]
        for column in recodings(table[feature.name]):
            recoded = table.assign(**{feature.name: column})
            assert schema.codes(recoded, feature.name).tolist() == expected
            np.testing.assert_array_equal(
                schema.limits(recoded).categorical[feature.name], limits.categorical[feature.name]
            )


@check
@given(st.data())
def test_violations_do_not_depend_on_the_coding(data):
    schema = data.draw(schemas())
    origin, options = data.draw(tables(schema, max_rows=1)), data.draw(tables(schema))
    counts = [len(found) for found in schema.violations(origin, options)]
    for feature in schema.features:
        for column in recodings(options[feature.name]) if feature.is_categorical else []:
            recoded = options.assign(**{feature.name: column})
            assert [len(found) for found in schema.violations(origin, recoded)] == counts


@check
@given(st.data())
def test_a_table_is_accepted_by_the_schema_inferred_from_it(data):
    table = data.draw(tables(data.draw(schemas()), max_rows=8))
    inferred = FeatureSchema.infer(table)
    assert inferred.check(table) == [""] * len(table)
    assert inferred.names == tuple(table.columns)
    for i in range(len(table)):
        assert inferred.violations(table.iloc[[i]], table.iloc[[i]]) == [[]]


@check
@given(st.data())
def test_gaps_are_no_fault_but_in_a_column_that_a_rule_needs(data):
    drawn = data.draw(schemas())
    table = data.draw(tables(drawn, min_rows=2))
    inferred = FeatureSchema.infer(table)
    row = data.draw(st.integers(0, len(table) - 1))
    name = data.draw(st.sampled_from(inferred.names))
    gaps = table.astype(object)
    gaps.iloc[row, gaps.columns.get_loc(name)] = None
    assert inferred.check(gaps) == [""] * len(table)
    kinds = {feature.name: {"kind": feature.kind} for feature in drawn.features if feature.is_numeric}
    ruled = FeatureSchema.infer(table, features=kinds, rules=drawn.rules)
    needed = {column for rule in drawn.rules for column in rule.coefficients}
    assert [bool(message) for message in ruled.check(gaps)] == [i == row and name in needed for i in range(len(table))]
    FeatureSchema.infer(gaps)  # gaps are left out of account


@check
@given(
    st.lists(st.one_of(quarters, st.floats(-1e6, 1e6)), min_size=1, max_size=5),
    st.sampled_from([0.1, 0.25, 0.01, 0.7, 1.0, 50.0, 1e-6]),
)
def test_snapping_gives_the_nearest_decimal_multiple_on_the_side_asked(values, step):
    nearest, down, up = (snap(values, step, rounding) for rounding in ("nearest", "down", "up"))
    for value, near, below, above in zip(values, nearest, down, up, strict=True):
        for multiple in (near, below, above):
            assert Decimal(repr(float(multiple))) % Decimal(repr(step)) == 0
        assert below <= value <= above
        gap = Fraction(repr(float(above))) - Fraction(repr(float(below)))
        assert gap in (0, Fraction(repr(step)))
        assert float(near) in (float(below), float(above))


@check
@given(
    st.dictionaries(texts.filter(bool), st.floats(-1e9, 1e9), min_size=1, max_size=4),
    st.floats(-1e9, 1e9),
)
def test_a_rule_made_of_numbers_is_read_back_from_its_text(coefficients, upper):
    assume(any(coefficients.values()))
    rule = LinearRule(coefficients, upper)
    assert LinearRule.parse(rule.text) == rule
    assert rule.coefficients == {name: number for name, number in coefficients.items() if number}


@pytest.mark.parametrize("n_rows", [0, 1])
def test_tables_without_rows_have_no_complaints(n_rows):
    table = pd.DataFrame({"a": [1.5, 2.5], "b": ["x", "y"]})
    schema = FeatureSchema.infer(table)
    assert schema.check(table.iloc[:n_rows]) == [""] * n_rows
    assert schema.limits(table.iloc[:n_rows]).categorical["b"].shape == (n_rows, 2)
