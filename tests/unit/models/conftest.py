from unit.uncertainty.conftest import credit  # noqa: F401 - a fixture
