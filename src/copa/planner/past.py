"""A fitted strategy, widened by what older versions of the model have shown."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from copa.models.refits.history import Drift, Past, measure_drift, version_scores
from copa.planner.search.run import price_multipliers
from copa.planner.settings import Execution, FitSettings
from copa.planner.strategies.applicants import reference_applicants
from copa.planner.strategies.base import Strategy
from copa.plans.request import PlanRequest

if TYPE_CHECKING:
    import pandas as pd

N_REFERENCES = 40  # declined rows of the training data whose options the versions are asked about
REQUEST = PlanRequest(guarantee=0.9, guarantee_for="each", n_options=3, diversity_weight=2.0)
N_STARTS = 4


def widened_by_history(strategy: Strategy, X: "pd.DataFrame", settings: FitSettings) -> Strategy:
    """Ask the older versions about options for declined rows, and allow for the moves of their scores.

    Parameters
    ----------
    strategy : Strategy
        Fitted without history.
    X : DataFrame
        The training data.
    settings : FitSettings
        With the history and the horizon.
    """
    drift = measured_drift(strategy, X, settings)
    if drift is None:
        return strategy
    past = Past(drift, strategy.ambiguity(1).radius, strategy.radius_source)
    return replace(strategy, past=past).at_horizon(settings.later_models.horizon)


def measured_drift(strategy: Strategy, X: "pd.DataFrame", settings: FitSettings) -> Drift | None:
    """The moves of scores between versions; None where no version is given."""
    later = settings.later_models
    if later.history is None:
        return None
    applicants = reference_applicants(strategy, X, N_REFERENCES)
    multipliers = price_multipliers(N_STARTS, len(strategy.space.columns), settings.seed)
    options = strategy.build(applicants, REQUEST, Execution(multipliers, settings.seed, settings.n_jobs)).options
    rows, points = options.table, options.points
    if len(rows) == 0:  # nothing can be promised; still, the versions may be asked about the rows as they are
        spread = np.unique(np.linspace(0, len(X) - 1, N_REFERENCES).astype(int))  # if nobody is declined
        rows = applicants.table.frame if len(applicants) else X.iloc[spread].reset_index(drop=True)
        points = strategy.points(rows, np.arange(len(rows)), REQUEST.n_options, settings.n_jobs)
    scores = version_scores([*later.versions(strategy.model), strategy.model.estimator], rows, strategy.model)
    # Over all retrainings that the history shows: then another horizon needs no other fit.
    return measure_drift(scores, strategy.spreads(points), max(later.horizon, len(scores) - 1))
