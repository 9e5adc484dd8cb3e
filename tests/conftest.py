from remembered_refits import _refits_are_remembered  # noqa: F401 - a fixture for every test
