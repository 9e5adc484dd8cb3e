"""Ambiguity sets in files: what is written, and what is refused."""

from dataclasses import dataclass

import numpy as np
import pytest

from copa.exceptions import InvalidInputError
from copa.theory.sets import set_files
from copa.theory.sets.ambiguity import AmbiguitySet, MomentBall
from copa.theory.sets.location_set import LocationSet
from copa.theory.sets.set_files import describe_set, kind_of, pack_set, set_from_json, set_to_json, unpack_set
from unit.theory.bounds.pairs import BUILT_IN
from unit.theory.bounds.unimodal import UnimodalMeanSet

MEAN, COV, DRIFT = [0.1, 1.0], [[0.3, 0.1], [0.1, 0.2]], [[0.2, 0.0], [0.0, 0.1]]


@pytest.mark.parametrize("drift", [None, DRIFT])
@pytest.mark.parametrize("name", BUILT_IN)
def test_a_set_is_read_as_it_was_written(name, drift):
    known = BUILT_IN[name](MEAN, COV, 0.2, drift)
    assert unpack_set(*pack_set(known)).same_as(known)
    assert set_from_json(set_to_json(known)).same_as(known)


def test_the_papers_set_is_told_by_its_moments_alone():
    content, arrays = pack_set(MomentBall(MEAN, COV, 0.2, DRIFT))
    assert (content, list(arrays)) == ({}, ["mean", "cov", "radius", "drift"])
    assert list(set_to_json(MomentBall(MEAN, COV, 0.2))) == ["mean", "cov", "radius", "drift"]


def test_a_location_set_says_what_it_is():
    known = LocationSet(MEAN, COV, 0.2, family="unimodal", simultaneous=False)
    assert pack_set(known)[0] == {"kind": "location", "family": "unimodal", "simultaneous": False}


def test_a_set_of_the_callers_own_is_not_known():
    known = UnimodalMeanSet(MEAN, COV, 0.2)
    assert kind_of(known) is None
    assert describe_set(known) == {}
    with pytest.raises(InvalidInputError, match="only, and this is a UnimodalMeanSet"):
        pack_set(known)


def test_fields_of_a_class_of_its_own_are_kept(monkeypatch):
    @dataclass(frozen=True, eq=False)
    class Scores(UnimodalMeanSet):
        simultaneous: bool = True
        refits: np.ndarray | None = None

    monkeypatch.setitem(set_files.KINDS, "scores", Scores)
    known = Scores(MEAN, COV, 0.2, simultaneous=False, refits=np.arange(3.0))
    content, arrays = pack_set(known)
    assert content == {"kind": "scores", "family": "any", "simultaneous": False}
    np.testing.assert_array_equal(arrays["refits"], [0.0, 1.0, 2.0])
    assert unpack_set(content, arrays).same_as(known)
    told = set_to_json(known)
    assert told["refits"] == [0.0, 1.0, 2.0]
    assert isinstance(set_from_json(told), Scores)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("ball", "told by its kind and family, got 'ball'"),
        ([], "told by its kind and family"),
        ({"kind": "cube", "family": "any"}, "must be one of 'ball', 'location', 'refits', got 'cube'; update COPA"),
        ({"family": "any"}, "must be one of 'ball', 'location', 'refits', got None"),
        ({"kind": ["ball"], "family": "any"}, "must be one of 'ball', 'location'"),
        ({"kind": "ball"}, "family must be one of 'any', 'unimodal', 'gaussian', got None"),
        ({"kind": "ball", "family": "student"}, "family must be one of"),
        ({"kind": "ball", "family": "any", "simultaneous": True}, "'ball' has no field 'simultaneous'"),
        ({"kind": "location", "family": "any", "simultaneous": "no"}, "simultaneous must be true or false"),
    ],
)
def test_another_content_is_refused(content, words):
    arrays = pack_set(MomentBall(MEAN, COV, 0.2))[1]
    with pytest.raises(InvalidInputError, match=words):
        unpack_set(content, arrays)


def test_bad_moments_are_refused():
    with pytest.raises(KeyError, match="cov"):
        unpack_set({}, {"mean": MEAN, "radius": 0.1})
    with pytest.raises(InvalidInputError, match="radius"):
        unpack_set({}, {"mean": MEAN, "cov": COV, "radius": -1.0})
    with pytest.raises(InvalidInputError, match="an object with its moments"):
        set_from_json([1])
    assert issubclass(set_files.KINDS["location"], AmbiguitySet)
