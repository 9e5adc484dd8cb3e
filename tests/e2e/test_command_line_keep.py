"""`copa keep`: from a model, new data and promises on disk to a model file that keeps them."""

import numpy as np
import pandas as pd
import pytest

from copa.cli.files import load_model
from copa.models.storage import pack_model
from copa.plans import PlanBatch
from copa.plans.storage import read_batches
from e2e.command_runs import copa, fit_bank, json_of, refused, write_bank
from unit.planner import loans


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model, rows of a stricter year, and rows that the model accepts."""
    place = tmp_path_factory.mktemp("keep")
    (place / "old.skops").write_bytes(pack_model(loans.fitted_pipeline()))
    new = loans.people(250, 3)
    stricter = loans.outcomes(new.assign(income=new["income"] - 8.0), seed=4)
    new.assign(paid=stricter).to_csv(place / "new.csv", index=False)
    people = loans.people(120, 5)
    promised = people[loans.fitted_pipeline().predict(people)].head(30)
    promised.to_csv(place / "promised.csv", index=False)
    return place


def arguments(folder, **changes):
    given = {"--promises": folder / "promised.csv", "--target": "paid", "-o": folder / "kept.skops", **changes}
    options = [part for pair in given.items() for part in pair if pair[1] is not None]
    return ["keep", folder / "old.skops", folder / "new.csv", *options]


def test_the_model_that_is_written_accepts_every_promised_row(folder):
    said = copa(*arguments(folder)).stdout
    assert "this model 0 (exact)" in said
    assert "Binding: " in said
    model = load_model(folder / "kept.skops", trust_pickle=False)
    assert model.predict(pd.read_csv(folder / "promised.csv")).all()
    found = json_of(*arguments(folder, **{"--max-broken": "0.1"}))
    assert found["n_broken_after"] <= 3 < found["n_broken_before"]
    assert len(found["path"]) > 0
    assert np.isfinite(found["metrics"]["kept"]["auc"])


def test_wrong_use_is_one_line_and_nothing_is_written(folder):
    out = folder / "none.skops"
    own = {"-o": out}
    assert "say which promises, by --promises or the ledger of $COPA_LEDGER" in refused(
        *arguments(folder, **own, **{"--promises": None}), code=2
    )
    assert "max_broken must be a whole number of promises" in refused(
        *arguments(folder, **own, **{"--max-broken": "few"}), code=2
    )
    assert "do not exist" in refused(*arguments(folder, **own, **{"--promises": folder / "no.csv"}), code=2)
    assert "has no column 'pad'; did you mean 'paid'?" in refused(
        *arguments(folder, **own, **{"--target": "pad"}), code=2
    )
    pd.read_csv(folder / "promised.csv").drop(columns="debt").to_csv(folder / "less.csv", index=False)
    line = refused(*arguments(folder, **own, **{"--promises": folder / "less.csv"}), code=2)
    assert "the promised rows lack the column 'debt' of X" in line
    assert not out.exists()


def test_promises_of_a_model_version_are_kept_at_a_threshold(folder):
    promised = pd.read_csv(folder / "promised.csv")
    versions = ["new"] * 20 + ["old"] * (len(promised) - 20)
    promised.assign(promise_model_version=versions).rename_axis("promise").to_csv(folder / "versions.csv")
    chosen = {"--promises": folder / "versions.csv", "--model-version": "new", "--threshold": "0.6"}
    found = json_of(*arguments(folder, **chosen))
    assert (found["n_promises"], found["n_broken_after"], found["threshold"]) == (20, 0, 0.6)
    model = load_model(folder / "kept.skops", trust_pickle=False)
    assert (model.predict_proba(promised.head(20))[:, 1] >= 0.6).all()
    line = refused(*arguments(folder, **{**chosen, "--model-version": "none"}), code=2)
    assert "no outstanding promise of model version" in line


@pytest.mark.slow
def test_a_bundle_and_the_plans_made_with_it_are_read(folder, tmp_path):
    bundle, plans, proofs = fit_bank(write_bank(tmp_path)), tmp_path / "plans.csv", tmp_path / "proofs.zip"
    copa("plan", bundle, tmp_path / "people.csv", "-o", plans, "-o", proofs)
    (batch,) = read_batches(PlanBatch, proofs)
    for promises in (plans, proofs):
        kept = tmp_path / f"{promises.stem}.skops"
        found = json_of("keep", bundle, folder / "new.csv", "--target", "paid", "--promises", promises, "-o", kept)
        assert found["favourable"] is True
        assert found["n_broken_after"] == 0 < found["n_promises"] == len(batch.options)
        assert load_model(kept, trust_pickle=False).predict(batch.options).all()
