import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from copa.analysis.attribution import GENERAL, WHOLE, attribute
from unit.planner import loans


@pytest.fixture(scope="module")
def plans(loan_plans):
    """Plans with more than one option."""
    return [plan for plan in loan_plans if plan.n_options > 1][:6]


@pytest.fixture(scope="module")
def found(bank, plans):
    return [attribute(plan, bank.fitted_) for plan in plans]


def test_shares_add_up_to_the_score_and_in_the_worst_case_to_nothing(plans, found):
    for plan, split in zip(plans, found, strict=True):
        point, worst = plan.points[split.option - 1], plan.certificate.worst_case()
        assert split.expected.sum() == pytest.approx(point @ plan.ambiguity.mean)
        assert split.broken.sum() == pytest.approx(point @ worst.location[split.option - 1], abs=1e-9)
        assert split.broken.sum() < 1e-6 * split.expected.sum()  # the models that refuse the option do so on average


def test_the_option_is_the_one_that_breaks_first_with_the_largest_mass(plans, found):
    for plan, split in zip(plans, found, strict=True):
        assert split.option == plan.breaks_first
        assert split.probability == pytest.approx(plan.weights.max(), abs=1e-6)


def test_every_column_of_the_model_has_its_own_share(found):
    assert {column for column in found[0].columns if column} == {"income", "debt", "age", "job", "grade", "married"}
    assert [part for part, own in zip(found[0].parts, found[0].is_column, strict=True) if not own] == [GENERAL]


def test_a_columns_share_is_what_its_own_coordinates_add(plans, found):
    """The first encoded columns are the scaled numbers, in the order of the pipeline."""
    plan, split = plans[0], found[0]
    point = plan.points[split.option - 1]
    for position, name in enumerate(loans.NUMBERS, start=1):
        assert split.expected[split.columns.index(name)] == pytest.approx(
            point[position] * plan.ambiguity.mean[position]
        )


def test_what_a_change_alone_gives_is_in_the_share_of_its_column(bank, plans, found):
    # Undo one change after another: what the encoded row loses is what the column's share loses.
    for plan, split in zip(plans, found, strict=True):
        option = plan.options.iloc[[split.option - 1]]
        changes = plan.changes(split.option)
        assert {c for c, changed in zip(split.columns, split.is_changed, strict=True) if changed} == {
            change.column for change in changes
        }
        for change in changes:
            undone = option.copy()
            undone[change.column] = plan.factual[change.column].to_numpy()
            (gain,) = bank.fitted_.model.encode(option) - bank.fitted_.model.encode(undone)
            before = attribute_of_row(bank, plan, undone)
            k = split.columns.index(change.column)
            assert split.expected[k] - before[k] == pytest.approx(gain @ plan.ambiguity.mean, abs=1e-9)


def attribute_of_row(bank, plan, row):
    """Shares in the mean of a row, by an audit of it."""
    (audited,) = bank.audit([row], plan.factual)
    return attribute(audited, bank.fitted_).expected


def test_words_and_json_name_the_parts_that_lose_most(found):
    split = found[0]
    loser = int(np.argmin(split.change))
    assert f"{split.parts[loser]}{' (changed)' if split.is_changed[loser] else ''} counts" in split.in_words()
    assert split.in_words().startswith(f"Option {split.option} breaks first. At worst, with probability 0.")
    shares = split.to_dict()["shares"]
    assert [share["part"] for share in shares] == list(split.parts)
    assert [share["broken"] for share in shares] == split.broken.tolist()
    assert {share["column"] for share in shares if share["changed"]} <= set(split.columns)


def test_coordinates_of_several_columns_are_not_given_to_one():
    table = loans.people(300, 0)
    model = make_pipeline(loans.encoder(), PCA(5), LogisticRegression()).fit(table, loans.outcomes(table))
    planner = loans.planner(model)
    plan = next(plan for plan in planner.plan(table[~model.predict(table)].iloc[:10]) if plan.n_options)
    split = attribute(plan, planner.fitted_)
    assert split.parts == (GENERAL, "several columns together")
    assert split.expected.sum() == pytest.approx(plan.points[split.option - 1] @ plan.ambiguity.mean)


def test_a_model_that_is_no_sum_over_columns_has_one_share():
    table = loans.people(300, 0)
    squares = PolynomialFeatures(2, include_bias=False)
    model = make_pipeline(loans.encoder(), squares, LogisticRegression(C=0.01)).fit(table, loans.outcomes(table))
    planner = loans.planner(model)
    declined = table[~model.predict(table)].iloc[:1]
    (plan,) = planner.audit([declined.assign(debt=0)], declined)
    split = attribute(plan, planner.fitted_)
    assert split.parts == (WHOLE,)
    assert "gives it, on average, the score" in split.in_words()


def test_in_other_coordinates_there_are_no_columns(bank, german):
    assert attribute(german[0], bank.fitted_).parts == (WHOLE,)


def test_there_is_nothing_to_say_without_options(bank, german):
    assert german[3].n_options == 0
    assert attribute(german[3], bank.fitted_) is None


def test_a_hopeless_option_breaks_for_certain(bank):
    table = loans.people(40, 7)
    person = table[~bank.model.predict(table)].head(1)
    (audited,) = bank.audit([person], person)
    split = attribute(audited, bank.fitted_)
    assert audited.lower == 0.0
    assert split.probability > 0.99
    assert np.isfinite(split.broken).all()


def test_a_set_without_a_known_worst_case_has_no_attribution(unimodal_bank, unimodal_plans):
    assert unimodal_plans.counts.any()
    assert [attribute(plan, unimodal_bank.fitted_) for plan in unimodal_plans] == [None] * len(unimodal_plans)
