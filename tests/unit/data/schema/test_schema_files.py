import json
import os
import re
from pathlib import Path
from time import perf_counter

import pandas as pd
import pytest
import yaml

from copa import DataError, InvalidInputError
from copa.data.schema import Feature, FeatureSchema

SCHEMA = FeatureSchema(
    [
        Feature("age", "integer", immutable=True, lower=18, upper=99),
        Feature("rate", "numeric", step=0.25, direction="decrease", weight=1.5, spread=2.75),
        Feature("answer", "binary", values=("no", "yes"), direction="increase"),
        Feature("postcode", "categorical", values=("01", "1e5", "null", "2001-01-01", "Ä: #"), allowed=["01", "null"]),
        Feature("level", "ordinal", values=(1, 2, 3), transitions={1: [2], 2: [2, 3]}),
        Feature("member", "binary", values=(True, False), transitions={True: [True]}),
        Feature("on", "binary", values=(0.5, "x")),
    ],
    rules=["rate <= age", "2*level + member <= 5"],
    max_changes=3,
)

WRITTEN = """\
format: copa_schema
version: 1
columns:
  age: {kind: integer, immutable: true, lower: 18, upper: 99}
  rate: {kind: numeric, direction: decrease, step: 0.25, weight: 1.5, spread: 2.75}
  answer:
    kind: binary
    direction: increase
    values: ['no', 'yes']
  postcode:
    kind: categorical
    values: ['01', 1e5, 'null', '2001-01-01', 'Ä: #']
    allowed: ['01', 'null']
  level:
    kind: ordinal
    values: [1, 2, 3]
    transitions:
      1: [2]
      2: [2, 3]
  member:
    kind: binary
    values: [true, false]
    transitions:
      true: [true]
  'on':
    kind: binary
    values: [0.5, x]
rules: [rate <= age, 2*level + member <= 5]
max_changes: 3
"""


def test_the_file_is_small_and_says_what_differs_from_the_defaults(tmp_path):
    SCHEMA.save(tmp_path / "schema.yaml")
    assert (tmp_path / "schema.yaml").read_text(encoding="utf-8") == WRITTEN


@pytest.mark.parametrize("name", ["schema.yaml", "schema.yml", "schema.json", "Schema.JSON"])
def test_what_is_saved_is_loaded_with_its_types(tmp_path, name):
    SCHEMA.save(tmp_path / name)
    loaded = FeatureSchema.load(str(tmp_path / name))
    assert loaded == SCHEMA
    assert repr(loaded) == repr(SCHEMA)  # 1, True and '1' are told apart


WORDED = FeatureSchema(
    [
        Feature("age", "integer", title="age: in years", labels={0: "newborn"}),
        Feature("answer", "binary", values=("no", "yes"), title="yes", labels={"no": "on", "yes": "1"}),
        Feature("level", "ordinal", values=(1.0, 2.5), transitions={1.0: [2.5]}, labels={1.0: "Ä", 2.5: "# 2"}),
        Feature("member", "binary", values=(True, False), labels={False: "no 'member'", True: "member"}),
    ]
)

WORDS = """\
format: copa_schema
version: 1
columns:
  age:
    kind: integer
    title: 'age: in years'
    labels: {0: newborn}
  answer:
    kind: binary
    values: ['no', 'yes']
    title: 'yes'
    labels: {'no': 'on', 'yes': '1'}
  level:
    kind: ordinal
    values: [1.0, 2.5]
    transitions:
      1.0: [2.5]
    labels: {1.0: Ä, 2.5: '# 2'}
  member:
    kind: binary
    values: [true, false]
    labels: {false: no 'member', true: member}
"""


def test_words_are_written_beside_the_values_they_stand_for(tmp_path):
    WORDED.save(tmp_path / "schema.yaml")
    assert (tmp_path / "schema.yaml").read_text(encoding="utf-8") == WORDS


@pytest.mark.parametrize("name", ["schema.yaml", "schema.json"])
def test_words_are_loaded_as_they_were_saved(tmp_path, name):
    WORDED.save(tmp_path / name)
    assert repr(FeatureSchema.load(tmp_path / name)) == repr(WORDED)
    assert repr(FeatureSchema.from_dict(WORDED.to_dict())) == repr(WORDED)


def test_words_stay_when_spreads_are_added_or_fields_replaced():
    table = pd.DataFrame({"age": [1, 5], "answer": ["no", "yes"], "level": [1.0, 2.5], "member": [True, False]})
    changed = WORDED.with_spreads(table).replace(level={"weight": 2.0})
    assert [(f.title, f.labels) for f in changed.features] == [(f.title, f.labels) for f in WORDED.features]


