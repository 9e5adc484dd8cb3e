"""Plans stay what they were: rows exactly, numbers to the tolerance that other processors need."""

import pytest

from golden.golden_plans import DATA, all_documents, differences, stored


@pytest.mark.slow  # two minutes; `python tests/golden/golden_plans.py check` compares bytes
@pytest.mark.parametrize("name", DATA)
def test_plans_audits_and_corrections_are_the_golden_ones(name):
    golden = {key: value for key, value in stored().items() if key.startswith(f"{name}/")}
    assert golden
    assert differences(golden, all_documents([name])) == []
