import pytest

from unit.planner import loans
from unit.service import banks


@pytest.fixture(scope="session")
def bundle(bank, tmp_path_factory):
    """The bundle of the small bank."""
    return banks.write_bundle(tmp_path_factory.mktemp("service") / "bank.bundle", bank, label="paid")


@pytest.fixture(scope="session")
def client(bundle):
    with banks.client_of(bundle) as made:
        yield made


@pytest.fixture(scope="session")
def declined(bank):
    """Twelve people whom the bank declines."""
    table = loans.people(150, 7)
    return table[~bank.model.predict(table)].iloc[:12]


@pytest.fixture(scope="session")
def people(declined):
    """The same as JSON has them."""
    return banks.rows_of(declined)
