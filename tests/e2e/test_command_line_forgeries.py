"""Bundles and proofs that were changed: noticed, named, and nothing in them is run."""

import io
import json
import zipfile

import numpy as np
import pytest
import skops.io

from copa.models.stored.estimators import DATA_TYPES
from copa.plans.digests import digest_of
from e2e.command_runs import FIT, copa, fit_bank, refused, write_bank
from e2e.foreign_models import Spy, numbers_only


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    return write_bank(tmp_path_factory.mktemp("bank"))


@pytest.fixture(scope="module")
def bundle(bank):
    return fit_bank(bank)


@pytest.fixture(scope="module")
def proofs(bank, bundle):
    copa("plan", bundle, bank / "people.csv", "-o", bank / "p.csv", "--certificates", bank / "proofs.copa")
    copa("plan", bundle, bank / "people.csv", "-o", bank / "p.csv", "--certificates", bank / "proofs.json")
    return bank


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewritten(path, content):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return path


def plan_refused(bundle, bank, tmp_path):
    return refused("plan", bundle, bank / "people.csv", "-o", tmp_path / "p.csv", code=1)


def test_a_bundle_of_a_newer_version_says_to_update(bank, bundle, tmp_path):
    content = members(bundle)
    newer = json.loads(content["manifest.json"]) | {"version": 2}
    content["manifest.json"] = json.dumps(newer).encode()
    line = plan_refused(rewritten(tmp_path / "newer", content), bank, tmp_path)
    assert "it has version 2 of the format, and this copa reads version 1; update copa-recourse" in line


@pytest.mark.parametrize("name", ["planner.zip", "model.skops"])
def test_a_tampered_member_of_a_bundle_is_named(bank, bundle, tmp_path, name):
    content = members(bundle)
    content[name] = content[name][:-1] + bytes([content[name][-1] ^ 1])
    line = plan_refused(rewritten(tmp_path / "b", content), bank, tmp_path)
    assert f"its member {name} was changed after it was written" in line


def test_a_tampered_manifest_is_noticed(bank, bundle, tmp_path):
    content = members(bundle)
    manifest = json.loads(content["manifest.json"])
    manifest["kinds"]["debt"] = "text"
    line = plan_refused(rewritten(tmp_path / "b", content | {"manifest.json": json.dumps(manifest)}), bank, tmp_path)
    assert "its manifest was changed after it was written" in line


def test_other_files_are_no_bundles(bank, tmp_path):
    (tmp_path / "b").write_text("hello")
    assert "is not a bundle, or is damaged" in plan_refused(tmp_path / "b", bank, tmp_path)


def test_a_forged_bundle_with_a_foreign_model_runs_nothing(bank, bundle, tmp_path, monkeypatch):
    import hashlib

    content = members(bundle)
    content["model.skops"] = skops.io.dumps(numbers_only(Spy()))
    manifest = json.loads(content["manifest.json"])
    manifest["members"]["model.skops"] = hashlib.sha256(content["model.skops"]).hexdigest()
    manifest["digest"] = digest_of(manifest, {})
    monkeypatch.setattr(Spy, "__init__", lambda _: pytest.fail("made a foreign object"))
    forged = rewritten(tmp_path / "b", content | {"manifest.json": json.dumps(manifest)})
    assert "types that are not trusted" in plan_refused(forged, bank, tmp_path)


def test_the_types_that_are_trusted_besides_those_of_skops_are_sklearns_and_numpys_own():
    assert all(name.split(".")[0] in ("sklearn", "numpy") for name in DATA_TYPES)


def test_a_tampered_certificate_is_refused(proofs, tmp_path):
    outer = members(proofs / "proofs.copa")
    inner = members(io.BytesIO(outer["part-000000.copa"]))
    with np.load(io.BytesIO(inner["arrays.npz"])) as stored:
        arrays = dict(stored)
    arrays["batch/lower"] = np.minimum(arrays["batch/lower"] + 0.001, 1.0)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    changed = rewritten(tmp_path / "one.copa", inner | {"arrays.npz": buffer.getvalue()})
    assert "changed after it was saved" in refused("verify", changed, code=1)
    # A new digest hides the change, but not that the numbers are not proven.
    told = json.loads(inner["plans.json"])
    told["digest"] = digest_of(told, arrays)
    forged = rewritten(tmp_path / "two.copa", inner | {"arrays.npz": buffer.getvalue(), "plans.json": json.dumps(told)})
    result = copa("verify", forged, code=1)
    assert "all options: holds with at least" in result.stderr
    assert result.stdout == ""


def test_a_tampered_document_of_proofs_is_refused(proofs, tmp_path):
    content = json.loads((proofs / "proofs.json").read_text())
    entry = next(entry for entry in content["applicants"] if entry["options"])
    entry["options"][0]["guarantee"] += 0.0001
    (tmp_path / "t.json").write_text(json.dumps(content))
    assert "changed after it was written" in refused("verify", tmp_path / "t.json", code=1)


def test_proofs_of_another_bundle_are_refused(proofs, bank, tmp_path):
    data = (bank / "bank.csv", "--label", "paid", "--schema", bank / "schema.yaml")
    copa("fit", *data, "-o", tmp_path / "b", *FIT, "--radius", "0.1")
    result = copa("verify", proofs / "proofs.copa", "--bundle", tmp_path / "b", code=1)
    assert "the ball of distributions is another one" in result.stderr


def test_rows_that_are_not_those_of_the_proofs_are_found_with_the_bundle(proofs, bundle, tmp_path):
    from dataclasses import replace

    from copa.plans import PlanBatch

    batch = PlanBatch.load(proofs / "proofs.copa")
    replace(batch, options=batch.options.assign(debt=batch.options["debt"] + 1)).save(tmp_path / "p.copa")
    copa("verify", tmp_path / "p.copa")
    result = copa("verify", tmp_path / "p.copa", "--bundle", bundle, code=1)
    assert "its row is not the one that the certificate is about" in result.stderr
