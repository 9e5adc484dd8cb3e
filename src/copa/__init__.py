"""COPA: counterfactual plans that keep their promise when the model is retrained."""

import typing

from copa import datasets
from copa._core import deprecation as _deprecation
from copa.analysis import metrics
from copa.bounds import (
    BallCertificate,
    Bounds,
    Certificate,
    ValidityBounds,
    Verification,
    WorstCase,
    bound_plans,
    lower_bound_gradient,
    validity_bounds,
)
from copa.corrections import (
    CorrectionEffect,
    correction_effect,
    improve_bound,
    mahalanobis_correction,
    requirement_correction,
)
from copa.exceptions import CertificateError, CopaError, DataError, InvalidInputError, RetrainingError
from copa.objective import PlanArrays, build_plans, plan_objective
from copa.plans import Plan, PlanBatch
from copa.schema import Feature, FeatureSchema, LinearRule
from copa.uncertainty import (
    AmbiguitySet,
    LocationSet,
    MomentBall,
    WeightMoments,
    calibrate_radius,
    estimate_drift,
    gelbrich_distance,
    radius_from_history,
    resampling_radius,
    retrained_parameters,
)

if typing.TYPE_CHECKING:
    from copa.planner import CorrectedPlans, RecoursePlanner

_deprecation.find_renamed_modules()

__version__ = "0.4.0"

__all__ = [
    "AmbiguitySet",
    "BallCertificate",
    "Bounds",
    "Certificate",
    "CertificateError",
    "CopaError",
    "CorrectedPlans",
    "CorrectionEffect",
    "DataError",
    "Feature",
    "FeatureSchema",
    "InvalidInputError",
    "LinearRule",
    "LocationSet",
    "MomentBall",
    "Plan",
    "PlanArrays",
    "PlanBatch",
    "RecoursePlanner",
    "RetrainingError",
    "ValidityBounds",
    "Verification",
    "WeightMoments",
    "WorstCase",
    "bound_plans",
    "build_plans",
    "calibrate_radius",
    "correction_effect",
    "datasets",
    "estimate_drift",
    "gelbrich_distance",
    "improve_bound",
    "lower_bound_gradient",
    "mahalanobis_correction",
    "metrics",
    "plan_objective",
    "radius_from_history",
    "requirement_correction",
    "resampling_radius",
    "retrained_parameters",
    "validity_bounds",
]


def __getattr__(name: str) -> typing.Any:
    # The planner is a scikit-learn estimator, and importing scikit-learn takes longer than all the rest.
    if name in ("CorrectedPlans", "RecoursePlanner"):
        from copa import planner

        return getattr(planner, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
