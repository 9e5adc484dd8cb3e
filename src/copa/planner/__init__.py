"""The front door: from a table and a fitted pipeline to certified menus of options."""

from copa.planner.correct import CorrectedPlans
from copa.planner.recourse_planner import RecoursePlanner

__all__ = ["CorrectedPlans", "RecoursePlanner"]
