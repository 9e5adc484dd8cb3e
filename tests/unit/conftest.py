import pytest

from unit.planner import loans
from unit.plans.plan_batches import german_batch


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
