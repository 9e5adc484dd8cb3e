"""Building plans: the objective, the search for it, and rows that a person can follow."""

from copa.planning.build import PlanArrays, build_plans
from copa.planning.objective import plan_objective

__all__ = ["PlanArrays", "build_plans", "plan_objective"]
