"""Building plans: the objective, the search for it, and rows that a person can follow."""

from copa.objective.build import PlanArrays, build_plans
from copa.objective.objective import plan_objective

__all__ = ["PlanArrays", "build_plans", "plan_objective"]
