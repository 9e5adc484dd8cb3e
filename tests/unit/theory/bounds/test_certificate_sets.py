"""Certificates of every set and family as JSON: what they say, and forgeries."""

import json

import numpy as np
import pytest

from copa.exceptions import CertificateError
from copa.theory.bounds import Certificate, validity_bounds
from unit.theory.bounds.pairs import BUILT_IN

MEAN = np.array([0.2, 1.0, -0.6])
COV = np.array([[0.04, 0.01, 0.0], [0.01, 0.09, 0.02], [0.0, 0.02, 0.06]])
POINTS = np.array([[1.0, 1.5, 0.2], [1.0, 2.0, -1.0]])
OTHERS = [name for name in BUILT_IN if name != "ball-any"]


def certificate(name, drift=COV):
    return validity_bounds(POINTS, ambiguity=BUILT_IN[name](MEAN, COV, 0.15, drift)).certificate


def test_a_certificate_of_the_papers_set_has_the_first_version():
    content = json.loads(certificate("ball-any").to_json())
    assert content["version"] == 1
    assert list(content)[:7] == ["format", "version", "points", "mean", "cov", "radius", "drift"]


@pytest.mark.parametrize("name", OTHERS)
def test_another_one_says_its_kind_and_family(name):
    made = certificate(name)
    content = json.loads(made.to_json())
    assert content["version"] == 2
    assert content["set"]["family"] == made.ambiguity.family
    assert content["set"]["kind"] == ("ball" if name.startswith("ball") else "location")
    assert ("matrix" in content) == made.ambiguity.in_ball


@pytest.mark.parametrize("drift", [None, COV])
@pytest.mark.parametrize("name", BUILT_IN)
def test_a_certificate_is_read_as_it_was_written(name, drift):
    made = certificate(name, drift)
    again = Certificate.from_json(made.to_json())
    assert type(again) is type(made)
    assert again.ambiguity.same_as(made.ambiguity)
    assert again.verify() == made.verify()
    assert again.to_json() == made.to_json()


def test_another_family_is_another_statement_and_proves_its_own_numbers():
    content = json.loads(certificate("ball-unimodal").to_json())
    content["set"]["family"] = "gaussian"
    forged = Certificate.from_json(json.dumps(content))
    assert forged.ambiguity.family == "gaussian"
    assert "normally distributed" in forged.ambiguity.in_words()
    assert forged.verify() == certificate("ball-gaussian").verify()


def test_a_first_version_is_the_papers_set_whatever_else_it_says():
    content = json.loads(certificate("ball-any").to_json()) | {"family": "gaussian", "set": {"kind": "location"}}
    assert Certificate.from_json(json.dumps(content)).verify() == certificate("ball-any").verify()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"kind": "cube"},
            "damaged: the kind of ambiguity set must be one of .*, got 'cube'; update COPA",
        ),
        ({"kind": None}, "damaged: the kind of ambiguity set must be one of"),
        ({"family": "student"}, "damaged: family must be one of 'any', 'unimodal', 'gaussian'"),
        ({"family": 3}, "damaged: family must be one of"),
        ({"confidence": 0.99}, "damaged: .* has no field 'confidence'"),
        ({"radius": -1.0}, "damaged: radius"),
        ({"cov": [[1.0]]}, "damaged: cov"),
    ],
)
@pytest.mark.parametrize("name", ["ball-unimodal", "one at a time-gaussian"])
def test_a_forged_set_is_refused(name, change, words):
    content = json.loads(certificate(name).to_json())
    content["set"] |= change
    with pytest.raises(CertificateError, match=words):
        Certificate.from_json(json.dumps(content))


@pytest.mark.parametrize("told", [None, [], "ball", 3])
def test_a_set_that_is_no_object_is_refused(told):
    content = json.loads(certificate("ball-unimodal").to_json()) | {"set": told}
    with pytest.raises(CertificateError, match="damaged: an ambiguity set must be an object"):
        Certificate.from_json(json.dumps(content))


def test_a_missing_set_is_named():
    content = json.loads(certificate("ball-unimodal").to_json())
    del content["set"]
    with pytest.raises(CertificateError, match="misses the field 'set'"):
        Certificate.from_json(json.dumps(content))


def test_scores_said_to_hold_at_once_need_the_proof_of_the_ball():
    content = json.loads(certificate("one at a time-unimodal").to_json())
    content["set"]["simultaneous"] = True
    with pytest.raises(CertificateError, match="misses the field 'directions'"):
        Certificate.from_json(json.dumps(content))


@pytest.mark.parametrize("name", ["ball-unimodal", "location-gaussian"])
def test_numbers_of_other_data_are_refused_in_every_set(name):
    content = json.loads(certificate(name).to_json())
    content["points"][0][1] += 0.5
    with pytest.raises(CertificateError, match="not about these data"):
        Certificate.from_json(json.dumps(content)).verify()
