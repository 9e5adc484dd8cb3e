"""Bundles and proofs that were changed: noticed, named, and nothing in them is run."""

import io
import json
from dataclasses import replace

import numpy as np
import pytest
import skops.io

from copa._core.formats import digest_of
from copa.planner.bundle import load_bundle
from copa.plans import PlanBatch
from e2e.command_runs import FIT, copa, refused
from e2e.foreign_models import Spy, numbers_only
from forged_files import forge, members, rewritten


@pytest.fixture(scope="module")
def proofs(bank, bundle):
    copa("plan", bundle, bank / "people.csv", "-o", bank / "p.csv", "-o", bank / "proofs.copa")
    copa("plan", bundle, bank / "people.csv", "-o", bank / "p.csv", "-o", bank / "proofs.json")
    return bank


def plan_refused(bundle, bank, tmp_path):
    return refused("plan", bundle, bank / "people.csv", "-o", tmp_path / "p.csv", code=1)


def test_a_bundle_of_a_newer_version_says_to_update(bank, bundle, tmp_path):
    content = members(bundle)
    newer = json.loads(content["planner.json"]) | {"version": 2}
    content["planner.json"] = json.dumps(newer).encode()
    line = plan_refused(rewritten(tmp_path / "newer", content), bank, tmp_path)
    assert "it has version 2 of the format copa-bundle, and this copa reads 1; update copa-recourse" in line


def test_a_tampered_member_of_a_bundle_is_named(bank, bundle, tmp_path):
    content, name = members(bundle), "model.skops"
    content[name] = content[name][:-1] + bytes([content[name][-1] ^ 1])
    line = plan_refused(rewritten(tmp_path / "b", content), bank, tmp_path)
    assert f"its member {name} was changed after it was saved" in line


def test_tampered_content_is_noticed(bank, bundle, tmp_path):
    content = members(bundle)
    manifest = json.loads(content["planner.json"])
    manifest["kinds"]["debt"] = "text"
    line = plan_refused(rewritten(tmp_path / "b", content | {"planner.json": json.dumps(manifest)}), bank, tmp_path)
    assert "its content was changed after it was saved" in line


def test_other_files_are_no_bundles(bank, tmp_path):
    (tmp_path / "b").write_text("hello")
    assert "is not a bundle, or is damaged" in plan_refused(tmp_path / "b", bank, tmp_path)


def test_a_forged_bundle_with_a_foreign_model_runs_nothing(bank, bundle, tmp_path, monkeypatch):
    foreign = {"model.skops": skops.io.dumps(numbers_only(Spy()))}
    forged = forge(bundle, tmp_path / "b", lambda contents: contents.update(foreign))
    monkeypatch.setattr(Spy, "__init__", lambda _: pytest.fail("made a foreign object"))
    assert "types that are not trusted" in plan_refused(forged, bank, tmp_path)


def test_a_raised_bound_is_refused(proofs, tmp_path):
    outer = members(proofs / "proofs.copa")
    inner = members(outer["part-000000.copa"])
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
    data = (bank / "bank.csv", "--target", "paid", "--schema", bank / "schema.yaml")
    copa("fit", *data, "-o", tmp_path / "b", *FIT, "--moment-ball", "0.1")
    result = copa("verify", proofs / "proofs.copa", "--bundle", tmp_path / "b", code=1)
    assert "the ambiguity set is another one" in result.stderr


def test_rows_that_are_not_those_of_the_proofs_are_found_with_the_bundle(proofs, bundle, tmp_path):
    batch = PlanBatch.load(proofs / "proofs.copa")
    replace(batch, options=batch.options.assign(debt=batch.options["debt"] + 1)).save(tmp_path / "p.copa")
    copa("verify", tmp_path / "p.copa")
    result = copa("verify", tmp_path / "p.copa", "--bundle", bundle, code=1)
    assert "its row is not the one that the certificate is about" in result.stderr


def certified_anew(proofs, bundle, path, **changes):
    """Plans with other rows, proven again and declared to be fine: all that a forger who has the bundle can do."""
    batch = PlanBatch.load(proofs / "proofs.copa")
    kept = batch.select(np.flatnonzero(batch.counts > 0)[:3])
    options = kept.options.assign(**{name: change(kept.options[name]) for name, change in changes.items()})
    planner = load_bundle(bundle).planner
    forged = planner.audit(replace(kept, options=options))
    status = np.where(forged.status == "infeasible", "ok", forged.status)
    request = replace(forged.request, guarantee=1e-9)
    replace(forged, status=status, message=np.full(len(forged), ""), request=request).save(path)
    return path


