"""Files of COPA that someone has changed to do harm: each is refused by its typed error, early, and leaves nothing."""

import io
import json
import struct
import tempfile
import tracemalloc
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd
import pytest
import skops
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import copa
from copa import PlanBatch
from copa._core import archive
from copa._core.formats import digest_of
from copa.data.tables.casting import template_of
from copa.exceptions import DataError, InvalidInputError, MissingPackageError
from copa.models.storage import pack_estimator, unpack_estimator
from copa.planner.bundle import load_bundle, save_bundle
from copa.plans.writers import plans_into
from forged_files import forge, members, zipped

ZEROS = bytes(64 * archive.MEGABYTE)


def bank():
    """A small table of applicants with a column of text, and who paid."""
    rng = np.random.default_rng(0)
    job = rng.choice(["clerk", "driver", "nurse"], size=200)
    table = pd.DataFrame(
        {"income": rng.normal(40.0, 12.0, 200).round(1), "debt": rng.normal(20.0, 8.0, 200), "job": job}
    )
    return table, table["income"] - table["debt"] + 8.0 * (job == "nurse") + rng.normal(0.0, 8.0, 200) > 22.0


@pytest.fixture(scope="module")
def model():
    X, y = bank()
    encoder = ColumnTransformer([("numbers", StandardScaler(), ["income", "debt"]), ("job", OneHotEncoder(), ["job"])])
    return make_pipeline(encoder, LogisticRegression()).fit(X, y)


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    """Good files of every kind, each loaded once, so that no test below measures what is imported."""
    X, y = bank()
    folder = tmp_path_factory.mktemp("good")
    settings = {
        "later_models": copa.LaterModels(n_refits=50),
        "n_options": 3,
        "n_starts": 8,
        "guarantee": 0.8,
        "random_state": 0,
        "n_jobs": 1,
    }
    planner = copa.RecoursePlanner(model, **settings, progress=False).fit(X, y)
    planner.save(folder / "good.planner")
    plans = planner.plan(X[~model.predict(X)].head(4))
    plans.save(folder / "good.plans")
    with plans_into(folder / "parts.copa") as writer:
        writer.add(plans)
    (folder / "model.skops").write_bytes(pack_estimator(model))
    template = template_of(dict.fromkeys(planner.strategy_.model.columns, "text"))
    save_bundle(folder / "good.bundle", planner, template, {"label": "paid"})
    copa.RecoursePlanner.load(folder / "good.planner", model)
    PlanBatch.load(folder / "parts.copa")
    load_bundle(folder / "good.bundle")
    return folder


@pytest.fixture
def bundle(folder):
    return folder / "good.bundle"


def forged_bundle(bundle, path, change):
    """A bundle with its members changed, all digests made anew as a forger would."""
    return forge(bundle, path, change)


def forged_planner(folder, path, change):
    """The good planner with its members changed."""
    return forge(folder / "good.planner", path, change)


def changed_json(contents, name, change):
    content = json.loads(contents[name])
    change(content)
    contents[name] = json.dumps(content).encode()


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def huge_array(name):
    """An .npz file of few bytes whose array has ten billion entries, if it is believed."""
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000,), }\n"
    return zipped({f"{name}.npy": b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head})


class Cheap:
    """Measures what happens inside: it must take neither time nor memory."""

    def __enter__(self):
        tracemalloc.start()
        self.begin = perf_counter()
        return self

    def __exit__(self, *_):
        seconds, peak = perf_counter() - self.begin, tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert seconds < 5.0
        assert peak < 48 * archive.MEGABYTE


def bomb_in_an_unknown_member(contents):
    contents["notes"] = ZEROS


def bomb_in_the_refits(contents):
    contents["refits/0000.skops"] = ZEROS


def bomb_in_the_arrays(contents):
    contents["arrays.npz"] = npz(mean=np.zeros(2**23))


def bomb_in_layers(contents):
    """Each member is within the limits of the file; all of them together are not."""
    contents |= {f"refits/{k:04d}.skops": ZEROS[: 9 * archive.MEGABYTE] for k in range(4)}


