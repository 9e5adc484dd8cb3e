"""Saved claims against their proofs: what is true passes, whatever is changed does not, forged digest or not."""

import copy
import json
from dataclasses import replace

import numpy as np
import pytest

import copa
from copa.plans import PlanBatch
from copa.plans.document import claims_of_batch, claims_of_document, document_digest, require_document
from unit.plans.plan_batches import german_batch


@pytest.fixture(scope="module")
def batch():
    return german_batch()


@pytest.fixture(scope="module")
def document(batch):
    return json.loads(batch.to_json(certificates=True))


def violations(claims):
    return [violation for claim in claims for violation in claim.violations()]


def raised(array, row, by):
    changed = array.copy()
    changed[row] += by
    return changed


def test_what_a_batch_claims_is_proven(batch):
    assert violations(claims_of_batch(batch)) == []


def test_what_a_document_claims_is_proven(document):
    require_document(document)
    assert violations(claims_of_document(document)) == []
    assert sum(len(claim.option_lower) for claim in claims_of_document(document)) == 6


@pytest.mark.parametrize(
    ("name", "row", "by", "words"),
    [
        ("lower", 0, 1e-6, "all options: holds with at least"),
        ("any_lower", 0, 1e-6, "at least one option: holds with at least"),
        ("option_lower", 1, 1e-6, "option 2: at least"),
        ("option_weights", 1, 1e-3, "option 2: the weight"),
        ("upper", 2, -0.2, "all options: at most"),
        ("gap", 0, -1e-3, "the gap"),
    ],
)
def test_a_number_that_promises_more_is_a_violation(batch, name, row, by, words):
    false = replace(batch, **{name: raised(getattr(batch, name), row, by)})
    assert any(violation.startswith(words) for violation in violations(claims_of_batch(false)))


def test_a_status_that_the_numbers_do_not_bear_out_is_a_violation(batch):
    asking = replace(batch, request=replace(batch.request, guarantee=0.999))
    assert any("the status is ok, but each has" in violation for violation in violations(claims_of_batch(asking)))


def test_a_status_that_there_is_not_is_a_violation(document):
    forged = copy.deepcopy(document)
    forged["applicants"][0]["status"] = "approved"
    assert violations(claims_of_document(forged)) == [
        "the status is 'approved', which is none of those that plans have"
    ]


def test_options_without_a_certificate_are_a_violation(batch):
    claims = [replace(claim, certificate=None) for claim in claims_of_batch(batch)]
    assert set(violations(claims)) == {"there is no certificate for its options"}


def test_claims_of_other_options_are_a_violation(batch):
    shifted = batch.points * np.linspace(0.5, 1.5, batch.points.shape[1])
    assert violations(claims_of_batch(replace(batch, points=shifted))) != []


CHANGES = [
    lambda d: d["applicants"][0].update(all=d["applicants"][0]["all"] + 1e-12),
    lambda d: d["applicants"][0]["options"][0].update(guarantee=0.99),
    lambda d: d["applicants"][0]["options"][0]["changes"][0].update(to=1),
    lambda d: d["applicants"][0]["factual"].update(age=99),
    lambda d: d["applicants"][0]["certificate"]["points"][0].__setitem__(1, 0.125),
    lambda d: d["applicants"][3].update(message=""),
    lambda d: d["ambiguity"].update(radius=0.01),
    lambda d: d["asked"].update(guarantee=0.9),
    lambda d: d["assumptions"].update(favourable="bad"),
    lambda d: d["applicants"].pop(),
    lambda d: d.update(digest="sha256:0"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_the_digest_of_a_document_notices_every_change(document, change):
    changed = copy.deepcopy(document)
    change(changed)
    with pytest.raises(copa.DataError, match="changed after it was written"):
        require_document(changed)


def test_a_forged_digest_does_not_hide_a_false_claim(document):
    forged = copy.deepcopy(document)
    forged["applicants"][0]["options"][0]["guarantee"] = 0.999
    forged["digest"] = document_digest(forged)
    require_document(forged)
    assert any(
        "option 1: at least 0.999 is claimed" in violation for violation in violations(claims_of_document(forged))
    )


def test_claims_of_a_larger_ball_than_the_one_proven_for_are_violations(document):
    forged = copy.deepcopy(document)
    forged["ambiguity"]["radius"] = 0.5
    assert violations(claims_of_document(forged)) != []


def test_a_document_without_certificates_proves_nothing(batch):
    plain = json.loads(batch.to_json())
    require_document(plain)
    with pytest.raises(copa.DataError, match="holds no certificates"):
        violations(claims_of_document(plain))


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["ambiguity"].pop("mean"),
        lambda d: d["ambiguity"].update(cov=[[1.0]]),
        lambda d: d["applicants"][0]["certificate"].pop("blocks"),
        lambda d: d["applicants"][0]["certificate"].update(matrix="x"),
        lambda d: d["applicants"].__setitem__(0, 7),
        lambda d: d["applicants"][0].update(all=None),
    ],
)
def test_a_damaged_document_is_a_data_error(document, change):
    damaged = copy.deepcopy(document)
    change(damaged)
    with pytest.raises(copa.DataError, match="damaged"):
        violations(claims_of_document(damaged))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "cake"}, "not a document of plans"),
        ({"version": 9}, "version 9 of the document cannot be read, only 1; update COPA"),
        ({"applicants": None}, "no list of applicants"),
    ],
)
def test_other_documents_are_named(document, change, words):
    with pytest.raises(copa.DataError, match=words):
        require_document(document | change)


def test_claims_survive_saving(batch, tmp_path):
    batch.save(tmp_path / "plans.copa")
    assert violations(claims_of_batch(PlanBatch.load(tmp_path / "plans.copa"))) == []
