import numpy as np
import pytest

from unit.planner import loans
from unit.plans.plan_batches import german_batch
from unit.theory.bounds.unimodal import UnimodalMeanSet


@pytest.fixture(scope="session")
def german():
    """Seven applicants, one for each status and one more."""
    return german_batch()


@pytest.fixture(scope="session")
def bank():
    """A planner for the small bank."""
    return loans.planner(loans.fitted_pipeline())


@pytest.fixture(scope="session")
def loan_plans(bank):
    """Plans for thirty people whom the bank declines."""
    table = loans.people(150, 7)
    return bank.plan(table[~bank.model.predict(table)].iloc[:30])


@pytest.fixture(scope="session")
def unimodal_bank(bank):
    """The same planner, with an ambiguity set of another family."""
    return loans.planner(bank.model, **loans.own_set(UnimodalMeanSet, bank))


@pytest.fixture(scope="session")
def unimodal_plans(unimodal_bank, loan_plans):
    """Plans in that set for a few people."""
    return unimodal_bank.plan(loan_plans.applicants.iloc[:4])


@pytest.fixture(scope="session")
def credit():
    """Three hundred rows of a noisy linear rule with unequal classes and features in different units."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(300, 5)) * [1.0, 10.0, 0.1, 1.0, 3.0] + [0.0, 5.0, 0.0, -1.0, 0.0]
    score = X @ [1.0, 0.05, -8.0, 0.5, 0.0] - 0.8
    return X, (score + rng.logistic(size=300) > 0.0).astype(int)
