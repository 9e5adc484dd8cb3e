import dataclasses
import pickle
import re

import pytest

from copa import InvalidInputError
from copa.data.schema import Feature, FeatureSchema, LinearRule

AGE = Feature("age", "integer", immutable=True)
INCOME = Feature("income", "numeric", lower=0)
JOB = Feature("job", "categorical", values=(1, 2, 3))
GRADE = Feature("grade", "ordinal", values=("low", "high"))
SCHEMA = FeatureSchema([AGE, INCOME, JOB, GRADE], rules=["income <= 100*age"], max_changes=2)


def test_it_behaves_like_a_mapping_from_column_to_feature():
    assert SCHEMA["age"] is AGE
    assert SCHEMA.names == ("age", "income", "job", "grade")
    assert list(SCHEMA) == ["age", "income", "job", "grade"]
    assert len(SCHEMA) == 4
    assert "age" in SCHEMA
    assert "agee" not in SCHEMA


def test_rules_may_be_given_as_text():
    assert SCHEMA.rules == (LinearRule({"income": 1.0, "age": -100.0}, 0.0, "income <= 100*age"),)


def test_nothing_said_about_rules_and_changes_means_none():
    assert FeatureSchema([AGE], rules=None, max_changes=[]) == FeatureSchema([AGE], rules=[]) == FeatureSchema((AGE,))


def test_a_column_that_is_not_there_is_named_with_the_nearest():
    with pytest.raises(InvalidInputError, match="the schema has no column 'incom'; did you mean 'income'"):
        SCHEMA["incom"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": []}, "a schema needs at least one column"),
        ({"features": "age"}, "features must be a list of Feature, got 'age'"),
        ({"features": {"age": AGE}}, "features must be a list of Feature"),
        ({"features": [AGE, "income"]}, "features must be a list of Feature, got 'income' in it"),
        ({"features": [AGE, AGE]}, "column 'age' is described twice"),
        (
            {"features": [AGE], "rules": ["agee <= 3"]},
            "rule 'agee <= 3': column 'agee' is not known; did you mean 'age'?",
        ),
        ({"features": [AGE], "rules": "age <= 3"}, "rules must be a list of rules, got 'age <= 3'"),
        ({"features": [JOB], "rules": ["job <= 3"]}, "column 'job' is categorical, a rule needs numbers"),
        (
            {"features": [GRADE], "rules": ["grade <= 3"]},
            "column 'grade': rule 'grade <= 3' needs values that are numbers",
        ),
        ({"features": [AGE], "max_changes": 0}, "max_changes must be a whole number of at least 1, got 0"),
        ({"features": [AGE], "max_changes": 1.5}, "max_changes must be a whole number of at least 1, got 1.5"),
        (
            {"features": [AGE], "max_changes": True},
            "max_changes must be a whole number of at least 1, got True",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(arguments, message):
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        FeatureSchema(**arguments)


def test_replace_changes_some_fields_of_some_columns():
    changed = SCHEMA.replace({"age": {"immutable": False}}, income={"upper": 9, "lower": None})
    assert changed["age"] == Feature("age", "integer")
    assert changed["income"] == Feature("income", "numeric", upper=9)
    assert (changed["job"], changed.rules, changed.max_changes) == (JOB, SCHEMA.rules, 2)
    assert SCHEMA["age"].immutable
    assert SCHEMA.replace({}) == SCHEMA.replace() == SCHEMA


def test_replace_refuses_what_it_does_not_know():
    with pytest.raises(InvalidInputError, match="column 'agee' is not known; did you mean 'age'"):
        SCHEMA.replace({"agee": {}})
    with pytest.raises(InvalidInputError, match="column 'age': field 'uper' is not known; did you mean 'upper'"):
        SCHEMA.replace(age={"uper": 3})


def test_it_cannot_be_changed_and_travels_between_processes():
    with pytest.raises(dataclasses.FrozenInstanceError):
        SCHEMA.max_changes = 3
    copy = pickle.loads(pickle.dumps(SCHEMA))  # noqa: S301 - our own bytes
    assert copy == SCHEMA
    assert hash(copy) == hash(SCHEMA)
    assert copy["age"] == AGE
