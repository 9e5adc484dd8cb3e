import warnings

import numpy as np
import pytest

from copa.exceptions import ProtectedReasonWarning
from copa.report.letters import LetterSettings, LetterWriter, write_letter

SENDER = {"sender": "Example Bank, Market Street 12", "contact": "help@example.org", "date": "2999-01-05"}


@pytest.fixture(scope="session")
def full_plan(loan_plans):
    """A plan with three options and intervals."""
    return loan_plans[int(np.flatnonzero((loan_plans.counts == 3) & (loan_plans.status == "ok"))[0])]


@pytest.fixture(scope="session")
def settings():
    return LetterSettings(**SENDER)


@pytest.fixture(scope="session")
def letters(bank, loan_plans, settings):
    """The letters of thirty people."""
    return list(LetterWriter(bank.strategy_, settings).write(loan_plans))


@pytest.fixture
def written(bank):
    """Write the letter of a plan, whatever its reasons."""

    def write(plan, planner=bank, **more):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ProtectedReasonWarning)
            return write_letter(planner, plan, **SENDER | more)

    return write
