"""Intervals of the options of a batch, for who asks for them."""

from dataclasses import replace

import numpy as np

from copa.planner.settings import Execution
from copa.planner.strategies.applicants import Applicants
from copa.planner.strategies.base import Strategy
from copa.planner.strategies.options import read_options
from copa.plans import PlanBatch


def with_intervals(strategy: Strategy, batch: PlanBatch, run: Execution) -> PlanBatch:
    """The batch, with intervals of its options as the strategy finds them."""
    if len(batch.owner) == 0:
        return batch
    whose, owner = np.unique(batch.owner, return_inverse=True)
    origins = batch.applicants.iloc[whose]
    request = batch.request
    searched = strategy if request.aim == "guarantee" else strategy.expecting()
    applicants = Applicants.read(strategy, origins)
    options = read_options(strategy, origins, batch.options, owner, request.n_options, run.n_jobs)
    return replace(batch, intervals=searched.thorough_intervals(applicants, options, request, run))
