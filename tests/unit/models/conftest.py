from unit.moments.conftest import credit  # noqa: F401 - a fixture
