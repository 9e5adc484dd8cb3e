"""The same people, written down in other types: the same plans, in the types of the table."""

import numpy as np
import pandas as pd
import pytest

import copa
from unit.planner import loans

CODINGS = {
    "whole numbers as float": {"debt": "float64", "age": "float64", "grade": "float64"},
    "small integers": {"debt": "int16", "age": "int8", "grade": "int8"},
    "integers that may be missing": {"debt": "Int64", "age": "Int64", "grade": "Int64"},
    "numbers as objects": {"debt": object, "grade": object, "married": object},
    "grades as text": {"grade": str},
    "grades as text objects": {"grade": "text objects"},
    "categories": {"job": "category", "grade": "category"},
    "text categories": {"grade": "text category", "job": "category"},
    "text as objects": {"job": object},
    "text that may be missing": {"job": "string"},
    "truths as numbers": {"married": "int64"},
    "truths as objects": {"married": object},
    "truths that may be missing": {"married": "boolean"},
}


def coded(table, coding):
    result = table.copy()
    for name, dtype in coding.items():
        column = table[name]
        if dtype == "text objects":
            result[name] = pd.Series(column.astype(str), dtype=object)
        elif dtype == "text category":
            result[name] = column.astype(str).astype(pd.CategoricalDtype([str(k) for k in range(1, 6)]))
        elif dtype == "category":
            result[name] = column.astype(pd.CategoricalDtype(sorted(table[name].unique())))
        else:
            result[name] = column.astype(dtype)
    return result


def plan_coded(declined, coding):
    training = loans.people(300, 0)
    labels = loans.outcomes(training)
    table = coded(training, coding)
    model = loans.pipeline().fit(table, labels)
    return (
        copa.RecoursePlanner(model, schema=loans.SCHEMA, **loans.FAST).fit(table, labels).plan(coded(declined, coding))
    )


@pytest.mark.parametrize("name", CODINGS)
def test_plans_do_not_depend_on_the_coding_and_come_back_in_it(batch, declined, name):
    other = plan_coded(declined, CODINGS[name])
    assert other.options.dtypes.equals(coded(declined, CODINGS[name]).dtypes)
    assert other.status.tolist() == batch.status.tolist()
    for feature in loans.SCHEMA.features:
        numbers = [
            options[feature.name].to_numpy(float) if feature.is_line else loans.SCHEMA.codes(options, feature.name)
            for options in (batch.options, other.options)
        ]
        np.testing.assert_array_equal(*numbers)
    np.testing.assert_array_equal(other.option_lower, batch.option_lower)
    types = [{type(entry) for entry in frame[name]} for name in declined for frame in (other.applicants, other.options)]
    assert types[::2] == types[1::2]
