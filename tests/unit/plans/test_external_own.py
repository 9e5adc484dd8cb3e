"""COPA's own results as given plans: a batch, one plan, and the JSON document of a batch."""

import json

import numpy as np
import pandas as pd
import pytest

from copa.exceptions import InvalidInputError
from copa.plans.external import read_plans
from unit.plans.plan_batches import german_batch


@pytest.fixture(scope="module")
def batch():
    return german_batch()


@pytest.fixture(scope="module")
def columns(batch):
    return list(batch.applicants.columns)


@pytest.fixture(params=["batch", "text", "dict", "file"])
def source(request, batch, tmp_path):
    batch.to_json(tmp_path / "plans.json")
    text = batch.to_json()
    return {"batch": batch, "text": text, "dict": json.loads(text), "file": tmp_path / "plans.json"}[request.param]


def test_the_options_are_those_of_the_batch_for_the_given_applicants(source, batch, columns):
    plans = read_plans(source, columns, batch.applicants)
    pd.testing.assert_frame_equal(plans.options, batch.options)
    pd.testing.assert_frame_equal(plans.factuals, batch.applicants)
    assert plans.owner.tolist() == batch.owner.tolist()


def test_the_applicants_of_the_batch_serve_where_none_are_given(source, batch, columns):
    plans = read_plans(source, columns)
    assert plans.factuals.index.tolist() == batch.applicants.index.tolist()
    for name in columns:
        assert plans.options[name].tolist() == batch.options[name].tolist()
    assert plans.owner.tolist() == batch.owner.tolist()


def test_applicants_in_another_order_are_found_by_their_labels(source, batch, columns):
    others = batch.applicants.iloc[::-1]
    plans = read_plans(source, columns, others)
    assert others.index[plans.owner].tolist() == batch.applicants.index[batch.owner].tolist()


def test_an_applicant_of_the_plans_who_is_not_among_the_given_is_named(source, batch, columns):
    label = batch.applicants.index[batch.owner[0]]
    with pytest.raises(InvalidInputError, match=f"applicant {label}"):
        read_plans(source, columns, batch.applicants.drop(index=label))


def test_one_plan_is_read_for_its_own_applicant(batch, columns):
    plans = read_plans(batch[0], columns)
    assert plans.owner.tolist() == [0] * batch[0].n_options
    assert plans.factuals.index.tolist() == [batch[0].label]
    among_all = read_plans(batch[2], columns, batch.applicants)
    assert among_all.owner.tolist() == [2] * batch[2].n_options


def test_labels_that_repeat_are_no_obstacle_in_the_same_order(batch, columns):
    people = batch.applicants.set_axis([5] * len(batch))
    again = type(batch)(**{n: getattr(batch, n) for n in batch.__dataclass_fields__} | {"applicants": people})
    assert read_plans(again, columns, people).owner.tolist() == batch.owner.tolist()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda content: content | {"version": 7}, "version 7.*update"),
        (lambda content: content | {"applicants": []}, "at least one applicant"),
        (lambda content: content | {"applicants": [{"applicant": 1}]}, "damaged"),
        (lambda content: content | {"applicants": 3}, "damaged"),
        (lambda content: {"format": content["format"]}, "version None"),
    ],
)
def test_a_document_that_is_none_is_refused(batch, columns, change, words):
    with pytest.raises(InvalidInputError, match=words):
        read_plans(change(json.loads(batch.to_json())), columns)


def test_a_document_without_a_column_of_the_model_is_refused_with_its_name(batch, columns):
    with pytest.raises(InvalidInputError, match="'income'"):
        read_plans(batch.to_json(), [*columns, "income"])


@pytest.fixture
def people():
    return pd.DataFrame({"age": [20, 30], "debt": [1.0, 2.0], "branch": ["north", "south"]}, index=["ann", "bob"])


def test_other_columns_are_kept_and_the_applicants_where_an_option_lacks_them(people):
    options = pd.DataFrame({"applicant": ["bob", "ann"], "age": [31, 21], "debt": [0.0, 0.5]})
    plans = read_plans(options, ["age", "debt"], people, others=["age", "branch"])
    assert list(plans.factuals.columns) == list(plans.options.columns) == ["age", "debt", "branch"]
    assert plans.options["branch"].tolist() == ["south", "north"]
    moved = read_plans(options.assign(branch=["north", "south"]), ["age", "debt"], people, others=["branch"])
    assert moved.options["branch"].tolist() == ["north", "south"]
    frames = [options.iloc[[1]].assign(branch="east"), options.iloc[[0]]]
    assert read_plans(frames, ["age"], people, others=["branch"]).options["branch"].tolist() == ["north", "south"]


def test_applicants_without_one_of_the_other_columns_are_refused(people):
    options = pd.DataFrame({"applicant": ["bob"], "age": [31]})
    with pytest.raises(InvalidInputError, match="applicants has no column 'branch'"):
        read_plans(options, ["age"], people.drop(columns="branch"), others=["branch"])
    np.testing.assert_array_equal(read_plans(options, ["age"], people).owner, [1])
