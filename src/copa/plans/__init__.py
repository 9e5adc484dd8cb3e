"""What comes out: a plan for every applicant, with its guarantees, in original units."""

from copa.plans.batch import Plan, PlanBatch
from copa.plans.changes import Change
from copa.plans.request import PlanBasis, PlanRequest

__all__ = ["Change", "Plan", "PlanBasis", "PlanBatch", "PlanRequest"]
