import pytest

from unit.planner import loans


@pytest.fixture(scope="session")
def model():
    return loans.fitted_pipeline()


@pytest.fixture(scope="session")
def planner(model):
    return loans.planner(model)


@pytest.fixture(scope="session")
def declined(model):
    """Forty people whom the model declines."""
    table = loans.people(150, 7)
    return table[~model.predict(table)].iloc[:40]


@pytest.fixture(scope="session")
def batch(planner, declined):
    return planner.plan(declined)
