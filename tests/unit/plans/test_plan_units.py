import pytest

from copa import Feature
from copa.plans.units import amount_text, name_and_unit

AMOUNT = Feature("amount", "integer", title="credit amount (DM)", special=(-9,), labels={-9: "no record"})


@pytest.mark.parametrize(
    ("feature", "number", "said"),
    [
        (AMOUNT, 4300, "4,300 DM"),
        (AMOUNT, -9, "no record"),
        (Feature("rate", "numeric"), 0.25, "0.25"),
        (Feature("rate", "numeric", title="rate (%)"), 1234.5, "1,234.5 %"),
        (Feature("housing", "categorical", values=("own", "rent")), "own", "own"),
        (None, "A11", "A11"),
    ],
)
def test_an_amount_is_said_with_the_unit_of_its_title(feature, number, said):
    assert amount_text(feature, number) == said


def test_only_parentheses_at_the_end_of_a_title_hold_its_unit():
    assert name_and_unit("time (in years) here") == ("time (in years) here", "")
    assert name_and_unit("(DM)") == ("(DM)", "")
