"""Given plans in one common form: tables, CSV files, and the results of COPA itself and of DiCE."""

from copa.external.external_plans import GivenPlans, read_plans

__all__ = ["GivenPlans", "read_plans"]
