"""Random schemas and tables that fit them, drawn by hypothesis."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from copa.data.schema import Feature, FeatureSchema

# Text that a file format may take for something else, beside any other text.
TRICKY = [
    "yes",
    "no",
    "on",
    "null",
    "~",
    "01",
    "1e5",
    "1_000",
    "0x1",
    "True",
    "2001-01-01",
    "",
    " a ",
    "a: b",
    "# a",
    "-",
    "é",
]
texts = st.one_of(st.sampled_from(TRICKY), st.text(max_size=6))
quarters = st.integers(-40, 40).map(lambda k: k / 4.0)
directions = st.sampled_from(["both", "increase", "decrease"])
missing = st.sampled_from(["stay", "may_change"])
sides = st.dictionaries(st.sampled_from(["up", "down"]), st.sampled_from([0.0, 0.3, 1.0, 2.5, 7.0]))
weights = st.sampled_from([0.5, 1.0, 1.0, 3.0])
words = texts.filter(lambda text: text.strip() and len(text.splitlines()) == 1)


def value_lists(min_size: int, max_size: int) -> st.SearchStrategy[list]:
    """Lists of values of one type, or of several; no two of them look the same as text."""
    ints = st.integers(-5, 9)
    floats = st.integers(-9, 9).map(lambda k: k + 0.5)
    kinds = [ints, texts, st.one_of(ints, texts, floats), floats]
    lists = [st.lists(kind, min_size=min_size, max_size=max_size, unique_by=str) for kind in kinds]
    return st.one_of(*lists, st.permutations([False, True])) if min_size <= 2 <= max_size else st.one_of(*lists)


@st.composite
def line_features(draw: st.DrawFn, name: str, *, steps: bool = True) -> Feature:
    """Numeric and integer features, with and without a range, a direction and a step."""
    kind = draw(st.sampled_from(["numeric", "integer"]))
    lower, upper = sorted([draw(quarters), draw(quarters)])
    step = draw(st.sampled_from([None, 1.0, 2.0, 5.0] if kind == "integer" else [None, 0.1, 0.25, 0.7, 3.0]))
    codes = draw(st.lists(st.sampled_from([-9.0, -8.0, 5.0] if kind == "integer" else [-9.0, 0.3, 4.5]), max_size=2))
    return Feature(
        name,
        kind,
        immutable=draw(st.booleans()),
        lower=draw(st.sampled_from([None, lower])),
        upper=draw(st.sampled_from([None, upper])),
        direction=draw(directions),
        step=step if steps else None,
        weight=draw(weights),
        spread=draw(st.sampled_from([None, 1.0, 0.123])),
        max_change=draw(st.one_of(st.none(), st.sampled_from([0.1, 0.3, 0.25, 2.0]), sides)),
        special=[code for code in codes if not lower <= code <= upper],
        missing=draw(missing),
    )


@st.composite
def choice_features(draw: st.DrawFn, name: str) -> Feature:
    """Ordinal, categorical and binary features, with and without allowed values, transitions, directions and ranges."""
    kind = draw(st.sampled_from(["ordinal", "categorical", "binary"]))
    values = draw(value_lists(2, 2) if kind == "binary" else value_lists(1, 5))
    some = st.lists(st.sampled_from(values), max_size=len(values), unique_by=str)
    are_numbers = all(not isinstance(value, str) for value in values)
    lower = draw(st.one_of(st.none(), quarters)) if kind == "ordinal" and are_numbers else None
    return Feature(
        name,
        kind,
        immutable=draw(st.booleans()),
        lower=lower,
        direction="both" if kind == "categorical" else draw(directions),
        values=values,
        allowed=draw(some),
        transitions={origin: draw(some) for origin in draw(some)},
        weight=draw(weights),
        max_change={side: int(most) for side, most in draw(sides).items()} if kind == "ordinal" else None,
        missing=draw(missing),
    )


def features(name: str) -> st.SearchStrategy[Feature]:
    """Features of every kind."""
    return st.one_of(line_features(name), choice_features(name))


@st.composite
def schemas(draw: st.DrawFn, names: st.SearchStrategy[str] | None = None) -> FeatureSchema:
    """Schemas of a few columns, sometimes with rules and a number of changes."""
    named = st.sampled_from(["age", "income", "job", "yes"]) if names is None else names
    columns = draw(st.lists(named, min_size=1, max_size=4, unique=True))
    drawn = [draw(features(name)) for name in columns]
    usable = [f.name for f in drawn if f.is_numeric]
    rules = []
    if usable and draw(st.booleans()):
        terms = draw(st.lists(st.sampled_from(usable), min_size=1, unique=True))
        written = " + ".join(f"{draw(st.integers(1, 4))}*`{name.replace('`', '``')}`" for name in terms)
        rules = [f"{written} {draw(st.sampled_from(['<=', '>=']))} {draw(quarters)}"]
    return FeatureSchema(drawn, rules, draw(st.sampled_from([None, 1, 2])))


@st.composite
def worded(draw: st.DrawFn, schema: FeatureSchema) -> FeatureSchema:
    """The same schema with human words for some of its columns and values."""
    changes = {}
    for feature in schema.features:
        values = quarters if feature.is_numeric else st.sampled_from(feature.values)
        labels = draw(st.lists(st.tuples(values, words), max_size=5, unique_by=lambda pair: str(pair[0])))
        changes[feature.name] = {"title": draw(st.one_of(st.just(""), words)), "labels": dict(labels)}
    return schema.replace(changes)


def entries(feature: Feature, *, irregular: bool = False) -> st.SearchStrategy:
    """Values that a person may have in a column; also none at all and special codes, if asked for."""
    if irregular:
        codes = [int(code) if feature.kind == "integer" else code for code in feature.special]
        return st.one_of(entries(feature), st.sampled_from([None, *codes]))
    if feature.is_categorical:
        return st.sampled_from(feature.values)
    if feature.kind == "integer":
        return st.integers(-12, 12)
    return st.one_of(quarters, st.integers(-40, 40).map(lambda k: k / 10.0))


@st.composite
def tables(
    draw: st.DrawFn, schema: FeatureSchema, *, min_rows: int = 1, max_rows: int = 6, irregular: bool = False
) -> pd.DataFrame:
    """Tables whose entries are known to the schema; also with missing ones and special codes, if asked for."""
    n_rows = draw(st.integers(min_rows, max_rows))
    columns = {}
    for feature in schema.features:
        drawn = draw(st.lists(entries(feature, irregular=irregular), min_size=n_rows, max_size=n_rows))
        is_mixed = len({type(value) for value in drawn}) > 1
        columns[feature.name] = pd.Series(drawn, dtype=object if is_mixed else None)
    return pd.DataFrame(columns)


def recodings(column: pd.Series) -> list[pd.Series]:
    """The same values in other types."""
    values = list(column)
    others = [column.astype(object), column.astype("category")]
    if all(isinstance(value, (bool, np.bool_)) for value in values):
        others += [column.astype(dtype) for dtype in ("int64", "float64", "boolean", "Int64")]
    elif all(isinstance(value, (int, np.integer)) for value in values):
        others += [column.astype(dtype) for dtype in ("int8", "float64", "float32", "Int64")]
        others += [column.astype(str), column.astype(str).astype("category"), column.astype(str).astype(object)]
    elif all(isinstance(value, str) for value in values):
        others += [column.astype("string")]
    return others
