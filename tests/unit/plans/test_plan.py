import pickle

import numpy as np
import pandas as pd
import pytest

import copa
from copa.plans import Change
from unit.plans.plan_batches import german_batch, wild_batch


@pytest.fixture(scope="module")
def batch():
    return german_batch()


def test_a_plan_holds_the_applicant_exactly_as_given(batch):
    given = copa.datasets.load_german().features.iloc[[1]].set_axis([10])
    pd.testing.assert_frame_equal(batch[0].factual, given)
    assert batch[0].label == 10


def test_options_are_numbered_from_one(batch):
    assert batch[0].options.index.tolist() == [1, 2, 3]
    assert batch[0].options.index.name == "option"
    assert batch[0].n_options == 3


def test_options_keep_the_dtypes_of_the_applicants(batch):
    assert (batch[0].options.dtypes == batch.applicants.dtypes).all()


def test_numbers_of_a_plan_are_those_of_its_own_options(batch):
    plan = batch[2]
    assert plan.effort.tolist() == [1.25, 1.5]
    assert plan.option_lower.tolist() == batch.option_lower[3:5].tolist()
    assert plan.weights.tolist() == batch.option_weights[3:5].tolist()
    assert (plan.lower, plan.any_lower) == (batch.lower[2], batch.any_lower[2])
    np.testing.assert_array_equal(plan.points, batch.points[3:5])


def test_the_certificate_of_a_plan_proves_its_bounds(batch):
    proven = batch[0].certificate.verify()
    assert proven.lower == pytest.approx(batch[0].lower, abs=1e-9)
    assert proven.any_lower == pytest.approx(batch[0].any_lower, abs=1e-9)


def test_changes_name_column_value_today_and_new_value(batch):
    assert batch[0].changes(1) == [("duration", 48, 18)]
    assert batch[0].changes(3) == [Change("duration", 48, 24), Change("savings", "A61", "A63")]


def test_changes_also_say_it_in_words(batch):
    [duration, savings] = batch[0].changes(3)
    assert (duration.title, duration.before_text, duration.after_text) == ("duration (months)", "48", "24")
    assert (savings.title, savings.before_text, savings.after_text) == ("savings account", "< 100 DM", "500 to 1000 DM")
    assert tuple(savings) == ("savings", "A61", "A63")
    travelled = pickle.loads(pickle.dumps(savings))  # noqa: S301 - our own bytes
    assert (travelled, travelled.after_text) == (savings, "500 to 1000 DM")


def test_a_change_without_a_feature_speaks_in_raw_values():
    change = Change("job", "A 1", np.float64(2.0))
    assert (change.title, change.before_text, change.after_text) == ("job", "A 1", "2")


def test_changes_follow_the_order_of_the_columns(batch):
    # The menu was written with employment first; the table has amount before it.
    assert [change.column for change in batch[0].changes(2)] == ["amount", "employment"]


def test_changes_see_missing_cells_of_every_dtype():
    plan = wild_batch()[1]  # its applicant lacks a number in "float" and in "Int64"
    first, second = plan.changes(1), plan.changes(2)
    assert [(c.column, c.after) for c in first] == [("int", -1), ("float", 1.5), ("Int64", 7)]
    assert second == []  # missing stays missing


def test_single_precision_keeps_its_decimals():
    batch = wild_batch()
    options = batch.options.copy()
    options["float32"] = np.float32(0.1)
    changed = copa.plans.PlanBatch(**{**vars_of(batch), "options": options})
    change = next(c for c in changed[4].changes(1) if c.column == "float32")
    assert isinstance(change.after, np.float32)
    assert str(change.after) == "0.1"


def vars_of(batch):
    return {name: getattr(batch, name) for name in batch.__dataclass_fields__}


@pytest.mark.parametrize("option", [0, 4, -1, 1.0, "1", None, True])
def test_an_option_that_does_not_exist_is_refused(batch, option):
    with pytest.raises(copa.InvalidInputError, match="option must be the number of an option, 1 to 3"):
        batch[0].changes(option)


def test_a_plan_without_options_has_none_to_change(batch):
    assert batch[1].options.empty
    assert batch[1].certificate is None
    with pytest.raises(copa.InvalidInputError, match="the plan has no options"):
        batch[1].changes(1)


def test_the_option_with_the_largest_weight_breaks_first(batch):
    assert batch[0].breaks_first == int(np.argmax(batch.option_weights[:3])) + 1


def test_nothing_breaks_first_of_a_single_option_or_without_options(batch):
    assert batch[5].breaks_first is None
    assert batch[1].breaks_first is None


def test_text_is_the_explanation(batch):
    assert str(batch[0]) == batch[0].explain()


def test_the_representation_is_one_line_that_promises_no_more_than_the_bounds(batch):
    text = repr(batch[0])
    assert "\n" not in text
    assert text.startswith("Plan(applicant 10, ok, 3 options, each at least 0.607, any at least 0.942")


def test_the_representation_of_a_plan_without_options_promises_nothing(batch):
    assert repr(batch[3]) == "Plan(applicant 100, infeasible, 0 options)"
