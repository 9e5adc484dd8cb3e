"""COPA: counterfactual plans that keep their promise when the model is retrained."""

from copa.bounds import (
    Certificate,
    ValidityBounds,
    Verification,
    WorstCase,
    lower_bound_gradient,
    validity_bounds,
)
from copa.exceptions import CertificateError, CopaError, InvalidInputError, RetrainingError

__version__ = "0.1.0"

__all__ = [
    "Certificate",
    "CertificateError",
    "CopaError",
    "InvalidInputError",
    "RetrainingError",
    "ValidityBounds",
    "Verification",
    "WorstCase",
    "lower_bound_gradient",
    "validity_bounds",
]