def test_options_that_the_bundles_schema_forbids_are_found_though_they_are_proven(proofs, bundle, tmp_path):
    forged = certified_anew(proofs, bundle, tmp_path / "p.copa", age=lambda ages: ages + 20)
    assert "every bound holds" in copa("verify", forged).stdout
    result = copa("verify", forged, "--bundle", bundle, code=1)
    assert ", option 1: breaks the schema: age: is immutable at " in result.stderr
    assert "every bound" not in result.stdout
    told = json.loads(copa("verify", forged, "--bundle", bundle, "--json", code=1).stdout)
    assert told["proven"] is False
    assert all("breaks the schema" in fault for fault in told["faults"])
    assert sum("age: is immutable" in fault for fault in told["faults"]) == told["options"]


def test_a_schema_of_the_forgers_own_does_not_help(proofs, bundle, tmp_path):
    forged = PlanBatch.load(certified_anew(proofs, bundle, tmp_path / "p.copa", age=lambda ages: ages + 20))
    lenient = replace(forged.basis, schema=forged.basis.schema.replace({"age": {"immutable": False}}))
    replace(forged, basis=lenient).save(tmp_path / "q.copa")
    result = copa("verify", tmp_path / "q.copa", "--bundle", bundle, code=1)
    assert "the terms are not those of the bundle: schema differ" in result.stderr
    assert "breaks the schema: age: is immutable" in result.stderr


def test_plans_of_another_answer_are_not_those_of_the_bundle(proofs, bundle, tmp_path):
    batch = PlanBatch.load(proofs / "proofs.copa")
    replace(batch, basis=replace(batch.basis, favourable="False")).save(tmp_path / "p.copa")
    result = copa("verify", tmp_path / "p.copa", "--bundle", bundle, code=1)
    assert "the terms are not those of the bundle: favourable differ" in result.stderr


def test_options_that_the_model_refuses_are_not_ok(proofs, bundle, tmp_path):
    forged = certified_anew(proofs, bundle, tmp_path / "p.copa", income=lambda incomes: 0.0 * incomes)
    result = copa("verify", forged, "--bundle", bundle, code=1)
    assert "option 1: the model does not accept it, and the status is ok" in result.stderr


def test_applicants_who_are_declined_do_not_become_valid_by_a_word(proofs, bundle, tmp_path):
    batch = PlanBatch.load(proofs / "proofs.copa")
    declined = batch.select(np.flatnonzero(batch.counts > 0)[:1])
    none = replace(declined, options=declined.options.iloc[:0], **emptied(declined))
    none.save(tmp_path / "p.copa")
    result = copa("verify", tmp_path / "p.copa", "--bundle", bundle, code=1)
    assert "the model does not accept the row, and the status is already_valid" in result.stderr


def emptied(batch):
    """The fields of a batch that has lost its options."""
    fields = {name: getattr(batch, name)[:0] for name in batch.columns("option") if name != "options"}
    return fields | {"status": np.array(["already_valid"]), "message": np.array([""])}


def test_an_honest_audit_of_forbidden_options_is_no_forgery(proofs, bundle, tmp_path):
    batch = PlanBatch.load(proofs / "proofs.copa")
    replace(batch, options=batch.options.assign(age=batch.options["age"] + 20)).save(tmp_path / "p.copa")
    copa("audit", bundle, tmp_path / "p.copa", "--guarantee", "0.5", "-o", tmp_path / "a.copa")
    assert (PlanBatch.load(tmp_path / "a.copa").status == "infeasible").any()
    copa("verify", tmp_path / "a.copa", "--bundle", bundle)


def test_the_bundle_of_a_linear_model_holds_rows_of_its_training_data_in_a_coarse_form_only(bundle):
    """As docs/validator.md says."""
    inner = members(bundle)
    assert set(inner) == {"planner.json", "arrays.npz", "model.skops"}
    with np.load(io.BytesIO(inner["arrays.npz"])) as arrays:
        n_parameters = len(arrays["theta"])
        coarse = {f"plausibility/{name}" for name in ("rows", "centres", "scales")}
        typical = {name for name in arrays.files if name.startswith("accepted_row/")}  # medians and frequent levels
        assert set(arrays.files) <= {"theta", "mean", "cov", "directions", "drift", "thirds"} | coarse | typical
        assert all(len(arrays[name]) == 1 for name in typical if "/columns/" not in name)
        parameters = set(arrays.files) - coarse - typical
        assert all(arrays[name].shape[-1] == n_parameters for name in parameters)
        own = parameters - {"thirds"}  # these are parameters, a row for each refit
        assert max(len(arrays[name]) for name in own) < 20  # of 300 people
        rows = arrays["plausibility/rows"]
        assert rows.dtype.kind == "i"
        assert len(np.unique(rows[:, 0])) < 120  # parts of a spread, up to three spreads to either side
