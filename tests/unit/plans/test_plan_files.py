import io
import json
import os
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import copa
from copa._core.files import write_atomically
from copa._core.formats import digest_of
from copa.data.tables.packing import pack_values, unpack_values
from copa.plans import PlanBatch
from copa.theory.bounds import Certificates
from forged_files import members, rewritten
from unit.plans.plan_batches import every_dtype, german_batch, wild_batch

ARRAYS = (
    "owner", "status", "message", "effort", "accepted", "option_lower", "option_weights", "lower",
    "upper", "any_lower", "gap", "highest_level", "points", "seconds",
)  # fmt: skip


def bits(array):
    """An array as bytes where it has any: equal numbers are not enough, -0.0 and 0.0 are equal."""
    return array.tolist() if array.dtype == object else (array.dtype, array.shape, array.tobytes())


def assert_same(one, other):
    for name in ("applicants", "options"):
        own, new = getattr(one, name), getattr(other, name)
        pd.testing.assert_frame_equal(own, new, check_exact=True, check_freq=True)
        assert type(own.index) is type(new.index)
        for column in [column for column, dtype in own.dtypes.items() if str(dtype) in ("float64", "float32")]:
            assert own[column].to_numpy().tobytes() == new[column].to_numpy().tobytes()
    for name in ARRAYS:
        assert bits(getattr(one, name)) == bits(getattr(other, name))
    assert (one.request, one.basis) == (other.request, other.basis)
    assert one.ambiguity.radius == other.ambiguity.radius
    for name in ("mean", "cov", "drift"):
        np.testing.assert_array_equal(getattr(one.ambiguity, name), getattr(other.ambiguity, name))


@pytest.fixture(scope="module")
def german():
    return german_batch()


@pytest.fixture(scope="module")
def saved(german, tmp_path_factory):
    path = tmp_path_factory.mktemp("plans") / "german.copa"
    german.save(path)
    return path


def test_a_saved_batch_is_read_again_to_the_last_bit(german, saved):
    assert_same(german, PlanBatch.load(saved))


@pytest.mark.parametrize(
    "index",
    [
        None,
        pd.RangeIndex(10, 0, -2, name="down"),
        pd.Index(["a", "b", "c", "d", "a"], name="label"),
        pd.Index([1.5, np.nan, 2.0, -0.0, 3.0]),
        pd.Index([1, "1", 2.5, None, (1, 2)], dtype=object, name=("a", 1)),
        pd.date_range("2020-01-01", periods=5, freq="D", name="day"),
        pd.CategoricalIndex(["x", "y", "x", "y", "x"], categories=["y", "x"], ordered=True),
        pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1), ("b", 2), ("c", 3)], names=["site", None]),
        pd.Index(pd.array([1, 2, None, 4, 5], dtype="Int64")),
    ],
)
def test_every_dtype_and_index_comes_back(index, tmp_path):
    batch = wild_batch(index)
    batch.save(tmp_path / "wild.copa")
    assert_same(batch, PlanBatch.load(tmp_path / "wild.copa"))


def test_objects_come_back_in_their_own_types(tmp_path):
    wild_batch().save(tmp_path / "wild.copa")
    loaded = PlanBatch.load(tmp_path / "wild.copa").applicants
    for column in ("object", "mixed", "strange", "missing"):
        expected = every_dtype()[column].tolist()
        assert [type(value) for value in loaded[column]] == [type(value) for value in expected]
        assert [str(value) for value in loaded[column]] == [str(value) for value in expected]
    assert loaded["strange"].iloc[2] is pd.NA


def test_column_labels_need_not_be_text(tmp_path):
    batch = german_batch()
    tables = {"applicants": batch.applicants.assign(**{"7": 1}), "options": batch.options.assign(**{"7": 1})}
    tables = {name: table.rename(columns={"7": 7}).rename_axis(columns="what") for name, table in tables.items()}
    replace(batch, **tables, change_effort=None, at_least=None, at_most=None).save(tmp_path / "labels.copa")
    loaded = PlanBatch.load(tmp_path / "labels.copa")
    assert loaded.applicants.columns[-1] == 7
    assert loaded.options.columns.name == "what"


def test_certificates_prove_the_same_after_loading(german, saved):
    loaded = PlanBatch.load(saved)
    for own, new in zip(german.certificates, loaded.certificates, strict=True):
        assert (own is None) == (new is None)
    assert [loaded.certificates[i].verify() for i in (0, 2, 5)] == [german.certificates[i].verify() for i in (0, 2, 5)]


