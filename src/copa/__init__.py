"""COPA: counterfactual plans with certified lower bounds on their validity when the model is retrained."""

import typing as _typing
from importlib import import_module as _import_module

if _typing.TYPE_CHECKING:
    from copa.analysis import metrics
    from copa.data import datasets
    from copa.data.schema import Feature, FeatureSchema, LinearRule
    from copa.exceptions import CertificateError, CopaError, DataError, InvalidInputError, RetrainingError
    from copa.models.refits import retrained_parameters
    from copa.planner import CorrectedPlans, Expected, LaterModels, RecoursePlanner, Wishes
    from copa.plans import PaperObjective, Plan, PlanBatch
    from copa.plans.external import read_plans
    from copa.promises import Ledger, gate, keep
    from copa.theory.bounds import (
        BallCertificate,
        Certificate,
        ValidityBounds,
        Verification,
        WorstCase,
        bound_plans,
        validity_bounds,
    )
    from copa.theory.corrections import mahalanobis_correction, requirement_correction
    from copa.theory.objective import PlanArrays, build_plans, plan_objective
    from copa.theory.sets import AmbiguitySet, LocationSet, MomentBall, WeightMoments, gelbrich_distance

__version__ = "0.5.0"

__all__ = [
    "AmbiguitySet",
    "BallCertificate",
    "Certificate",
    "CertificateError",
    "CopaError",
    "CorrectedPlans",
    "DataError",
    "Expected",
    "Feature",
    "FeatureSchema",
    "InvalidInputError",
    "LaterModels",
    "Ledger",
    "LinearRule",
    "LocationSet",
    "MomentBall",
    "PaperObjective",
    "Plan",
    "PlanArrays",
    "PlanBatch",
    "RecoursePlanner",
    "RetrainingError",
    "ValidityBounds",
    "Verification",
    "WeightMoments",
    "Wishes",
    "WorstCase",
    "bound_plans",
    "build_plans",
    "datasets",
    "gate",
    "gelbrich_distance",
    "keep",
    "mahalanobis_correction",
    "metrics",
    "plan_objective",
    "read_plans",
    "requirement_correction",
    "retrained_parameters",
    "validity_bounds",
]

# Where the names come from. Each is imported when it is asked for: a command says that it is alive before it loads
# NumPy, and the planner is a scikit-learn estimator, which takes longer to import than all the rest.
_HOMES = {
    "theory.bounds": (
        "BallCertificate",
        "Certificate",
        "ValidityBounds",
        "Verification",
        "WorstCase",
        "bound_plans",
        "validity_bounds",
    ),
    "theory.corrections": ("mahalanobis_correction", "requirement_correction"),
    "exceptions": ("CertificateError", "CopaError", "DataError", "InvalidInputError", "RetrainingError"),
    "plans.external": ("read_plans",),
    "theory.objective": ("PlanArrays", "build_plans", "plan_objective"),
    "planner": ("CorrectedPlans", "Expected", "LaterModels", "RecoursePlanner", "Wishes"),
    "plans": ("PaperObjective", "Plan", "PlanBatch"),
    "promises": ("Ledger", "gate", "keep"),
    "data.schema": ("Feature", "FeatureSchema", "LinearRule"),
    "theory.sets": (
        "AmbiguitySet",
        "LocationSet",
        "MomentBall",
        "WeightMoments",
        "gelbrich_distance",
    ),
    "models.refits": ("retrained_parameters",),
}
_MODULES = {"datasets": "copa.data.datasets", "metrics": "copa.analysis.metrics"}
_ROOMS = ("analysis", "data", "exceptions", "models", "plans", "planner", "promises", "report", "service", "theory")


def __getattr__(name: str) -> object:
    if name in _ROOMS:
        return _import_module(f"copa.{name}")
    if name in _MODULES:
        return _import_module(_MODULES[name])
    for home, names in _HOMES.items():
        if name in names:
            value = getattr(_import_module(f"copa.{home}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