def test_json_is_json(tmp_path):
    SCHEMA.save(tmp_path / "schema.json")
    content = json.loads((tmp_path / "schema.json").read_text(encoding="utf-8"))
    assert content["columns"]["member"] == {"kind": "binary", "values": [True, False], "transitions": {"True": [True]}}


def test_a_dictionary_round_trip_is_exact():
    content = SCHEMA.to_dict()
    assert (content["format"], content["version"]) == ("copa_schema", 1)
    assert repr(FeatureSchema.from_dict(content)) == repr(SCHEMA)


def test_saving_replaces_the_file_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "schema.yaml"
    path.write_text("something else", encoding="utf-8")
    SCHEMA.save(path)
    assert os.listdir(tmp_path) == ["schema.yaml"]  # noqa: PTH208 - names only
    assert FeatureSchema.load(path) == SCHEMA


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "schema.yaml"
    path.write_text("the old one", encoding="utf-8")

    def full_disk(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(DataError, match=r"schema\.yaml cannot be written: No space left on device"):
        SCHEMA.save(path)
    assert path.read_text(encoding="utf-8") == "the old one"
    assert os.listdir(tmp_path) == ["schema.yaml"]  # noqa: PTH208 - names only


def test_the_file_is_put_in_place_in_one_go(tmp_path, monkeypatch):
    path = tmp_path / "schema.yaml"
    path.write_text("the old one", encoding="utf-8")

    def refused(_, target):
        assert target == path
        raise OSError(13, "Permission denied")

    monkeypatch.setattr(Path, "replace", refused)
    with pytest.raises(DataError, match="cannot be written: Permission denied"):
        SCHEMA.save(path)
    assert path.read_text(encoding="utf-8") == "the old one"
    assert os.listdir(tmp_path) == ["schema.yaml"]  # noqa: PTH208 - names only


def load(tmp_path, text, name="schema.yaml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return FeatureSchema.load(path)


HEAD = "format: copa_schema\nversion: 1\n"


def test_none_empty_and_absent_mean_the_same_in_a_file(tmp_path):
    text = "columns:\n  a: {kind: ordinal, values: [1, 2], allowed: [], lower: null, transitions: {}, step: }\n"
    assert load(tmp_path, HEAD + text + "rules:\nmax_changes: []\n") == FeatureSchema(
        [Feature("a", "ordinal", values=(1, 2))]
    )


def test_numbers_without_a_point_are_numbers(tmp_path):
    schema = load(tmp_path, HEAD + "columns:\n  a: {kind: numeric, step: 1e-3, upper: 1e6}\n")
    assert (schema["a"].step, schema["a"].upper) == (0.001, 1e6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a schema: expected a mapping with format: copa_schema, got None"),
        ("- 1", "not a schema"),
        ("format: other\n", "not a schema"),
        ("format: copa_schema\nversion: 2\ncolumns: {}", "version 2 of the schema format cannot be read, only 1"),
        ("format: copa_schema\ncolumns: {}", "version None of the schema format cannot be read"),
        (HEAD, "columns must be a mapping from column to its fields, got None"),
        (HEAD + "columns: [a]", "columns must be a mapping"),
        (HEAD + "columns: {}", "a schema needs at least one column"),
        (HEAD + "columns: {a: numeric}", "column 'a': expected a mapping from field to value, got 'numeric'"),
        (HEAD + "columns: {a: {lower: 3}}", "column 'a': kind must be given"),
        (HEAD + "columns: {yes: {kind: numeric}}", "column names must be text, got True; put quotes around it"),
        (HEAD + "colums: {}", "entry 'colums' is not known; did you mean 'columns'?"),
        (
            HEAD + "columns: {a: {kind: numeric, imutable: true}}",
            "column 'a': field 'imutable' is not known; did you mean",
        ),
        (HEAD + "columns: {a: {kind: numeric, name: b}}", "column 'a': field 'name' is not known"),
        (HEAD + "columns: {a: {kind: numeric, index: b}}", "column 'a': field 'index' is not known"),
        (HEAD + "columns: {a: {kind: numeric}}\nrules: [b <= 3]", "rule 'b <= 3': column 'b' is not known"),
        (
            HEAD + "columns: {a: {kind: binary, values: [2001-01-01, x]}}",
            "(date); in a YAML file, put quotes around text",
        ),
        (HEAD + "columns:\n  a: {kind: numeric}\n  a: {kind: integer}", "the entry 'a' in line 5 is there twice"),
        (HEAD + "columns: {a: {kind: numeric, 1: x}}", "field 1 is not known"),
        (HEAD + "columns: {a: {kind: binary, values: &v [*v, 1]}}", "line 3: anchors and aliases ('&v', '*v') are not"),
        (HEAD + "columns: {a: {kind: ordinal, values: !!set {x, y, z}}}", "line 3: the tag 'tag:yaml.org,2002:set'"),
        (HEAD + "columns: {a: {kind: binary, values: [!!binary aGk=, 1]}}", "tag 'tag:yaml.org,2002:binary' is not"),
        (HEAD + "columns: {a: {kind: binary, values: *v}}", "anchors and aliases ('&v', '*v') are not supported"),
        (HEAD + "columns:\n  a: {<<: {kind: numeric}}", "line 4: merge keys ('<<') are not supported; write out"),
        (HEAD + "columns: {a: {kind: numeric, lower: " + "1:1" * 2000 + "}}", "line 3: an entry has 6,000 characters"),
        ("a: [" + "b, " * 60_000 + "]", "line 1: more than 50,000 entries are not read from YAML; use JSON"),
        ("a: [" + "b, " * 400_000 + "]", "it has 1,200,005 characters, and at most 1,000,000 of YAML are read; use"),
        ("a: [1", "not YAML"),
        ("a: 2001-99-99", "not YAML"),
        ("!!python/object/apply:os.system ['true']", "line 1: the tag"),
        ("[" * 5000, "nested too deeply"),
    ],
)
def test_a_wrong_file_is_refused_with_its_name_and_the_reason(tmp_path, text, message):
    with pytest.raises(InvalidInputError, match=re.escape("schema.yaml: ") + ".*" + re.escape(message)):
        load(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ('{"format": "copa_schema", "format": "copa_schema"}', "the entry 'format' is there twice"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_wrong_json_is_refused(tmp_path, text, message):
    with pytest.raises(InvalidInputError, match=message):
        load(tmp_path, text, "schema.json")


def bombs():
    """A few lines of YAML that stand for more than any machine holds, or takes in a day."""
    doubled = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 40)]
    merged = ["a0: &a0 {x: 1}"] + [f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}" for i in range(1, 40)]
    yield pytest.param("\n".join(doubled), "anchors and aliases", id="aliases")
    yield pytest.param("\n".join(merged), "anchors and aliases", id="merge keys")
    yield pytest.param("a: " + "{<<: " * 40 + "{}" + "}" * 40, "nested too deeply", id="nested merge keys")
    yield pytest.param("a: " + "{a: " * 200_000, "nested too deeply", id="depth")
    yield pytest.param("a: " + "1:1" * 300_000, "characters", id="digits")
    yield pytest.param("a: [" + "[]," * 150_000 + "]", "more than 50,000 entries", id="empty lists")
    yield pytest.param("a: [" + "{}," * 150_000 + "]", "more than 50,000 entries", id="empty mappings")


@pytest.mark.parametrize(("bomb", "words"), list(bombs()))
def test_a_bomb_is_refused_within_a_second(tmp_path, bomb, words):
    begin = perf_counter()
    with pytest.raises(InvalidInputError, match=words):
        load(tmp_path, HEAD + bomb)
    assert perf_counter() - begin < 1.0


def test_a_file_of_many_megabytes_is_not_read(tmp_path, monkeypatch):
    SCHEMA.save(tmp_path / "schema.json")
    monkeypatch.setattr("copa.data.schema.yaml_files.LARGEST", 100)
    with pytest.raises(DataError, match=r"schema\.json has .* bytes, and at most 100 are read"):
        FeatureSchema.load(tmp_path / "schema.json")


def test_files_that_are_not_there_or_no_text_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"nowhere\.yaml cannot be read: No such file"):
        FeatureSchema.load(tmp_path / "nowhere.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="not a text file in UTF-8"):
        FeatureSchema.load(tmp_path / "binary.yaml")


def test_other_endings_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match=r"must end in \.yaml, \.yml or \.json, got 'schema\.pkl'"):
        SCHEMA.save(tmp_path / "schema.pkl")
    with pytest.raises(InvalidInputError, match=r"must end in"):
        FeatureSchema.load(tmp_path / "schema.pkl")


def test_yaml_reads_the_file_as_plain_data(tmp_path):
    SCHEMA.save(tmp_path / "schema.yaml")
    assert yaml.safe_load((tmp_path / "schema.yaml").read_text(encoding="utf-8")) == SCHEMA.to_dict()


@pytest.mark.parametrize(
    ("field", "message"),
    [
        (f'"lower": {"9" * 5000}', "not JSON: Exceeds the limit"),
        ('"title": "\\ud800"', "half of a character"),
    ],
)
def test_json_that_python_cannot_hold_or_write_is_refused(tmp_path, field, message):
    path = tmp_path / "schema.json"
    columns = f'{{"a": {{"kind": "numeric", {field}}}}}'
    path.write_text(f'{{"format": "copa_schema", "version": 1, "columns": {columns}}}', encoding="utf-8")
    with pytest.raises(InvalidInputError, match=message):
        FeatureSchema.load(path)
