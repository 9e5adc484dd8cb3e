"""Planner: from a table and a fitted pipeline to certified plans."""

from copa.planner.correct import CorrectedPlans
from copa.planner.later_models import Expected, LaterModels
from copa.planner.proofs import Proofs
from copa.planner.recourse_planner import RecoursePlanner
from copa.planner.served import Served
from copa.planner.strategies.base import Strategy
from copa.planner.strategies.black_box import BlackBoxStrategy
from copa.planner.wishes import Wishes

__all__ = [
    "BlackBoxStrategy",
    "CorrectedPlans",
    "Expected",
    "LaterModels",
    "Proofs",
    "RecoursePlanner",
    "Served",
    "Strategy",
    "Wishes",
]