def test_a_ball_with_drift_comes_back(tmp_path):
    batch = wild_batch(drift=np.diag([0.0, 1.0, 2.0, 3.0]))
    batch.save(tmp_path / "drift.copa")
    loaded = PlanBatch.load(tmp_path / "drift.copa")
    assert_same(batch, loaded)
    assert [loaded.certificates[i].verify() for i in (1, 3, 4)] == [batch.certificates[i].verify() for i in (1, 3, 4)]


def test_parts_and_empty_batches_are_saved_too(german, tmp_path):
    for k, part in enumerate((german[2:], german[1:2], german[:0], german.select([5, 5, 0]))):
        part.save(tmp_path / f"{k}.copa")
        assert_same(part, PlanBatch.load(tmp_path / f"{k}.copa"))


def test_a_loaded_batch_can_be_saved_sliced_and_joined(saved, tmp_path):
    loaded = PlanBatch.load(saved)
    loaded.save(tmp_path / "again.copa")
    assert (tmp_path / "again.copa").read_bytes() == saved.read_bytes()
    joined = PlanBatch.concat([loaded[3:], loaded[:3]])
    assert joined.certificates[4].verify() == loaded.certificates[0].verify()


def test_a_value_that_cannot_be_saved_is_named(german, tmp_path):
    odd = german.applicants.assign(age=pd.Series([{1, 2}] * 7, index=german.applicants.index, dtype=object))
    with pytest.raises(copa.InvalidInputError, match=r"column 'age' holds \{1, 2\} of type set"):
        replace(german, applicants=odd).save(tmp_path / "odd.copa")
    stamp = pd.Timestamp("2020-01-01", tz="Europe/Berlin")
    zoned = german.applicants.assign(age=pd.Series([stamp] * 7, index=german.applicants.index, dtype=object))
    with pytest.raises(copa.InvalidInputError, match=r"column 'age' holds .* times without a zone can"):
        replace(german, applicants=zoned).save(tmp_path / "odd.copa")


@pytest.mark.parametrize(
    "column",
    [
        pd.period_range("2020", periods=7, freq="M"),
        pd.date_range("2020-01-01", periods=7, tz="Europe/Berlin"),
        pd.cut(range(7), [-1, 2, 7]).categories.repeat(4)[:7],
    ],
)
def test_a_dtype_that_cannot_be_saved_is_named(german, tmp_path, column):
    with pytest.raises(copa.InvalidInputError, match=r"column 'age' has dtype (period|datetime64|interval)\[.*, which"):
        replace(german, applicants=german.applicants.assign(age=column)).save(tmp_path / "odd.copa")


def test_the_file_holds_json_and_arrays_and_nothing_to_execute(saved):
    content = members(saved)
    assert set(content) == {"plans.json", "arrays.npz"}
    assert json.loads(content["plans.json"])["format"] == "copa-plan-file"
    with np.load(io.BytesIO(content["arrays.npz"]), allow_pickle=False) as arrays:
        assert all(arrays[name].dtype != object for name in arrays.files)


def test_the_same_batch_gives_the_same_bytes(german, saved, tmp_path):
    german.save(tmp_path / "again.copa")
    assert (tmp_path / "again.copa").read_bytes() == saved.read_bytes()


def test_members_of_other_names_are_refused(saved, tmp_path):
    path = rewritten(tmp_path / "more.copa", members(saved) | {"notes.txt": b"hello"})
    with pytest.raises(copa.DataError, match=r"more\.copa is not a file of plans.*'notes\.txt', which no file of this"):
        PlanBatch.load(path)


def test_a_newer_version_says_to_update(saved, tmp_path):
    content = members(saved)
    newer = json.loads(content["plans.json"]) | {"version": 2, "cells": "moved"}
    path = rewritten(tmp_path / "newer.copa", content | {"plans.json": json.dumps(newer)})
    with pytest.raises(
        copa.DataError,
        match="version 2 of the format copa-plan-file, and this copa reads 1; update",
    ):
        PlanBatch.load(path)


def test_an_older_version_says_to_save_again(saved, tmp_path):
    content = members(saved)
    older = json.loads(content["plans.json"]) | {"version": 0}
    path = rewritten(tmp_path / "older.copa", content | {"plans.json": json.dumps(older)})
    with pytest.raises(copa.DataError, match="version 0 of the format copa-plan-file, and this copa reads 1; save it"):
        PlanBatch.load(path)


