"""The command with a forest: from a skops file to plans, proofs, a report and an audit."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.ensemble import RandomForestClassifier

from copa.plans import PlanBatch
from e2e.command_runs import SEARCH, contents, copa, json_of, outputs, refused, stop_after, write_bank
from forged_files import forge
from unit.planner import loans

FIT = ("--target", "paid", "--n-refits", "6", "--guarantee", "0.6", *SEARCH)


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    folder = write_bank(tmp_path_factory.mktemp("bank"))
    pd.read_csv(folder / "people.csv").head(16).to_csv(folder / "people.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def model(bank):
    forest = loans.fitted_pipeline(RandomForestClassifier(10, min_samples_leaf=5, random_state=0))
    skops.io.dump(forest, bank / "forest.skops")
    return forest


@pytest.fixture(scope="module")
def bundle(bank, model):  # noqa: ARG001 - its file is there
    path = bank / "forest.bundle"
    copa("fit", bank / "bank.csv", "--model", bank / "forest.skops", "--schema", bank / "schema.yaml", "-o", path, *FIT)
    return path


@pytest.fixture(scope="module")
def planned(bank, bundle):
    """Plans with proofs and a report."""
    out = bank / "out"
    out.mkdir()
    more = ("-o", out / "r.html", "--group", "town")
    copa("plan", bundle, bank / "people.csv", *outputs(out), *more)
    return out


def test_the_bundle_holds_the_trees_of_the_model_and_its_refits_and_plans_come_from_them(bank, bundle, model, planned):
    with zipfile.ZipFile(bundle) as archive:
        assert json.loads(archive.read("planner.json"))["refits"] == [6, 9]
        assert not any(name.startswith("refits/") for name in archive.namelist())
    batch = PlanBatch.load(planned / "p.copa")
    assert batch.basis.subject == "scores"
    assert batch.n_held_out == 9
    assert (batch.status == "ok").any()
    assert model.predict(batch.options).all()
    people = pd.read_csv(bank / "people.csv")
    assert (batch.status == "already_valid").tolist() == model.predict(people).tolist()


def test_facts_of_the_fit_are_told(bank, bundle, tmp_path):  # noqa: ARG001 - the model's file is there
    model = ("--model", bank / "forest.skops", "--schema", bank / "schema.yaml")
    told = json_of("fit", bank / "bank.csv", *model, "-o", tmp_path / "b", *FIT)
    assert told["radius"] == 0.0
    assert "certified by 9 refits on thirds of the rows" in told["radius_source"]
    assert told["accuracy_on_these_rows"] > 0.7


def test_the_report_is_written(planned):
    page = (planned / "r.html").read_text(encoding="utf-8")
    assert "<html" in page
    assert "held" in page


@pytest.mark.slow
def test_an_interrupted_run_goes_on_to_the_same_bytes(bank, bundle, tmp_path, monkeypatch):
    monkeypatch.setattr("copa.planner.runs.PART_ROWS", 8)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    whole.mkdir()
    parts.mkdir()
    copa("plan", bundle, bank / "people.csv", *outputs(whole))
    with monkeypatch.context() as patch:
        stop_after(patch, 1)
        copa("plan", bundle, bank / "people.csv", *outputs(parts), code=130)
    copa("plan", bundle, bank / "people.csv", *outputs(parts))
    assert contents(parts) == contents(whole)


def test_proofs_and_rows_are_verified(bundle, planned, tmp_path):
    told = copa("verify", planned / "p.copa").stdout
    assert "every bound holds" in told
    assert "recomputed with the formula of their set, which is no independent proof" in told
    assert "the model accepts them as said" in copa("verify", planned / "p.copa", "--bundle", bundle).stdout
    batch = PlanBatch.load(planned / "p.copa")
    cells = batch.options["income"].to_numpy(copy=True)
    cells[0] += 20.0  # another row than the one that was bounded
    batch.options["income"] = cells
    batch.save(tmp_path / "moved.copa")
    told = copa("verify", tmp_path / "moved.copa", "--bundle", bundle, code=1)
    assert "its row is not the one that the certificate is about" in told.stderr


def test_a_fixed_set_is_refused(bank, bundle, tmp_path):  # noqa: ARG001 - the model's file is there
    model = ("--model", bank / "forest.skops", "--schema", bank / "schema.yaml")
    told = copa("fit", bank / "bank.csv", *model, "-o", tmp_path / "b", *FIT, "--moment-ball", "0.3", code=1).stderr
    assert "rest on its held-out refits. Leave it out" in " ".join(told.split())


def test_proofs_by_other_refits_are_not_those_of_the_bundle(bank, bundle, planned, tmp_path):  # noqa: ARG001
    model = ("--model", bank / "forest.skops", "--schema", bank / "schema.yaml")
    copa("fit", bank / "bank.csv", *model, "-o", tmp_path / "b", *FIT, "--n-refits", "4")
    told = copa("verify", planned / "p.copa", "--bundle", tmp_path / "b", code=1)
    assert "the ambiguity set is another one" in told.stderr


def audited(bank, bundle, planned):
    """Who has options: the entry of an audit, and the guarantees that were planned."""
    told = json_of("audit", bundle, planned / "p.csv", "--applicants", bank / "people.csv", "--id", "name")
    batch = PlanBatch.load(planned / "p.copa")
    by_name = {entry["applicant"]: entry for entry in told["applicants"]}
    own = [i for i in range(len(batch)) if batch.counts[i] > 0]
    assert len(own) > 3
    return [(by_name[batch.applicants.index[i]], batch.option_lower[batch.owner == i]) for i in own]


def test_an_audit_bounds_the_same_rows_alike(bank, bundle, planned):
    for entry, lower in audited(bank, bundle, planned):
        np.testing.assert_allclose(entry["each"], lower, atol=1e-9)
        assert entry["breaks_first"] is None  # what refits said is counted: there is no worst case


@pytest.mark.slow
def test_a_correction_is_delivered_as_the_planner_makes_it(bank, bundle, model, planned, tmp_path):
    given = (planned / "p.csv", "--applicants", bank / "people.csv", "--id", "name")
    copa("correct", bundle, *given, "-o", tmp_path / "c.copa", "--guarantee", "0.75", "-o", tmp_path / "r.html")
    after, before = PlanBatch.load(tmp_path / "c.copa"), PlanBatch.load(planned / "p.copa")
    assert model.predict(after.options).all()
    assert (after.lower >= before.lower - 1e-9).all()
    assert (after.lower > before.lower + 1e-3).any()
    line = refused("correct", bundle, *given, "-o", tmp_path / "d.csv", "--method", "mahalanobis", code=1)
    assert "method='level'" in line


def test_a_refit_that_was_put_beside_the_trees_is_refused(bank, bundle, tmp_path):
    """With every digest made anew."""
    foreign = {"refits/0000.skops": skops.io.dumps({"run": json.loads})}
    forge(bundle, tmp_path / "b", lambda contents: contents.update(foreign))
    line = refused("plan", tmp_path / "b", bank / "people.csv", "-o", tmp_path / "p.csv", code=1)
    assert "not a bundle, or is damaged" in line
