"""What must hold for plans of any content: nothing promised beyond the bounds, nothing lost on the way."""

import json
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from copa._core.html import environment
from copa._core.records import reduce_segments, segment_rows
from copa._core.words import rounded_down, rounded_up
from copa.data.tables.cells import as_json, as_text
from copa.data.tables.packing import pack_entries, pack_values, unpack_entry, unpack_values
from copa.plans.card import bar_width

probabilities = st.floats(0.0, 1.0)
plain_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(),
    st.dates(date(1700, 1, 1), date(2200, 1, 1)),
    st.dates(date(1700, 1, 1), date(2200, 1, 1)).map(pd.Timestamp),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.floats(width=32).map(np.float32),
    st.integers(-(2**63), 2**63 - 1).map(np.int64),
    st.text().map(np.str_),
    st.sampled_from([pd.NA, pd.NaT, np.float64("nan"), np.bool_(True), Decimal("NaN")]),
)
values = st.recursive(plain_values, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=4)


def spelt(value):
    """A value in a form that tells types, signs of zero and missing values apart."""
    if isinstance(value, tuple):
        return tuple(spelt(part) for part in value)
    return type(value), repr(value)


@given(probabilities)
def test_a_rounded_bound_never_promises_more(probability):
    assert float(rounded_down(probability)) <= probability <= float(rounded_up(probability))
    assert float(rounded_up(probability)) - float(rounded_down(probability)) < 0.0011


@given(probabilities)
def test_a_bar_is_never_longer_than_its_bound(probability):
    assert float(bar_width(rounded_down(probability))) <= 100.0 * probability + 1e-9  # of the division


@given(st.text())
def test_text_in_a_template_has_no_character_of_html(text):
    assert not set(environment().from_string("{{ text }}").render(text=text)) & set("<>\"'")


@given(st.lists(values, max_size=12))
def test_values_come_back_as_they_were(given_values):
    codes, distinct = pack_entries(given_values, "x")
    stored = json.loads(json.dumps(distinct, allow_nan=False))
    assert [spelt(unpack_entry(stored[code])) for code in codes] == [spelt(value) for value in given_values]


@given(values)
def test_every_value_can_be_read_and_be_json(value):
    assert isinstance(as_text(value), str)
    json.dumps(as_json(value), allow_nan=False)


columns = st.one_of(
    st.lists(st.floats(), max_size=8).map(lambda v: pd.Series(v, dtype="float64")),
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=8).map(lambda v: pd.Series(v, dtype="int64")),
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=8).map(lambda v: pd.Series(v, dtype="Int64")),
    st.lists(st.none() | st.booleans(), max_size=8).map(lambda v: pd.Series(v, dtype="boolean")),
    st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"])), max_size=8).map(
        lambda v: pd.Series(v, dtype="string")
    ),
    st.lists(st.none() | st.sampled_from("abc"), max_size=8).map(
        lambda v: pd.Series(pd.Categorical(v, ["c", "a", "b"], ordered=True))
    ),
)


@given(columns)
def test_columns_come_back_as_they_were(column):
    arrays = {}
    content = json.loads(json.dumps(pack_values(column, "x", arrays, "x"), allow_nan=False))
    found = unpack_values(content, "x", arrays)
    pd.testing.assert_series_equal(found, column, check_exact=True)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=8), st.data())
@settings(max_examples=50)
def test_segments_are_what_a_loop_finds(counts, data):
    counts = np.array(counts, dtype=np.intp)
    numbers = np.arange(counts.sum(), dtype=float)[::-1].copy()
    ends = np.cumsum(counts)
    pieces = [numbers[end - count : end] for end, count in zip(ends, counts, strict=True)]
    expected = [min(piece) if len(piece) else np.nan for piece in pieces]
    np.testing.assert_array_equal(reduce_segments(np.minimum, numbers, counts), expected)
    rows = np.array(data.draw(st.lists(st.integers(0, len(counts) - 1), max_size=6)), dtype=np.intp)
    chosen = [number for row in rows for number in pieces[row]]
    assert numbers[segment_rows(rows, counts)].tolist() == chosen
