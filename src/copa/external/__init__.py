"""Plans made elsewhere, in one common form: tables, CSV files, and the results of COPA itself and of DiCE."""

from copa.external.external_plans import ExternalPlans
from copa.external.read import read_plans

__all__ = ["ExternalPlans", "read_plans"]