def bomb_in_the_model(contents):
    model = members(contents["model.skops"])
    name = next(name for name in model if name.endswith(".npy"))
    contents["model.skops"] = zipped(model | {name: ZEROS})


def bomb_by_naming_a_part_of_the_model_many_times(contents):
    model = members(contents["model.skops"])
    name = next(name for name in model if name.endswith(".npy"))
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(2**17))
    part = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode", "type": "numpy", "file": name}
    changed_json(model, "schema.json", lambda schema: schema["content"].update(more=[part] * 1000))
    contents["model.skops"] = zipped(model | {name: buffer.getvalue()})


def bomb_in_the_json(contents):
    changed_json(contents, "planner.json", lambda manifest: manifest["facts"].update(a=[{}] * 2_000_000))


@pytest.mark.parametrize(
    "bomb",
    [
        bomb_in_an_unknown_member,
        bomb_in_the_refits,
        bomb_in_the_arrays,
        bomb_in_layers,
        bomb_in_the_model,
        bomb_by_naming_a_part_of_the_model_many_times,
        bomb_in_the_json,
    ],
    ids=lambda bomb: bomb.__name__,
)
def test_a_small_bundle_that_inflates_is_refused_early(bundle, tmp_path, bomb):
    path = forged_bundle(bundle, tmp_path / "bomb.bundle", bomb)
    assert path.stat().st_size < 120_000
    with Cheap(), pytest.raises(DataError, match=r"MB in memory|which no file of this kind does|bytes, and at most"):
        load_bundle(path)


@pytest.mark.parametrize("name", ["notes.txt", "../../evil.py", "/etc/cron.d/evil", "refits/../evil"])
def test_a_member_that_a_bundle_does_not_have_refuses_it_and_nothing_is_written(bundle, tmp_path, name):
    path = forged_bundle(bundle, tmp_path / "b.bundle", lambda contents: contents.update({name: b"evil"}))
    with pytest.raises(DataError, match="which no file of this kind does"):
        load_bundle(path)
    assert [file.name for file in tmp_path.iterdir()] == ["b.bundle"]


def test_an_array_that_declares_more_than_there_is_is_refused(folder, model, tmp_path):
    path = forged_planner(folder, tmp_path / "p", lambda contents: contents.update({"arrays.npz": huge_array("mean")}))
    with Cheap(), pytest.raises(DataError, match="declares 10000000000 entries"):
        copa.RecoursePlanner.load(path, model)


def test_a_part_of_a_model_that_declares_more_than_there_is_is_refused(bundle, tmp_path):
    def change(contents):
        model = members(contents["model.skops"])
        name = next(name for name in model if name.endswith(".npy"))
        contents["model.skops"] = zipped(model | {name: members(huge_array("a"))["a.npy"]})

    path = forged_bundle(bundle, tmp_path / "b.bundle", change)
    with Cheap(), pytest.raises(DataError, match="declares 10000000000 entries"):
        load_bundle(path)


def test_an_index_that_claims_more_applicants_than_there_are_is_refused(folder, tmp_path):
    contents = members((folder / "good.plans").read_bytes())

    def change(content):
        for table in ("applicants", "options"):
            content[table] |= {"index": {"kind": "range", "names": [None], "range": [0, 10**12, 1]}, "cells": []}
            content[table]["columns"] = {"kind": "range", "names": [None], "range": [0, 0, 1]}

    changed_json(contents, "plans.json", change)
    arrays = archive.read_arrays(contents["arrays.npz"], ".+")
    changed_json(contents, "plans.json", lambda content: content.update(digest=digest_of(content, arrays)))
    (tmp_path / "plans.copa").write_bytes(zipped(contents))
    with Cheap(), pytest.raises(DataError, match="damaged"):
        PlanBatch.load(tmp_path / "plans.copa")


def test_json_that_grows_when_it_is_parsed_is_refused_early(tmp_path):
    contents = {"plans.json": b"[" + b"{}," * 5_000_000 + b"{}]"}
    contents["arrays.npz"] = np.random.default_rng(0).bytes(140_000)  # which makes the budget larger
    path = tmp_path / "plans.copa"
    path.write_bytes(zipped(contents))
    assert path.stat().st_size < 165_000
    with Cheap(), pytest.raises(DataError, match=r"with what plans\.json holds it takes 1,\d\d\d MB in memory"):
        PlanBatch.load(path)


