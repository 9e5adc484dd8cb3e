import json

import numpy as np
import pandas as pd
import pytest

import copa
from copa.data.schema import Feature, FeatureSchema
from copa.plans import Plan, PlanBatch
from copa.theory.sets.ambiguity import MomentBall
from unit.plans.plan_batches import german_batch, terms, wild_batch


@pytest.fixture(scope="module")
def batch():
    return german_batch()


def parts_of(batch):
    return {name: getattr(batch, name) for name in batch.__dataclass_fields__}


def assert_same(one, other):
    """Two batches hold the same, to the last bit."""
    for name, value in parts_of(one).items():
        if name in ("applicants", "options"):
            pd.testing.assert_frame_equal(value, getattr(other, name), check_exact=True)
        elif name == "ambiguity":
            assert value.radius == other.ambiguity.radius
            np.testing.assert_array_equal(value.mean, other.ambiguity.mean)
            np.testing.assert_array_equal(value.cov, other.ambiguity.cov)
        elif name in ("request", "basis"):
            assert value == getattr(other, name)
        else:
            np.testing.assert_array_equal(value, getattr(other, name))


def test_a_batch_is_a_sequence_of_plans(batch):
    assert len(batch) == 7
    plans = list(batch)
    assert all(isinstance(plan, Plan) for plan in plans)
    assert [plan.label for plan in plans] == batch.applicants.index.tolist()
    assert [plan.n_options for plan in plans] == batch.counts.tolist() == [3, 0, 2, 0, 0, 1, 0]


def test_negative_and_numpy_positions_work(batch):
    assert batch[-1].label == batch[6].label
    assert batch[np.int64(2)].label == 180


@pytest.mark.parametrize("position", [7, -8])
def test_a_position_outside_is_an_index_error(batch, position):
    with pytest.raises(IndexError, match="the batch has 7 applicants"):
        batch[position]


@pytest.mark.parametrize("index", ["10", 1.0, None, [0, 1]])
def test_other_indices_are_refused(batch, index):
    with pytest.raises(TypeError, match="select"):
        batch[index]


def test_a_slice_is_a_batch_of_these_applicants(batch):
    part = batch[2:6]
    assert isinstance(part, PlanBatch)
    assert part.applicants.index.tolist() == [180, 100, 110, 290]
    assert part.owner.tolist() == [0, 0, 3]
    assert part.effort.tolist() == [1.25, 1.5, 1.75]
    assert part.options.index.tolist() == [0, 1, 2]
    assert part[3].certificate.verify() == batch[5].certificate.verify()


def test_select_follows_the_order_asked_for_and_repeats(batch):
    part = batch.select([5, 0, 5])
    assert part.applicants.index.tolist() == [290, 10, 290]
    assert part.owner.tolist() == [0, 1, 1, 1, 2]
    assert part[1].explain() == batch[0].explain()
    assert part[2].explain() == batch[5].explain()


def test_select_takes_flags_and_negative_positions(batch):
    assert batch.select(batch.status == "ok").applicants.index.tolist() == [10, 290]
    assert batch.select([-1]).applicants.index.tolist() == [140]


def test_nothing_selected_is_an_empty_batch(batch):
    for empty in (batch[:0], batch.select([]), batch.select(batch.status == "none")):
        assert len(empty) == 0
        assert len(empty.options) == 0
        assert (empty.applicants.dtypes == batch.applicants.dtypes).all()
    assert batch[:0].summary().empty
    assert batch[:0].to_frame().empty


@pytest.mark.parametrize("rows", [[7], [-8], [0.5], "ok", [[0]], [True, False], np.zeros(0, dtype=bool)])
def test_rows_that_are_none_are_refused(batch, rows):
    with pytest.raises(copa.InvalidInputError, match="rows must be positions from 0 to 6, or 7 flags"):
        batch.select(rows)


def test_blocks_put_together_are_the_whole(batch):
    assert_same(PlanBatch.concat([batch[:1], batch[1:2], batch[2:2], batch[2:6], batch[6:]]), batch)


def test_blocks_of_every_dtype_put_together_are_the_whole():
    whole = wild_batch()
    assert_same(PlanBatch.concat([whole[:2], whole[2:4], whole[4:]]), whole)


