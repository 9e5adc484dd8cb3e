"""The same people, written down in other types: the same plans, in the types of the table."""

import numpy as np
import pandas as pd
import pytest

import copa
from copa.exceptions import InvalidInputError
from unit.planner import loans
from unit.planner.promises import Judge

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
            options[feature.name].to_numpy(float) if feature.is_numeric else loans.SCHEMA.codes(options, feature.name)
            for options in (batch.options, other.options)
        ]
        np.testing.assert_array_equal(*numbers)
    np.testing.assert_array_equal(other.option_lower, batch.option_lower)
    types = [{type(entry) for entry in frame[name]} for name in declined for frame in (other.applicants, other.options)]
    assert types[::2] == types[1::2]


# Tables of applicants whose types cannot hold everything that an option may say.
NARROW = {
    "whole numbers": {"income": "int64"},
    "whole numbers that may be missing": {"income": "Int64"},
    "small whole numbers": {"income": "uint8", "debt": "uint8"},
    "whole numbers as objects": {"income": "whole objects"},
    "whole and decimal numbers as objects": {"income": "mixed objects"},
    "numbers as categories": {"debt": "category", "income": "category"},
    "categories of these people only": {"job": "category", "grade": "category"},
    "grades in an order of their own": {"grade": pd.CategoricalDtype([4, 2], ordered=True)},
}


@pytest.fixture(scope="module")
def whole(declined):
    """People with whole incomes and a grade of 2 or 4 whom the model declines."""
    table = declined[(declined["income"] % 1 == 0) & (declined["job"] != "clerk")].iloc[:6]
    return table.assign(grade=np.where(table["grade"] < 3, 2, 4))


def narrowed(table, name):
    result = table.copy()
    for column, dtype in NARROW[name].items():
        if "objects" in str(dtype):
            entries = table[column].astype("int64").tolist()
            first = float(entries[0]) if dtype == "mixed objects" else entries[0]
            result[column] = pd.Series([first, *entries[1:]], index=table.index, dtype=object)
        else:
            result[column] = table[column].astype(dtype)
    return result


@pytest.mark.parametrize("name", NARROW)
def test_rows_keep_their_promises_where_a_type_of_the_table_cannot_hold_them(planner, whole, name):
    people = narrowed(whole, name)
    found, plain = planner.plan(people), planner.plan(whole)
    assert found.status.tolist() == plain.status.tolist()
    judge = Judge.of(planner)
    for i, plan in enumerate(found):
        rows = plan.options.astype(whole.dtypes.to_dict() | {"income": float})
        assert plan.n_options > 0
        assert planner.schema_.violations(whole.iloc[[i]], rows) == [[]] * plan.n_options
        assert judge.accepts(rows).all()
        options = planner.strategy_.evaluate_options(whole.iloc[[i]], rows, np.zeros(len(rows), dtype=int), len(rows), 1)
        lower = planner.strategy_.ambiguity(len(rows)).option_guarantees(options.points)
        np.testing.assert_allclose(lower, plan.option_lower, rtol=0.0, atol=1e-9)
    assert (plain.options["income"] % 1 == 0.5).any()
    np.testing.assert_array_equal(found.options["income"].astype(float), plain.options["income"])
    np.testing.assert_array_equal(found.options["debt"].astype(float), plain.options["debt"])


@pytest.mark.parametrize("name", NARROW)
def test_a_batch_is_spelled_as_its_rows_one_by_one(planner, whole, name):
    people = narrowed(whole, name)
    together = planner.plan(people)
    alone = copa.PlanBatch.concat([planner.plan(people.iloc[[i]]) for i in range(len(people))])
    pd.testing.assert_frame_equal(together.options, alone.options, check_exact=True)
    types = [
        [type(entry) for column in frame for entry in frame[column]] for frame in (together.options, alone.options)
    ]
    assert types[0] == types[1]
    np.testing.assert_array_equal(together.option_lower, alone.option_lower)


def test_text_for_true_and_false_is_written_as_true_and_false():
    table = loans.people(300, 0)
    schema = loans.SCHEMA.replace({"married": {"values": ["False", "True"], "immutable": False}})
    labels = loans.outcomes(table.assign(income=table["income"] - 30.0 * table["married"]))
    model = loans.pipeline().fit(table, labels)
    planner = copa.RecoursePlanner(model, schema=schema, **loans.FAST).fit(table, labels)
    married = table[~model.predict(table) & table["married"]].iloc[:5]
    batch = planner.plan(married)
    assert batch.options["married"].dtype == bool
    assert batch.options["married"].any()
    assert not batch.options["married"].all()
    assert model.predict(batch.options).all()


def test_training_data_of_whole_numbers_serve_for_a_feature_with_fractions():
    table = loans.people(300, 0).astype({"income": "int64"})
    labels = loans.outcomes(table)
    model = loans.pipeline().fit(table, labels)
    for dtype in ("int64", "Int64"):
        coded_table = table.astype({"income": dtype})
        planner = copa.RecoursePlanner(model, schema=loans.SCHEMA, **loans.FAST).fit(coded_table, labels)
        batch = planner.plan(coded_table[~model.predict(table)].iloc[:5])
        assert set(batch.status) == {"ok"}


def test_an_order_without_a_place_for_a_value_is_refused_before_the_search(planner, whole):
    people = whole.astype({"job": pd.CategoricalDtype(["nurse", "driver"], ordered=True)})
    with pytest.raises(InvalidInputError, match=r"'job'.*'clerk'.*order"):
        planner.plan(people)
