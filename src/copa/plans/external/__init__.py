"""Plans made elsewhere, in one common form: tables, CSV files, and the results of COPA itself and of DiCE."""

from copa.plans.external.external_plans import ExternalPlans
from copa.plans.external.read import read_plans

__all__ = ["ExternalPlans", "read_plans"]
