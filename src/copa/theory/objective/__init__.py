"""The paper's weighted objective of a plan, and plans that minimise it."""

from copa.theory.objective.build import PlanArrays, build_plans
from copa.theory.objective.objective import plan_objective

__all__ = ["PlanArrays", "build_plans", "plan_objective"]
