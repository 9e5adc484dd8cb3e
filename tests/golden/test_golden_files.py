"""Files of earlier releases load for ever, and say what they said: none of them is ever written again."""

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest

import copa
from copa import FeatureSchema, PlanBatch
from copa.letters import LetterWriter
from copa.planner.bundle import load_bundle
from copa.plans.document import claims_of_batch, claims_of_document, require_document
from copa.plans.storage import read_parts
from golden import golden_planners as golden

SAME = {"rtol": 0.0, "atol": 1e-9}  # other compilers and processors round otherwise
ALWAYS = [name for name in golden.SETTINGS if name not in golden.STORED_BY_SKOPS]
with_the_scikit_learn_of_the_file = pytest.mark.skipif(
    not golden.same_scikit_learn(), reason="parts of scikit-learn in a file are for the version that wrote them"
)
PLANNERS = [*ALWAYS, *(pytest.param(name, marks=with_the_scikit_learn_of_the_file) for name in golden.STORED_BY_SKOPS)]
BUNDLES = ["linear", "forest"]
# Since 0.5.0 options differ in what a person does, and change fewer columns (the changelog says why): what it plans
# from the files of 0.3.0 is kept beside them, written once by `make_golden.py replanned`. The guarantee of every row is
# as it was.


@cache
def loaded_planner(name):
    return copa.RecoursePlanner.load(golden.FOLDER / f"{name}.planner", golden.stored_model(name))


def expected_plans(name):
    return PlanBatch.load(golden.FOLDER / f"{name}.plans")


def planned_today(name):
    """The plans that a planner of an old file makes since another release chooses otherwise."""
    return PlanBatch.load(golden.REPLANNED / f"{name}.plans")


def require_same_rows(found, expected):
    """The same cells, whatever the dtypes that hold them are called in the pandas at hand."""
    assert list(found.columns) == list(expected.columns)
    for name in expected:
        assert found[name].tolist() == expected[name].tolist(), name


def require_same_plans(found, expected):
    require_same_rows(found.options, expected.options)
    assert found.status.tolist() == expected.status.tolist()
    for name in ("option_lower", "any_lower", "lower", "effort"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), **SAME)


@pytest.mark.parametrize("name", PLANNERS)
def test_a_saved_planner_has_its_settings_and_plans_as_it_did(name):
    planner, expected = loaded_planner(name), expected_plans(name)[:2]  # no plan depends on the others
    assert planner.schema_.names == golden.SCHEMA.names
    for setting, value in golden.SETTINGS[name].items():
        if setting != "radius":
            assert getattr(planner, setting) == value, setting
    require_same_plans(planner.plan(expected.applicants), planned_today(name))


@pytest.mark.parametrize("name", PLANNERS[:-1])  # LIME judges no plans but its own
def test_a_saved_planner_finds_the_guarantees_that_were_promised(name):
    """Whatever becomes of the search: the same rows, judged anew."""
    expected = expected_plans(name)
    audited = loaded_planner(name).audit(expected)
    np.testing.assert_allclose(audited.ambiguity.mean, expected.ambiguity.mean, **SAME)
    np.testing.assert_allclose(audited.option_lower, expected.option_lower, **SAME)
    assert audited.accepted.tolist() == expected.accepted.tolist()


@pytest.mark.parametrize("name", golden.SETTINGS)
def test_saved_plans_hold_what_their_document_says_and_their_proofs_hold(name):
    batch = expected_plans(name)
    document = json.loads((golden.FOLDER / f"{name}_plans.json").read_text())
    require_document(document)
    pairs = list(zip(claims_of_batch(batch), claims_of_document(document), strict=True))
    assert len(pairs) == len(batch) == 4
    for saved, told in pairs:
        assert (saved.label, saved.status, saved.violations(), told.violations()) == (told.label, told.status, [], [])
        np.testing.assert_array_equal(saved.option_lower, told.option_lower)


@with_the_scikit_learn_of_the_file
@pytest.mark.parametrize("name", BUNDLES)
def test_a_bundle_of_the_command_plans_as_it_did(name):
    bundle = load_bundle(golden.FOLDER / f"{name}.bundle")
    (expected,) = read_parts(PlanBatch, golden.FOLDER / f"{name}_command.copa")
    assert bundle.facts["label"] == golden.LABEL
    require_same_plans(bundle.planner.plan(expected.applicants), planned_today(f"{name}_command"))


@pytest.mark.parametrize("name", BUNDLES)
def test_plans_of_the_command_are_read_by_all_who_read_plans(name):
    path = golden.FOLDER / f"{name}_command.copa"
    whole = PlanBatch.load(path)
    table = pd.read_csv(path.with_suffix(".csv"))
    np.testing.assert_allclose(whole.option_lower, table["option_guarantee"].dropna(), rtol=1e-9)


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_a_schema_file_is_the_schema(suffix):
    assert FeatureSchema.load(golden.FOLDER / f"schema.{suffix}") == golden.SCHEMA


def test_reasons_from_an_old_planner_say_what_it_lacks():
    planner = loaded_planner("linear")
    plans = planner.plan(expected_plans("linear").applicants.iloc[:3])
    with pytest.raises(copa.InvalidInputError, match=r"saved by an earlier version of copa\. Fit it again"):
        planner.letter(plans.select(plans.counts > 0)[0])
    with pytest.raises(copa.InvalidInputError, match="saved by an earlier version"):  # before anything is planned
        LetterWriter(planner.fitted_)
