"""Plans in every set and family: files, documents, claims and words."""

import copy
import json

import numpy as np
import pytest

import copa
from copa import PlanBatch
from copa._core.formats import Archive
from copa.plans.document import (
    assumption_violations,
    claims_of_batch,
    claims_of_document,
    document_digest,
    require_document,
)
from copa.plans.storage import PLANS, pack
from copa.plans.wording import around_radius, condition
from copa.theory.sets.ambiguity import MomentBall
from copa.theory.sets.location_set import LocationSet
from unit.plans.plan_batches import german_batch
from unit.theory.bounds.pairs import BUILT_IN

OTHERS = [name for name in BUILT_IN if name != "ball-any"]


@pytest.fixture(scope="module", params=BUILT_IN)
def batch(request):
    return german_batch(read=BUILT_IN[request.param], guarantee=0.5)


def violations(claims):
    return [violation for claim in claims for violation in claim.violations()]


def test_saved_plans_are_the_same_and_proven(batch, tmp_path):
    batch.save(tmp_path / "plans.copa")
    again = PlanBatch.load(tmp_path / "plans.copa")
    assert again.ambiguity.same_as(batch.ambiguity)
    np.testing.assert_array_equal(again.option_lower, batch.option_lower)
    assert violations(claims_of_batch(again)) == []
    assert pack(again) == pack(batch)
    assert again[0].explain() == batch[0].explain()


def test_a_document_is_proven_and_says_what_it_assumes(batch):
    content = json.loads(batch.to_json(certificates=True))
    require_document(content)
    assert violations(claims_of_document(content)) == []
    assert list(assumption_violations(content)) == []
    assert batch.ambiguity.in_words() in content["assumptions"]["in_words"]
    exact = isinstance(batch.ambiguity, MomentBall) and batch.ambiguity.family == "any"
    assert ("family" in content["assumptions"]) != exact


@pytest.mark.parametrize("name", OTHERS)
def test_a_false_assumption_beside_the_certificates_is_a_violation(name):
    content = json.loads(german_batch(read=BUILT_IN[name]).to_json(certificates=True))
    for key, value in (("family", "another"), ("radius", 0.5), ("kind", "another"), ("drift", True)):
        forged = copy.deepcopy(content)
        forged["assumptions"][key] = value
        forged["digest"] = document_digest(forged)
        require_document(forged)
        (found,) = assumption_violations(forged)
        assert f"the assumptions say {key} {value!r}, the certificates are about" in found


@pytest.mark.parametrize("name", ["ball-unimodal", "location-unimodal", "one at a time-unimodal"])
def test_claims_of_a_family_that_assumes_more_are_violations_in_this_one(name):
    surer = german_batch(read=BUILT_IN[name.replace("unimodal", "gaussian")])
    content = json.loads(surer.to_json(certificates=True))
    content["ambiguity"]["family"] = "unimodal"
    assert any("is claimed" in violation for violation in violations(claims_of_document(content)))


FORMS = {"any": "", "unimodal": "others are rarer the further away", "gaussian": "is normally distributed"}


def test_words_say_what_the_set_assumes(batch):
    form = FORMS[batch.ambiguity.family]
    texts = [batch[0].explain(), batch[0]._repr_html_(), condition(batch.ambiguity, batch.basis)]
    for text in texts:
        assert form in text
        assert not any(other in text for other in FORMS.values() if other and other != form)
    assert batch.ambiguity.in_words() in texts[0]
    before, after = around_radius(batch.ambiguity, batch.basis)
    if isinstance(batch.ambiguity, LocationSet):
        assert before == "if the next models' mean stays within radius"
        assert after.startswith(" of the estimated one, with the covariance as estimated")
    else:
        assert before == "if the next models' mean and covariance stay within radius"
        assert after.startswith(" of the estimated ones")
    assert after.endswith(form)


@pytest.mark.parametrize("name", BUILT_IN)
def test_units_of_the_radius_are_told(name):
    known = BUILT_IN[name](np.ones(2), np.eye(2), 0.25, np.eye(2))
    basis = german_batch().basis
    unit = "units of the drift" if name.startswith("ball") else "standard deviations of each score"
    assert f"measured in {unit}" in condition(known, basis)
    assert "measured in units of the drift" in condition(
        BUILT_IN[name](np.ones(2), np.eye(2), 0.25, np.ones((2, 2))), basis
    )
    exactly = condition(BUILT_IN[name](np.ones(2), np.eye(2), 0.0), basis)
    assert "if the next models' mean and covariance are exactly the estimated ones" in exactly
    assert exactly.endswith(FORMS[known.family])


@pytest.mark.parametrize("change", [{"ambiguity": 3}, {"ambiguity": {"kind": "cube"}}, {"ambiguity": None}])
def test_a_damaged_set_in_a_document_is_a_data_error(change):
    content = json.loads(german_batch(read=BUILT_IN["location-unimodal"]).to_json(certificates=True)) | change
    with pytest.raises(copa.DataError, match="damaged"):
        violations(claims_of_document(content))


@pytest.mark.parametrize(
    "told", [3, None, {}, {"kind": "cube", "family": "any"}, {"kind": "location", "family": "best"}]
)
def test_a_damaged_set_in_a_file_of_plans_is_a_data_error(told, tmp_path):
    german_batch(read=BUILT_IN["location-unimodal"]).save(tmp_path / "plans.copa")
    with PLANS.opened(tmp_path / "plans.copa") as (content, arrays, _):
        kept = {name: value for name, value in content.items() if name not in ("digest", "made_with")}
        forged = PLANS.pack(Archive(kept | {"ambiguity": told}, dict(arrays)))
    (tmp_path / "forged.copa").write_bytes(forged)
    if told == {}:  # the paper's set, in which these numbers are too good
        assert violations(claims_of_batch(PlanBatch.load(tmp_path / "forged.copa"))) != []
        return
    with pytest.raises(copa.DataError, match="is not a file of plans, or is damaged"):
        PlanBatch.load(tmp_path / "forged.copa")
