import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import copa
from copa._core.words import rounded_up
from copa.analysis.attribution import GENERAL, WHOLE, Attributor, attribute
from copa.planner.search.plausibility import Plausibility
from unit.planner import loans


@pytest.fixture(scope="module")
def plans(loan_plans):
    """Plans with more than one option."""
    return [plan for plan in loan_plans if plan.n_options > 1][:6]


@pytest.fixture(scope="module")
def found(bank, plans):
    return [attribute(plan, bank.strategy_) for plan in plans]


def own_worst_case(plan, split):
    """Average parameters of the models that refuse the option in its own worst case, by a certificate of it alone."""
    alone = copa.validity_bounds(plan.points[[split.option - 1]], ambiguity=plan.ambiguity)
    return alone.certificate.worst_case().location[0]


def test_shares_add_up_to_todays_score_and_in_the_worst_case_to_nothing(bank, plans, found):
    for plan, split in zip(plans, found, strict=True):
        point = plan.points[split.option - 1]
        assert split.today.sum() == pytest.approx(point[:-1] @ bank.strategy_.model.theta)
        assert split.broken.sum() == pytest.approx(point @ own_worst_case(plan, split), abs=1e-6)
        assert split.broken.sum() < 1e-6 * split.today.sum()  # the models that refuse the option do so on average


def test_the_probability_is_that_of_the_option_alone_not_its_part_of_the_joint_worst_case(plans, found):
    for plan, split in zip(plans, found, strict=True):
        alone = copa.validity_bounds(plan.points[[split.option - 1]], ambiguity=plan.ambiguity)
        assert split.option == plan.breaks_first
        assert split.probability == 1.0 - plan.option_lower[split.option - 1]
        assert split.probability == pytest.approx(alone.certificate.worst_case().mass[0], abs=1e-6)
        assert f"with probability at most {rounded_up(split.probability)}." in split.in_words()


def test_in_the_papers_ball_too_where_options_share_the_joint_worst_case(bank, german):
    for plan in (german[0], german[2]):
        split = attribute(plan, bank.strategy_)
        alone = copa.validity_bounds(plan.points[[split.option - 1]], ambiguity=plan.ambiguity)
        assert split.probability == pytest.approx(alone.certificate.worst_case().mass[0], abs=1e-6)
        assert split.probability > plan.weights[split.option - 1] + 0.001
        assert split.broken.sum() <= 1e-6


def test_every_column_of_the_model_has_its_own_share(found):
    assert {column for column in found[0].columns if column} == {"income", "debt", "age", "job", "grade", "married"}
    assert [part for part, column in zip(found[0].parts, found[0].columns, strict=True) if column is None] == [GENERAL]


def test_a_columns_share_is_what_its_own_coordinates_add_to_an_average_applicant(bank, plans):
    """The first encoded columns are the scaled numbers, in the order of the pipeline."""
    plan, fitted = plans[0], bank.strategy_
    known = replace(
        fitted, space=replace(fitted.space, plausibility=Plausibility.fit(loans.SCHEMA, loans.people(99, 3)))
    )
    average = known.encode(known.space.plausibility.table()).mean(axis=0)
    for strategy, centre, words in ((known, average, "average applicant"), (fitted, np.eye(len(average))[0], "are 0")):
        attributor = Attributor(strategy)
        split, theta = attributor.attribute(plan), fitted.model.theta
        point = plan.points[split.option - 1][: len(theta)]
        for position, name in enumerate(loans.NUMBERS, start=1):
            beyond = (point[position] - centre[position]) * theta[position]
            assert split.today[split.columns.index(name)] == pytest.approx(beyond)
        assert split.today[split.parts.index(GENERAL)] == pytest.approx(centre @ theta)
        assert split.today.sum() == pytest.approx(point @ theta)
        assert words in attributor.reference


def test_what_an_option_changes_is_marked(plans, found):
    for plan, split in zip(plans, found, strict=True):
        changed = {column for column, flag in zip(split.columns, split.is_changed, strict=True) if flag}
        assert changed == {change.column for change in plan.changes(split.option)}


def test_causes_are_the_parts_that_lose_most_and_no_scores_are_told(found):
    for split in found:
        losers = np.argsort(split.change)[: len(split.causes)]
        assert (split.change[losers] < 0.05 * split.change[split.change < 0.0].sum()).all()
        for k, words in zip(losers, split.causes, strict=True):
            heading = split.parts[k].partition(":")[0]
            assert ("stricter in general" if split.parts[k] == GENERAL else heading) in words
        assert not re.search(r"[+-]\d", split.in_words())


def test_json_has_the_shares_and_the_causes(found):
    told = found[0].to_dict()
    assert [share["part"] for share in told["shares"]] == list(found[0].parts)
    assert [share["broken"] for share in told["shares"]] == found[0].broken.tolist()
    assert [share["today"] for share in told["shares"]] == found[0].today.tolist()
    assert told["causes"] == list(found[0].causes)


def test_coordinates_of_several_columns_are_not_given_to_one():
    table = loans.people(300, 0)
    model = make_pipeline(loans.encoder(), PCA(5), LogisticRegression()).fit(table, loans.outcomes(table))
    planner = loans.planner(model)
    plan = next(plan for plan in planner.plan(table[~model.predict(table)].iloc[:10]) if plan.n_options)
    split = attribute(plan, planner.strategy_)
    assert split.parts == (GENERAL, "several columns together")
    assert split.today.sum() == pytest.approx(plan.points[split.option - 1, :-1] @ planner.strategy_.model.theta)


def test_a_model_that_is_no_sum_over_columns_has_one_share():
    table = loans.people(300, 0)
    squares = PolynomialFeatures(2, include_bias=False)
    model = make_pipeline(loans.encoder(), squares, LogisticRegression(C=0.01)).fit(table, loans.outcomes(table))
    planner = loans.planner(model)
    declined = table[~model.predict(table)].iloc[:1]
    (plan,) = planner.audit([declined.assign(debt=0)], declined)
    split = attribute(plan, planner.strategy_)
    assert split.parts == (WHOLE,)
    assert "no sum over columns" in split.in_words()


def test_in_other_coordinates_there_are_no_columns(bank, german):
    assert attribute(german[0], bank.strategy_).parts == (WHOLE,)


def test_there_is_nothing_to_say_without_options(bank, german):
    assert german[3].n_options == 0
    assert attribute(german[3], bank.strategy_) is None


def test_a_hopeless_option_breaks_for_certain(bank):
    table = loans.people(40, 7)
    person = table[~bank.model.predict(table)].head(1)
    (audited,) = bank.audit([person], person)
    split = attribute(audited, bank.strategy_)
    assert audited.lower == 0.0
    assert split.probability > 0.99
    assert split.in_words() == "Option 1 fails first: today's model refuses it already."
    assert np.isfinite(split.broken).all()


def test_a_set_without_a_known_worst_case_has_no_attribution(unimodal_bank, unimodal_plans):
    assert unimodal_plans.counts.any()
    assert [attribute(plan, unimodal_bank.strategy_) for plan in unimodal_plans] == [None] * len(unimodal_plans)