def test_parts_of_parts_keep_their_certificates(batch):
    twice = PlanBatch.concat([batch[2:], batch[:2]])[3:6]
    assert [plan.label for plan in twice] == [290, 140, 10]
    assert twice[2].certificate.verify() == batch[0].certificate.verify()
    assert twice.certificates[1] is None


def test_no_batches_cannot_be_put_together():
    with pytest.raises(copa.InvalidInputError, match="at least one batch"):
        PlanBatch.concat([])


def test_batches_of_another_ball_or_other_terms_do_not_mix(batch):
    ball = MomentBall(batch.ambiguity.mean, batch.ambiguity.cov, 0.06)
    for change in ({"ambiguity": ball}, terms(batch.basis.schema, guarantee=0.7)):
        with pytest.raises(copa.InvalidInputError, match="batch 1 has another ambiguity set, request, basis or number"):
            PlanBatch.concat([batch, PlanBatch(**parts_of(batch) | change)])


def test_equal_balls_need_not_be_the_same_object(batch):
    ball = MomentBall(batch.ambiguity.mean, batch.ambiguity.cov, batch.ambiguity.radius)
    assert len(PlanBatch.concat([batch, PlanBatch(**parts_of(batch) | {"ambiguity": ball})])) == 14


def test_the_table_of_changes_has_a_row_per_changed_cell(batch):
    table = batch.to_frame()
    assert table.columns.tolist() == [
        "applicant", "option", "column", "from", "to", "effort", "guarantee", "accepted", "at_least", "at_most",
        "plausibility"
    ]  # fmt: skip
    expected = [(plan.label, j, *change) for plan in batch for j in plan.options.index for change in plan.changes(j)]
    assert list(table.iloc[:, :5].itertuples(index=False, name=None)) == expected
    assert table["guarantee"].tolist()[:2] == batch.option_lower[:2].tolist()
    assert table["effort"].isna().all()  # of a batch that knows only those of whole options


def test_cells_of_the_table_keep_their_types(batch):
    table = batch.to_frame()
    assert table["from"].dtype == object
    assert {type(value) for value in table["to"]} == {int, str}


def test_a_label_of_several_parts_is_a_tuple():
    batch = wild_batch(pd.MultiIndex.from_tuples([("a", k) for k in range(5)]))
    assert batch.to_frame()["applicant"].tolist()[0] == ("a", 1)
    assert batch.summary()["applicant"].tolist()[4] == ("a", 4)
    assert batch[4].label == ("a", 4)
    assert batch[4].explain().startswith("Applicant a, 4: 3 options.")


def test_the_summary_has_a_row_per_applicant(batch):
    table = batch.summary()
    assert table["applicant"].tolist() == batch.applicants.index.tolist()
    assert table["status"].tolist() == batch.status.tolist()
    assert table["n_options"].tolist() == [3, 0, 2, 0, 0, 1, 0]
    first = table.iloc[0]
    assert (first["all"], first["any"], first["upper"]) == (batch.lower[0], batch.any_lower[0], batch.upper[0])
    assert first["lowest_option"] == min(batch[0].option_lower)
    assert table["cheapest_effort"].tolist()[2] == 1.25


def test_the_summary_says_nothing_of_options_that_do_not_exist(batch):
    rows = batch.summary().loc[batch.counts == 0, ["all", "any", "upper", "lowest_option", "cheapest_effort"]]
    assert len(rows) == 4
    assert rows.isna().all(axis=None)


def test_the_representation_counts_by_status(batch):
    assert repr(batch).startswith("PlanBatch(7 applicants, 6 options: 1 already_valid, 1 error, 1 fragile")
    assert repr(batch[:0]) == "PlanBatch(0 applicants, 0 options)"