@pytest.mark.parametrize(
    ("file", "name", "load"),
    [
        ("good.planner", "planner.json", copa.RecoursePlanner.load),
        ("good.bundle", "planner.json", load_bundle),
        ("good.plans", "plans.json", PlanBatch.load),
        ("parts.copa", "parts.json", PlanBatch.load),
    ],
)
def test_deep_json_in_any_file_is_refused(folder, tmp_path, file, name, load):
    raw = (folder / file).read_bytes()
    (tmp_path / "deep").write_bytes(zipped(members(raw) | {name: "[" * 50_000}))
    with Cheap(), pytest.raises(DataError, match="nested too deeply"):
        load(tmp_path / "deep")


def test_deep_json_documents_are_refused(folder, model, tmp_path):
    (tmp_path / "deep.json").write_text('{"format": "copa-plans", "a": ' + "[" * 50_000)
    planner = copa.RecoursePlanner.load(folder / "good.planner", model)
    with pytest.raises(InvalidInputError, match="nested too deeply"):
        planner.audit(tmp_path / "deep.json")


def test_a_bundle_is_loaded_without_a_file_in_between(bundle, monkeypatch):
    def refuse(*_, **__):
        pytest.fail("a temporary file was made")

    for name in ("mkdtemp", "mkstemp", "TemporaryFile", "NamedTemporaryFile", "TemporaryDirectory"):
        monkeypatch.setattr(tempfile, name, refuse)
    for name in ("write_bytes", "write_text"):
        monkeypatch.setattr(Path, name, refuse)
    assert load_bundle(bundle).planner.n_options == 3


@pytest.mark.parametrize("version", ["0.11.0", "0.9", "0.11.0.post1", "0.13.0"])
def test_a_skops_that_is_older_than_the_declared_one_is_not_used(folder, bundle, monkeypatch, version):
    monkeypatch.setattr(skops, "__version__", version)
    told = rf"requires skops 0\.14 or newer, and {version} is installed: pip install --upgrade"
    with pytest.raises(MissingPackageError, match=told):
        unpack_estimator((folder / "model.skops").read_bytes())
    with pytest.raises(MissingPackageError, match=told):
        load_bundle(bundle)


def test_kinds_of_columns_and_terms_of_a_newer_version_name_it(folder, bundle, tmp_path):
    def newer(content, part, **more):
        content[part].update(more)
        content["made_with"] = {"copa": "0.9.0", "scikit-learn": "1.9"}

    path = forged_bundle(
        bundle,
        tmp_path / "b",
        lambda contents: changed_json(contents, "planner.json", lambda c: newer(c, "kinds", income="money")),
    )
    with pytest.raises(DataError, match=r"written by COPA 0\.9\.0, with the kind of column 'money'"):
        load_bundle(path)
    contents = members((folder / "good.plans").read_bytes())
    changed_json(contents, "plans.json", lambda content: newer(content, "request", certainty=0.95))
    (tmp_path / "plans.copa").write_bytes(zipped(contents))
    with pytest.raises(
        DataError, match=r"plans\.copa: it was written by COPA 0\.9\.0, with the entry of the request 'certainty'"
    ):
        PlanBatch.load(tmp_path / "plans.copa")


@pytest.mark.parametrize(
    "row",
    [
        {},
        [],
        {"index": {"kind": "range", "names": [None], "range": [0, 10**12, 1]}, "columns": None, "cells": []},
        {
            "index": {"kind": "range", "names": [None], "range": [0, 1, 1]},
            "columns": {"kind": "range", "names": [None], "range": [0, 0, 1]},
            "cells": [],
        },
    ],
)
def test_a_forged_row_that_reasons_compare_with_is_refused(folder, model, tmp_path, row):
    def change(contents):
        changed_json(contents, "planner.json", lambda content: content.update({"accepted_row": row}))

    path = forged_planner(folder, tmp_path / "p", change)
    with pytest.raises(DataError, match="damaged"):
        copa.RecoursePlanner.load(path, model)
