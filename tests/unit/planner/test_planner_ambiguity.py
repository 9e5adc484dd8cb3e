"""An ambiguity set of the caller's own: a subclass of `AmbiguitySet`, used wherever a set is built."""

import pytest
from sklearn.ensemble import RandomForestClassifier

from copa import InvalidInputError
from copa.uncertainty.ambiguity import MomentBall
from unit.planner import loans


class OwnSet(MomentBall):
    """All that a moment ball is, under another name."""


@pytest.fixture(scope="module")
def own(planner, model):
    known = {"moments": planner.moments_, "radius": planner.radius_, "drift": planner.drift_}
    return loans.planner(model, ambiguity=OwnSet, **known)


def test_plans_are_made_and_bounded_in_it(own, planner, declined):
    found, expected = own.plan(declined.iloc[:5]), planner.plan(declined.iloc[:5])
    assert isinstance(found.ambiguity, OwnSet)
    assert found.lower.tolist() == expected.lower.tolist()
    assert isinstance(own.audit(found).ambiguity, OwnSet)


def test_scores_of_black_boxes_are_in_it(declined):
    model = loans.fitted_pipeline(RandomForestClassifier(5, min_samples_leaf=5, random_state=0))
    planner = loans.planner(model, ambiguity=OwnSet, n_models=2, n_options=1)
    assert isinstance(planner.plan(declined.iloc[:1]).ambiguity, OwnSet)


def test_it_is_not_saved_because_it_could_not_be_loaded(own, tmp_path):
    with pytest.raises(InvalidInputError, match=r"a class of your own, OwnSet, cannot be saved"):
        own.save(tmp_path / "planner")


@pytest.mark.parametrize("ambiguity", ["ball", dict, OwnSet.read([1.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], 0.1)])
def test_another_thing_is_no_class_of_ambiguity_sets(model, ambiguity):
    with pytest.raises(InvalidInputError, match=r"ambiguity must be a subclass of AmbiguitySet or None, got"):
        loans.planner(model, ambiguity=ambiguity)


def test_a_change_takes_effect_at_the_next_fit(own, declined):
    own.set_params(ambiguity=None)
    try:
        with pytest.raises(InvalidInputError, match=r"ambiguity was changed to None after the planner was fitted"):
            own.plan(declined)
    finally:
        own.set_params(ambiguity=OwnSet)