def test_another_format_is_named(saved, tmp_path):
    other = rewritten(tmp_path / "other.copa", members(saved) | {"plans.json": '{"format": "cake", "version": 1}'})
    with pytest.raises(copa.DataError, match="not a file of plans: its format is 'cake'"):
        PlanBatch.load(other)


def test_a_missing_file_is_a_data_error(tmp_path):
    with pytest.raises(copa.DataError, match=r"none.copa cannot be read: No such file"):
        PlanBatch.load(tmp_path / "none.copa")


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip at all", b"\x80\x04K\x01."])
def test_other_files_are_data_errors(tmp_path, content):
    path = tmp_path / "file.copa"
    path.write_bytes(content)
    with pytest.raises(copa.DataError, match="is not a file of plans, or is damaged"):
        PlanBatch.load(path)


@pytest.mark.parametrize("missing", ["plans.json", "arrays.npz"])
def test_a_missing_member_is_a_data_error(saved, tmp_path, missing):
    content = members(saved)
    del content[missing]
    with pytest.raises(copa.DataError, match="damaged"):
        PlanBatch.load(rewritten(tmp_path / "less.copa", content))


def test_a_truncated_file_is_a_data_error(saved, tmp_path):
    whole = saved.read_bytes()
    path = tmp_path / "short.copa"
    for length in range(1, len(whole), max(1, len(whole) // 60)):
        path.write_bytes(whole[:length])
        with pytest.raises(copa.DataError):
            PlanBatch.load(path)


def test_a_flipped_byte_is_noticed_or_harmless(german, saved, tmp_path):
    whole = bytearray(saved.read_bytes())
    path = tmp_path / "flipped.copa"
    rng = np.random.default_rng(0)
    noticed = 0
    for place in rng.choice(len(whole), 150, replace=False):
        flipped = whole.copy()
        flipped[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(flipped)
        try:
            loaded = PlanBatch.load(path)
        except copa.DataError:
            noticed += 1
        else:
            assert_same(german, loaded)  # a date in the zip, or the like
    assert noticed > 100


def doctored(saved, path, *, arrays=len, plans=len, forged=True):
    """A copy of a saved file in which the arrays or the content went through a function that changes them.

    `forged` writes the digest of the changed content, as whoever changes a file on purpose would.
    """
    content = members(saved)
    with np.load(io.BytesIO(content["arrays.npz"])) as file:
        stored = dict(file)
    arrays(stored)
    told = json.loads(content["plans.json"])
    plans(told)
    if forged:
        told["digest"] = digest_of(told, stored)
    buffer = io.BytesIO()
    np.savez(buffer, **stored)
    return rewritten(path, {"plans.json": json.dumps(told), "arrays.npz": buffer.getvalue()})


ARRAY_CHANGES = [
    lambda arrays: arrays.pop("batch/lower"),
    lambda arrays: arrays.update({"batch/lower": np.full(7, 2.0)}),
    lambda arrays: arrays.update({"batch/owner": np.array([0, 0, 0, 2, 2, 99])}),
    lambda arrays: arrays.update({"batch/owner": np.array([0, 0, 0, 2, 2, -1])}),
    lambda arrays: arrays.update({"batch/effort": np.array([None] * 6, dtype=object)}),
    lambda arrays: arrays.update({"ambiguity/cov": -arrays["ambiguity/cov"]}),
    lambda arrays: arrays.update({"applicants/1": arrays["applicants/1"][:3]}),
]
CONTENT_CHANGES = [
    lambda plans: plans["applicants"]["cells"][1].update(kind="pickle"),
    lambda plans: plans["applicants"]["cells"].pop(),
    lambda plans: plans["applicants"]["index"].update(kind="range"),
    lambda plans: plans["request"].update(cost=7),
    lambda plans: plans["basis"]["schema"].update(version=9),
    lambda plans: plans["request"].pop("guarantee"),
    lambda plans: plans.update(applicants=None),
    lambda plans: plans.update(applicants=[[]]),
]


@pytest.mark.parametrize("change", ARRAY_CHANGES)
def test_arrays_that_do_not_fit_are_data_errors(saved, tmp_path, change):
    with pytest.raises(copa.DataError, match="damaged"):
        PlanBatch.load(doctored(saved, tmp_path / "doctored.copa", arrays=change))


@pytest.mark.parametrize("change", CONTENT_CHANGES)
def test_content_that_does_not_fit_is_a_data_error(saved, tmp_path, change):
    with pytest.raises(copa.DataError, match="damaged"):
        PlanBatch.load(doctored(saved, tmp_path / "doctored.copa", plans=change))


UNFORGED_ARRAY_CHANGES = [
    lambda arrays: arrays["batch/lower"].__setitem__(0, np.nextafter(arrays["batch/lower"][0], 1.0)),
    lambda arrays: arrays["batch/option_lower"].__setitem__(0, 0.99),
    lambda arrays: arrays["batch/points"].__setitem__((0, 1), 1.25),
    lambda arrays: arrays["batch/effort"].__setitem__(0, 7.5),
    lambda arrays: arrays["batch/accepted"].__setitem__(0, ~arrays["batch/accepted"][0]),
    lambda arrays: arrays["ambiguity/mean"].__setitem__(0, arrays["ambiguity/mean"][0] + 1e-9),
    lambda arrays: arrays.update({"ambiguity/radius": np.float64(0.01)}),
    lambda arrays: arrays["options/1"].__setitem__(0, arrays["options/1"][0] + 1),
    lambda arrays: arrays.update({"batch/effort": arrays["batch/effort"].astype(np.float32)}),
]
UNFORGED_CONTENT_CHANGES = [
    lambda plans: plans["request"].update(guarantee=0.99),
    lambda plans: plans["basis"].update(favourable="bad"),
    lambda plans: plans["basis"]["schema"]["columns"]["age"].pop("immutable"),
    lambda plans: plans["basis"]["schema"]["columns"].update(age=plans["basis"]["schema"]["columns"].pop("age")),
    lambda plans: plans["message"]["distinct"].__setitem__(0, "all is well"),
    lambda plans: plans.update(digest="sha256:" + "0" * 64),
    lambda plans: plans.pop("digest"),
]


@pytest.mark.parametrize("change", UNFORGED_ARRAY_CHANGES)
def test_the_digest_notices_a_change_of_any_array(saved, tmp_path, change):
    with pytest.raises(copa.DataError, match="changed after it was saved"):
        PlanBatch.load(doctored(saved, tmp_path / "doctored.copa", arrays=change, forged=False))


@pytest.mark.parametrize("change", UNFORGED_CONTENT_CHANGES)
def test_the_digest_notices_a_change_of_any_content(saved, tmp_path, change):
    with pytest.raises(copa.DataError, match="changed after it was saved"):
        PlanBatch.load(doctored(saved, tmp_path / "doctored.copa", plans=change, forged=False))


def test_the_digest_does_not_depend_on_how_the_json_is_laid_out(german, saved, tmp_path):
    content = members(saved)
    again = json.dumps(json.loads(content["plans.json"]), indent=3, ensure_ascii=False)
    assert again.encode() != content["plans.json"]
    assert_same(german, PlanBatch.load(rewritten(tmp_path / "laid_out.copa", content | {"plans.json": again})))


def test_a_failed_write_leaves_the_old_file_and_nothing_else(german, tmp_path, monkeypatch):
    path = tmp_path / "plans.copa"
    path.write_bytes(b"old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(copa.DataError, match=r"plans.copa cannot be written: No space left on device"):
        german.save(path)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["plans.copa"]


def test_a_folder_that_does_not_exist_is_a_data_error(tmp_path):
    with pytest.raises(copa.DataError, match="cannot be written: No such file or directory"):
        write_atomically(tmp_path / "none" / "plans.copa", b"")


def test_text_of_a_newer_pandas_is_read_as_objects_by_an_older_one(monkeypatch):
    arrays = {}
    content = pack_values(pd.Series(["a", "b", None], dtype=object).astype("string"), "x", arrays, "x") | {"na": False}

    class OlderStringDtype:
        def __init__(self, storage):
            self.storage = storage

    monkeypatch.setattr(pd, "StringDtype", OlderStringDtype)
    column = unpack_values(content, "x", arrays)
    assert column.dtype == object
    assert column.tolist()[:2] == ["a", "b"]
    assert column.isna().tolist() == [False, False, True]


def test_certificates_are_built_only_when_asked_for(german, saved):
    loaded = PlanBatch.load(saved)
    assert isinstance(loaded.certificates, Certificates)
    assert isinstance(german[1:].certificates, Certificates)
    assert len(loaded.certificates[1:4]) == 3
    assert loaded.certificates[1:4][0] is None
