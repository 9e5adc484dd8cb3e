"""Fit of a planner: its schema with spreads and support, its strategy, and what older versions have shown."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.progress import stage
from copa.data.schema import FeatureSchema
from copa.data.schema.field_readers import is_absent
from copa.exceptions import BlackBoxWarning, InvalidInputError
from copa.models.black_box import BlackBox
from copa.models.encoders import encoder_categories
from copa.models.linear import LinearModel, is_linear, why_black_box
from copa.models.refits.history import Drift, Past, measure_drift, version_scores
from copa.models.trees import NotTreesError
from copa.models.trees.kinds import is_tree_ensemble
from copa.planner.labels import warn_if_weak
from copa.planner.search.accepted import accepted_row
from copa.planner.search.plausibility import Plausibility
from copa.planner.search.run import price_multipliers
from copa.planner.settings import Execution, FitSettings
from copa.planner.strategies import read_surrogate
from copa.planner.strategies.applicants import declined_rows
from copa.planner.strategies.base import Strategy
from copa.planner.strategies.boundary import Boundary
from copa.planner.strategies.linear import Linear
from copa.planner.strategies.trees import Trees
from copa.plans.request import PlanRequest

if TYPE_CHECKING:
    import pandas as pd

N_REFERENCES = 40  # declined rows of the training data whose options the versions are asked about
REFERENCE_REQUEST = PlanRequest(guarantee=0.9, guarantee_for="each", n_options=3, diversity_weight=2.0)
N_STARTS = 4


def learn(planner: Any, table: "pd.DataFrame", y: Any, described: FeatureSchema | None, favourable: Any) -> Strategy:
    """Fit the strategy for the model of a `RecoursePlanner`: what is known of it, of later ones and of the rows."""
    linear = is_linear(planner.model)
    if not linear and (reason := why_black_box(planner.model)):
        warnings.warn(reason, BlackBoxWarning, stacklevel=3)
    kind: type[Strategy] = Linear if linear else read_surrogate(planner.surrogate)
    read = LinearModel.read if linear else BlackBox.read
    model: Any = read(planner.model, table.columns, threshold=planner.threshold, favourable=favourable)
    if y is not None:
        warn_if_weak(model, table, model.read_labels(y, len(table)))
    with stage("reading the schema"):
        schema = _read_schema(described, table, model.columns, planner.model)
    settings = FitSettings.of(planner)
    strategy = widened_by_history(_fitted(kind, model, schema, table, y, settings), table, settings)
    _ = strategy.space.prices  # what is wrong with a cost is said now, before any search
    with stage("comparing the training rows with each other"):
        plausibility = Plausibility.fit(strategy.schema, table) if planner.plausibility > 0.0 else None
    space = replace(strategy.space, plausibility=plausibility)
    return replace(strategy, space=space, accepted_row=accepted_row(strategy.model, schema, table))


def _fitted(
    kind: type[Strategy], model: Any, schema: FeatureSchema, table: "pd.DataFrame", y: Any, settings: FitSettings
) -> Strategy:
    """Fit a strategy; models whose trees can be read need no surrogate at the boundary."""
    if kind is Boundary and is_tree_ensemble(model.estimator):
        try:
            return Trees.fit(model, schema, table, y, settings)
        except NotTreesError as error:
            reason = f"the trees of this model are not read ({error}); it is planned for as any black box is"
            warnings.warn(reason, BlackBoxWarning, stacklevel=4)
    return kind.fit(model, schema, table, y, settings)


def load_schema(given: Any) -> FeatureSchema | None:
    """Return the schema that a planner was given, as itself, as its content or as a file; None where there is none."""
    if is_absent(given) or isinstance(given, FeatureSchema):
        return None if is_absent(given) else given
    return FeatureSchema.from_dict(given) if isinstance(given, Mapping) else FeatureSchema.load(given)


def _read_schema(
    given: FeatureSchema | None, table: "pd.DataFrame", columns: tuple[str, ...], estimator: Any
) -> FeatureSchema:
    """Return the schema with spreads and support of the data; one not given is inferred from columns and encoders."""
    if given is None:
        schema = FeatureSchema.infer(table[list(columns)], categories=encoder_categories(estimator, columns))
    else:
        schema = given.with_spreads(table)
    schema = schema.with_support(table)
    messages = [message for message in schema.check(table) if message]
    if len(messages) > len(table) // 2:
        raise InvalidInputError(
            f"the schema does not fit the data: {len(messages)} of {len(table)} rows break it. The first: {messages[0]}"
        )
    return schema


def widened_by_history(strategy: Strategy, X: "pd.DataFrame", settings: FitSettings) -> Strategy:
    """Return a strategy, fitted without history to X, whose set allows for the moves of scores in the history."""
    drift = _measured_drift(strategy, X, settings)
    if drift is None:
        return strategy
    past = Past(drift, strategy.ambiguity(1).radius, strategy.radius_source)
    return replace(strategy, past=past).at_horizon(settings.later_models.horizon)


def _measured_drift(strategy: Strategy, X: "pd.DataFrame", settings: FitSettings) -> Drift | None:
    """Measure the moves of scores between versions, of options for declined rows; None where no version is given."""
    later = settings.later_models
    if later.history is None:
        return None
    declined = declined_rows(strategy.schema, strategy.model, X, N_REFERENCES)
    applicants = strategy.read_applicants(X.iloc[declined].reset_index(drop=True))
    multipliers = price_multipliers(N_STARTS, len(strategy.space.columns), settings.seed)
    run = Execution(multipliers, settings.seed, settings.n_jobs)
    options = strategy.build(applicants, REFERENCE_REQUEST, run).options
    rows, points = options.table, options.points
    if len(rows) == 0:  # nothing can be promised; still, the versions may be asked about the rows as they are
        spread = np.unique(np.linspace(0, len(X) - 1, N_REFERENCES).astype(int))  # if nobody is declined
        rows = applicants.table.frame if len(applicants) else X.iloc[spread].reset_index(drop=True)
        points = strategy.points(rows, np.arange(len(rows)), REFERENCE_REQUEST.n_options, settings.n_jobs)
    scores = version_scores([*later.versions(strategy.model), strategy.model.estimator], rows, strategy.model)
    # Over all retrainings that the history shows: then another horizon needs no other fit.
    return measure_drift(scores, strategy.spreads(points), max(later.horizon, len(scores) - 1))
