import gzip
import hashlib

import pytest

import copa
from copa.data.datasets import bundled, example_model, load_german, load_south_german, load_student

LOADERS = [load_german, load_south_german, load_student]


def test_a_file_is_read_if_its_content_is_the_published_one(tmp_path, monkeypatch):
    monkeypatch.setattr(bundled, "files", lambda _: tmp_path)
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"some data"))
    assert bundled.published_bytes("x.gz", hashlib.sha256(b"some data").hexdigest()) == b"some data"


def test_a_tampered_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(bundled, "files", lambda _: tmp_path)
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"some dat4"))
    with pytest.raises(copa.DataError, match=r"x\.gz is not the published file \(its SHA-256 differs\)"):
        bundled.published_bytes("x.gz", hashlib.sha256(b"some data").hexdigest())


@pytest.mark.parametrize(
    "content",
    [b"", b"plain text", gzip.compress(b"some data")[:-12], gzip.compress(b"some data")[:10] + b"\xff" * 30],
    ids=["empty", "not compressed", "cut off", "garbled"],  # gzip writes the time into its bytes
)
def test_a_broken_file_is_refused(tmp_path, monkeypatch, content):
    monkeypatch.setattr(bundled, "files", lambda _: tmp_path)
    (tmp_path / "x.gz").write_bytes(content)
    with pytest.raises(copa.DataError, match=r"x\.gz .*reinstall copa-recourse"):
        bundled.published_bytes("x.gz", hashlib.sha256(b"some data").hexdigest())


def test_a_missing_file_is_refused():
    with pytest.raises(copa.DataError, match=r"nothing\.gz cannot be read"):
        bundled.published_bytes("nothing.gz", "")


@pytest.mark.parametrize("load", LOADERS)
def test_the_schema_describes_every_column_and_accepts_every_row(load):
    data = load()
    assert data.schema.names == tuple(data.features.columns)
    assert data.schema.check(data.features) == [""] * len(data.features)
    assert all(feature.spread is not None for feature in data.schema.features)


@pytest.mark.parametrize("load", LOADERS)
def test_every_known_value_occurs_in_the_data(load):
    # Education, purpose 7 of South German Credit, is in the code table and not in the data.
    data = load()
    choices = [feature for feature in data.schema.features if feature.is_categorical]
    unseen = {f.name: set(f.values) - set(data.features[f.name]) for f in choices}
    assert {name: values for name, values in unseen.items() if values} in ({}, {"purpose": {7}})


# Plain numbers in the documentation of their data, without a meaning of their own.
NUMBERS = {"installment_rate", "residence_since", "dependents", "failures"}


@pytest.mark.parametrize("load", LOADERS)
def test_every_column_has_a_title_and_every_code_its_words(load):
    schema = load().schema
    for feature in schema.features:
        texts = [feature.title, *feature.labels.values()]
        assert all(text and len(text) <= 35 and "_" not in text for text in texts)
        assert len(set(feature.labels.values())) == len(feature.labels)
    assert len({feature.title for feature in schema.features}) == len(schema)
    choices = [feature for feature in schema.features if feature.is_categorical and feature.values != ("no", "yes")]
    bare = {feature.name for feature in choices if set(feature.labels) != set(feature.values)}
    assert bare <= NUMBERS
    assert not any(schema[name].labels for name in bare)


def test_words_are_those_of_the_documentation():
    german, south, student = (load().schema for load in (load_german, load_south_german, load_student))
    assert german["savings"].label_of("A63") == "500 to 1000 DM"
    assert german["checking_status"].label_of("A14") == "no checking account"
    assert south["status"].label_of(1) == "no checking account"  # another code than in the uncorrected data
    assert south["credit_history"].label_of(0) == "delays in the past"
    assert south["installment_rate"].label_of(1) == ">= 35 % of income"
    assert student["Medu"].label_of(4) == "higher education"
    assert student["Mjob"].label_of("at_home") == "at home"


def test_the_words_of_the_codes_that_were_swapped_fit_the_people():
    # 155 of 1000 support three or more people and 37 are foreign workers, as the correction of the data says.
    data = load_south_german()
    said = {
        name: data.features[name].map(data.schema[name].label_of).value_counts().to_dict()
        for name in ("people_liable", "foreign_worker")
    }
    assert said["people_liable"] == {"up to two": 845, "three or more": 155}
    assert said["foreign_worker"] == {"no": 963, "yes": 37}


@pytest.mark.parametrize("load", LOADERS)
def test_at_least_six_columns_can_be_changed_and_who_one_is_cannot(load):
    schema = load().schema
    changeable = {feature.name for feature in schema.features if not feature.immutable}
    assert len(changeable) >= 6
    given = {"age", "sex", "personal_status", "personal_status_sex", "foreign_worker", "people_liable", "G1"}
    assert changeable.isdisjoint(given | {"dependents", "credit_history", "purpose", "failures", "health", "Medu"})


@pytest.mark.parametrize("load", LOADERS)
def test_every_applicant_has_several_ways_to_go(load):
    data = load()
    limits = data.schema.limits(data.features)
    ways = sum((mask.sum(axis=1) > 1).astype(int) for mask in limits.categorical.values())
    ways = ways + sum((upper > lower).astype(int) for lower, upper in limits.numeric.values())
    assert ways.min() >= 2


def test_lenders_advise_nobody_to_overdraw_an_account_or_to_lose_a_job():
    german, south = load_german(), load_south_german()
    checking = german.schema.limits(german.features).categorical["checking_status"]
    codes = german.schema.codes(german.features, "checking_status")
    overdrawn, closed = 0, 3
    assert not checking[codes != overdrawn, overdrawn].any()
    assert not checking[codes != closed, closed].any()
    work = south.schema.limits(south.features).categorical["employment_duration"]
    own = south.schema.codes(south.features, "employment_duration")
    assert all(mask[:code].sum() == 0 and mask[code + 2 :].sum() == 0 for mask, code in zip(work, own, strict=True))


@pytest.mark.parametrize("load", LOADERS)
def test_the_example_model_reads_every_column_and_leaves_some_people_declined(load):
    data = load()
    model = example_model(data)
    assert model[:-1].feature_names_in_.tolist() == data.features.columns.tolist()
    assert 0.0 < model.predict(data.features).mean() < 1.0
    assert model.score(data.features, data.favourable) > max(data.favourable.mean(), 1.0 - data.favourable.mean())


def test_the_example_model_reads_levels_that_it_has_not_seen():
    data = load_german()
    unseen = data.features.head(3).assign(housing="a boat")
    assert example_model(data).predict(unseen).shape == (3,)
