"""COPA: counterfactual plans that keep their promise when the model is retrained."""

from copa import datasets
from copa.bounds import (
    Certificate,
    ValidityBounds,
    Verification,
    WorstCase,
    lower_bound_gradient,
    validity_bounds,
)
from copa.exceptions import CertificateError, CopaError, DataError, InvalidInputError, RetrainingError
from copa.moments import (
    WeightMoments,
    calibrate_radius,
    estimate_drift,
    gelbrich_distance,
    radius_from_history,
    retrained_parameters,
)

__version__ = "0.1.0"

__all__ = [
    "Certificate",
    "CertificateError",
    "CopaError",
    "DataError",
    "InvalidInputError",
    "RetrainingError",
    "ValidityBounds",
    "Verification",
    "WeightMoments",
    "WorstCase",
    "calibrate_radius",
    "datasets",
    "estimate_drift",
    "gelbrich_distance",
    "lower_bound_gradient",
    "radius_from_history",
    "retrained_parameters",
    "validity_bounds",
]
