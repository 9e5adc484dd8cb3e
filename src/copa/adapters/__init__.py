"""Plans that others made, in one common form: tables, CSV files, and the results of DiCE."""

from copa.adapters.given_plans import GivenPlans, read_plans

__all__ = ["GivenPlans", "read_plans"]
