import pytest

from copa.analysis.attribution import GENERAL, leaning
from unit.planner import loans


@pytest.fixture(scope="module")
def plan(loan_plans):
    return next(plan for plan in loan_plans if plan.n_options > 1)


def test_shares_add_up_to_the_score_and_in_the_worst_case_to_nothing(bank, plan):
    lean = leaning(plan, bank.fitted_.space)
    point = plan.points[lean.option - 1]
    assert lean.before.sum() == pytest.approx(point @ plan.ball.mean)
    assert abs(lean.after.sum()) < 1e-6 * lean.before.sum()


def test_the_option_is_the_one_that_breaks_first(bank, plan):
    assert leaning(plan, bank.fitted_.space).option == plan.breaks_first


def test_every_column_of_the_model_has_its_own_share(bank, plan):
    lean = leaning(plan, bank.fitted_.space)
    named = {name for name, own in zip(lean.columns, lean.is_column, strict=True) if own}
    assert named == {"income", "debt", "age", "job", "grade", "married"}
    assert [name for name, own in zip(lean.columns, lean.is_column, strict=True) if not own] == [GENERAL]


def test_a_columns_share_is_what_its_own_coordinates_add(bank, plan):
    """The first encoded columns are the scaled numbers, in the order of the pipeline."""
    lean = leaning(plan, bank.fitted_.space)
    point = plan.points[lean.option - 1]
    for position, name in enumerate(loans.NUMBERS, start=1):
        assert lean.before[lean.columns.index(name)] == pytest.approx(point[position] * plan.ball.mean[position])


def test_coordinates_of_several_columns_are_not_given_to_one():
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    table = loans.people(300, 0)
    labels = loans.outcomes(table)
    model = make_pipeline(loans.encoder(), PCA(5), LogisticRegression()).fit(table, labels)
    planner = loans.planner(model)
    batch = planner.plan(table[~model.predict(table)].iloc[:10])
    plan = next(plan for plan in batch if plan.n_options)
    lean = leaning(plan, planner.fitted_.space)
    assert lean.columns == (GENERAL, "several columns together")
    assert lean.before.sum() == pytest.approx(plan.points[lean.option - 1] @ plan.ball.mean)


def test_there_is_nothing_to_say_without_options_or_in_other_coordinates(bank, german):
    assert leaning(german[3], bank.fitted_.space) is None
    assert leaning(german[0], bank.fitted_.space) is None