def test_numbers_cannot_be_written_and_the_callers_can(batch):
    effort = np.ones(6)
    other = PlanBatch(**parts_of(batch) | {"effort": effort})
    with pytest.raises(ValueError, match="read-only"):
        other.effort[0] = 2.0
    effort[0] = 1.0  # no error


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"status": ["ok"] * 6}, "status must hold one text per applicant"),
        ({"status": ["fine"] * 7}, "status must be one of 'ok', 'already_valid'.*got 'fine'"),
        ({"message": [None] * 7}, "message must hold one text per applicant"),
        ({"lower": np.zeros(6)}, r"lower must hold one number per applicant, shape \(7,\)"),
        ({"lower": np.full(7, 1.1)}, "lower must hold probabilities, from 0 to 1, got 1.1"),
        ({"option_lower": np.full(6, np.nan)}, "option_lower must hold probabilities"),
        ({"effort": np.zeros(7)}, r"effort must hold one number per option, shape \(6,\)"),
        ({"effort": np.array(["1"] * 6)}, "effort must hold one number per option"),
        ({"accepted": np.ones(6)}, "accepted must hold true or false"),
        ({"owner": [0, 0, 0, 2, 2]}, "owner must hold one position per option"),
        ({"owner": [0, 0, 0, 2, 2, 1]}, "ascending order"),
        ({"owner": [0, 0, 0, 2, 2, 7]}, "0 to 6"),
        ({"owner": [-1, 0, 0, 2, 2, 5]}, "0 to 6"),
        (
            {"points": np.ones((6, 5))},
            r"one number per option and parameter, shape \(6, 6\), got float64 of shape \(6, 5\)",
        ),
        ({"ambiguity": None}, "ambiguity must be of the class AmbiguitySet, got None"),
        ({"request": {}}, "request must be of the class PlanRequest"),
        ({"basis": {}}, "basis must be of the class PlanBasis"),
        ({"applicants": [1, 2]}, "applicants must be a pandas DataFrame, got list"),
    ],
)
def test_parts_that_do_not_fit_are_refused(batch, change, message):
    with pytest.raises(copa.InvalidInputError, match=message):
        PlanBatch(**parts_of(batch) | change)


def test_options_must_have_the_columns_of_the_applicants(batch):
    with pytest.raises(copa.InvalidInputError, match="options must have the columns of the applicants"):
        PlanBatch(**parts_of(batch) | {"options": batch.options.drop(columns="age")})


def test_a_column_that_is_there_twice_is_refused(batch):
    twice = batch.applicants.rename(columns={"age": "job"})
    with pytest.raises(copa.InvalidInputError, match="more than one column 'job'"):
        PlanBatch(**parts_of(batch) | {"applicants": twice})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"guarantee": 1.5}, "guarantee must be a probability"),
        ({"guarantee": "0.9"}, "guarantee must be a probability"),
        ({"guarantee_for": "some"}, "guarantee_for must be one of 'each', 'all', 'any', got 'some'"),
        ({"objective": "best"}, "objective must be one of"),
        ({"cost": 3}, "cost must be the name of a cost"),
        ({"favourable": None}, "favourable must be a label"),
        ({"threshold": "half"}, "threshold must be a number or None"),
        ({"n_options": 2.5}, "n_options must be a whole number"),
        ({"radius_source": 1}, "radius_source must be text"),
        ({"subject": "moods"}, "subject must be one of"),
        ({"schema": None}, "schema must be a FeatureSchema"),
    ],
)
def test_terms_that_mean_nothing_are_refused(batch, change, message):
    arguments = {"schema": batch.basis.schema} | change
    with pytest.raises(copa.InvalidInputError, match=message):
        terms(**arguments)


def test_labels_of_numpy_become_plain(batch):
    assert type(terms(batch.basis.schema, favourable=np.int64(1))["basis"].favourable) is int
    assert type(terms(batch.basis.schema, favourable=np.str_("yes"))["basis"].favourable) is str


def test_request_and_basis_come_back_from_json():
    schema = FeatureSchema(
        (
            Feature("phone", "binary", values=(False, True), transitions={False: (True,), True: (True,)}),
            Feature("grade", "ordinal", values=(3, 2, 1), transitions={3: (2,)}),
        ),
        max_changes=1,
    )
    for part in terms(schema, threshold=None, favourable=True, diversity_weight=0.1).values():
        assert type(part).from_dict(json.loads(json.dumps(part.to_dict()))) == part


def test_a_request_by_the_papers_objective_has_no_level(batch):
    assert (batch.request.level, german_batch(objective="paper").request.level) == (0.6, None)
