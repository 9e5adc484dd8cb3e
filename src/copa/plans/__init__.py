"""Plans: the options of every applicant in original units, with their guarantees."""

from copa.plans.batch import Plan, PlanBatch
from copa.plans.changes import Change
from copa.plans.request import PlanBasis, PlanRequest

__all__ = ["Change", "Plan", "PlanBasis", "PlanBatch", "PlanRequest"]
