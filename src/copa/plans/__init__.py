"""Plans: the options of every applicant in original units, with their guarantees."""

from copa.plans.batch import Plan, PlanBatch
from copa.plans.changes import Change
from copa.plans.request import PaperObjective, PlanBasis, PlanRequest

__all__ = ["Change", "PaperObjective", "Plan", "PlanBasis", "PlanBatch", "PlanRequest"]
