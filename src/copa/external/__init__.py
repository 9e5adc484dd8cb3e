"""Plans made elsewhere, in one common form: tables, CSV files, and the results of COPA itself and of DiCE."""

from copa._core.deprecation import renamed_exports as _renamed_exports
from copa.external.external_plans import ExternalPlans
from copa.external.read import read_plans

__all__ = ["ExternalPlans", "read_plans"]

__getattr__ = _renamed_exports(__name__, {"GivenPlans": "ExternalPlans"})
